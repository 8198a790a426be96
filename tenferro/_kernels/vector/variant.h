/* One build of all loops; included by elementary.h with F, MA and the compiler's target set. */
#include "double.h"
#include "single.h"
#include "narrow.h"
#include "far.h"
#include "loops.h"

#define NEAR(X) X(exp) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
    X(asin) X(acos) X(atan) X(cbrt)

NEAR(DEFINE_LOOPS)
DEFINE_FAR_LOOPS(sin)
DEFINE_FAR_LOOPS(cos)
DEFINE_FAR_LOOPS(tan)

#define BOTH(f) {F(f##_f), F(f##_d)},
static const tf_vector_loop F(table)[TF_VECTOR_FUNCTIONS][2] = {NEAR(BOTH) BOTH(sin) BOTH(cos) BOTH(tan)};

#undef BOTH
#undef NEAR
#undef DEFINE_FAR_LOOPS
#undef DEFINE_FAR_PASS
#undef DEFINE_LOOPS
#undef DEFINE_RUN
#undef DEFINE_PASS
#undef BLOCK
#undef FAR
#undef ONE_BITS
#undef SQRT_HALF_BITS
#undef PIO2_LO
#undef PIO2_HI
#undef LN2
#undef LN2_LO
#undef LN2_HI
#undef LOG2E
#undef MAGIC
