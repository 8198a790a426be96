/* Vectorised elementary functions, built for several instruction sets in one unit; the caller chooses a table at run time. */
#ifndef TENFERRO_ELEMENTARY_H
#define TENFERRO_ELEMENTARY_H

#include <float.h>
#include <math.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

typedef void (*tf_vector_loop)(char **, const ptrdiff_t *, const ptrdiff_t *, void *);
enum { TF_VECTOR_FUNCTIONS = 21 };
enum { TF_BASELINE, TF_AVX2, TF_AVX512, TF_VARIANTS };

/* An output is fresh memory or lies exactly over its operand. */
#if defined(__clang__)
#define TF_VECTORISE _Pragma("clang loop vectorize(assume_safety)")
#elif defined(__GNUC__)
#define TF_VECTORISE _Pragma("GCC ivdep")
#else
#define TF_VECTORISE
#endif

/* 2/pi in 1216 bits behind 64 that are zero */
static const uint64_t tf_two_over_pi[20] = {
    0, 0xa2f9836e4e441529, 0xfc2757d1f534ddc0, 0xdb6295993c439041, 0xfe5163abdebbc561, 0xb7246e3a424dd2e0, 0x06492eea09d1921c,
    0xfe1deb1cb129a73e, 0xe88235f52ebb4484, 0xe99c7026b45f7e41, 0x3991d639835339f4, 0x9c845f8bbdf9283b, 0x1ff897ffde05980f,
    0xef2f118b5a0a6d1f, 0x6d367ecf27cb09b7, 0x4f463f669e5fea2d, 0x7527bac7ebe5f17b, 0x3d0739f78a5292ea, 0x6bfb5fb11f8d5d08,
    0x56033046fc7b6bab,
};

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
