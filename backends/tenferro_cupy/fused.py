"""Groups of elementwise operations as one generated kernel each.

A program is what ``DeviceEngine.fused`` is told. Every step becomes a variable of its own, whatever registers are reused.
"""

from functools import cache, lru_cache
from typing import NamedTuple

from tenferro._core.optable import DTYPES, Op

from .code import TYPES, expression, preamble, result_dtype

OPTIONS = ("-fmad=false",)
"""Nothing is added to a product before it is rounded: a group gives the bits of its single operations."""

LETTERS = "xyz"


class Source(NamedTuple):
    """The text of a kernel."""

    inputs: str
    results: str
    operation: str
    name: str


@cache
def operations():
    """Names of operations by number."""
    return {int(op): op.name.lower() for op in Op}


def step(variable, op, dtype, arguments):
    """One operation as a statement; the result's dtype.

    Parameters
    ----------
    variable : str
        What is declared.
    op : str
    dtype : numpy.dtype
        That of the last argument.
    arguments : list of (str, numpy.dtype)
        Variables and what they are.
    """
    text = expression(op, dtype)
    if text is None:
        raise NotImplementedError(f"{op} of {dtype} has no expression")
    result = result_dtype(op, dtype)
    bound = " ".join(f"const {TYPES[d.name]} {letter} = {name};"
                     for letter, (name, d) in zip(LETTERS, arguments, strict=False))
    lines = (f"{TYPES[result.name]} {variable};",
             f"{{ typedef {TYPES[dtype.name]} T; typedef {TYPES[result.name]} R; {bound} {variable} = R({text}); }}")
    return "\n".join(lines), result


def parameters(prefix, dtypes):
    return ", ".join(f"{d.name} {prefix}{k}" for k, d in enumerate(dtypes))


def steps_of(program):
    """Operation, dtype, argument registers and result register of each step."""
    for k in range(program[0]):
        op, dtype, count, *registers = program[3 + 7 * k:10 + 7 * k]
        yield operations()[op], DTYPES[dtype], registers[:count], registers[3]


@lru_cache(maxsize=4096)
def source(program, inputs, outputs):
    """The kernel of a group.

    Parameters
    ----------
    program : tuple of int
    inputs, outputs : tuple of numpy.dtype

    Raises
    ------
    NotImplementedError
        A step has no expression.
    """
    holds = {k: (f"in{k}", d) for k, d in enumerate(inputs)}
    lines, names = [], []
    for k, (op, dtype, arguments, result) in enumerate(steps_of(program)):
        text, made = step(f"v{k}", op, dtype, [holds[r] for r in arguments])
        lines.append(text)
        names.append(op)
        holds[result] = (f"v{k}", made)
    for k, d in enumerate(outputs):
        variable, made = holds[len(inputs) + k]
        if made != d:
            raise NotImplementedError(f"result {k} of a group is {d}, its last step gives {made}")
        lines.append(f"out{k} = {variable};")
    return Source(parameters("in", inputs), parameters("out", outputs), "\n".join(lines),
                  "tenferro_" + "_".join(names[:4]) + (f"_{len(names)}" if len(names) > 4 else ""))


@lru_cache(maxsize=1024)
def single(op, inputs):
    """The kernel of one operation."""
    arguments = [(f"in{k}", d) for k, d in enumerate(inputs)]
    text, result = step("v", op, inputs[-1], arguments)
    return Source(parameters("in", inputs), parameters("out", (result,)), f"{text}\nout0 = v;", f"tenferro_{op}")


def compiled(cupy, text):
    """CuPy's kernel of a source; it is compiled for a device when it is first launched there."""
    return cupy.ElementwiseKernel(text.inputs, text.results, text.operation, name=text.name, preamble=preamble(),
                                  options=OPTIONS)
