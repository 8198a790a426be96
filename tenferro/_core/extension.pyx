"""Extension modules: operations that a library adds to a runtime, with executors for kinds of engines and rules."""

import threading
from operator import index


from .abi cimport *
from .custom cimport operands
from .custom_node cimport Rules, call_in, dims_of, known_to, new_rules, outputs, recorded_call
from .eager cimport EagerTensor
from .engine cimport ExecutionEngine
from .optable cimport dtype_code, dtype_object
from .spaces cimport bring, device_array, wrap_array
from .state cimport EagerRuntime, EagerSession, close_session, engine_for, install, open_session, thread_state
from .tensor cimport export_array
from tenferro._kernels.parallel cimport swap_threads

from .caches import check_family
from ..errors import (DTypeMismatchError, RuntimeStateError, ShapeMismatchError, UnsupportedError,
                      ValidationError)

cdef str REMEDY = ("give it one with registrar.rule(..., {transform}=f) or through AdContext(rules=...), or detach() "
                   "its arguments")


cdef class Installed:
    """One module of one runtime; never changed."""
    cdef object module
    cdef dict operations                # name -> ExtensionOperation


cdef class Extensions:
    """The modules of one runtime. Readers need no lock: `modules` is replaced, never changed."""
    cdef dict modules                   # module id -> Installed
    cdef Py_ssize_t epoch
    cdef object lock
    cdef list under_way                 # modules that are being configured


cdef class ExtensionOperation:
    cdef str name, module_id
    cdef object shape_rule, dtype_rule
    cdef dict executors                 # kind of engine -> function
    cdef object vjp, jvp
    cdef bint ruled
    cdef Rules rules


# ---- calling ---------------------------------------------------------------------------------------------------------

cdef object invalid(ExtensionOperation op, str rule, object found):
    raise ValidationError(f"{op.rules.name}: its {rule} gave {found!r}; return a tuple of sizes and a dtype, or a list "
                          "of each for several outputs", op=op.rules.name, argument=rule)


cdef tuple shape_from_rule(ExtensionOperation op, object shape):
    try:
        return tuple([index(n) for n in shape])
    except TypeError:
        invalid(op, "shape_rule", shape)


cdef tuple promised(ExtensionOperation op, tuple xs, dict params):
    """Shapes and dtype codes of the outputs, and whether there may be several."""
    cdef EagerTensor x
    shapes = op.shape_rule(*[dims_of(x.v.meta) for x in xs], **params)
    dtypes = op.dtype_rule(*[dtype_object(x.v.meta.dtype) for x in xs], **params)
    several = isinstance(shapes, list)
    if not several:
        shapes, dtypes = [shapes], [dtypes]
    elif not isinstance(dtypes, list) or len(dtypes) != len(shapes):
        invalid(op, "dtype_rule", dtypes)
    return [shape_from_rule(op, s) for s in shapes], [dtype_code(d, "dtype_rule") for d in dtypes], several


cdef int as_promised(ExtensionOperation op, str kind, tuple outs, list shapes, list dtypes) except -1:
    cdef EagerTensor y
    cdef int k
    who = f"{op.rules.name}: its executor for engines of kind '{kind}' gave"
    if len(outs) != len(shapes):
        raise ValidationError(f"{who} {len(outs)} outputs, but its shape_rule {len(shapes)}", op=op.rules.name,
                              argument="executor")
    for k, y in enumerate(outs):
        if dims_of(y.v.meta) != shapes[k]:
            raise ShapeMismatchError(f"{who} shape {dims_of(y.v.meta)}, but its shape_rule {shapes[k]}",
                                     op=op.rules.name, argument="executor", expected=shapes[k],
                                     actual=dims_of(y.v.meta))
        if y.v.meta.dtype != dtypes[k]:
            raise DTypeMismatchError(f"{who} dtype {dtype_object(y.v.meta.dtype)}, but its dtype_rule "
                                     f"{dtype_object(dtypes[k])}", op=op.rules.name, argument="executor",
                                     expected=dtype_object(dtypes[k]), actual=dtype_object(y.v.meta.dtype))
    return 0


cdef object executor_input(ExtensionOperation op, ExecutionEngine engine, EagerTensor x):
    """A read-only array for an engine of host memory, else an untracked tensor."""
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    t.rt = x.rt
    bring(&t.v, engine.space, engine.name, &x.v, op.rules.name)
    return export_array(&t.v) if engine.space == HOST_SPACE else t


cdef object offered(object executor, int space):
    """A device engine's own executor, a function of its library's arrays, as one of tensors."""
    def call(*tensors, **params):
        arrays = [device_array(&(<EagerTensor> t).v) for t in tensors]
        result = executor(*arrays, **params)
        if isinstance(result, (tuple, list)):
            return [wrapped(a, space, tensors[0]) for a in result]
        return wrapped(result, space, tensors[0])
    return call


cdef EagerTensor wrapped(object array, int space, EagerTensor like):
    cdef EagerTensor t = EagerTensor.__new__(EagerTensor)
    wrap_array(&t.v, space, array)
    t.rt = like.rt
    return t


cdef object executor_for(ExtensionOperation op, ExecutionEngine engine):
    executor = op.executors.get(engine.kind)
    if executor is None and engine.memory is not None:
        executor = engine.executor(op.name)
        if executor is not None:
            return offered(executor, engine.space)
    if executor is None:
        have = ", ".join(map(repr, op.executors)) or "no kind"
        raise UnsupportedError(f"{op.rules.name} has no executor for engines of kind '{engine.kind}' (it has them for "
                               f"{have}); register one with registrar.executor, or use another engine than "
                               f"'{engine.name}'", op=op.rules.name, engine=engine.name)
    return executor


cdef object run(ExtensionOperation op, EagerRuntime rt, tuple inputs, dict params):
    cdef ExecutionEngine engine = engine_for(rt)
    cdef tuple xs = operands(inputs, rt), outs
    cdef int before
    executor = executor_for(op, engine)
    shapes, dtypes, several = promised(op, xs, params)
    args = [executor_input(op, engine, x) for x in xs]
    before = swap_threads(engine.threads)
    try:
        result = call_in(rt, 1, executor, args, params)
    finally:
        swap_threads(before)
    if several != isinstance(result, (tuple, list)):
        want = "a tuple of arrays" if several else "one array"
        raise ValidationError(f"{op.rules.name}: its executor for engines of kind '{engine.kind}' gave "
                              f"{type(result).__name__}; {want} is expected", op=op.rules.name, argument="executor")
    outs = outputs(rt, op.rules, result)
    as_promised(op, engine.kind, outs, shapes, dtypes)
    return recorded_call(rt, op.rules, params or None, xs, outs, several)


cdef class BoundOperation:
    """An operation of an extension module as a function of tensors and keyword parameters.

    It stays what it was when the module is replaced.
    """
    cdef ExtensionOperation op
    cdef EagerRuntime rt
    cdef EagerSession session           # or None: the engine is found as for other operations

    def __call__(self, *tensors, **params):
        cdef EagerSession s
        if self.session is None or thread_state().session == <PyObject *> self.session:
            return run(self.op, self.rt, tensors, params)
        if self.session.closed:
            raise RuntimeStateError("the session has ended; open a new one", op=self.op.rules.name)
        s = open_session(self.rt, self.session.engine)
        try:
            return run(self.op, self.rt, tensors, params)
        finally:
            close_session(s)

    def __repr__(self):
        return f"<operation {self.op.rules.name} of {self.rt!r}>"


cdef class Extension:
    """The operations of an extension module that is installed in a runtime, as attributes."""
    cdef EagerRuntime rt
    cdef EagerSession session
    cdef readonly str module_id

    def __getattr__(self, name):
        cdef BoundOperation b
        operations = installed(self.rt, self.module_id).operations
        if name not in operations:
            raise AttributeError(f"the extension module {self.module_id!r} has no operation {name!r}; it has "
                                 f"{', '.join(operations) or 'none'}")
        b = BoundOperation.__new__(BoundOperation)
        b.op = operations[name]
        b.rt = self.rt
        b.session = self.session
        return b

    def __dir__(self):
        return ["module_id", *installed(self.rt, self.module_id).operations]

    def __repr__(self):
        return f"<extension {self.module_id!r} of {self.rt!r}>"


cdef Installed installed(EagerRuntime rt, str module_id):
    cdef Extensions e = rt.extensions
    found = None if e is None else e.modules.get(module_id)
    if found is None:
        have = "" if e is None or not e.modules else f" (installed: {', '.join(e.modules)})"
        raise ValidationError(f"no extension module {module_id!r} is installed in this runtime{have}; call "
                              "install_extension_module(module) first", op="extension", argument="module_id")
    return found


def extension(self, str module_id not None):
    """The operations of an installed extension module, as attributes: ``rt.extension("mylib.sparse.v1").matvec(a, x)``.

    Tensors (array-likes, numbers) are given by position, static parameters by keyword.

    Parameters
    ----------
    module_id : str
        Such as ``"mylib.sparse.v1"``.

    Returns
    -------
    object
        Its attributes are the operations.

    Raises
    ------
    ValidationError
        No such module is installed in this runtime.

    Examples
    --------
    >>> import tenferro as tfr
    >>> class Doubling:
    ...     module_id = "mylib.doubling.v1"
    ...     def configure(self, registrar):
    ...         registrar.operation("twice", lambda x: x, lambda x: x)
    ...         registrar.executor("twice", "host", lambda x: 2.0 * x)
    >>> rt = tfr.EagerRuntime()
    >>> epoch = rt.install_extension_module(Doubling())
    >>> rt.extension("mylib.doubling.v1").twice(rt.constant_from([1.0, 2.0]))
    EagerTensor([2., 4.], dtype=float64)
    """
    cdef Extension e = Extension.__new__(Extension)
    if isinstance(self, EagerSession):
        e.session = self
        if e.session.closed:
            raise RuntimeStateError("the session has ended; open a new one", op="extension")
        e.rt = e.session.runtime
    else:
        e.rt = <EagerRuntime?> self
    e.module_id = module_id
    installed(e.rt, module_id)
    return e


# ---- installing ------------------------------------------------------------------------------------------------------

cdef class Registrar:
    """What a module's ``configure`` declares its operations to."""
    cdef str module_id
    cdef dict operations
    cdef bint closed

    cdef ExtensionOperation declared(self, object name):
        if self.closed:
            raise RuntimeStateError("a registrar is of use only inside configure()", op="registrar")
        if not isinstance(name, str) or not name.isidentifier() or name.startswith("_") or name == "module_id":
            raise ValidationError(f"{name!r} is no name for an operation; use a Python identifier without leading "
                                  "underscore", op="registrar", argument="name")
        return self.operations.setdefault(name, blank(self.module_id, name))

    def operation(self, name, shape_rule, dtype_rule):
        """Declare an operation.

        Parameters
        ----------
        name : str
        shape_rule : callable
            ``shape_rule(*shapes, **params)`` gives the shape of the output, or a list of shapes for several outputs.
        dtype_rule : callable
            ``dtype_rule(*dtypes, **params)`` gives its dtype, or a list of them.
        """
        cdef ExtensionOperation op = self.declared(name)
        if op.shape_rule is not None:
            raise ValidationError(f"the operation {name!r} is declared twice", op="registrar", argument="name")
        op.shape_rule = function(shape_rule, "shape_rule", False)
        op.dtype_rule = function(dtype_rule, "dtype_rule", False)

    def rule(self, name, vjp=None, jvp=None):
        """Give an operation its derivative rules.

        Parameters
        ----------
        name : str
        vjp, jvp : callable, optional
            As for `custom_op`: ``vjp(g, out, *tensors, **params)`` and ``jvp(tangents, out, *tensors, **params)``.
        """
        cdef ExtensionOperation op = self.declared(name)
        if op.ruled:
            raise ValidationError(f"rules for {name!r} are given twice", op="registrar", argument="name")
        op.ruled = True
        op.vjp = function(vjp, "vjp", True)
        op.jvp = function(jvp, "jvp", True)

    def executor(self, name, kind, f):
        """Say how engines of a kind compute an operation.

        Parameters
        ----------
        name : str
        kind : str
            Kind of engine, ``"host"`` for the CPU.
        f : callable
            ``f(*inputs, **params)`` gives an array (or tensor), or a tuple of them. The inputs are read-only NumPy
            arrays for engines of host memory, else untracked tensors.
        """
        cdef ExtensionOperation op = self.declared(name)
        if not isinstance(kind, str):
            raise ValidationError(f"the kind of an engine is a string, not {kind!r}", op="registrar", argument="kind")
        if kind in op.executors:
            raise ValidationError(f"an executor of {name!r} for engines of kind {kind!r} is given twice",
                                  op="registrar", argument="kind")
        op.executors[kind] = function(f, "executor", False)


cdef object function(object f, str argument, bint optional):
    if not callable(f) and not (optional and f is None):
        raise ValidationError(f"{argument} must be a function, not {type(f).__name__}", op="registrar",
                              argument=argument)
    return f


cdef ExtensionOperation blank(str module_id, str name):
    """``mylib.sparse.v1`` and ``matvec`` make ``mylib.sparse.matvec.v1``, which names the family of rules, too."""
    cdef ExtensionOperation op = ExtensionOperation.__new__(ExtensionOperation)
    family, _, version = module_id.rpartition(".")
    op.name = f"{family}.{name}.{version}"
    op.module_id = module_id
    op.executors = {}
    return op


cdef Installed configured(EagerRuntime rt, str module_id, object module):
    """What a module declares; an exception leaves no trace of it."""
    cdef Registrar r = Registrar.__new__(Registrar)
    cdef Installed found = Installed.__new__(Installed)
    cdef ExtensionOperation op
    r.module_id = module_id
    r.operations = {}
    try:
        module.configure(r)
    finally:
        r.closed = True
    for name, op in r.operations.items():
        if op.shape_rule is None:
            raise ValidationError(f"{name!r} has rules or executors, but is not declared with registrar.operation",
                                  op="registrar", argument="name")
        op.rules = known_to(rt, new_rules(op.name, op.vjp, op.jvp, REMEDY), module_id)
    found.module = module
    found.operations = r.operations
    return found


cdef Extensions extensions_of(EagerRuntime rt):
    cdef Extensions new
    if rt.extensions is None:
        new = Extensions.__new__(Extensions)
        new.modules = {}
        new.under_way = []
        new.lock = threading.RLock()
        if rt.extensions is None:       # another thread may have come first
            rt.extensions = new
    return rt.extensions


def install_extension_module(EagerRuntime self, module):
    """Install an extension module in this runtime, or replace the one of the same id.

    Installing the very same instance again does nothing and takes no lock. Everything else raises the epoch. Operations
    that were recorded or bound before a replacement stay what they were.

    Parameters
    ----------
    module : object
        Has ``module_id``, namespaced and versioned such as ``"mylib.sparse.v1"``, and ``configure(registrar)``, which
        calls ``registrar.operation``, ``rule`` and ``executor``.

    Returns
    -------
    int
        The epoch of the runtime: how often its operations have changed.

    Raises
    ------
    ValidationError
        Malformed id.
    RuntimeStateError
        Chained from the exception that ``configure`` raised, the runtime being as it was.

    Examples
    --------
    >>> import tenferro as tfr
    >>> class Doubling:
    ...     module_id = "mylib.doubling.v1"
    ...     def configure(self, registrar):
    ...         registrar.operation("twice", lambda x: x, lambda x: x)
    ...         registrar.executor("twice", "host", lambda x: 2.0 * x)
    >>> rt, module = tfr.EagerRuntime(), Doubling()
    >>> rt.install_extension_module(module) == rt.install_extension_module(module)
    True
    """
    cdef Extensions e = extensions_of(self)
    cdef Installed have
    module_id = getattr(module, "module_id", None)
    have = e.modules.get(module_id) if isinstance(module_id, str) else None
    if have is not None and have.module is module:
        return e.epoch
    check_family(module_id, "module_id")
    if not callable(getattr(module, "configure", None)):
        raise ValidationError(f"the extension module {module_id!r} has no method configure(registrar)",
                              op="install_extension_module", argument="module")
    with e.lock:
        have = e.modules.get(module_id)
        if have is None or have.module is not module:
            replace(self, e, module_id, module)
        return e.epoch


cdef int replace(EagerRuntime rt, Extensions e, str module_id, object module) except -1:
    cdef dict before = e.modules
    cdef Installed new
    if any([m is module for m in e.under_way]):
        raise RuntimeStateError(f"the extension module {module_id!r} installs itself from its configure()",
                                op="install_extension_module")
    e.under_way.append(module)
    try:
        new = configured(rt, module_id, module)
    except BaseException as error:
        if e.modules is not before:     # modules that configure() installed go with it
            e.modules = before
            e.epoch += 1
        if not isinstance(error, Exception):
            raise
        raise RuntimeStateError(f"configuring the extension module {module_id!r} failed: {error}; the runtime is as it "
                                "was", op="install_extension_module") from error
    finally:
        e.under_way.pop()
    e.modules = {**e.modules, module_id: new}
    e.epoch += 1
    return 0


def epoch_of(EagerRuntime rt not None):
    """How often the extension operations of a runtime have changed."""
    return 0 if rt.extensions is None else (<Extensions> rt.extensions).epoch


install(EagerRuntime, "install_extension_module", install_extension_module)
install(EagerRuntime, "extension", extension)
install(EagerSession, "extension", extension)
