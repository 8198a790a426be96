/* One build of all loops; included by elementary.h with F, MA and the compiler's target set. */
#include "double.h"
#include "single.h"
#include "narrow.h"
#include "far.h"
#include "loops.h"

#define PLAIN(X) X(exp2) X(expm1) X(log) X(log2) X(log10) X(log1p) X(sinh) X(cosh) X(tanh) X(asinh) X(acosh) X(atanh) \
    X(asin) X(acos) X(atan) X(cbrt)

#define LIMITED(X) X(exp) X(sin) X(cos) X(tan)

PLAIN(DEFINE_PASSES)
PLAIN(DEFINE_LOOPS)
LIMITED(DEFINE_LOOPS)

#define BOTH(f) {F(f##_f), F(f##_d)},
static const tf_vector_loop F(table)[TF_VECTOR_FUNCTIONS][2] = {PLAIN(BOTH) LIMITED(BOTH) BOTH(absorb_mul)};

#undef BOTH
#undef LIMITED
#undef PLAIN
#undef DEFINE_CIRCULAR_PASSES
#undef DEFINE_CIRCULAR_PASS
#undef DEFINE_EXP_PASS
#undef DEFINE_ANY_BEYOND
#undef DEFINE_ABSORB_MUL
#undef ABSORB_PASS
#undef DEFINE_LOOPS
#undef DEFINE_PASSES
#undef DEFINE_RUN
#undef DEFINE_PASS
#undef BLOCK
#undef FAR_BITS_F
#undef FAR_BITS
#undef FAR
#undef EXP_FAR_BITS_F
#undef EXP_FAR_BITS
#undef ONE_BITS
#undef SQRT_HALF_BITS
#undef PIO2_LO
#undef PIO2_HI
#undef LN2
#undef LN2_LO
#undef LN2_HI
#undef LOG2E
#undef MAGIC
