"""Subscripts of `einsum`, read once per string and ranks."""

from tenferro.errors import ValidationError

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
ELLIPSIS = 52
"""Labels from here on stand for the axes of ``...``, counted from the last one."""


def name(label):
    """How a label is written."""
    return f"'{LETTERS[label]}'" if label < ELLIPSIS else f"axis -{label - ELLIPSIS + 1} of '...'"


def malformed(message):
    return ValidationError(message, op="einsum", argument="subscripts")


def wrong(subscripts, position, what):
    """The error for one place in the string."""
    return malformed(f"einsum subscripts {subscripts!r}, position {position}: {what}")


def split(subscripts):
    """Terms and output as lists of (label letter or '...', position); None for an output that is not given."""
    terms, output, term, i = [], None, [], 0
    while i < len(subscripts):
        ch, step = subscripts[i], 1
        if ch in LETTERS:
            term.append((ch, i))
        elif ch == ",":
            if output is not None:
                raise wrong(subscripts, i, "an output has one term; remove the comma")
            terms.append(term)
            term = []
        elif subscripts.startswith("...", i):
            if any(c == "..." for c, _ in term):
                raise wrong(subscripts, i, "a term has at most one '...'")
            term.append(("...", i))
            step = 3
        elif subscripts.startswith("->", i):
            if output is not None:
                raise wrong(subscripts, i, "there is at most one '->'")
            terms.append(term)
            term = output = []
            step = 2
        elif ch != " ":
            raise wrong(subscripts, i, f"{ch!r} is not allowed; use letters, ',', '->' and '...'")
        i += step
    if output is None:
        terms.append(term)
    return terms, output


def labels_of(subscripts, term, rank, operand):
    """Labels of the axes of one operand."""
    named = sum(c != "..." for c, _ in term)
    dots = rank - named if named < len(term) else 0
    if dots < 0 or named + dots != rank:
        start = term[0][1] if term else operand and subscripts.index(",") + 1
        raise wrong(subscripts, start, f"operand {operand} has {rank} axes, but its term names {named}")
    found = []
    for c, _ in term:
        found += [LETTERS.index(c)] if c != "..." else range(ELLIPSIS + dots - 1, ELLIPSIS - 1, -1)
    return found


def output_labels(subscripts, output, terms):
    """Labels of an explicit output."""
    known = {label for term in terms for label in term}
    dots = max((label - ELLIPSIS + 1 for label in known), default=0)
    if dots > 0 and all(c != "..." for c, _ in output):
        raise wrong(subscripts, subscripts.index("->") + 2, "the output needs '...', since operands have axes under it")
    found = []
    for c, position in output:
        if c == "...":
            found += range(ELLIPSIS + dots - 1, ELLIPSIS - 1, -1)
            continue
        label = LETTERS.index(c)
        if label not in known:
            raise wrong(subscripts, position, f"'{c}' is in no operand")
        if label in found:
            raise wrong(subscripts, position, f"'{c}' is twice in the output; make a diagonal with embed_diag")
        found.append(label)
    return found


def parse(subscripts, ranks):
    """Labels (small integers) of every operand's axes and of the result's."""
    if not isinstance(subscripts, str):
        raise malformed(f"einsum takes a string such as 'ij,jk->ik' first, not {type(subscripts).__name__}")
    terms, output = split(subscripts)
    if len(terms) != len(ranks):
        raise malformed(f"einsum subscripts {subscripts!r} have {len(terms)} terms for {len(ranks)} operands; "
                        "give one term for each")
    labels = [labels_of(subscripts, term, rank, k) for k, (term, rank) in enumerate(zip(terms, ranks))]
    if output is not None:
        return labels, output_labels(subscripts, output, labels)
    flat = [label for term in labels for label in term]
    dots = sorted({label for label in flat if label >= ELLIPSIS}, reverse=True)
    return labels, dots + sorted(label for label in set(flat) if label < ELLIPSIS and flat.count(label) == 1)
