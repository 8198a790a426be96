"""Cycles through hooks."""

cdef int watch_cycles() except -1
