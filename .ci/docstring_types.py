"""Annotations from the types that NumPy-style docstrings name."""

import ast
import inspect
import re

ARRAY, DTYPE, PATH = "numpy.typing.ArrayLike", "numpy.typing.DTypeLike", "str | os.PathLike[str]"
WORDS = {
    "array_like": ARRAY, "tensor": "EagerTensor",
    "scalar": "complex", "number": "complex", "iterable": "collections.abc.Iterable[typing.Any]",
    "dtype": DTYPE, "floating dtype": DTYPE, "str or path-like": PATH, "path-like": PATH, "object": "object",
    "callable": "collections.abc.Callable[..., typing.Any]", "dict": "dict[typing.Any, typing.Any]",
    "sequence": "collections.abc.Sequence[typing.Any]", "list": "list[typing.Any]", "tuple": "tuple[typing.Any, ...]",
    "ndarray": "numpy.ndarray[typing.Any, typing.Any]",
}  # fmt: skip
PLAIN = {"None", "int", "float", "bool", "str", "complex", "BaseException"}
GROUPS = {"sequence": "collections.abc.Sequence[{}]", "list": "list[{}]", "iterable": "collections.abc.Iterable[{}]",
          "tuple": "tuple[{}, ...]", "pair": "tuple[{0}, {0}]"}
ASIDE = re.compile(r",? (at least|one for each|shapes? [(`]|of shape|of int64|default )[^|]*$")


def sections(value: object) -> dict[str, str]:
    """Section -> text of a docstring; what comes first has the empty name."""
    parts = re.split(r"^([A-Z][A-Za-z ]+)\n-{3,}$", inspect.getdoc(value) or "", flags=re.MULTILINE)
    return {"": parts[0], **dict(zip(parts[1::2], parts[2::2], strict=True))}


def choices(text: str) -> str | None:
    """Literal type of a set of values in braces."""
    try:
        values = [ast.literal_eval(item.strip()) for item in text[1:-1].split(",")]
    except (SyntaxError, ValueError):
        return None
    return f"typing.Literal[{', '.join(map(repr, values))}]"


def single(text: str, classes: set[str]) -> str | None:
    """Annotation of one alternative."""
    text = text.strip()
    if text in WORDS:
        return WORDS[text]
    if text in PLAIN or text in classes or re.fullmatch(r"numpy\.random\.\w+", text):
        return text
    if re.fullmatch(r"(integer )?array_like( of (int|bool|integers)( or (bool|int|integers))?)?", text):
        return ARRAY
    if text.startswith("{") and text.endswith("}"):
        return choices(text)
    group, found, item = text.partition(" of ")
    inner = single(item, classes) if found and group in GROUPS else None
    return inner and GROUPS[group].format(inner)


def annotation(text: str, classes: set[str]) -> str | None:
    """Annotation for a type in words, None for one that is not understood."""
    text, optional = re.subn(r",? ?optional$", "", text.strip())
    text = ASIDE.sub("", text)
    whole = single(text, classes)
    parts = [whole] if whole else [single(item, classes) for item in re.split(r",? or |, (?![^{]*\})", text)]
    if not text or None in parts:
        return None
    names = [*dict.fromkeys(part for part in parts if part != "None"), *["None"] * (optional or "None" in parts)]
    return " | ".join(str(name) for name in names)


def parameters(value: object, classes: set[str]) -> dict[str, str]:
    """Parameter -> annotation, for the types that are understood."""
    found = {}
    for names, text in re.findall(r"^([\w*, ]+?) : (.+)$", sections(value).get("Parameters", ""), re.MULTILINE):
        if text := annotation(text, classes):
            found.update({name.strip().lstrip("*"): text for name in names.split(",")})
    return found


def result(value: object, classes: set[str]) -> str | None:
    """Annotation of the result: the type of one, a tuple of several, None for what is not understood or varies."""
    lines = [line for line in sections(value).get("Returns", "").split("\n") if line[:1].strip()]
    if len(lines) == 1 and " : " not in lines[0]:
        found = annotation(lines[0], classes)
        return found if found and "|" not in found else None
    types = []
    for line in lines:
        names, _, text = line.partition(" : ")
        types += [annotation(text, classes)] * len(names.split(","))
    if not types or None in types:
        return None
    return str(types[0]) if len(types) == 1 else f"tuple[{', '.join(map(str, types))}]"
