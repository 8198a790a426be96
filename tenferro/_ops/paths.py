"""In which order many tensors are contracted in pairs, and the labels of every pair."""

from itertools import count, pairwise
from operator import index

from tenferro.errors import ValidationError

# ---- order -----------------------------------------------------------------------------------------------------------

def invalid(message):
    return ValidationError(f"einsum: {message}", op="einsum", argument="optimize")


def explicit(path, n):
    """A path given by the caller: tuples of positions among what is left, each result going to the end."""
    left, found = n, []
    for k, step in enumerate(path):
        try:
            at = [index(i) for i in step]
        except TypeError:
            raise invalid(f"step {k} of the path is a tuple of positions, not {step!r}") from None
        if not at or len(set(at)) < len(at) or not all(0 <= i < left for i in at):
            raise invalid(f"step {k} of the path is {step!r}, but needs distinct positions below {left}")
        left -= len(at) - 1
        found.append(tuple(at))
    if left > 1:
        raise invalid(f"the path leaves {left} tensors; contract all {n} operands into one")
    return found


def symbols(labels):
    """A letter for every label, its own where it is one."""
    from opt_einsum import get_symbol
    free = (s for s in map(get_symbol, count()) if s not in labels)
    return [label if isinstance(label, str) else next(free) for label in labels]


def searched(terms, output, sizes, labels, optimize, limit=None):
    """``(path, description)`` that opt_einsum finds for lengths alone."""
    from opt_einsum import contract_path, paths
    if isinstance(optimize, str):
        try:
            paths.get_path_fn(optimize)
        except KeyError:
            raise invalid(f"no path algorithm is called {optimize!r}; use 'auto', 'greedy', 'optimal', False, or a "
                          "path") from None
    letters = symbols(labels)
    written = ",".join("".join(letters[label] for label in term) for term in terms)
    shapes = [tuple(max(sizes[label], 1) for label in term) for term in terms]
    return contract_path(written + "->" + "".join(letters[label] for label in output), *shapes, shapes=True,
                         optimize=optimize, memory_limit=limit)


def path_for(terms, output, sizes, labels, optimize):
    """List of tuples of positions.

    `optimize` is a bool, the name of an algorithm, ``(name, memory limit)``, a callable like those of opt_einsum, or a
    path.
    """
    n = len(terms)
    if optimize is False:
        return [tuple(range(n))]
    if callable(optimize):
        inputs = [frozenset(term) for term in terms]
        return explicit(optimize(inputs, frozenset(output), {k: max(v, 1) for k, v in sizes.items()}, None), n)
    if isinstance(optimize, tuple):
        if optimize[:1] == ("einsum_path",):
            return explicit(optimize[1:], n)
        if len(optimize) != 2 or not isinstance(optimize[0], str):
            return explicit(optimize, n)
    if n < 3 and optimize in (True, "auto"):
        return [tuple(range(n))]
    name, limit = optimize if isinstance(optimize, tuple) else ("auto" if optimize is True else optimize, None)
    return searched(terms, output, sizes, labels, name, limit)[0]


# ---- operands --------------------------------------------------------------------------------------------------------

def leaf(term, kept, free):
    """How an operand loses what it has alone: ``(pairs of axes for diagonals, mask of summed axes, labels left)``.

    `free` are labels of axes of length 1 that need no sum; they are left as None.
    """
    labels, diagonals, summed, left = list(term), [], 0, []
    for label in term:
        while labels.count(label) > 1:
            i = labels.index(label)
            j = labels.index(label, i + 1)
            diagonals.append((i, j))
            del labels[j], labels[i]
            labels.append(label)
    for i, label in enumerate(labels):
        if label in kept:
            left.append(label)
        elif label in free:
            left.append(None)
        else:
            summed |= 1 << i
    return tuple(diagonals), summed, left


def leaves(expression, shapes, sizes):
    """`leaf` of every operand; an axis of length 1 that stands against a longer one takes no part."""
    terms, uses, short = expression.terms, {}, [set() for _ in expression.terms]
    if shapes is not None and len(terms) > 1:
        short = [{label for label, n in zip(term, shape) if n == 1} for term, shape in zip(terms, shapes)]
    taking = [{label for label in term if label not in ones or sizes[label] == 1} for term, ones in zip(terms, short)]
    for labels in [*taking, expression.output]:
        for label in labels:
            uses[label] = uses.get(label, 0) + 1
    return [leaf(term, {label for label in some if uses[label] > 1}, ones)
            for term, some, ones in zip(terms, taking, short)]


# ---- the tree --------------------------------------------------------------------------------------------------------

def pairs(labels, output, path):
    """Pairs of nodes to contract. Nodes are numbered: the operands, then the results, whose labels are appended."""
    uses = dict.fromkeys(output, 1)
    for term in labels:
        for label in term:
            uses[label] = uses.get(label, 0) + 1
    live, found = list(range(len(labels))), []
    for step in path:
        group = [live[i] for i in step]
        for i in sorted(step, reverse=True):
            del live[i]
        while len(group) > 1:
            x, y, *rest = group
            found.append((x, y))
            both = [label for label in labels[x] + labels[y] if label is not None]
            for label in both:
                uses[label] -= 1
            out = [label for label in dict.fromkeys(both) if uses[label]]
            for label in out:
                uses[label] += 1
            if len(out) > 64:
                raise ValidationError(f"einsum: a partial product would have {len(out)} axes, and a tensor has at most "
                                      "64; give another path in optimize", op="einsum", argument="optimize")
            group = [len(labels), *rest]
            labels.append(out)
        live += group
    return found


def arranged(x, y, out, groups):
    """Axes of a partial product: those of one operand, the common ones, those of the other.

    Then the product is written as it is, in either memory order. Among such orders, the one that leaves most neighbours
    in the groups of its consumer together.
    """
    after = {pair for group in groups for pair in pairwise(group)}
    best, most = None, -1
    for wanted in (groups, groups[::-1]):
        place = {label: k for k, label in enumerate(label for group in wanted for label in group)}
        rows, both, columns = (sorted((label for label in out if (label in x, label in y) == kind), key=place.get)
                               for kind in ((True, False), (True, True), (False, True)))
        for order in (rows + both + columns, columns + both + rows):
            together = sum(pair in after for pair in pairwise(order))
            if together > most:
                best, most = order, together
    return best


def groups_for(x, y, out, summed):
    """Axes of the first operand of a product that are its own, those of all three tensors, those that are summed."""
    mine = [label for label in out if label in x]
    return [[label for label in mine if label not in y], [label for label in mine if label in y], summed]


def numbered(x, y, out):
    """Labels of one pair as small numbers; what takes no part gets a number of its own."""
    fresh, number = count(), {}
    return [[next(fresh) if label is None else number.setdefault(label, next(fresh)) for label in labels]
            for labels in (x, y, out)]


def tree(labels, output, path):
    """``(slot, slot, labels, labels, labels of the result)`` for every product; the result goes to the first slot."""
    n, labels = len(labels), list(labels)
    steps = pairs(labels, output, path)
    wanted = {}
    labels[-1] = output
    for k in reversed(range(len(steps))):
        x, y = steps[k]
        if k < len(steps) - 1:
            labels[n + k] = arranged(labels[x], labels[y], labels[n + k], wanted[n + k])
        out = labels[n + k]
        summed = [label for label in labels[y if y < n else x] if label is not None and label in labels[x]
                  and label in labels[y] and label not in out]
        wanted[x] = groups_for(labels[x], labels[y], out, summed)
        wanted[y] = groups_for(labels[y], labels[x], out, summed)
    slots, found = list(range(n)), []
    for k, (x, y) in enumerate(steps):
        slots.append(slots[x])
        found.append((slots[x], slots[y], *numbered(labels[x], labels[y], labels[n + k])))
    return found


def plan(expression, shapes, optimize):
    """``(leaves, products, order)``: order is the permutation for a single operand.

    Without shapes, which only one or two operands may lack, axes of length 1 do not broadcast.
    """
    sizes = None if shapes is None else expression.sizes(shapes)
    own = leaves(expression, shapes, sizes)
    labels = [left for _, _, left in own]
    if shapes is None:
        path = [tuple(range(len(labels)))]
    else:
        named = [[label for label in left if label is not None] for left in labels]
        path = path_for(named, expression.output, sizes, expression.labels, optimize)
    if len(labels) == 1:
        return own, [], [labels[0].index(label) for label in expression.output]
    return own, tree(labels, expression.output, path), None


def described(expression, shapes, optimize):
    """A path and a printable table of its costs."""
    sizes = expression.sizes(shapes)
    named = [[label for label in left if label is not None] for _, _, left in leaves(expression, shapes, sizes)]
    path = path_for(named, expression.output, sizes, expression.labels, optimize)
    return path, str(searched(named, expression.output, sizes, expression.labels, path)[1])
