"""Subscripts of `einsum`, read once per expression and ranks."""

from operator import index

from tenferro.errors import ShapeMismatchError, ValidationError


def malformed(message):
    return ValidationError(message, op="einsum", argument="subscripts")


def name(label):
    """How a label is written; axes under ``...`` are pairs and count from the last one."""
    if isinstance(label, tuple):
        return f"axis -{label[1] + 1} of '...'"
    return f"label {label!r}"


class Expression:
    """Labels of every operand's axes and of the result's, numbered from 0.

    Attributes
    ----------
    text : str
        The expression as it was given, for messages.
    labels : list
        What each number stands for: a letter, an integer, or a pair for an axis under ``...``.
    terms : list of list of int
    output : list of int
    """

    def __init__(self, text, terms, output):
        self.text = text
        self.labels = list(dict.fromkeys(label for term in terms for label in term))
        number = {label: k for k, label in enumerate(self.labels)}
        self.terms = [[number[label] for label in term] for term in terms]
        self.output = [number[label] for label in output]

    def sizes(self, shapes):
        """Length of every label, an axis of length 1 giving way to a longer one."""
        found = {}
        for k, (term, shape) in enumerate(zip(self.terms, shapes)):
            for axis, (label, n) in enumerate(zip(term, shape)):
                other = found.setdefault(label, (n, k, axis))
                first = term.index(label)
                if shape[first] != n:
                    other = (shape[first], k, first)
                elif n in (1, other[0]):
                    continue
                elif other[0] == 1:
                    found[label] = (n, k, axis)
                    continue
                raise ShapeMismatchError(
                    f"einsum {self.text}: {name(self.labels[label])} has length {other[0]} in operand {other[1]} (axis "
                    f"{other[2]}) and {n} in operand {k} (axis {axis}); make them equal", op="einsum",
                    argument="operands", expected=other[0], actual=n)
        return {label: n for label, (n, _, _) in found.items()}


class Reader:
    """Terms of one expression: lists of (label, place), where ``...`` is a label."""

    def __init__(self, text, terms, starts, output, end):
        self.text = text
        self.terms = terms
        self.starts = starts            # where each term begins
        self.output = output            # None if it is not given
        self.end = end                  # where the output begins

    def wrong(self, place, what):
        """The error for one place."""
        return malformed(f"einsum subscripts {self.text}, {place}: {what}")

    def axes(self, k, rank):
        """Labels of the axes of one operand."""
        term = self.terms[k]
        dots = sum(label is ... for label, _ in term)
        if dots > 1:
            raise self.wrong([place for label, place in term if label is ...][1], "a term has at most one '...'")
        n = rank - (len(term) - dots)
        if n < 0 or (n and not dots):
            raise self.wrong(self.starts[k], f"operand {k} has {rank} axes, but its term names {len(term) - dots}")
        found = []
        for label, _ in term:
            found += [label] if label is not ... else [("...", i) for i in reversed(range(n))]
        return found

    def implicit(self, terms):
        """What is under ``...``, then the labels that occur once, in ascending order."""
        flat = [label for term in terms for label in term]
        dots = sorted({label for label in flat if isinstance(label, tuple)}, reverse=True)
        return dots + sorted(label for label in set(flat) if not isinstance(label, tuple) and flat.count(label) == 1)

    def explicit(self, terms):
        known = {label for term in terms for label in term}
        dots = sorted((label for label in known if isinstance(label, tuple)), reverse=True)
        if dots and all(label is not ... for label, _ in self.output):
            raise self.wrong(self.end, "the output needs '...', since operands have axes under it")
        found = []
        for label, place in self.output:
            if label is ...:
                if dots and dots[0] in found:
                    raise self.wrong(place, "the output has at most one '...'")
                found += dots
            elif label not in known:
                raise self.wrong(place, f"{label!r} is in no operand")
            elif label in found:
                raise self.wrong(place, f"{label!r} is twice in the output; make a diagonal with embed_diag")
            else:
                found.append(label)
        return found

    def expression(self, ranks):
        if len(self.terms) != len(ranks):
            raise malformed(f"einsum subscripts {self.text} have {len(self.terms)} terms for {len(ranks)} operands; "
                            "give one term for each")
        terms = [self.axes(k, rank) for k, rank in enumerate(ranks)]
        return Expression(self.text, terms, self.implicit(terms) if self.output is None else self.explicit(terms))


def is_letter(ch):
    """ASCII letters, those of other alphabets, and all symbols that `opt_einsum.get_symbol` gives."""
    return ch.isalpha() or (ch >= "\xc0" and not ch.isspace())


def from_string(subscripts):
    term, i = [], 0
    terms, starts = [term], ["position 0"]
    reader = Reader(repr(subscripts), terms, starts, None, None)
    while i < len(subscripts):
        ch, step, place = subscripts[i], 1, f"position {i}"
        if is_letter(ch):
            term.append((ch, place))
        elif ch == ",":
            if reader.output is not None:
                raise reader.wrong(place, "an output has one term; remove the comma")
            term = []
            terms.append(term)
            starts.append(f"position {i + 1}")
        elif subscripts.startswith("...", i):
            if any(label is ... for label, _ in term):
                raise reader.wrong(place, "a term has at most one '...'")
            term.append((..., place))
            step = 3
        elif subscripts.startswith("->", i):
            if reader.output is not None:
                raise reader.wrong(place, "there is at most one '->'")
            reader.output = term = []
            reader.end = f"position {i + 2}"
            step = 2
        elif ch != " ":
            raise reader.wrong(place, f"{ch!r} is not allowed; use letters, ',', '->' and '...'")
        i += step
    return reader


def from_lists(lists, output):
    """From tuples of integers and Ellipsis."""
    def written(labels):
        return "[" + ", ".join("..." if label is ... else str(label) for label in labels) + "]"

    text = ", ".join(map(written, lists)) + ("" if output is None else f" -> {written(output)}")
    terms = [[(label, f"operand {k}, index {i}") for i, label in enumerate(term)] for k, term in enumerate(lists)]
    if output is not None:
        output = [(label, f"output, index {i}") for i, label in enumerate(output)]
    return Reader(text, terms, [f"operand {k}" for k in range(len(lists))], output, "output")


def checked(labels, what):
    """Labels of the integer form as a tuple of int and Ellipsis."""
    if not isinstance(labels, (list, tuple, range)):
        raise malformed(f"einsum: the labels of {what} are a list of integers, not {type(labels).__name__}")
    found = []
    for i, label in enumerate(labels):
        try:
            found.append(label if label is ... else int(index(label)))
        except TypeError:
            raise malformed(f"einsum: label {i} of {what} is an integer or Ellipsis, not {label!r}") from None
    return tuple(found)


def parse(subscripts, ranks):
    """`Expression` of a string, or of a pair (tuples of integers for the operands, one for the result or None)."""
    reader = from_string(subscripts) if isinstance(subscripts, str) else from_lists(*subscripts)
    return reader.expression(ranks)
