"""Einstein's notation."""

from tenferro._core.eager cimport EagerTensor, as_eager, as_operand
from tenferro._core.state cimport EagerRuntime, ambient_runtime
from .labels cimport pair_of
from .plans cimport Plan, plan_of_ranks, plan_of_shapes
from .structure cimport shape_tuple

from tenferro.errors import ValidationError
from .paths import described, invalid
from .subscripts import checked, malformed, parse

cdef object _auto = "auto"


cdef tuple label_tuple(object labels, object what):
    cdef tuple found
    if type(labels) is list or type(labels) is tuple:
        found = tuple(labels)
        for label in found:
            if type(label) is not int and label is not Ellipsis:
                return checked(labels, what)
        return found
    return checked(labels, what)


cdef tuple separated(object subscripts, tuple rest):
    """``(subscripts, operands)`` of either form of the arguments."""
    cdef list lists = []
    cdef list operands = []
    cdef tuple output = None
    cdef Py_ssize_t i, n = len(rest) + 1
    if isinstance(subscripts, str):
        return str(subscripts), rest
    if n == 1:
        raise malformed(f"einsum takes a string such as 'ij,jk->ik' and operands, or operands with lists of labels, not "
                        f"{type(subscripts).__name__} alone")
    for i in range(0, n - 1, 2):
        operands.append(rest[i - 1] if i else subscripts)
        lists.append(label_tuple(rest[i], f"operand {i // 2}"))
    if n % 2:
        output = label_tuple(rest[n - 2], "the result")
    return (tuple(lists), output), tuple(operands)


cdef list in_one_runtime(tuple operands):
    cdef EagerRuntime rt = None
    for x in operands:
        if isinstance(x, EagerTensor):
            rt = (<EagerTensor> x).rt
            break
    if rt is None:
        rt = ambient_runtime()
    return [as_operand(x, rt) for x in operands]


cdef object hashable(object optimize):
    """A bool, a name, a callable, or a tuple."""
    if isinstance(optimize, (bool, str)) or callable(optimize):
        return optimize
    try:
        return tuple([part if isinstance(part, (str, int, float)) else tuple(part) for part in optimize])
    except TypeError:
        raise invalid(f"optimize is a bool, 'auto', 'greedy', 'optimal' or a path such as [(0, 1), (0, 1)], not "
                      f"{optimize!r}") from None


def einsum(subscripts, *operands, optimize="auto"):
    """Sum of products in Einstein's notation.

    ``einsum("ij,jk->ik", a, b)``, or with integers as labels ``einsum(a, [0, 1], b, [1, 2], [0, 2])``.

    Parameters
    ----------
    subscripts : str or array_like
        A letter for every axis, operands separated by commas, and the axes of the result after ``->``. Without ``->``
        the result has the letters that occur once, in alphabetical order. ``...`` stands for axes that broadcast, and a
        letter that is repeated within an operand for a diagonal. In the other form, each operand is followed by the
        list of its labels, any integers or ``Ellipsis``, and the last list is the result's.
    *operands : array_like
        Any number. Dtypes are promoted; axes of length 1 broadcast.
    optimize : bool, str, sequence or callable
        The order in which more than two operands are contracted in pairs: the name of an algorithm of opt_einsum
        (``"auto"``, ``"greedy"``, ``"optimal"``, ...), alone or in a pair with a memory limit; True for ``"auto"``;
        False from left to right; or a path as `einsum_path` gives it, a list of tuples of positions.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The subscripts are malformed (the message says where), do not fit the number or ranks of the operands, or the
        path is no path.
    ShapeMismatchError
        A label stands for axes of different lengths.

    Notes
    -----
    The products are recorded one by one, so that the derivative with respect to N operands costs O(N) products. Orders
    that were found are kept, see `EagerRuntime.cache_stats`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.einsum("ij,jk->ik", [[1.0, 2.0], [3.0, 4.0]], [[1.0], [10.0]])
    EagerTensor([[21.],
                 [43.]], dtype=float64)
    """
    cdef EagerTensor x, y
    cdef Plan plan
    cdef tuple pair
    cdef list xs
    cdef Py_ssize_t n
    if type(subscripts) is not str:
        subscripts, operands = separated(subscripts, operands)
    n = len(operands)
    if n == 0:
        raise ValidationError("einsum needs operands after the subscripts", op="einsum", argument="operands")
    if optimize is not _auto:
        optimize = hashable(optimize)
    elif n == 2:
        pair = pair_of(operands[0], operands[1])
        x = <EagerTensor> pair[0]
        y = <EagerTensor> pair[1]
        plan = plan_of_ranks(subscripts, x.v.meta.rank, y.v.meta.rank)
        if plan.agrees(x, y):
            return plan.run2(x, y)
        operands = pair
    elif n == 1:
        x = as_eager(operands[0])
        plan = plan_of_ranks(subscripts, x.v.meta.rank, -1)
        if plan.agrees(x, x):
            return plan.run1(x)
    xs = in_one_runtime(<tuple> operands)
    return plan_of_shapes(subscripts, xs, optimize).run(xs)


def einsum_path(subscripts, *operands, optimize="auto"):
    """The order in which `einsum` contracts its operands, and what it costs.

    Parameters
    ----------
    subscripts, *operands, optimize
        As in `einsum`; of the operands only the shapes are used.

    Returns
    -------
    path : list
        ``"einsum_path"``, then a tuple of positions for every step, as `optimize` of `einsum` takes it.
    description : str
        Number of operations with and without this order, and every step.

    Raises
    ------
    ValidationError, ShapeMismatchError
        As in `einsum`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> path, description = tfr.einsum_path("ij,jk,k->i", tfr.ones((9, 9)), tfr.ones((9, 9)), tfr.ones(9))
    >>> path
    ['einsum_path', (1, 2), (0, 1)]
    """
    subscripts, operands = separated(subscripts, operands)
    shapes = [shape_tuple((<EagerTensor> as_eager(x)).v.meta) for x in operands]
    path, text = described(parse(subscripts, [len(shape) for shape in shapes]), shapes, hashable(optimize))
    return ["einsum_path", *path], text
