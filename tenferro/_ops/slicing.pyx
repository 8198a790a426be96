"""Basic indexing, one operation for a whole index expression; slices at places that are data; the slice builder."""

from cpython.bool cimport PyBool_Check
from cpython.long cimport PyLong_Check, PyLong_CheckExact
from cpython.number cimport PyIndex_Check
from cpython.ref cimport Py_INCREF
from cpython.slice cimport PySlice_Check

from tenferro._core.eager cimport as_eager, as_operand, computed_in, emit1, emit2, emit_view, hooks
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from tenferro._kernels.structure cimport index_length, window
from .structure cimport shape_from, shape_tuple

import numpy as np

from tenferro.errors import AxisError, DTypeMismatchError, ShapeMismatchError, UnsupportedError, ValidationError

cdef extern from "Python.h":
    int PySlice_Unpack(object, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *) except -1
    Py_ssize_t clipped "PyNumber_AsSsize_t"(object, void *) except? -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t)

cdef object _ndarray = np.ndarray, _generic = np.generic, _integer = np.integer, _slice = type(np.s_[:])
cdef object _advanced = None


# ---- the operations --------------------------------------------------------------------------------------------------

cdef EagerTensor emit_slice(EagerTensor x, Params *p):
    """Steals p."""
    cdef Meta *out
    cdef Py_ssize_t offset
    if p.v[1] == 0:
        out = meta_scalar(x.v.meta.dtype)
        offset = window(p.v, x.v.meta, out)
    else:
        try:
            out = meta_new(x.v.meta.dtype, <int> p.v[1])
        except BaseException:
            params_drop(p)
            raise
        offset = window(p.v, x.v.meta, out)
        meta_finish(out)
    return emit_view(Op.SLICE, x, p, out, x.v.data + offset)


cdef EagerTensor slice_by(EagerTensor x, const Py_ssize_t *v):
    cdef Py_ssize_t i, n = index_length(v[0], v[1])
    cdef Params *p = params_new(n)
    for i in range(n):
        p.v[i] = v[i]
    return emit_slice(x, p)


cdef EagerTensor unslice_by(EagerTensor g, const Py_ssize_t *v, const Py_ssize_t *shape, bint rows):
    cdef Py_ssize_t i, n = index_length(v[0], v[1])
    cdef Meta *out = meta_compact(g.v.meta.dtype, <int> v[0], shape, rows)
    cdef Params *p = params_new(n)
    for i in range(n):
        p.v[i] = v[i]
    return emit1(Op.UNSLICE, g, p, out)


cdef Py_ssize_t whole(Py_ssize_t *v, const Meta *m, int axis, bint drop) noexcept:
    """The index that takes everything, without one axis if it is dropped."""
    cdef int i, k = 0
    v[0] = m.rank
    v[1] = m.rank - drop
    for i in range(m.rank):
        v[2 + 3 * i] = 0
        v[3 + 3 * i] = 1
        v[4 + 3 * i] = m.dims[i]
        if i != axis or not drop:
            v[2 + 3 * m.rank + k] = i
            k += 1
    return 0


cdef inline void narrow(Py_ssize_t *v, int axis, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count) noexcept:
    v[2 + 3 * axis] = start
    v[3 + 3 * axis] = step if count > 1 else 1
    v[4 + 3 * axis] = count


cdef EagerTensor slice_axis(EagerTensor x, int axis, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count):
    cdef Params *p = params_new(index_length(x.v.meta.rank, x.v.meta.rank))
    whole(p.v, x.v.meta, axis, False)
    narrow(p.v, axis, start, step, count)
    return emit_slice(x, p)


cdef EagerTensor take_at(EagerTensor x, int axis, Py_ssize_t i):
    cdef Params *p = params_new(index_length(x.v.meta.rank, x.v.meta.rank - 1))
    whole(p.v, x.v.meta, axis, True)
    narrow(p.v, axis, i, 1, 1)
    return emit_slice(x, p)


cdef EagerTensor unslice_axis(EagerTensor g, int axis, Py_ssize_t start, Py_ssize_t step, const Meta *like):
    cdef Py_ssize_t v[258]
    whole(v, like, axis, False)
    narrow(v, axis, start, step, g.v.meta.dims[axis])
    return unslice_by(g, v, like.dims, row_major(like))


cdef EagerTensor untake_at(EagerTensor g, int axis, Py_ssize_t i, const Meta *like):
    cdef Py_ssize_t v[258]
    whole(v, like, axis, True)
    narrow(v, axis, i, 1, 1)
    return unslice_by(g, v, like.dims, row_major(like))


# ---- x[...] ----------------------------------------------------------------------------------------------------------

cdef int out_of_bounds(object i, int axis, Py_ssize_t n) except -1:
    raise AxisError(f"index {i} is out of bounds for axis {axis} with size {n}", op="getitem", argument="index",
                    expected=n, actual=i)


cdef int too_many(EagerTensor x, Py_ssize_t n) except -1:
    raise AxisError(f"the index names {n} axes, the tensor has {x.v.meta.rank}; use fewer", op="getitem",
                    argument="index", expected=x.v.meta.rank, actual=n)


cdef inline Py_ssize_t position(object e, int axis, Py_ssize_t n) except -1:
    cdef Py_ssize_t i = clipped(e, NULL)
    if i < 0:
        i += n
    if i < 0 or i >= n:
        out_of_bounds(e, axis, n)
    return i


cdef int slice_bounds(object s, Py_ssize_t n, Py_ssize_t *start, Py_ssize_t *step, Py_ssize_t *count) except -1:
    cdef Py_ssize_t stop
    try:
        PySlice_Unpack(s, start, &stop, step)
    except ValueError:
        raise ValidationError("a slice's step is zero; use a positive or negative step", op="slice",
                              argument="step") from None
    count[0] = PySlice_AdjustIndices(n, start, &stop, step[0])
    if count[0] <= 1:
        step[0] = 1
    return 0


cdef bint is_integer(object e):
    """Integers and what acts as one; arrays, tensors and booleans are no basic index."""
    if PyLong_Check(e):
        return not PyBool_Check(e)
    if isinstance(e, _generic):
        return isinstance(e, _integer)
    return PyIndex_Check(e) and not isinstance(e, (_ndarray, EagerTensor))


cdef int survey(EagerTensor x, tuple index) except -2:
    """Number of axes that a basic index names, -1 for another kind of index."""
    cdef int named = 0, new = 0
    cdef bint dots = False
    for e in index:
        if e is None:
            new += 1
        elif e is Ellipsis:
            if dots:
                raise ValidationError("an index has at most one ellipsis; write the other one as slices", op="getitem",
                                      argument="index")
            dots = True
        elif PySlice_Check(e) or is_integer(e):
            named += 1
        else:
            return -1
    if named > x.v.meta.rank:
        too_many(x, named)
    if new + x.v.meta.rank > MAX_RANK:
        raise ValidationError(f"a tensor has at most {MAX_RANK} axes; the index adds {new} to {x.v.meta.rank}",
                              op="getitem", argument="index")
    return named


cdef inline int take_all(Py_ssize_t *axes, Py_ssize_t *source, const Meta *m, int k, int q, int n) noexcept:
    """n whole axes from axis k on; returns n."""
    cdef int i
    for i in range(n):
        axes[3 * (k + i)] = 0
        axes[3 * (k + i) + 1] = 1
        axes[3 * (k + i) + 2] = m.dims[k + i]
        source[q + i] = k + i
    return n


cdef EagerTensor basic(EagerTensor x, tuple index, int named):
    """A basic index of which `named` entries belong to axes of x."""
    cdef Py_ssize_t axes[192]
    cdef Py_ssize_t source[64]
    cdef Meta *m = x.v.meta
    cdef int k = 0, q = 0, i, skip = m.rank - named     # axes that an ellipsis stands for
    cdef Params *p
    for e in index:
        if e is None:
            source[q] = -1
            q += 1
        elif e is Ellipsis:
            i = take_all(axes, source, m, k, q, skip)
            k += i
            q += i
        elif PySlice_Check(e):
            slice_bounds(e, m.dims[k], &axes[3 * k], &axes[3 * k + 1], &axes[3 * k + 2])
            source[q] = k
            k += 1
            q += 1
        else:
            axes[3 * k] = position(e, k, m.dims[k])
            axes[3 * k + 1] = 1
            axes[3 * k + 2] = 1
            k += 1
    q += take_all(axes, source, m, k, q, m.rank - k)
    p = params_new(index_length(m.rank, q))
    p.v[0] = m.rank
    p.v[1] = q
    for i in range(3 * m.rank):
        p.v[2 + i] = axes[i]
    for i in range(q):
        p.v[2 + 3 * m.rank + i] = source[i]
    return emit_slice(x, p)


def set_advanced_getitem(f):
    """Install ``f(x, index)`` for an index that holds arrays, tensors, lists or booleans."""
    global _advanced
    _advanced = f


def getitem(EagerTensor x not None, index):
    """``x[index]``. A basic index (integers, slices, ``None``, ``...``) gives a view of the same memory.

    Parameters
    ----------
    x : EagerTensor
    index : object
        As NumPy's.

    Raises
    ------
    AxisError
        An integer is out of bounds, or there are more entries than axes. It is an ``IndexError``.
    ValidationError
        A step is zero, there is more than one ellipsis.
    """
    cdef int named
    cdef tuple items
    if PyLong_CheckExact(index) and x.v.meta.rank:
        return take_at(x, 0, position(index, 0, x.v.meta.dims[0]))
    items = <tuple> index if isinstance(index, tuple) else (index,)
    named = survey(x, items)
    if named >= 0:
        return basic(x, items, named)
    if _advanced is None:
        raise UnsupportedError("this kind of index is not supported; use integers, slices, None and ...", op="getitem")
    return _advanced(x, index)


hooks.getitem = <PyObject *> getitem
Py_INCREF(getitem)


# ---- functions -------------------------------------------------------------------------------------------------------

def slice(x, starts, stops, steps=None):
    """Slice along every axis; a view.

    Parameters
    ----------
    x : array_like
    starts, stops : int or sequence of int or None, one for each axis
        As in Python's slices: negative numbers count from the end, what is out of range is cut off.
    steps : int or sequence of int, optional
        May be negative; 1 by default.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ShapeMismatchError
        The number of starts, stops or steps is not the number of axes.
    ValidationError
        A step is zero.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.slice([[1.0, 2.0], [3.0, 4.0]], (0, 1), (2, None))
    EagerTensor([[2.],
                 [4.]], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x)
    rows = [tuple(s) if isinstance(s, (tuple, list)) else (s,) * t.v.meta.rank for s in (starts, stops, steps)]
    for name, row in zip(("starts", "stops", "steps"), rows):
        if len(row) != t.v.meta.rank:
            raise ShapeMismatchError(f"slice: {name} has {len(row)} entries; give one for each of the {t.v.meta.rank} "
                                     "axes", op="slice", argument=name, expected=t.v.meta.rank, actual=len(row))
    return getitem(t, tuple([_slice(*bounds) for bounds in zip(*rows)]))


cdef EagerTensor dynamic_slice_by(EagerTensor x, EagerTensor starts, const Py_ssize_t *sizes):
    return emit2(Op.DYNAMIC_SLICE, x, starts, NULL,
                 meta_compact(x.v.meta.dtype, x.v.meta.rank, sizes, row_major(x.v.meta)))


cdef EagerTensor dynamic_unslice_by(EagerTensor g, EagerTensor starts, const Py_ssize_t *shape, bint rows):
    return emit2(Op.DYNAMIC_UNSLICE, g, starts, NULL, meta_compact(g.v.meta.dtype, g.v.meta.rank, shape, rows))


cdef EagerTensor as_starts(object starts, EagerTensor x):
    """int64 or uint64, one for each axis."""
    cdef EagerTensor s
    if isinstance(starts, (tuple, list)):
        starts = np.array([int(i) for i in starts], np.int64) if len(starts) else np.zeros(0, np.int64)
    s = as_operand(starts, x.rt)
    if s.v.meta.dtype == D_BOOL or s.v.meta.dtype >= D_F32:
        raise DTypeMismatchError(f"dynamic_slice: starts are integers, not {s.dtype}; use astype(int)",
                                 op="dynamic_slice", argument="starts", expected="an integer dtype", actual=s.dtype)
    if s.v.meta.rank != 1 or s.v.meta.dims[0] != x.v.meta.rank:
        raise ShapeMismatchError(f"dynamic_slice: starts has shape {shape_tuple(s.v.meta)}; give one for each of the "
                                 f"{x.v.meta.rank} axes", op="dynamic_slice", argument="starts",
                                 expected=(x.v.meta.rank,), actual=shape_tuple(s.v.meta))
    return s if s.v.meta.dtype == D_U64 else computed_in(s, D_I64)


def dynamic_slice(x, starts, sizes):
    """Window of a fixed size at a place that is data.

    Parameters
    ----------
    x : array_like
    starts : integer array_like, one for each axis
        An input of the operation, not a parameter of the trace. Clamped so that the window fits.
    sizes : sequence of int
        Extents of the window, one for each axis.

    Returns
    -------
    EagerTensor
        Shape `sizes`, in fresh memory.

    Raises
    ------
    DTypeMismatchError
        `starts` is not an integer array.
    ShapeMismatchError
        The wrong number of starts or sizes, or a window that is larger than x.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.dynamic_slice([1.0, 2.0, 3.0, 4.0], [1], [2])
    EagerTensor([2., 3.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), s = as_starts(starts, t)
    cdef Py_ssize_t n[64]
    cdef int i, rank = shape_from(sizes, n)
    for i in range(rank):
        if rank == t.v.meta.rank and 0 <= n[i] <= t.v.meta.dims[i]:
            continue
        raise ShapeMismatchError(f"dynamic_slice: a window of sizes {tuple(sizes)} does not fit shape "
                                 f"{shape_tuple(t.v.meta)}; use sizes of at most the shape", op="dynamic_slice",
                                 argument="sizes", expected=shape_tuple(t.v.meta), actual=tuple(sizes))
    if rank != t.v.meta.rank:
        raise ShapeMismatchError(f"dynamic_slice: give {t.v.meta.rank} sizes, one for each axis", op="dynamic_slice",
                                 argument="sizes", expected=t.v.meta.rank, actual=rank)
    return dynamic_slice_by(t, s, n)
