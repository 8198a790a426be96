"""Nested containers of tensors: tuples, lists, dicts and named tuples, flattened in a fixed order."""

from .errors import ValidationError


class Leaf:
    """Marks the place of a leaf in a structure."""

    def __repr__(self):
        return "*"

    def __eq__(self, other):
        return isinstance(other, Leaf)

    __hash__ = None


LEAF = Leaf()
CONTAINERS = (dict, tuple, list, type(None))


def flatten(tree, leaves=None):
    """``(leaves, structure)`` of a container; anything that is no container is a leaf. Dicts go by insertion order."""
    leaves = [] if leaves is None else leaves
    if not isinstance(tree, CONTAINERS):
        leaves.append(tree)
        return leaves, LEAF
    if isinstance(tree, dict):
        return leaves, _dict_like(tree, {key: flatten(value, leaves)[1] for key, value in tree.items()})
    if isinstance(tree, (tuple, list)):
        return leaves, _sequence_like(tree, [flatten(value, leaves)[1] for value in tree])
    return leaves, None


def unflatten(structure, leaves):
    """The container of a structure with the given leaves."""
    if structure is LEAF:
        return leaves[0]
    return _fill(structure, iter(leaves))


def _fill(structure, leaves):
    if structure is LEAF:
        return next(leaves)
    if isinstance(structure, dict):
        return _dict_like(structure, {key: _fill(value, leaves) for key, value in structure.items()})
    if isinstance(structure, (tuple, list)):
        return _sequence_like(structure, [_fill(value, leaves) for value in structure])
    return structure


def _dict_like(tree, items):
    if type(tree) is dict:
        return items
    copy = tree.copy()                  # keeps what a subclass holds beside its items
    copy.update(items)
    return copy


def _sequence_like(tree, parts):
    return type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)


def map_tree(f, tree):
    """A container of the same structure with `f` applied to every leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [f(leaf) for leaf in leaves])


def paths(structure, path="$"):
    """Where each leaf stands, written as Python indexes it."""
    if structure is LEAF:
        return [path]
    if isinstance(structure, dict):
        parts = structure.items()
    elif isinstance(structure, (tuple, list)):
        parts = enumerate(structure)
    else:
        return []
    return [found for key, part in parts for found in paths(part, f"{path}[{key!r}]")]


def match(structure, tree, argument, path="$"):
    """Leaves of `tree`, which must have this structure; the error names the path where it differs.

    A list or tuple in the place of a leaf is taken for an array.
    """
    if structure is LEAF:
        if isinstance(tree, dict):
            _differs("no container", tree, argument, path)
        return [tree]
    if isinstance(structure, dict):
        if not isinstance(tree, dict) or tree.keys() != structure.keys():
            _differs(f"a dict with keys {list(structure)}", tree, argument, path)
        return [leaf for key in structure for leaf in match(structure[key], tree[key], argument, f"{path}[{key!r}]")]
    if isinstance(structure, (tuple, list)):
        if not isinstance(tree, (tuple, list)) or len(tree) != len(structure):
            _differs(f"{len(structure)} items", tree, argument, path)
        return [leaf for i, part in enumerate(structure) for leaf in match(part, tree[i], argument, f"{path}[{i}]")]
    if tree is not None:
        _differs("None", tree, argument, path)
    return []


def _differs(expected, tree, argument, path):
    got = f"a dict with keys {list(tree)}" if isinstance(tree, dict) else (
        f"{len(tree)} items" if isinstance(tree, (tuple, list)) else type(tree).__name__)
    raise ValidationError(f"{argument} has another structure than its primal at {path}: expected {expected}, got "
                          f"{got}; give it the primal's containers", argument=argument)
