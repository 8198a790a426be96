"""Exceptions: built-in bases, fields, messages, copying and pickling."""

import copy
import multiprocessing
import pickle

import numpy as np
import pytest

from tenferro import errors

VALIDATION = ("op", "argument")
DETAILED = ("op", "argument", "expected", "actual")
ACCESS = ("op", "expected", "actual")

# class -> (built-in and own bases, fields)
TABLE = {
    "TenferroError": ((Exception,), ()),
    "ValidationError": ((ValueError,), VALIDATION),
    "ShapeMismatchError": ((errors.ValidationError, ValueError), DETAILED),
    "AxisError": ((errors.ValidationError, ValueError, IndexError), DETAILED),
    "DTypeMismatchError": ((errors.ValidationError, ValueError, TypeError), DETAILED),
    "IntegerOverflowError": ((errors.ValidationError, ValueError, OverflowError), DETAILED),
    "NonContiguousError": ((BufferError,), ACCESS),
    "HostAccessError": ((BufferError,), ACCESS),
    "NonScalarGradError": ((ValueError,), ("shape",)),
    "ContextMismatchError": ((ValueError,), ("lhs", "rhs")),
    "UnsupportedAdRuleError": ((NotImplementedError,), ("op", "transform")),
    "UnsupportedError": ((NotImplementedError,), ("op", "engine")),
    "PlacementError": ((ValueError,), ACCESS),
    "RuntimeStateError": ((RuntimeError,), ("op",)),
    "IntoValueError": ((RuntimeError,), ("tensor",)),
    "NotUniqueError": ((errors.IntoValueError, RuntimeError), ("tensor",)),
    "ExtractError": ((errors.IntoValueError, RuntimeError), ("tensor",)),
    "EngineError": ((RuntimeError,), ("engine",)),
    "OutOfMemoryError": ((MemoryError,), ("engine", "nbytes")),
    "NumericalError": ((ArithmeticError,), ("op",)),
    "LinAlgError": ((errors.NumericalError, ArithmeticError, np.linalg.LinAlgError), ("op",)),
}
NAMES = sorted(TABLE)


def values_for(name):
    """Distinct field values, so that swapped or dropped fields are seen."""
    return {field: (field, index, name) for index, field in enumerate(TABLE[name][1])}


def make(name):
    return getattr(errors, name)(f"message of {name}", **values_for(name))


def assert_same(error, name):
    assert type(error) is getattr(errors, name)
    assert str(error) == f"message of {name}"
    assert error.args == (f"message of {name}",)
    assert {field: getattr(error, field) for field in TABLE[name][1]} == values_for(name)


class Unpicklable:
    def __repr__(self):
        return "<unpicklable>"

    def __reduce__(self):
        raise TypeError("cannot be pickled")


class CodedError(errors.ValidationError):
    """Subclass with a constructor signature of its own."""

    def __init__(self, code, *, op):
        super().__init__(f"code {code}", op=op, argument="code")
        self.code = code


def test_all_is_the_table():
    assert sorted(errors.__all__) == NAMES
    public = {n for n, v in vars(errors).items() if isinstance(v, type) and not n.startswith("_")}
    assert public == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_bases(name):
    cls = getattr(errors, name)
    for base in (errors.TenferroError, *TABLE[name][0]):
        assert issubclass(cls, base)
        with pytest.raises(base):
            raise make(name)
    assert cls.__doc__


@pytest.mark.parametrize("name", NAMES)
def test_message_and_fields(name):
    error = make(name)
    assert_same(error, name)
    assert set(vars(error)) == set(TABLE[name][1])


@pytest.mark.parametrize("name", NAMES)
def test_fields_default_to_none(name):
    error = getattr(errors, name)("only text")
    assert str(error) == "only text"
    assert vars(error) == dict.fromkeys(TABLE[name][1])


@pytest.mark.parametrize("name", [n for n in NAMES if TABLE[n][1]])
def test_fields_are_keyword_only(name):
    cls = getattr(errors, name)
    with pytest.raises(TypeError):
        cls("text", "positional")
    with pytest.raises(TypeError):
        cls("text", no_such_field=1)
    with pytest.raises(TypeError):
        cls(message="text")


@pytest.mark.parametrize("protocol", range(2, pickle.HIGHEST_PROTOCOL + 1))
@pytest.mark.parametrize("name", NAMES)
def test_pickle(name, protocol):
    error = make(name)
    error.add_note("a note")
    back = pickle.loads(pickle.dumps(error, protocol))
    assert_same(back, name)
    assert back.__notes__ == ["a note"]


@pytest.mark.parametrize("name", NAMES)
def test_copy_and_deepcopy(name):
    error = make(name)
    for other in (copy.copy(error), copy.deepcopy(error)):
        assert other is not error
        assert_same(other, name)


def test_copy_shares_a_field_and_deepcopy_does_not():
    error = errors.NotUniqueError("text", tensor=[1.0])
    assert copy.copy(error).tensor is error.tensor
    deep = copy.deepcopy(error)
    assert deep.tensor == [1.0]
    assert deep.tensor is not error.tensor


def test_deepcopy_of_a_cycle():
    error = errors.NotUniqueError("text", tensor=[])
    error.tensor.append(error)
    deep = copy.deepcopy(error)
    assert deep.tensor[0] is deep


def test_unpicklable_field_travels_as_repr():
    error = errors.ExtractError("text", tensor=Unpicklable())
    assert copy.copy(error).tensor is error.tensor
    back = pickle.loads(pickle.dumps(error))
    assert type(back) is errors.ExtractError
    assert str(back) == "text"
    assert back.tensor == "<unpicklable>"


def test_array_and_dtype_fields_pickle():
    error = errors.DTypeMismatchError("text", expected=np.dtype("f8"), actual=np.arange(3))
    back = pickle.loads(pickle.dumps(error))
    assert back.expected == np.dtype("f8")
    np.testing.assert_array_equal(back.actual, np.arange(3))


def test_subclass_with_another_signature_pickles():
    error = CodedError(7, op="add")
    for back in (pickle.loads(pickle.dumps(error)), copy.copy(error), copy.deepcopy(error)):
        assert type(back) is CodedError
        assert str(back) == "code 7"
        assert (back.code, back.op, back.argument) == (7, "add", "code")


def test_errors_cross_a_process_pool():
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        for name in NAMES:
            scope = {"data": pickle.dumps(make(name))}
            with pytest.raises(getattr(errors, name)) as caught:
                pool.apply_async(exec, ("import pickle; raise pickle.loads(data)", scope)).get(timeout=60)
            assert_same(caught.value, name)


def test_context_mismatch_names_the_remedy():
    error = errors.ContextMismatchError(lhs="a", rhs="b")
    assert "detach_into" in str(error)
    assert "a and b" in str(error)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_cause_is_chained():
    with pytest.raises(errors.EngineError) as caught:
        raise errors.EngineError("failed", engine="cpu") from ZeroDivisionError("inner")
    assert isinstance(caught.value.__cause__, ZeroDivisionError)
    assert caught.value.engine == "cpu"
