# Constants: array-likes and weak Python scalars as operands.
# Part of eager.pyx: one compilation unit, so that the forward step is inlined.

cdef list recent = [None] * 64      # 0-d constants without a runtime, by the bits of their value and their dtype
cdef double recent_value[64]
cdef int recent_dtype[64]


cdef EagerTensor real_scalar(double value, int dtype):
    """A 0-d constant of an inexact dtype; the ones used last are shared."""
    cdef unsigned long long bits = (<unsigned long long *> &value)[0]
    cdef int k = <int> ((bits ^ (bits >> 52) ^ (bits >> 29) ^ <unsigned long long> dtype * 7) & 63)
    cdef object cached = <object> PyList_GET_ITEM(recent, k)
    cdef EagerTensor t
    if cached is not None and recent_dtype[k] == dtype and memcmp(&recent_value[k], &value, 8) == 0:
        return <EagerTensor> cached
    t = fresh(None, meta_scalar(dtype))
    t.v.buf.flags = SHARED
    if dtype == D_F64:
        (<double *> t.v.data)[0] = value
    elif dtype == D_F32:
        (<float *> t.v.data)[0] = <float> value
    elif dtype == D_C128:
        (<double *> t.v.data)[0] = value
        (<double *> t.v.data)[1] = 0
    else:
        (<float *> t.v.data)[0] = <float> value
        (<float *> t.v.data)[1] = 0
    recent[k] = t
    recent_value[k] = value
    recent_dtype[k] = dtype
    return t


cdef EagerTensor scalar_like(EagerTensor x, double value):
    return alias_in(real_scalar(value, x.v.meta.dtype if is_inexact(x.v.meta.dtype) else D_F64), x.rt)


cdef EagerTensor alias_in(EagerTensor x, EagerRuntime rt):
    cdef EagerTensor t = alias(x, NULL)
    t.rt = rt
    return t


cdef EagerTensor weak_scalar(object x, int dtype):
    """A Python scalar as an operand of a tensor of the given dtype: NumPy 2's weak promotion. None for other objects."""
    if PyFloat_CheckExact(x):
        return real_scalar(PyFloat_AS_DOUBLE(x), dtype if is_inexact(dtype) else D_F64)
    if PyLong_CheckExact(x):
        if is_inexact(dtype):
            return real_scalar(<double> x, dtype)
        target = dtype_object(D_I64 if dtype == D_BOOL else dtype)
        try:
            array = np.asarray(x, target)
        except OverflowError:
            raise IntegerOverflowError(f"Python integer {x} does not fit {target}; convert the tensor with astype()",
                                       argument="other", expected=target, actual=x) from None
        return constant_value(None, array, -1, True)
    if isinstance(x, _generic):
        return None
    if PyBool_Check(x):
        return constant_value(None, np.asarray(x), -1, True)
    if isinstance(x, complex):
        t = D_C64 if dtype in (D_F32, D_C64) else D_C128
        return constant_value(None, np.asarray(x, dtype_object(t)), -1, True)
    if isinstance(x, float):
        return weak_scalar(float(x), dtype)
    if isinstance(x, int):
        return weak_scalar(int(x), dtype)
    return None


cdef EagerTensor constant_value(EagerRuntime rt, object x, int dtype, bint copy):
    """Any array-like as an untracked tensor; dtype -1 keeps its own."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = rt
    if isinstance(x, Tensor):
        value_copy(&t.v, &(<Tensor> x).v)
    else:
        import_any(&t.v, x, dtype, copy)
    return computed_in(t, dtype) if dtype >= 0 else t


cdef EagerTensor operand_value(EagerRuntime rt, object x):
    """An array-like as an operand: a constant where the engine of the moment computes."""
    cdef EagerTensor t = constant_value(rt, x, -1, False)
    cdef int space = engine_for(rt).space
    cdef Value v
    if space != HOST_SPACE and t.v.buf.space == HOST_SPACE and not isinstance(x, Tensor) and not by_value(&t.v):
        upload(&v, space, &t.v)
        value_drop(&t.v)
        t.v = v
    return t


cdef EagerTensor as_operand(object x, EagerRuntime rt):
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        if (<EagerTensor> x).rt is not rt:
            raise ContextMismatchError("the operands belong to different runtimes; bring one over with detach_into(runtime)",
                                       lhs=rt.id, rhs=(<EagerTensor> x).rt.id)
        return <EagerTensor> x
    return operand_value(rt, x)


cdef EagerTensor as_eager(object x):
    if isinstance(x, EagerTensor):
        check(<EagerTensor> x)
        return <EagerTensor> x
    return operand_value(ambient_runtime(), x)


cdef EagerTensor unary(int op, object x):
    return apply1(op, as_eager(x))


cdef EagerTensor other_operand(object b, EagerTensor x):
    """The second operand beside a tensor."""
    cdef EagerTensor y = weak_scalar(b, x.v.meta.dtype)
    return as_operand(b, x.rt) if y is None else y


cdef EagerTensor binary(int op, object a, object b):
    """A function of two operands, at least one of them usually a tensor; Python scalars are weak."""
    cdef EagerTensor x
    if type(a) is EagerTensor:
        x = <EagerTensor> a
        if type(b) is EagerTensor:
            return apply2(op, x, <EagerTensor> b)
        check(x)
        return run2(op, x, other_operand(b, x))
    if type(b) is EagerTensor:
        x = <EagerTensor> b
        check(x)
        return run2(op, other_operand(a, x), x)
    if isinstance(b, (int, float, complex)) and not isinstance(a, (int, float, complex)):
        return binary(op, as_eager(a), b)
    return binary(op, a, as_eager(b))


cdef bint is_array_like(object x):
    return isinstance(x, (int, float, complex, _ndarray, _generic, list, tuple, Tensor))


cdef object operator(int op, object a, object b):
    if type(a) is EagerTensor and type(b) is EagerTensor:
        return apply2(op, <EagerTensor> a, <EagerTensor> b)
    if (type(a) is EagerTensor or is_array_like(a)) and (type(b) is EagerTensor or is_array_like(b)):
        return binary(op, a, b)
    return NotImplemented


cdef object power(object a, object b):
    if type(a) is EagerTensor and PyLong_CheckExact(b) and b == 2:
        return apply1(Op.SQUARE, <EagerTensor> a)
    return operator(Op.POW, a, b)


cdef object call1(PyObject *f, object a):
    return (<object> f)(a)
