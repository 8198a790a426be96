/* Vectorised elementary functions, built for several instruction sets in one unit; the caller chooses a table at run time. */
#ifndef TENFERRO_ELEMENTARY_H
#define TENFERRO_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*tf_vector_loop)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
enum { TF_VECTOR_FUNCTIONS = 20 };
enum { TF_BASELINE, TF_AVX2, TF_AVX512, TF_VARIANTS };

/* An output is fresh memory or lies exactly over its operand. */
#if defined(__clang__)
#define TF_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TF_VECTORISE _Pragma("GCC ivdep")
#else
#define TF_VECTORISE
#endif

#define TF_JOIN2(a, b) tf_##a##_##b
#define TF_JOIN(a, b) TF_JOIN2(a, b)
#define F(name) TF_JOIN(name, TF_SUFFIX)

#define TF_SUFFIX baseline
#if defined(__FMA__) || defined(__ARM_FEATURE_FMA)
#define MA(a, b, c) __builtin_fma(a, b, c)
#define MF(a, b, c) __builtin_fmaf(a, b, c)
#else
#define MA(a, b, c) ((a) * (b) + (c))
#define MF(a, b, c) ((a) * (b) + (c))
#endif
#include "variant.h"
#undef TF_SUFFIX
#undef MA
#undef MF

#if (defined(__x86_64__) || defined(_M_X64)) && defined(__GNUC__)
#define TF_X86 1
#define MA(a, b, c) __builtin_fma(a, b, c)
#define MF(a, b, c) __builtin_fmaf(a, b, c)

#if defined(__clang__)
#pragma clang attribute push(__attribute__((target("avx2,fma"))), apply_to = function)
#else
#pragma GCC push_options
#pragma GCC target("avx2,fma")
#endif
#define TF_SUFFIX avx2
#include "variant.h"
#undef TF_SUFFIX
#if defined(__clang__)
#pragma clang attribute pop
#pragma clang attribute push(__attribute__((target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma"))), apply_to = function)
#else
#pragma GCC pop_options
#pragma GCC push_options
#pragma GCC target("avx512f,avx512dq,avx512vl,avx512bw,avx2,fma,prefer-vector-width=512")
#endif
#define TF_SUFFIX avx512
#include "variant.h"            /* compiled and inspected, but never run: no machine at hand had AVX-512 */
#undef TF_SUFFIX
#if defined(__clang__)
#pragma clang attribute pop
#else
#pragma GCC pop_options
#endif
#undef MA
#undef MF
#endif

/* Whether this processor runs a variant of this build; excess precision would break the error terms. */
static inline int tf_variant_runs(int variant) {
#ifdef TF_X86
    __builtin_cpu_init();
    const int avx2 = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma");
    if (variant == TF_AVX2) return avx2;
    if (variant == TF_AVX512) {
        return avx2 && __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq")
            && __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw");
    }
#endif
    return variant == TF_BASELINE && FLT_EVAL_METHOD == 0;
}

/* The loop of a function for float32 (0) or float64 (1). */
static inline tf_vector_loop tf_variant_loop(int variant, int function, int wide) {
#ifdef TF_X86
    if (variant == TF_AVX512) return tf_table_avx512[function][wide];
    if (variant == TF_AVX2) return tf_table_avx2[function][wide];
#endif
    (void)variant;
    return tf_table_baseline[function][wide];
}

#undef F
#endif
