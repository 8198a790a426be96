"""Index expressions that contain arrays, and the functional form of assigning to an index."""

from cpython.bool cimport PyBool_Check
from cpython.long cimport PyLong_Check
from cpython.number cimport PyIndex_Check, PyNumber_AsSsize_t
from cpython.slice cimport PySlice_Check

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager, computed_in
from tenferro._core.memory cimport *
from tenferro._core.optable cimport Op
from .gathers cimport *
from .slicing cimport slice_by
from .structure cimport shape_tuple

import numpy as np

from . import slicing
from tenferro.errors import AxisError, ValidationError, _MaskShapeError

cdef extern from "Python.h":
    int PySlice_Unpack(object, Py_ssize_t *, Py_ssize_t *, Py_ssize_t *) except -1
    Py_ssize_t PySlice_AdjustIndices(Py_ssize_t, Py_ssize_t *, Py_ssize_t *, Py_ssize_t)

cdef object _ndarray = np.ndarray, _generic = np.generic, _integer = np.integer


cdef bint is_integer(object e):
    """Integers and what acts as one; arrays, tensors and booleans are index arrays."""
    if PyLong_Check(e):
        return not PyBool_Check(e)
    if isinstance(e, _generic):
        return isinstance(e, _integer)
    return PyIndex_Check(e) and not isinstance(e, (_ndarray, EagerTensor))


cdef class Index:
    """An index expression, split into a basic index (`v`) and index arrays on axes of its result."""
    cdef Py_ssize_t v[2 + 3 * 64 + 64]
    cdef Py_ssize_t source[64]
    cdef Py_ssize_t p[HEAD]
    cdef int k, q                   # axes of x, of the result of the basic index
    cdef int before                 # axes that are left before the first index; -1: there is none so far
    cdef int left
    cdef bint apart, ended, trivial
    cdef list arrays, sizes, axes

    cdef int result_axis(self, Py_ssize_t origin) except -1:
        if self.q >= MAX_RANK:
            raise ValidationError(f"a tensor has at most {MAX_RANK} axes; the index makes more", op="getitem",
                                  argument="index")
        self.source[self.q] = origin
        self.q += 1
        return 0

    cdef int axis(self, Py_ssize_t start, Py_ssize_t step, Py_ssize_t count) except -1:
        """The next axis of x."""
        self.v[2 + 3 * self.k], self.v[3 + 3 * self.k], self.v[4 + 3 * self.k] = start, step, count
        self.k += 1
        return 0

    cdef int part(self, const Meta *m, object s) except -1:
        cdef Py_ssize_t start, stop, step, count
        if s.step is not None and s.step == 0:
            raise ValidationError("a slice's step is zero; use a positive or negative step", op="getitem",
                                  argument="index")
        PySlice_Unpack(s, &start, &stop, &step)
        count = PySlice_AdjustIndices(m.dims[self.k], &start, &stop, step)
        if start != 0 or step != 1 or count != m.dims[self.k]:
            self.trivial = False
        self.result_axis(self.k)
        return self.axis(start, step if count > 1 else 1, count)

    cdef int whole_axis(self, const Meta *m) except -1:
        self.result_axis(self.k)
        return self.axis(0, 1, m.dims[self.k])

    cdef int integer(self, const Meta *m, object e) except -1:
        cdef Py_ssize_t n = m.dims[self.k], i = PyNumber_AsSsize_t(e, IndexError)
        if i < 0:
            i += n
        if i < 0 or i >= n:
            raise AxisError(f"index {e} is out of bounds for axis {self.k} of size {n}", op="getitem", argument="index",
                            expected=f"-{n} <= index < {n}", actual=e)
        self.trivial = False
        return self.axis(i, 1, 1)

    cdef int indexed_axis(self, const Meta *m) except -1:
        """A whole axis of x that an index array takes elements of."""
        self.p[2 + self.p[1]] = self.q
        self.p[1] += 1
        return self.whole_axis(m)

    cdef int array(self, const Meta *m, EagerTensor t) except -1:
        cdef int i
        cdef Py_ssize_t size = 1
        if t.v.meta.dtype != D_BOOL:
            self.arrays.append(computed_in(t, D_I64))
            self.sizes.append(m.dims[self.k])
            self.axes.append(self.k)
            return self.indexed_axis(m)
        for i in range(t.v.meta.rank):
            if t.v.meta.dims[i] != m.dims[self.k + i] and t.v.meta.dims[i] != 0:    # an empty mask selects nothing
                raise _MaskShapeError(f"a mask of shape {shape_tuple(t.v.meta)} does not fit axis {self.k + i} of "
                                      f"size {m.dims[self.k + i]}; its shape is that of the axes it selects from",
                                      op="getitem", argument="index", expected=m.dims[self.k + i],
                                      actual=t.v.meta.dims[i])
            size *= t.v.meta.dims[i]
        self.arrays.append(mask_positions(t))
        self.sizes.append(size)
        self.axes.append(self.k)
        if t.v.meta.rank == 0:
            self.trivial = False
            self.p[2 + self.p[1]] = self.q
            self.p[1] += 1
            return self.result_axis(-1)
        for _ in range(t.v.meta.rank):
            self.indexed_axis(m)
        return 0

    cdef void separate(self) noexcept:
        """A slice, a new axis or an ellipsis stands here."""
        if self.before >= 0:
            self.ended = True

    cdef void pointed(self) noexcept:
        """An integer or an array stands here."""
        if self.before < 0:
            self.before = self.left
        elif self.ended:
            self.apart = True

    cdef EagerTensor select(self, EagerTensor x):
        if not self.trivial:
            x = slice_by(x, self.v)
        return take_axes(x, self.flat(), self.p)

    cdef EagerTensor flat(self):
        """The index arrays as one."""
        if len(self.arrays) == 1:
            return <EagerTensor> self.arrays[0]
        return flat_index(self.arrays, self.sizes, self.axes)


cdef Py_ssize_t named_by(object e) noexcept:
    """Number of axes that an entry stands for."""
    if e is None or e is Ellipsis:
        return 0
    if isinstance(e, EagerTensor) and (<EagerTensor> e).v.meta.dtype == D_BOOL:
        return (<EagerTensor> e).v.meta.rank
    return 1


cdef list entries_of(EagerTensor x, tuple index):
    """The entries of an index, arrays as tensors, with exactly one ellipsis."""
    cdef Py_ssize_t named = 0, dots = 0
    cdef list entries = []
    for e in index:
        if e is Ellipsis:
            dots += 1
        elif e is not None and not PySlice_Check(e) and not is_integer(e):
            e = array_operand(e, x)
        named += named_by(e)
        entries.append(e)
    if dots > 1:
        raise ValidationError("an index has at most one ellipsis; write the other one as slices", op="getitem",
                              argument="index")
    if named > x.v.meta.rank:
        raise AxisError(f"the index names {named} axes, the tensor has {x.v.meta.rank}; use fewer", op="getitem",
                        argument="index", expected=x.v.meta.rank, actual=named)
    if dots == 0:
        entries.append(Ellipsis)
    return entries


cdef Index parse(EagerTensor x, tuple index):
    cdef Index s = Index.__new__(Index)
    cdef const Meta *m = x.v.meta
    cdef list entries = entries_of(x, index)
    cdef Py_ssize_t named = 0, i
    for e in entries:
        named += named_by(e)
    s.arrays, s.sizes, s.axes = [], [], []
    s.before = -1
    s.trivial = True
    for e in entries:
        if e is None:
            s.trivial = False
            s.separate()
            s.result_axis(-1)
            s.left += 1
        elif e is Ellipsis:
            s.separate()
            for _ in range(m.rank - named):
                s.whole_axis(m)
                s.left += 1
        elif PySlice_Check(e):
            s.separate()
            s.part(m, e)
            s.left += 1
        else:
            s.pointed()
            if isinstance(e, EagerTensor):
                s.array(m, <EagerTensor> e)
            else:
                s.integer(m, e)
    s.v[0] = m.rank
    s.v[1] = s.q
    for i in range(s.q):
        s.v[2 + 3 * m.rank + i] = s.source[i]
    s.p[0] = 0 if s.apart or s.before < 0 else s.before
    s.p[2 + s.p[1]] = s.axes[0] if len(s.axes) == 1 else -1
    return s


cdef EagerTensor advanced_getitem(EagerTensor x, tuple index):
    return parse(x, index).select(x)


def advanced_getitem_(x, index):
    """``x[index]`` for an index that contains arrays."""
    return advanced_getitem(as_eager(x), index if isinstance(index, tuple) else (index,))


slicing.set_advanced_getitem(advanced_getitem_)


def index_set(x, index, value):
    """A copy of a tensor with new values in one place: ``y = x.copy(); y[index] = value``.

    Parameters
    ----------
    x : array_like
        Tensor of any shape and dtype.
    index : index expression
        What may stand in ``x[...]``: integers, slices, None, Ellipsis, integer and boolean arrays.
    value : array_like
        Broadcast to the shape of ``x[index]``; of a dtype that converts to x's within its kind.

    Returns
    -------
    EagerTensor
        Shape and dtype of `x`. Where arrays name a place more than once, the last value counts.

    Raises
    ------
    AxisError
        An index is out of range, or there are too many.
    ShapeMismatchError
        `value` or a mask does not fit.
    DTypeMismatchError
        `value` is of another kind than `x`, or an index array is neither integer nor bool.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.index_set([1.0, 2.0, 3.0], slice(0, 2), 9.0)
    EagerTensor([9., 9., 3.], dtype=float64)
    """
    cdef EagerTensor t = as_eager(x), v, idx
    cdef Index s = parse(t, index if isinstance(index, tuple) else (index,))
    cdef Py_ssize_t dims[64]
    cdef Py_ssize_t p[HEAD]
    cdef int rank, i
    cdef bint rows
    v = operand_for(value, t, "index_set", "value")
    rows = row_major(t.v.meta) and row_major(v.v.meta)
    if not s.arrays:
        rank = window_dims(s.v, dims)
        return set_window(t, fitted(v, rank, dims, "index_set", "value"), s.v, rows)
    if s.trivial:
        idx = s.flat()
        rows = rows and row_major(idx.v.meta)
        return scatter_op(Op.SCATTER, t, v, idx, s.p, rows, "index_set", "value")
    idx = s.select(counting(t, t.v.meta))       # the positions in x that the index names
    p[0], p[1] = 0, t.v.meta.rank
    for i in range(t.v.meta.rank):
        p[2 + i] = i
    p[2 + t.v.meta.rank] = -1
    return scatter_op(Op.SCATTER, t, v, idx, p, rows, "index_set", "value")
