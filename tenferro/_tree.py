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


def flatten(tree, leaves=None):
    """``(leaves, structure)`` of a container; anything that is no container is a leaf. Dicts go by insertion order."""
    leaves = [] if leaves is None else leaves
    if isinstance(tree, dict):
        return leaves, {key: flatten(value, leaves)[1] for key, value in tree.items()}
    if isinstance(tree, (tuple, list)):
        parts = [flatten(value, leaves)[1] for value in tree]
        return leaves, type(tree)(*parts) if hasattr(tree, "_fields") else type(tree)(parts)
    if tree is None:
        return leaves, None
    leaves.append(tree)
    return leaves, LEAF


def unflatten(structure, leaves):
    """The container of a structure with the given leaves."""
    return _fill(structure, iter(leaves))


def _fill(structure, leaves):
    if isinstance(structure, Leaf):
        return next(leaves)
    if isinstance(structure, dict):
        return {key: _fill(value, leaves) for key, value in structure.items()}
    if isinstance(structure, (tuple, list)):
        parts = [_fill(value, leaves) for value in structure]
        return type(structure)(*parts) if hasattr(structure, "_fields") else type(structure)(parts)
    return structure


def map_tree(f, tree):
    """A container of the same structure with `f` applied to every leaf."""
    leaves, structure = flatten(tree)
    return unflatten(structure, [f(leaf) for leaf in leaves])


def match(structure, tree, argument, path="$"):
    """Leaves of `tree`, which must have this structure; the error names the path where it differs."""
    if isinstance(structure, Leaf):
        return [tree]
    if isinstance(structure, dict):
        if not isinstance(tree, dict) or tree.keys() != structure.keys():
            _differs(structure, tree, argument, path)
        return [leaf for key in structure for leaf in match(structure[key], tree[key], argument, f"{path}[{key!r}]")]
    if isinstance(structure, (tuple, list)):
        if not isinstance(tree, (tuple, list)) or len(tree) != len(structure):
            _differs(structure, tree, argument, path)
        return [leaf for i, part in enumerate(structure) for leaf in match(part, tree[i], argument, f"{path}[{i}]")]
    return []


def _differs(structure, tree, argument, path):
    expected = f"a dict with keys {list(structure)}" if isinstance(structure, dict) else f"{len(structure)} items"
    raise ValidationError(f"{argument} has another structure than its primal at {path}: expected {expected}, got "
                          f"{type(tree).__name__}; give it the primal's containers", argument=argument)
