"""Einstein's notation."""

from tenferro._core.abi cimport *
from tenferro._core.eager cimport EagerTensor, as_eager
from tenferro._core.memory cimport *
from .labels cimport contract_with, in_common, pair_of
from .reduce cimport sum_axes
from .structure cimport diagonal_of, permute, shape_tuple

from tenferro.errors import ShapeMismatchError, UnsupportedError, ValidationError
from .subscripts import name, parse

cdef enum:
    DETACHED = 128          # added to the label of an axis of length one that is broadcast


cdef class Contraction:
    """One set of subscripts for operands of given ranks, ready to run."""
    cdef int n                          # operands
    cdef int n_pairs
    cdef int pairs[128][4]              # (operand, axis, operand, axis) of equal length
    cdef list diagonals                 # for each operand
    cdef unsigned long long summed[2]
    cdef Params *params
    cdef list order
    cdef list terms, output

    def __cinit__(self, list terms, list output, set detached):
        cdef dict first = {}
        self.n = len(terms)
        self.terms = terms
        self.output = output
        self.diagonals = []
        for k, term in enumerate(terms):
            for axis, label in enumerate(term):
                if label not in first:
                    first[label] = (k, axis)
                    continue
                self.pairs[self.n_pairs] = [first[label][0], first[label][1], k, axis]
                self.n_pairs += 1
        rest = [self.reduce(k, terms, output, detached) for k in range(self.n)]
        if self.n == 1:
            self.order = [rest[0].index(label) for label in output]
        else:
            self.set_params(rest[0], rest[1], output)

    def __dealloc__(self):
        params_drop(self.params)

    cdef list reduce(self, int k, list terms, list output, set detached):
        """Labels that one operand keeps when its diagonals are taken and what is only its own is summed."""
        cdef list labels = list(terms[k]), steps = []
        others = set(output).union(*(terms[:k] + terms[k + 1:]), detached)
        for label in terms[k]:
            while labels.count(label) > 1:
                i = labels.index(label)
                j = labels.index(label, i + 1)
                steps.append((i, j))
                del labels[j], labels[i]
                labels.append(label)
        self.diagonals.append(steps)
        for i, label in enumerate(labels):
            if label not in others:
                self.summed[k] |= 1ULL << <int> i
        return [label for label in labels if label in others]

    cdef int set_params(self, list a, list b, list output) except -1:
        cdef int i = 2
        self.params = params_new(2 + len(a) + len(b) + len(output))
        self.params.v[0] = len(a)
        self.params.v[1] = len(b)
        for label in a + b + output:
            self.params.v[i] = label
            i += 1
        return 0

    cdef bint agrees(self, EagerTensor x, EagerTensor y):
        cdef int i
        cdef Meta *a
        cdef Meta *b
        for i in range(self.n_pairs):
            a = y.v.meta if self.pairs[i][0] else x.v.meta
            b = y.v.meta if self.pairs[i][2] else x.v.meta
            if a.dims[self.pairs[i][1]] != b.dims[self.pairs[i][3]]:
                return False
        return True

    cdef EagerTensor own(self, int k, EagerTensor x):
        """One operand without repeated labels and without those that are summed in it alone."""
        for i, j in self.diagonals[k]:
            x = diagonal_of(x, 0, i, j)
        return sum_axes(x, self.summed[k], False) if self.summed[k] else x

    cdef EagerTensor run(self, EagerTensor x, EagerTensor y):
        cdef Py_ssize_t perm[64]
        cdef int i = 0
        if self.n == 1:
            x = self.own(0, x)
            for axis in self.order:
                perm[i] = axis
                i += 1
            return permute(x, perm)
        if x.v.meta.dtype != y.v.meta.dtype:
            x, y = in_common(x, y), in_common(y, x)
        return contract_with(self.own(0, x), self.own(1, y), params_ref(self.params))


cdef dict prepared = {}                 # (subscripts, ranks) -> Contraction
cdef enum:
    MAX_PREPARED = 1024


cdef Contraction prepare(object subscripts, int rx, int ry):
    cdef object key = (subscripts, rx, ry)
    cdef object found = prepared.get(key) if type(subscripts) is str else None
    if found is None:
        terms, output = parse(subscripts, [rx] if ry < 0 else [rx, ry])
        found = Contraction(terms, output, set())
        if len(prepared) >= MAX_PREPARED:
            prepared.clear()
        prepared[key] = found
    return <Contraction> found


cdef Contraction broadcasting(Contraction c, EagerTensor x, EagerTensor y, str subscripts):
    """The same where an axis of length one of one operand stands against a longer one of the other."""
    cdef list terms = [list(term) for term in c.terms], shapes = [shape_tuple(x.v.meta)]
    cdef dict size = {}
    cdef set detached = set()
    if c.n == 2:
        shapes.append(shape_tuple(y.v.meta))
    for term, shape in zip(terms, shapes):
        for label, n in zip(term, shape):
            if size.setdefault(label, n) == 1:
                size[label] = n
    for k, shape in enumerate(shapes):
        for axis, n in enumerate(shape):
            label = terms[k][axis]
            if n != size[label] and (n != 1 or c.terms[k].count(label) > 1):
                raise ShapeMismatchError(
                    f"einsum {subscripts!r}: axis {axis} of operand {k} has length {n}, but {name(label)} has length "
                    f"{size[label]} elsewhere; make them equal", op="einsum", argument="operands", expected=size[label],
                    actual=n)
            if n != size[label]:
                terms[k][axis] = label + DETACHED
                detached.add(label + DETACHED)
    return Contraction(terms, c.output, detached)


def einsum(subscripts, *operands):
    """Sum of products in Einstein's notation, with one or two operands.

    Parameters
    ----------
    subscripts : str
        A letter for every axis, operands separated by commas, and the axes of the result after ``->``: ``"ij,jk->ik"``.
        Without ``->`` the result has the letters that occur once, in alphabetical order. ``...`` stands for axes that
        broadcast, and a letter that is repeated within an operand for a diagonal.
    *operands : array_like
        Dtypes are promoted; axes of length 1 broadcast.

    Returns
    -------
    EagerTensor

    Raises
    ------
    ValidationError
        The subscripts are malformed (the message says where) or do not fit the operands' ranks.
    ShapeMismatchError
        A letter stands for axes of different lengths.
    UnsupportedError
        There are more than two operands.
    """
    cdef EagerTensor x, y = None
    cdef Contraction c
    cdef tuple pair
    if len(operands) == 1:
        x = as_eager(operands[0])
    elif len(operands) == 2:
        pair = pair_of(operands[0], operands[1])
        x = <EagerTensor> pair[0]
        y = <EagerTensor> pair[1]
    elif len(operands) == 0:
        raise ValidationError("einsum needs operands after the subscripts", op="einsum", argument="operands")
    else:
        raise UnsupportedError(f"einsum contracts one or two operands, not {len(operands)}; contract them in pairs",
                               op="einsum", engine=None)
    c = prepare(subscripts, x.v.meta.rank, y.v.meta.rank if y is not None else -1)
    if not c.agrees(x, y):
        c = broadcasting(c, x, y, subscripts)
    return c.run(x, y)
