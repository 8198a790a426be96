"""Caches of derivatives."""

from .state cimport EagerRuntime

cdef class CacheLimits:
    cdef readonly Py_ssize_t max_entries
    cdef readonly Py_ssize_t max_retained_bytes

cdef class CacheEntry:
    cdef object key
    cdef readonly object value
    cdef Py_ssize_t nbytes
    cdef unsigned long long stamp       # of the last use

cdef class DerivativeCache:
    cdef CacheLimits limits
    cdef dict buckets                   # key -> entries
    cdef Py_ssize_t entries, nbytes, hits, misses, evictions, clears
    cdef unsigned long long clock
    cdef unsigned long long seen[1024]
    cdef unsigned long long rejected[1024]      # keys of what cannot be kept, so that it is not tried again

    cdef bint seen_before(self, unsigned long long key) noexcept
    cdef bint is_rejected(self, unsigned long long key) noexcept
    cdef int reject(self, unsigned long long key) noexcept
    cdef int forget(self) noexcept
    cdef int touch(self, CacheEntry e) except -1
    cdef bint add(self, object key, object value, Py_ssize_t nbytes) except -1
    cdef int trim(self) except -1
    cdef int remove(self, CacheEntry e) except -1
    cdef object stats(self)
    cdef int clear(self) except -1
    cdef int limit(self, object limits) except -1

cdef class AdContext:
    cdef dict rules_
    cdef DerivativeCache transforms
    cdef object __weakref__

cdef DerivativeCache transforms(EagerRuntime rt)
cdef DerivativeCache prepared(EagerRuntime rt)
