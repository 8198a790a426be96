"""No argument brings the process down: public functions and members with arguments of all kinds, in all places.

What is checked is only that an error is an ordinary exception and that the library works afterwards; which error it is,
the tests of each member say.
"""

import itertools

import numpy as np
import pytest

import tenferro as tfr
from tenferro import operations


class Raises:
    """Every question about it is an error of its own."""

    def __getattr__(self, name):
        raise ZeroDivisionError

    __array__ = __index__ = __iter__ = __len__ = __float__ = __getattr__


class Longer:
    """A sequence that is longer than it says."""

    def __len__(self):
        return 2

    def __getitem__(self, k):
        if k > 4:
            raise IndexError
        return k


def consumed():
    x = tfr.constant([1.0, 2.0])
    x.into_value()
    return x


def closed():
    with tfr.session() as s:
        return s


def recursive():
    a = []
    a.append(a)
    return a


ODD = {
    "None": lambda: None, "true": lambda: True, "zero": lambda: 0, "minus one": lambda: -1, "large": lambda: 2**62,
    "huge": lambda: 10**400, "nan": lambda: float("nan"), "imaginary": lambda: 1j, "text": lambda: "ij,jk",
    "bytes": lambda: b"ab",
    "ellipsis": lambda: ..., "slice": lambda: slice(None, 2**70, -(2**69)), "empty list": list, "dict": lambda: {"a": 1},
    "set": lambda: {1, 2}, "axes": lambda: (0, 0), "ragged": lambda: [[1.0], [1.0, 2.0]], "recursive": recursive,
    "generator": lambda: (k for k in range(3)), "object": object, "raises": Raises, "longer": Longer, "type": lambda: int,
    "function": lambda: len, "array": lambda: np.arange(6.0).reshape(2, 3), "empty": lambda: np.zeros((0, 3)),
    "swapped": lambda: np.arange(3).astype(">i4"), "objects": lambda: np.array([None, 1], object),
    "dates": lambda: np.array(["2020"], "M8[D]"),
    "half": lambda: np.ones(3, "f2"), "rank 64": lambda: np.ones((1,) * 64), "far indices": lambda: np.array([2**62, -(2**62)]),
    "tensor": lambda: tfr.variable(np.ones((2, 3))), "scalar": lambda: tfr.variable(2.0),
    "integers": lambda: tfr.constant([0, 1]),
    "wide": lambda: tfr.broadcast_to(tfr.constant(1.0), (2**12, 0, 2**40)),
    "foreign": lambda: tfr.EagerRuntime().variable_from(1.0),
    "consumed": consumed, "value": lambda: tfr.Tensor.from_numpy([1.0]), "runtime": tfr.default_runtime, "closed": closed,
    "engine": tfr.default_engine, "gradients": lambda: (tfr.variable(1.0) * 2.0).backward(),
}  # fmt: skip

PLAIN = {
    "tensor": lambda: tfr.variable(np.arange(6.0).reshape(2, 3)), "complex": lambda: tfr.variable([1j, 2.0]),
    "integers": lambda: tfr.constant([[2, 0], [1, 1]]),
}  # fmt: skip

MEMBERS = {
    tfr.EagerTensor: PLAIN["tensor"], tfr.EagerRuntime: tfr.EagerRuntime, tfr.EagerSession: closed,
    tfr.Tensor: lambda: tfr.Tensor.from_numpy([1.0, 2.0]), tfr.Gradients: ODD["gradients"], tfr.AdContext: tfr.AdContext,
    tfr.ExecutionEngine: lambda: tfr.ExecutionEngine("mine"), tfr.CacheLimits: tfr.CacheLimits,
    type(tfr.constant(1.0).slice_builder()): lambda: tfr.constant([1.0]).slice_builder(),
    type(tfr.no_grad()): tfr.no_grad, type(tfr.session()): tfr.session, tfr.ContextId: lambda: tfr.EagerRuntime().id,
}  # fmt: skip

SKIPPED = {
    "__class_getitem__",
    "__doc__",
    "__module__",
    "__init_subclass__",
    "__subclasshook__",
    "__init__",
    "__new__",
    "_open",
    "_close",
}


def attempt(f, *args):
    """Call and look at the result; any ordinary exception will do."""
    try:
        result = f(*args)
        if isinstance(result, tfr.EagerTensor) and result.size < 1000:
            repr(result)
            if result.tracks_grad:
                result.backward_with(np.ones(result.shape, result.dtype))
    except (SystemError, AssertionError, UnboundLocalError):
        raise
    except Exception:
        pass


@pytest.fixture(autouse=True)
def it_works_afterwards():
    yield
    x = tfr.variable([1.0, 2.0])
    assert (x * x).backward_with([1.0, 1.0])[x].tolist() == [2, 4]
    assert (tfr.exp(tfr.constant(0.0)) + 1).item() == 2


@pytest.mark.parametrize("name", sorted(operations.PUBLIC))
def test_functions(name):
    f = getattr(tfr, name)
    for a, b in itertools.product(PLAIN.values(), ODD.values()):
        attempt(f, b())
        attempt(f, a(), b())
        attempt(f, b(), a())
        attempt(f, a(), a(), b())
        attempt(f, a(), b(), a())


@pytest.mark.parametrize("cls", MEMBERS, ids=lambda cls: cls.__name__)
def test_members(cls):
    make = MEMBERS[cls]
    for name, member in sorted(vars(cls).items()):
        if name in SKIPPED or isinstance(member, staticmethod | classmethod) or not callable(member):
            continue
        for odd in ODD.values():
            attempt(member, make(), odd())
            attempt(member, make(), odd(), odd())


@pytest.mark.parametrize("cls", MEMBERS, ids=lambda cls: cls.__name__)
def test_members_of_other_objects(cls):
    for name, member in sorted(vars(cls).items()):
        if name in SKIPPED or isinstance(member, staticmethod | classmethod):
            continue
        for other in (None, 1, object(), tfr.default_engine(), consumed(), closed(), [1.0]):
            if isinstance(other, cls):
                continue
            if callable(member):
                attempt(member, other)
                attempt(member, other, other)
            elif hasattr(member, "__set__"):
                attempt(member.__get__, other, cls)
                attempt(member.__set__, other, 1)


@pytest.mark.parametrize("cls", [tfr.EagerTensor, tfr.Tensor, tfr.EagerSession, tfr.Gradients, tfr.ContextId])
def test_there_are_no_empty_objects(cls):
    for make in (cls, lambda: cls.__new__(cls), lambda: object.__new__(cls)):
        with pytest.raises(TypeError):
            make()


@pytest.mark.parametrize("cls", [tfr.EagerRuntime, tfr.AdContext, tfr.ExecutionEngine, type(tfr.session())])
def test_objects_that_were_not_initialised(cls):
    for name, member in sorted(vars(cls).items()):
        if name in SKIPPED or isinstance(member, staticmethod | classmethod):
            continue
        for odd in ODD.values():
            if callable(member):
                attempt(member, cls.__new__(cls), odd())
            elif hasattr(member, "__get__"):
                attempt(member.__get__, cls.__new__(cls), cls)


@pytest.mark.parametrize("f", [tfr.constant, tfr.variable, tfr.zeros, tfr.ones, tfr.full, tfr.eye, tfr.arange, tfr.linspace,
                               tfr.zeros_like, tfr.full_like, tfr.meshgrid, tfr.asarray, tfr.session, tfr.no_grad,
                               tfr.set_default_engine, tfr.grad, tfr.vjp, tfr.jvp, tfr.jacobian, tfr.hessian, tfr.hvp,
                               tfr.Tensor.from_numpy, tfr.Tensor.from_vec_col_major, tfr.EagerTensor.from_tensor_in,
                               tfr.EagerTensor.requires_grad_in, tfr.EagerTensor.from_vec_col_major_in,
                               tfr.EagerRuntime.with_ad_context], ids=lambda f: f.__name__)  # fmt: skip
def test_other_functions(f):
    before = tfr.default_engine()
    for a, b in itertools.product(ODD.values(), ODD.values()):
        attempt(f, a(), b())
    for a in ODD.values():
        attempt(f, a())
        attempt(f, (2,), a(), a())
    tfr.set_default_engine(before)


@pytest.mark.parametrize("name", ["grad", "vjp", "jvp", "grad_optional", "vjp_optional", "jvp_optional"])
def test_derivatives(name):
    rt = tfr.default_runtime()
    f = getattr(rt, name)
    x = tfr.variable(2.0)
    for odd in ODD.values():
        for args in ((x * x, odd()), (odd(), x), (x * x, [x, odd()]), (x * x, x, odd()), (x * x, (), ())):
            attempt(f, *args)
    for odd in ODD.values():
        if isinstance(odd(), tfr.ExecutionEngine) or odd() is None:
            continue
        with pytest.raises(tfr.errors.UnsupportedError):
            f(*(x * x, x, 1.0)[: 2 if "grad" in name else 3], engine=odd())
