"""Memory spaces: the host's, and one per device."""

from .abi cimport *

cdef int space_of(object memory) except -1                          # number of a device's memory, registered at first
cdef object memory_of(int space)                                    # its DeviceMemory
cdef str placement(int space)                                       # "cpu", or the device's name
cdef bint by_value(const Value *v) noexcept                         # one element in host memory, which every engine can read

cdef object device_array(const Value *v)                            # the library's array over a value of a device
cdef int wrap_array(Value *out, int space, object array) except -1  # the other way round; fresh metadata
cdef int place_array(Value *out, int space, object array) except -1  # out.meta is set: memory in its order
cdef int upload(Value *out, int space, const Value *v) except -1    # host to device, the same order of axes
cdef int download(Value *out, const Value *v) except -1             # device to host
cdef int device_copy(Value *out, const Value *v, Meta *m) except -1  # fresh memory of metadata m (stolen)
cdef int device_zeros(Value *out, int space, Meta *m) except -1     # m is stolen
cdef int device_one(Value *out, int space, const Value *one) except -1    # a shared copy of the host's number 1
cdef int placeholder(Value *out, int space) except -1               # out.meta is set: a buffer without memory
# v itself, or a number uploaded; raises for what the engine does not reach
cdef int bring(Value *out, int space, str engine, const Value *v, str op) except -1
cdef int on_host(Value *out, const Value *v) except -1              # v itself, or a copy of a device's
