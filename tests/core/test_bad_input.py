"""What does not belong here gets an ordinary Python answer: foreign types, strings, missing names."""

import operator

import numpy as np
import pytest

import tenferro as tfr
from tenferro import EagerTensor, Tensor
from tenferro._numpy.missing import closest

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul", "and", "or", "xor", "lshift", "rshift", "divmod")
COMPARISONS = ("eq", "ne", "lt", "le", "gt", "ge")
FOREIGN = [object(), "text", b"text", None, {"a": 1.0}, {1.0}, lambda: 1.0, Ellipsis]
MAKE = [tfr.constant, tfr.variable]


class Other:
    """A type that knows how to meet tensors."""

    def answer(self, other):
        assert isinstance(other, EagerTensor)
        return "other"

    __radd__ = __rsub__ = __rmul__ = __rtruediv__ = __rfloordiv__ = __rmod__ = __rpow__ = __rmatmul__ = answer
    __rand__ = __ror__ = __rxor__ = __rlshift__ = __rrshift__ = __rdivmod__ = answer
    __eq__ = __ne__ = __lt__ = __le__ = __gt__ = __ge__ = answer
    __hash__ = None


@pytest.mark.parametrize("make", MAKE)
@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_foreign_types_give_not_implemented(name, foreign, make):
    x = make([1.0, 2.0]) if name not in ("and", "or", "xor", "lshift", "rshift") else tfr.constant([1, 2])
    assert getattr(x, f"__{name}__")(foreign) is NotImplemented


@pytest.mark.parametrize("foreign", FOREIGN, ids=lambda f: type(f).__name__)
@pytest.mark.parametrize("name", BINARY)
def test_reflected_operators_give_not_implemented(name, foreign):
    x = tfr.variable([1.0, 2.0]) if name not in ("and", "or", "xor", "lshift", "rshift") else tfr.constant([1, 2])
    assert getattr(x, f"__r{name}__")(foreign) is NotImplemented


@pytest.mark.parametrize("name", [*BINARY, *COMPARISONS])
def test_other_types_may_answer(name):
    x = tfr.variable([1.0, 2.0]) if name not in ("and", "or", "xor", "lshift", "rshift") else tfr.constant([1, 2])
    f = divmod if name == "divmod" else getattr(operator, f"{name}_" if name in ("and", "or") else name)
    assert f(x, Other()) == "other"


@pytest.mark.parametrize("make", MAKE)
def test_comparison_with_a_string(make):
    for x in (make(1.0), make([1.0, 2.0])):
        assert (x == "text") is False
        assert operator.eq("text", x) is False
        assert (x != "text") is True
        assert x not in ["text", b"text"]
        assert {x: 1}[x] == 1
        for f in (operator.lt, operator.le, operator.gt, operator.ge):
            with pytest.raises(TypeError, match="not supported between instances"):
                f(x, "text")
        with pytest.raises(TypeError, match="unsupported operand"):
            x + "text"
        with pytest.raises(TypeError):
            "text" + x


def test_missing_attributes_are_looked_up_by_the_type_alone():
    for cls in (EagerTensor, Tensor):
        assert not hasattr(cls, "__getattr__")
        assert cls.__getattribute__ is object.__getattribute__
    for x in (tfr.constant([1.0]), tfr.variable([1.0]), tfr.variable([1.0]).value()):
        with pytest.raises(AttributeError, match="no attribute 'no_such_name'") as caught:
            x.no_such_name
        assert (caught.value.name, caught.value.obj) == ("no_such_name", x) or caught.value.obj is x


@pytest.mark.parametrize("module", ["", "linalg", "fft", "random", "optimize", "testing", "errors"])
def test_missing_names_of_modules(module):
    home = getattr(tfr, module) if module else tfr
    with pytest.raises(AttributeError, match=f"'tenferro{module and '.'}{module}' has no attribute 'no_such_name'") as caught:
        home.no_such_name
    assert (caught.value.name, caught.value.obj) == ("no_such_name", home)


@pytest.mark.parametrize("make", MAKE)
def test_a_routed_ufunc_without_counterpart_is_named_with_the_closest(make):
    x = make([3.0, 1.0, 2.0])
    for f, near in ((np.spacing, "numpy.spacing on the values"), (np.frexp, "tenferro.log2")):
        with pytest.raises(TypeError, match=f"numpy.{f.__name__} has no counterpart") as caught:
            f(x)
        assert near in str(caught.value)


def test_closest_names_by_spelling():
    assert closest("softmaxx") == "tenferro.softmax"
    assert "custom_op" in closest("qqqqqq")


@pytest.mark.parametrize("op", ["sum", "prod", "max", "min", "mean", "var", "std", "any", "all", "count_nonzero", "logsumexp"])
def test_axis_errors_of_reductions_name_the_operation(op):
    for axis in (3, (0, 0)):
        with pytest.raises(tfr.errors.AxisError) as caught:
            getattr(tfr, op)([1.0, 2.0], axis=axis)
        assert caught.value.op.removeprefix("reduce_") == op
        assert caught.value.argument == "axis"
        assert str(caught.value).startswith(f"{caught.value.op}: axis ")
