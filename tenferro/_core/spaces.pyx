"""Memory spaces: the host's, and one per device that an engine reaches.

A buffer of a device is owned by a `Block`: the device library's array, and the layout that it has. What the library can do with
its memory is told by a ``DeviceMemory`` (tenferro/_foreign/device.py), of which there is one per device and process.
"""

cimport numpy as cnp

from .importing cimport adopt, bare_array
from .memory cimport *
from .optable cimport dtype_code, dtype_object

from ..errors import OutOfMemoryError, PlacementError

cnp.import_array()

cdef list memories = [None]         # by number; the host's is not asked for anything


cdef int space_of(object memory) except -1:
    for k in range(1, len(memories)):
        if memories[k] is memory:
            return k
    memories.append(memory)
    return len(memories) - 1


cdef object memory_of(int space):
    return memories[space]


cdef str placement(int space):
    return "cpu" if space == HOST_SPACE else memories[space].name


def find(str name not None):
    """The device memory of a name; None if no engine for it was opened in this process."""
    return next((m for m in memories[1:] if m.name == name), None)


def known():
    """Every device memory that an engine was opened for."""
    return tuple(memories[1:])


cdef bint by_value(const Value *v) noexcept:
    return v.buf.space == HOST_SPACE and v.meta.size > 0 and v.buf.nbytes <= v.meta.itemsize


cdef int bring(Value *out, int space, str engine, const Value *v, str op) except -1:
    if v.buf.space == space:
        value_copy(out, v)
        return 0
    if by_value(v):
        return upload(out, space, v)
    raise PlacementError(f"{op}: the engine '{engine}' reaches {placement(space)}, and this tensor lies in "
                         f"{placement(v.buf.space)}; pass the engine of its device, or transfer the tensor with "
                         "session.constant_from_host() or to_tensor()", op=op, expected=placement(space),
                         actual=placement(v.buf.space))


# ---- arrays of the device's library ------------------------------------------------------------------------------------

cdef class Block:
    """A library's array, and its layout."""
    cdef object array
    cdef Meta *meta

    def __dealloc__(self):
        meta_drop(self.meta)


cdef tuple integers(const Py_ssize_t *v, int n):
    return tuple([v[i] for i in range(n)])


cdef object device_array(const Value *v):
    cdef Block b = <Block> v.buf.owner
    cdef Meta *m = v.meta
    if v.data == v.buf.data and m.dtype == b.meta.dtype and same_layout(m, b.meta):
        return b.array
    return memories[v.buf.space].view(b.array, v.data - v.buf.data, integers(shape_of(m), m.rank),
                                      integers(strides_of(m), m.rank), dtype_object(m.dtype))


cdef Meta *layout_of(object memory, object array, char **data) except NULL:
    """Metadata of an array, and the address of its first element."""
    cdef Meta *m
    cdef int i, rank
    address, shape, strides, dtype = memory.layout(array)
    data[0] = <char *> <size_t> address
    rank = len(shape)
    if rank == 0:
        return meta_scalar(dtype_code(dtype, "array"))
    m = meta_new(dtype_code(dtype, "array"), rank)
    for i in range(rank):
        m.dims[i] = shape[i]
        m.dims[rank + i] = strides[i]
    return meta_finish(m)


cdef int own(Value *out, int space, object array, Meta *m, char *data) except -1:
    """Let a buffer own an array of layout m."""
    cdef Block b = Block()
    b.array, b.meta = array, meta_ref(m)
    out.buf = buffer_wrap(b, data, m.size * m.itemsize, 0)
    out.buf.space = space
    out.data = data
    return 0


cdef int wrap_array(Value *out, int space, object array) except -1:
    cdef char *data
    cdef Meta *m = layout_of(memories[space], array, &data)
    try:
        own(out, space, array, m, data)
        out.meta = meta_ref(m)
    finally:
        meta_drop(m)
    return 0


cdef object fresh_array(int space, const Meta *m):
    try:
        return memories[space].empty(integers(shape_of(m), m.rank), integers(strides_of(m), m.rank), dtype_object(m.dtype))
    except MemoryError as error:
        refused(space, m, error)


cdef int refused(int space, const Meta *m, object error) except -1:
    if isinstance(error, OutOfMemoryError):
        raise error
    raise OutOfMemoryError(f"{placement(space)} has no memory for {m.size * m.itemsize} bytes; free tensors or call "
                           "clear_caches()", engine=placement(space), nbytes=m.size * m.itemsize) from error


cdef bint has_layout(const Meta *a, const Meta *m) noexcept:
    """Equal strides where they matter."""
    cdef int i
    for i in range(m.rank):
        if m.dims[i] > 1 and a.dims[a.rank + i] != m.dims[m.rank + i]:
            return False
    return True


cdef int place_array(Value *out, int space, object array) except -1:
    """Make an array of the right shape and dtype the memory of out, in the order of out's metadata."""
    cdef object memory = memories[space]
    cdef char *data
    cdef Buffer *before = out.buf
    cdef Meta *m = layout_of(memory, array, &data)
    try:
        if m.size and not has_layout(m, out.meta):
            made = fresh_array(space, out.meta)
            memory.fill(made, array)
            array = made
            meta_drop(m)
            m = meta_ref(out.meta)
            data = <char *> <size_t> memory.pointer(array)
        own(out, space, array, m, data)
    finally:
        meta_drop(m)
    buffer_drop(before)
    return 0


# ---- transfers ---------------------------------------------------------------------------------------------------------

cdef int upload(Value *out, int space, const Value *v) except -1:
    array = bare_array(v, v.meta.rank, shape_of(v.meta), strides_of(v.meta), 0)
    try:
        made = memories[space].upload(array)
    except MemoryError as error:
        refused(space, v.meta, error)
    return wrap_array(out, space, made)


cdef int download(Value *out, const Value *v) except -1:
    return adopt(out, memories[v.buf.space].download(device_array(v)))


cdef int on_host(Value *out, const Value *v) except -1:
    if v.buf.space != HOST_SPACE:
        return download(out, v)
    value_copy(out, v)
    return 0


cdef int filled(Value *out, int space, Meta *m, object source) except -1:
    """Fresh memory of metadata m (stolen) with the elements of an array or a number."""
    out.meta = m
    out.buf = NULL
    try:
        made = fresh_array(space, m)
        memories[space].fill(made, source)
        place_array(out, space, made)
    except BaseException:
        value_drop(out)
        raise
    return 0


cdef int device_copy(Value *out, const Value *v, Meta *m) except -1:
    return filled(out, v.buf.space, m, device_array(v))


cdef int device_zeros(Value *out, int space, Meta *m) except -1:
    return filled(out, space, m, 0)


cdef class One:
    """The number 1 in a device's memory."""
    cdef Value v

    def __dealloc__(self):
        value_drop(&self.v)


cdef dict ones = {}                 # (space, dtype) -> One


cdef int device_one(Value *out, int space, const Value *one) except -1:
    """Seeds of gradients are uploaded once. SHARED marks them: no other value of a device is."""
    cdef One found = ones.get((space, one.meta.dtype))
    if found is None:
        found = One()
        upload(&found.v, space, one)
        found.v.buf.flags |= SHARED
        ones[space, one.meta.dtype] = found
    value_copy(out, &found.v)
    return 0


cdef int placeholder(Value *out, int space) except -1:
    out.buf = buffer_wrap(None, NULL, 0, 0)
    out.buf.space = space
    out.data = NULL
    return 0


def space_by_name(str name not None, str op not None):
    """Number of the memory space that a placement names.

    Raises
    ------
    PlacementError
        There is no such memory, or no engine for it was opened.
    """
    if name == "cpu":
        return HOST_SPACE
    for k in range(len(memories) - 1, 0, -1):
        if memories[k].name == name:
            return k
    raise PlacementError(f"{op}: there is no memory {name!r}; open an engine for it first, such as tenferro.engine('cupy')",
                         op=op, expected=["cpu"] + [m.name for m in memories[1:]], actual=name)
