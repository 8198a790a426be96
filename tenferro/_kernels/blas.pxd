"""BLAS through the function pointers that SciPy exports, by dtype code; NULL until `load_blas`."""

ctypedef void (*gemm_t)(char *ta, char *tb, int *m, int *n, int *k, void *alpha, void *a, int *lda, void *b, int *ldb,
                        void *beta, void *c, int *ldc) noexcept nogil
ctypedef void (*gemv_t)(char *t, int *m, int *n, void *alpha, void *a, int *lda, void *x, int *incx, void *beta,
                        void *y, int *incy) noexcept nogil

cdef gemm_t gemm[13]
cdef gemv_t gemv[13]
cdef void *one[13]          # 1 in each dtype
cdef void *zero[13]
cdef bint loaded
cdef int load_blas() except -1
