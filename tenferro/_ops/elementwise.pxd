from tenferro._core.eager cimport EagerTensor

cdef EagerTensor same(EagerTensor x)                        # another handle of the same value and node
cdef EagerTensor real_part(EagerTensor x)                   # a view
cdef EagerTensor imag_part(EagerTensor x)
cdef EagerTensor select(object condition, object x, object y)
cdef EagerTensor clamped(object x, object low, object high)
cdef EagerTensor astype_(EagerTensor x, int dtype)
