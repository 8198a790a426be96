"""What `EagerRuntime.explain` returns."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Instruction:
    """One instruction: a kernel, a view, or a group of operations in one pass, which may end in sums.

    Attributes
    ----------
    kind : {"kernel", "view", "fused"}
    operations : tuple of str
    shape : tuple of int
        Of the result; of a group, that of its elementwise operations.
    dtype : str
    read, written : int
        Bytes.
    """

    kind: str
    operations: tuple
    shape: tuple
    dtype: str
    read: int
    written: int


@dataclass(frozen=True)
class Explanation:
    """A derivative program: ``str(explanation)`` is a table of its instructions.

    Attributes
    ----------
    nodes : int
        Nodes of the trace that it belongs to.
    instructions : tuple of Instruction
    inputs, input_bytes : int
        Values that it reads from the trace.
    results : int
    buffers : int
        Values that it makes memory for, results included.
    peak_bytes : int
        Bytes that these hold at most at a time.
    """

    nodes: int
    instructions: tuple
    inputs: int
    input_bytes: int
    results: int
    buffers: int
    peak_bytes: int

    @property
    def fused_groups(self):
        """How many instructions are groups."""
        return sum(i.kind == "fused" for i in self.instructions)

    @property
    def operations(self):
        """How many operations all instructions do."""
        return sum(len(i.operations) for i in self.instructions)

    @property
    def bytes_moved(self):
        """Bytes that all instructions read and write."""
        return sum(i.read + i.written for i in self.instructions)

    def __str__(self):
        lines = [f"derivative of {self.nodes} nodes: {self.operations} operations in {len(self.instructions)} instructions, "
                 f"{self.fused_groups} of them fused groups",
                 f"reads {self.inputs} values of the trace ({size(self.input_bytes)}), gives {self.results} results, "
                 f"moves {size(self.bytes_moved)}; {self.buffers} buffers, at most {size(self.peak_bytes)} at a time"]
        for k, i in enumerate(self.instructions):
            names = " ".join(i.operations)
            lines.append(f"{k:4} {i.kind:6} {i.dtype}{list(i.shape)}  {names}  reads {size(i.read)}, writes {size(i.written)}")
        return "\n".join(lines)


def size(n):
    """Bytes in a unit that fits."""
    for unit in ("B", "KiB", "MiB"):
        if n < 1024:
            return f"{n:.4g} {unit}"
        n /= 1024
    return f"{n:.4g} GiB"
