"""Operations whose results depend on values, such as sorting: a device's engine is asked for positions."""

from .engine cimport ExecutionEngine
from .eager cimport computed_in
from .memory cimport *
from .spaces cimport bring, device_array, wrap_array
from .state cimport EagerRuntime, engine_for


cdef object array_of(ExecutionEngine engine, str method, EagerTensor x):
    cdef Value v
    bring(&v, engine.space, engine.name, &x.v, method)
    try:
        return device_array(&v)
    finally:
        value_drop(&v)


cdef EagerTensor wrapped(object array, ExecutionEngine engine, EagerRuntime rt):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    wrap_array(&t.v, engine.space, array)
    return computed_in(t, D_I64)


cdef object asked(str method, EagerTensor x, tuple more, dict words):
    """The answer of a method of the engine, which takes arrays of its library and gives arrays of positions."""
    cdef ExecutionEngine engine = engine_for(x.rt)
    cdef EagerTensor y
    arrays = [array_of(engine, method, y) for y in (x, *more)]
    try:
        result = getattr(engine, method)(*arrays, **words)
        if isinstance(result, (tuple, list)):
            return tuple([wrapped(a, engine, x.rt) for a in result])
        return wrapped(result, engine, x.rt)
    except Exception as error:
        from .foreign import report
        report(engine, method, error)
