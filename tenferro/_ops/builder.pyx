"""Slices built up axis by axis."""

cimport cython
from tenferro._core.eager cimport EagerTensor, check
from tenferro._core.state cimport EagerSession, close_session, install, open_session
from .slicing import getitem
from .structure cimport axis_of

from tenferro._core.state import seal
from tenferro.errors import ContextMismatchError, RuntimeStateError, ValidationError


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class SliceBuilder:
    """Description of a slice of one tensor; made by `EagerTensor.slice_builder`. Every axis stays one of the result.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.constant([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    >>> x.slice_builder().axis(0, 1, 2).axis_step(1, 0, 3, 2).apply()
    EagerTensor([[4., 6.]], dtype=float64)
    """

    cdef EagerTensor x
    cdef dict bounds            # axis -> slice
    cdef dict indices           # axis -> integer array-like

    def __init__(self):
        raise TypeError("slice builders are made by EagerTensor.slice_builder()")

    cdef int free(self, object axis) except -1:
        """The axis, which no earlier call has named."""
        cdef int k = axis_of(axis, self.x.v.meta.rank)
        if k in self.bounds or k in self.indices:
            raise ValidationError(f"axis {axis} is named twice; describe each axis once", op="slice_builder",
                                  argument="axis")
        return k

    def axis(self, axis, start, stop):
        """Keep ``start <= i < stop`` along an axis.

        Parameters
        ----------
        axis, start, stop : int
            Not negative but for the axis.

        Returns
        -------
        SliceBuilder
            This one.

        Raises
        ------
        ValidationError
            The axis is named twice, or not ``0 <= start <= stop <= length``.
        AxisError
            The axis is out of range.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.constant([1.0, 2.0, 3.0]).slice_builder().axis(0, 1, 3).apply()
        EagerTensor([2., 3.], dtype=float64)
        """
        return self.axis_step(axis, start, stop, 1)

    def axis_step(self, axis, start, stop, step):
        """Keep every step-th index along an axis, from `start` on as long as it is below `stop`.

        A negative step runs downwards from `start` as long as the index is above `stop`; ``stop=-1`` then includes
        index 0.

        Parameters
        ----------
        axis, start, stop, step : int
            ``stop=-1`` with a negative step includes index 0.

        Returns
        -------
        SliceBuilder
            This one.

        Raises
        ------
        ValidationError
            The axis is named twice, the step is zero, or the range leaves the axis.
        AxisError
            The axis is out of range.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.constant([1.0, 2.0, 3.0]).slice_builder().axis_step(0, 2, -1, -2).apply()
        EagerTensor([3., 1.], dtype=float64)
        """
        cdef int k = self.free(axis)
        cdef Py_ssize_t n = self.x.v.meta.dims[k], a = start, b = stop, s = step
        if s == 0:
            raise ValidationError("the step is zero; use a positive or negative step", op="slice_builder",
                                  argument="step")
        if not (0 <= a <= b <= n if s > 0 else -1 <= b <= a < n):
            raise ValidationError(f"start {a} and stop {b} with step {s} leave axis {k} of length {n}",
                                  op="slice_builder", argument="start")
        self.bounds[k] = slice(a, None if b < 0 else b, s) if a != b else slice(0, 0)
        return self

    def take_axis(self, axis, indices):
        """Keep the given indices along an axis, in their order.

        Parameters
        ----------
        axis : int
        indices : integer array_like
            One-dimensional; negative indices count from the end.

        Returns
        -------
        SliceBuilder
            This one.

        Raises
        ------
        ValidationError
            The axis is named twice.
        AxisError
            The axis is out of range.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.constant([1.0, 2.0, 3.0]).slice_builder().take_axis(0, [2, 0]).apply()
        EagerTensor([3., 1.], dtype=float64)
        """
        self.indices[self.free(axis)] = indices
        return self

    def apply(self, session=None):
        """The slice: a view where no indices are taken.

        Parameters
        ----------
        session : EagerSession, optional
            Runs on this session's engine.

        Returns
        -------
        EagerTensor

        Raises
        ------
        RuntimeStateError
            The session has ended.
        ContextMismatchError
            The session is another runtime's.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.constant([1.0, 2.0, 3.0]).slice_builder().axis(0, 0, 2).apply()
        EagerTensor([1., 2.], dtype=float64)
        """
        cdef EagerSession s, given
        check(self.x)
        if session is None:
            return self.result()
        given = <EagerSession?> session
        if given.closed:
            raise RuntimeStateError("the session has ended; open a new one", op="slice_builder")
        if given.runtime is not self.x.rt:
            raise ContextMismatchError(lhs=given.runtime.id, rhs=self.x.rt.id)
        s = open_session(given.runtime, given.engine)
        try:
            return self.result()
        finally:
            close_session(s)

    cdef object result(self):
        whole = slice(None)
        y = getitem(self.x, tuple([self.bounds.get(k, whole) for k in range(self.x.v.meta.rank)]))
        if self.indices:
            from .index import take
            for k, indices in self.indices.items():
                y = take(y, indices, axis=k)
        return y

    def __repr__(self):
        return f"<SliceBuilder of a tensor of shape {self.x.shape}>"


def slice_builder(EagerTensor self):
    """Start to describe a rank-preserving slice axis by axis.

    Returns
    -------
    SliceBuilder

    Raises
    ------
    RuntimeStateError
        The handle was consumed by `into_value`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant([1.0, 2.0, 3.0]).slice_builder().axis(0, 1, 3).apply()
    EagerTensor([2., 3.], dtype=float64)
    """
    cdef SliceBuilder b = SliceBuilder.__new__(SliceBuilder)
    check(self)
    b.x = self
    b.bounds = {}
    b.indices = {}
    return b


install(EagerTensor, "slice_builder", slice_builder)
seal(SliceBuilder)
