"""The trace of a tensor as text and as a graph."""

from .abi cimport *
from .custom_node cimport record_of
from .eager cimport EagerTensor, check
from .node cimport IS_LEAF, Node
from .optable cimport dtype_object, op_name
from .state cimport EagerRuntime, install

from collections import namedtuple
from operator import index

from ..errors import ContextMismatchError, ValidationError

DrawnNode = namedtuple("DrawnNode", "op shape dtype inputs leaf")
DrawnNode.__doc__ = """One node of a drawing.

`inputs` are numbers of nodes; None is an operand that is not tracked, -1 a node that was left out.
"""


cdef str node_name(Node *n):
    record = record_of(n)
    if record is not None:
        return record.rules.name
    return "leaf" if n.flags & IS_LEAF else op_name(n.op.id)


cdef list nearest(Node *root, Py_ssize_t limit):
    """Up to `limit` nodes in the order of their distance from the root."""
    cdef dict numbers = {<size_t> root: 0}
    cdef list order = [<size_t> root], found = []
    cdef Node *n
    cdef Py_ssize_t i = 0
    cdef int k
    while i < len(order):
        n = <Node *> <size_t> order[i]
        for k in range(n.n_in):
            if n.ins[k] != NULL and <size_t> n.ins[k] not in numbers and len(order) < limit:
                numbers[<size_t> n.ins[k]] = len(order)
                order.append(<size_t> n.ins[k])
        i += 1
    for address in order:
        n = <Node *> <size_t> address
        inputs = tuple([None if n.ins[k] == NULL else numbers.get(<size_t> n.ins[k], -1) for k in range(n.n_in)])
        found.append(DrawnNode(node_name(n), tuple([n.meta.dims[i] for i in range(n.meta.rank)]),
                               dtype_object(n.meta.dtype).name, inputs, bool(n.flags & IS_LEAF)))
    return found


class Drawing:
    """The trace of a tensor: ``str()`` is a tree, ``dot()`` a graph, `nodes` the data. It keeps no tensor alive."""

    def __init__(self, nodes):
        self.nodes = nodes

    @property
    def complete(self):
        """Whether every node of the trace is there."""
        return all([-1 not in node.inputs for node in self.nodes])

    def __str__(self):
        seen, lines = set(), []
        stack = [(0, "", "")]
        while stack:
            i, before, below = stack.pop()
            if i is None or i < 0:
                lines.append(before + ("constant" if i is None else "..."))
                continue
            node = self.nodes[i]
            again = i in seen and bool(node.inputs)
            lines.append(f"{before}{self._label(i)}{' (shown above)' if again else ''}")
            if again:
                continue
            seen.add(i)
            last = len(node.inputs) - 1
            for k in range(last, -1, -1):
                stack.append((node.inputs[k], below + ("└─ " if k == last else "├─ "),
                              below + ("   " if k == last else "│  ")))
        if not self.complete:
            lines.append(self._note())
        return "\n".join(lines)

    def dot(self):
        """The graph in the DOT language, arrows in the direction of computation."""
        lines = ["digraph trace {", "  rankdir=BT;", "  node [shape=box];"]
        for i, node in enumerate(self.nodes):
            op = node.op.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'  n{i} [label="{op}\\n{node.dtype} {node.shape}"{", style=filled" if node.leaf else ""}];')
        for i, node in enumerate(self.nodes):
            for k, j in enumerate(node.inputs):
                if j is not None and j >= 0:
                    lines.append(f"  n{j} -> n{i};")
                else:
                    lines.append(f'  c{i}_{k} [label="{"constant" if j is None else "..."}", shape=plaintext];')
                    lines.append(f"  c{i}_{k} -> n{i};")
        if not self.complete:
            lines.append(f'  label="{self._note()}";')
        return "\n".join([*lines, "}"]) + "\n"

    def _label(self, i):
        node = self.nodes[i]
        return f"[{i}] {node.op} {node.dtype} {node.shape}"

    def _note(self):
        return f"... only the {len(self.nodes)} nodes nearest to the result are shown; raise max_nodes for more"

    def __repr__(self):
        return f"<drawing of {len(self.nodes)} nodes>"


def draw(EagerRuntime self, EagerTensor tensor not None, max_nodes=100):
    """The trace that leads to a tensor, for looking at.

    Parameters
    ----------
    tensor : EagerTensor
        Usually a loss.
    max_nodes : int
        A longer trace is cut off behind the nodes that are nearest to the tensor, and says so.

    Returns
    -------
    Drawing
        ``str(drawing)`` is a tree in which a node that is used more than once is expanded once; ``drawing.dot()`` is
        text for Graphviz. Operation, dtype and shape are shown; operands that are not tracked are called constants.

    Raises
    ------
    ContextMismatchError
        The tensor belongs to another runtime.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(2.0)
    >>> drawing = x.runtime.draw(x * x)
    >>> [node.op for node in drawing.nodes if not node.leaf]
    ['mul']
    """
    check(tensor)
    if tensor.rt is not self:
        raise ContextMismatchError("draw: the tensor belongs to another runtime; call draw of its runtime", lhs=self.id,
                                   rhs=tensor.rt.id)
    try:
        limit = index(max_nodes)
    except TypeError:
        limit = 0
    if limit < 1:
        raise ValidationError(f"draw: max_nodes must be a positive integer, not {max_nodes!r}", op="draw",
                              argument="max_nodes")
    if tensor.node == NULL:
        return Drawing([DrawnNode("constant", tensor.shape, tensor.dtype.name, (), False)])
    return Drawing(nearest(tensor.node, limit))


install(EagerRuntime, "draw", draw)
