"""Groups of elementwise steps that an engine computes in one pass."""

from .program cimport Prepared

cdef Py_ssize_t fuse(Prepared q) except -1      # bytes that the new steps take; 0 if there is nothing to fuse
