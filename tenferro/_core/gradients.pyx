"""The gradient slots of leaves, and what a backward sweep returns."""

cimport cython
from .eager cimport alias, apply2
from .memory cimport *
from .optable cimport Op
from .spaces cimport download, upload

from .state import seal


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class Gradients:
    """Mapping from tracked leaf to gradient, as returned by ``backward``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x, y = tfr.variable(2.0), tfr.variable(5.0)
    >>> grads = (x * y).backward()
    >>> len(grads), grads[x].item(), x in grads
    (2, 5.0, True)
    """
    def __init__(self):
        raise TypeError("gradients are returned by EagerTensor.backward")

    def __len__(self):
        return len(self.items_)

    def __iter__(self):
        return iter([pair[0] for pair in self.items_.values()])

    def __contains__(self, x):
        return key_of(x) in self.items_

    def __getitem__(self, x):
        pair = self.items_.get(key_of(x))
        if pair is None:
            raise KeyError("no gradient for this tensor: it is no tracked leaf of the differentiated graph, or was taken")
        return pair[1]

    def get(self, x, default=None):
        """Gradient of a leaf.

        Parameters
        ----------
        x : EagerTensor
        default : object
            What comes back if there is none.

        Returns
        -------
        EagerTensor or object

        Examples
        --------
        >>> import tenferro as tfr
        >>> x = tfr.variable(2.0)
        >>> (3.0 * x).backward().get(x).item()
        3.0
        """
        pair = self.items_.get(key_of(x))
        return default if pair is None else pair[1]

    def take(self, x):
        """Move the gradient of a leaf out of the mapping.

        Parameters
        ----------
        x : EagerTensor

        Returns
        -------
        EagerTensor or None
            None if there is none.

        Examples
        --------
        >>> import tenferro as tfr
        >>> x = tfr.variable(2.0)
        >>> grads = (3.0 * x).backward()
        >>> grads.take(x).item(), len(grads)
        (3.0, 0)
        """
        pair = self.items_.pop(key_of(x), None)
        return None if pair is None else pair[1]

    def keys(self):
        """The leaves.

        Returns
        -------
        list of EagerTensor

        Examples
        --------
        >>> import tenferro as tfr
        >>> x = tfr.variable(2.0)
        >>> (3.0 * x).backward().keys() == [x]
        True
        """
        return list(self)

    def values(self):
        """The gradients.

        Returns
        -------
        list of EagerTensor

        Examples
        --------
        >>> import tenferro as tfr
        >>> x = tfr.variable(2.0)
        >>> (3.0 * x).backward().values()
        [EagerTensor(3., dtype=float64)]
        """
        return [pair[1] for pair in self.items_.values()]

    def items(self):
        """Leaves and gradients.

        Returns
        -------
        list
            Pairs.

        Examples
        --------
        >>> import tenferro as tfr
        >>> x = tfr.variable(2.0)
        >>> [(leaf.item(), g.item()) for leaf, g in (3.0 * x).backward().items()]
        [(2.0, 3.0)]
        """
        return list(self.items_.values())

    def __repr__(self):
        return f"<Gradients of {len(self.items_)} leaves>"


cdef object key_of(object x):
    if isinstance(x, EagerTensor) and (<EagerTensor> x).node != NULL:
        return <size_t> (<EagerTensor> x).node
    return 0


cdef EagerTensor leaf_handle(Leaf *f, EagerRuntime rt):
    """A handle that stands for a leaf: one that lives, else a new one."""
    cdef EagerTensor t
    if f.handles != NULL:
        return <EagerTensor> f.handles
    t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    value_copy(&t.v, &f.value)
    f.node.refs += 1
    t.node = &f.node
    f.handles = <PyObject *> t
    return t


cdef EagerTensor moved(EagerTensor t, int space):
    """The same tensor in another memory."""
    cdef EagerTensor u = alias(t, t.node)
    cdef Value v
    if t.node != NULL:
        t.node.refs += 1
    if space == HOST_SPACE:
        download(&v, &t.v)
    else:
        upload(&v, space, &t.v)
    value_drop(&u.v)
    u.v = v
    return u


cdef Gradients commit(EagerRuntime rt, list leaves, list grads):
    """Add to the gradient slots; nothing is changed before all that can fail is done."""
    cdef Gradients out = Gradients.__new__(Gradients)
    cdef Leaf *f
    cdef EagerTensor total
    cdef Py_ssize_t i, n = len(leaves)
    cdef list totals = [None] * n, olds = [None] * n
    cdef bint again = True
    out.items_ = {}
    for i in range(n):
        f = <Leaf *> <size_t> leaves[i]
        if (<EagerTensor> grads[i]).v.buf.space != f.value.buf.space:
            grads[i] = moved(<EagerTensor> grads[i], f.value.buf.space)
        out.items_[<size_t> f] = (leaf_handle(f, rt), grads[i])
    while again:                        # a kernel may give up the GIL, and another thread commit meanwhile
        again = False
        for i in range(n):
            f = <Leaf *> <size_t> leaves[i]
            if totals[i] is None or changed(f, <EagerTensor> olds[i]):
                olds[i] = slot_tensor(f, rt)
                totals[i] = grads[i]
                if olds[i] is not None:
                    totals[i] = apply2(Op.ADD, <EagerTensor> olds[i], <EagerTensor> grads[i])
                    again = True
    for i in range(n):
        f = <Leaf *> <size_t> leaves[i]
        total = <EagerTensor> totals[i]
        value_drop(&f.grad)
        value_copy(&f.grad, &total.v)
    return out


cdef bint changed(Leaf *f, EagerTensor old) noexcept:
    if old is None:
        return f.grad.meta != NULL
    return f.grad.buf != old.v.buf or f.grad.data != old.v.data


cdef EagerTensor slot_tensor(Leaf *f, EagerRuntime rt):
    """Snapshot of a gradient slot; None while it is empty."""
    cdef EagerTensor t
    if f.grad.meta == NULL:
        return None
    t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    value_copy(&t.v, &f.grad)
    return t


seal(Gradients)
