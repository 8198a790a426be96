"""Per-thread state (grad mode, open sessions), runtimes, sessions and guards."""

import functools
import os
import threading

cimport cython
from cpython.object cimport PyTypeObject
from cpython.ref cimport Py_INCREF, Py_DECREF
from .memory cimport value_drop
from ..errors import RuntimeStateError, UnsupportedError

cdef extern from *:
    """
    static _Thread_local TfThread tf_thread = {0, 0, NULL, NULL};
    """
    TfThread tf_thread

cdef extern from "Python.h":
    unsigned long PyThread_get_thread_ident() nogil
    void PyType_Modified(PyTypeObject *)
    ctypedef struct CType "PyTypeObject":
        PyObject *tp_dict


cdef int install(object cls, str name, object f) except -1:
    """Add a method to an extension type, so that the methods of one type can live in one module per family."""
    (<dict> (<CType *> cls).tp_dict)[name] = f
    PyType_Modified(<PyTypeObject *> cls)
    return 0


def refuse(cls=object, *args, **kwargs):
    """``__new__`` of types whose fields only the library can fill."""
    raise TypeError(f"{getattr(cls, '__name__', 'such')} objects come from other functions; they are not made by __new__")


def seal(type cls):
    """Let nobody make an object of this type with empty fields from Python; C code is not affected."""
    install(cls, "__new__", staticmethod(refuse))


cdef TfThread *thread_state() noexcept:
    return &tf_thread


cdef unsigned long long _ids = 0
cdef ExecutionEngine _default_engine = None
cdef EagerRuntime _default_runtime = None
_lock = threading.Lock()


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class ContextId:
    """Opaque, hashable identity of a runtime.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerRuntime().id == tfr.EagerRuntime().id
    False
    """

    def __init__(self):
        raise TypeError("identities are made with runtimes: EagerRuntime().id")

    def __eq__(self, other):
        return self is other

    def __hash__(self):
        return hash(self.number)

    def __repr__(self):
        return f"ContextId({self.number})"


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class EagerRuntime:
    """EagerRuntime(engine=None)\n--\n
    Shared eager context: owns ids, gradient slots, caches and extension modules.

    Parameters
    ----------
    engine : ExecutionEngine, optional
        Default engine of this runtime. Without one, the process default is used.

    Raises
    ------
    UnsupportedError
        The engine is no `ExecutionEngine`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> x = rt.variable_from([1.0, 2.0])
    >>> rt.grad(tfr.sum(x * x), x)
    EagerTensor([2., 4.], dtype=float64, tracks_grad=True)
    """

    def __cinit__(self, engine=None, *args, **kwargs):
        global _ids
        _ids += 1
        self.id = ContextId.__new__(ContextId)
        self.id.number = _ids
        self.identities = {}
        self.leaves.next = NULL

    def __init__(self, engine=None):
        if engine is not None:
            self.engine = as_engine(engine)
            self.accept(self.engine)

    def __dealloc__(self):
        cdef Leaf *f = self.leaves.next
        cdef Leaf *after
        while f != NULL:                # leaves may outlive their runtime inside a Gradients mapping
            after = f.next
            f.prev = NULL
            f.next = NULL
            f = after

    def __repr__(self):
        return f"<EagerRuntime {self.id.number}>"

    cdef int accept(self, ExecutionEngine engine) except -1:
        """Register the identity of an engine's kind, or refuse a second one."""
        if engine is self.last_engine:
            return 0
        known = self.identities.setdefault(engine.kind, engine.context_id)
        if known != engine.context_id:
            raise UnsupportedError(
                f"this runtime computes with {engine.kind} memory {known!r}; the engine '{engine.name}' uses "
                f"{engine.context_id!r}: use a second runtime for it", op="session", engine=engine.name)
        self.last_engine = engine
        return 0

    @property
    def default_engine(self):
        """The engine given at construction, or None.

        Examples
        --------
        >>> import tenferro as tfr
        >>> tfr.EagerRuntime().default_engine is None
        True
        """
        return self.engine

    def with_eager_session(self, *args):
        """Call a function with a session on an engine borrowed for the call.

        The session is ambient on this thread until the call ends: operations of this runtime run on its engine. An exception of
        the function comes out unchanged.

        Parameters
        ----------
        *args : callable, or ExecutionEngine and callable
            ``f``, or ``engine, f``; ``f(session)`` is called.

        Returns
        -------
        object
            What the function returns.

        Raises
        ------
        UnsupportedError
            The engine is no ``ExecutionEngine``, or its memory conflicts with the one registered for its kind.
        RuntimeStateError
            The session is used after the call.

        Examples
        --------
        >>> import tenferro as tfr
        >>> rt = tfr.EagerRuntime()
        >>> rt.with_eager_session(lambda session: session.add(1.0, 2.0))
        EagerTensor(3., dtype=float64)
        """
        cdef EagerSession s
        if len(args) == 1:
            f, = args
            engine = engine_for(self)
        elif len(args) == 2:
            engine, f = args
            engine = as_engine(engine)
        else:
            raise TypeError(f"with_eager_session takes ([engine,] f), not {len(args)} arguments")
        s = open_session(self, engine)
        try:
            return f(s)
        finally:
            close_session(s)

    def session(self, engine=None):
        """Guard that opens a session on an engine: ``with rt.session(engine) as s: ...``.

        Parameters
        ----------
        engine : ExecutionEngine, optional
            By default that of the innermost open session of this runtime, of the runtime, or of the process.

        Returns
        -------
        SessionGuard
            Its ``__enter__`` returns the `EagerSession`.

        Raises
        ------
        UnsupportedError
            On entering: the engine is no `ExecutionEngine`, or its memory conflicts with the one registered for its kind.

        Examples
        --------
        >>> import tenferro as tfr
        >>> rt = tfr.EagerRuntime()
        >>> with rt.session() as s:
        ...     y = s.add(1.0, 2.0)
        >>> y.runtime is rt
        True
        """
        return SessionGuard(self, engine)

    def no_grad(self):
        """Guard inside which nothing is recorded on this thread; also decorates functions.

        Returns
        -------
        NoGrad

        Examples
        --------
        >>> import tenferro as tfr
        >>> rt = tfr.EagerRuntime()
        >>> x = rt.variable_from(2.0)
        >>> with rt.no_grad():
        ...     y = x * x
        >>> y.tracks_grad
        False
        """
        return NoGrad()

    def clear_grads(self):
        """Set every live gradient slot of this runtime back to None.

        Returns
        -------
        None

        Examples
        --------
        >>> import tenferro as tfr
        >>> rt = tfr.EagerRuntime()
        >>> x = rt.variable_from(2.0)
        >>> g = (x * x).backward()
        >>> rt.clear_grads()
        >>> x.grad is None
        True
        """
        cdef Leaf *f = self.leaves.next
        while f != NULL:
            value_drop(&f.grad)
            f = f.next


cdef ExecutionEngine as_engine(object engine):
    if isinstance(engine, ExecutionEngine):
        return <ExecutionEngine> engine
    remedy = "derive it from tenferro.ExecutionEngine"
    if isinstance(engine, str):
        remedy = f"open it with tenferro.engine({engine!r})"
    raise UnsupportedError(f"{type(engine).__name__} is no engine; {remedy}", op="session", engine=type(engine).__name__)


cdef ExecutionEngine environment_engine():
    """The engine that ``TENFERRO_ENGINE`` names; nobody looks for plugins while that is the serial CPU engine."""
    name = os.environ.get("TENFERRO_ENGINE") or "cpu"
    if name == "cpu":
        from tenferro_cpu import CpuEngine
        return CpuEngine.serial()
    from .._engines import from_environment
    return from_environment(name)


cdef ExecutionEngine default_engine_():
    global _default_engine
    if _default_engine is None:
        engine = environment_engine()   # without the lock: an engine may open slowly, and import modules that need it
        with _lock:
            if _default_engine is None:
                _default_engine = engine
    return _default_engine


cdef ExecutionEngine engine_for(EagerRuntime rt):
    """Innermost open session of this runtime on this thread, else the runtime's engine, else the process default."""
    cdef PyObject *s = tf_thread.session
    while s != NULL:
        if (<EagerSession> s).runtime is rt:
            return (<EagerSession> s).engine
        s = (<EagerSession> s).outer
    if rt.engine is not None:
        return rt.engine
    if _default_engine is not None:
        return _default_engine
    return default_engine_()


cdef EagerRuntime ambient_runtime():
    """The runtime of this thread's innermost open session, else the default runtime."""
    if tf_thread.session != NULL:
        return (<EagerSession> tf_thread.session).runtime
    return default_runtime()


cdef EagerSession open_session(EagerRuntime rt, ExecutionEngine engine):
    cdef EagerSession s
    rt.accept(engine)
    s = EagerSession.__new__(EagerSession)
    s.runtime = rt
    s.engine = engine
    s.outer = tf_thread.session
    tf_thread.session = <PyObject *> s
    Py_INCREF(s)
    return s


cdef int close_session(EagerSession s) except -1:
    cdef PyObject *p = tf_thread.session
    s.closed = True
    if p == <PyObject *> s:
        tf_thread.session = s.outer
    else:
        while p != NULL and (<EagerSession> p).outer != <PyObject *> s:
            p = (<EagerSession> p).outer
        if p == NULL:
            return 0
        (<EagerSession> p).outer = s.outer
    Py_DECREF(s)
    return 0


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class EagerSession:
    """Operations on one runtime with one borrowed engine; made by ``with_eager_session`` or ``session``.

    Examples
    --------
    >>> import tenferro as tfr
    >>> with tfr.session() as s:
    ...     y = s.sin(0.0)
    >>> y
    EagerTensor(0., dtype=float64)
    """

    def __init__(self):
        raise TypeError("sessions are opened by EagerRuntime.with_eager_session or EagerRuntime.session")

    def __repr__(self):
        return f"<EagerSession on {self.engine!r}{', closed' if self.closed else ''}>"


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class Guard:
    """Context manager of one thread: acts from ``__enter__``; ``close()`` ends it early and is idempotent."""

    def __enter__(self):
        if self.state:
            raise RuntimeStateError("a guard is entered once; make a new one", op=self._name())
        self.thread = PyThread_get_thread_ident()
        value = self._open()
        self.state = 1
        self.outer = tf_thread.guard
        tf_thread.guard = <PyObject *> self
        Py_INCREF(self)
        return value

    def __exit__(self, *exc):
        self.close()
        return False

    def close(self):
        """End the guard. Does nothing when it has ended or was never entered."""
        if self.state != 1:
            return
        if PyThread_get_thread_ident() != self.thread:
            raise RuntimeStateError("a guard is closed on the thread that entered it", op=self._name())
        if tf_thread.guard != <PyObject *> self:
            raise RuntimeStateError("guards are closed in the reverse order of entering: close the inner one first",
                                    op=self._name())
        self.state = 2
        tf_thread.guard = self.outer
        self._close()
        Py_DECREF(self)

    def _name(self):
        return "guard"


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class NoGrad(Guard):
    """Inside this guard nothing is recorded on this thread. ``no_grad()(f)`` decorates a function."""

    def _open(self):
        tf_thread.no_grad += 1
        return self

    def _close(self):
        tf_thread.no_grad -= 1

    def _name(self):
        return "no_grad"

    def __call__(self, f):
        @functools.wraps(f)
        @cython.binding(True)
        def wrapper(*args, **kwargs):
            with NoGrad():
                return f(*args, **kwargs)
        return wrapper


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class SessionGuard(Guard):
    cdef EagerRuntime runtime
    cdef object engine
    cdef EagerSession session_

    def __init__(self, EagerRuntime runtime not None, engine=None):
        self.runtime = runtime
        self.engine = engine

    def _open(self):
        if self.runtime is None:
            raise TypeError("sessions are opened by EagerRuntime.with_eager_session or EagerRuntime.session")
        self.session_ = open_session(self.runtime,
                                     engine_for(self.runtime) if self.engine is None else as_engine(self.engine))
        return self.session_

    def _close(self):
        if self.session_ is not None:
            close_session(self.session_)

    def _name(self):
        return "session"


def no_grad(f=None):
    """Guard inside which nothing is recorded on this thread; decorates functions, bare or called.

    A leaf made inside is still a tracked leaf; results of ``grad``, ``vjp`` and ``jvp`` are untracked. Holding a guard across
    ``await`` or ``yield`` is not supported.

    Parameters
    ----------
    f : callable, optional
        A function to decorate.

    Returns
    -------
    NoGrad
        Or the decorated function.

    Raises
    ------
    RuntimeStateError
        On entering twice, or on closing out of order or on another thread.

    Examples
    --------
    >>> import tenferro as tfr
    >>> x = tfr.variable(2.0)
    >>> with tfr.no_grad():
    ...     x -= 0.5
    >>> x
    EagerTensor(1.5, dtype=float64, tracks_grad=True)
    """
    return NoGrad() if f is None else NoGrad()(f)


def session(engine=None):
    """Guard that opens a session on the default runtime: ``with tfr.session(engine) as s: ...``.

    Parameters
    ----------
    engine : ExecutionEngine, optional
        By default that of the innermost open session of the runtime, of the runtime, or of the process.

    Returns
    -------
    SessionGuard
        Its ``__enter__`` returns the `EagerSession`.

    Raises
    ------
    UnsupportedError
        On entering: the engine is no `ExecutionEngine`, or its memory conflicts with the one registered for its kind.

    Examples
    --------
    >>> import tenferro as tfr
    >>> with tfr.session() as s:
    ...     y = s.exp(0.0)
    >>> y
    EagerTensor(1., dtype=float64)
    """
    return SessionGuard(default_runtime(), engine)


cpdef EagerRuntime default_runtime():
    """The runtime that ``variable``, ``constant`` and the creation functions use outside every session.

    Returns
    -------
    EagerRuntime

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.constant(1.0).runtime is tfr.default_runtime()
    True
    """
    global _default_runtime
    if _default_runtime is None:
        with _lock:
            if _default_runtime is None:
                _default_runtime = EagerRuntime()
    return _default_runtime


def default_engine():
    """The engine of the process: the serial CPU engine unless ``TENFERRO_ENGINE`` or ``set_default_engine`` say otherwise.

    Returns
    -------
    ExecutionEngine

    Raises
    ------
    TenferroError
        As `tenferro.engine` does, when ``TENFERRO_ENGINE`` names an engine that cannot be opened.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.default_engine().name
    'cpu'
    """
    return default_engine_()


def set_default_engine(engine):
    """Set the engine of the process.

    Parameters
    ----------
    engine : ExecutionEngine

    Returns
    -------
    ExecutionEngine
        The one before.

    Raises
    ------
    UnsupportedError
        What is given is no engine; a name is opened by `tenferro.engine`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> before = tfr.set_default_engine(tfr.engine("cpu"))
    >>> _ = tfr.set_default_engine(before)
    >>> tfr.default_engine() is before
    True
    """
    global _default_engine
    cdef ExecutionEngine new = as_engine(engine)
    before = default_engine_()
    _default_engine = new
    return before


def open_here():
    """What is open on this thread: depth of `no_grad` and of `capture_trace`, the innermost session and guard or None."""
    return (tf_thread.no_grad, tf_thread.capture, None if tf_thread.session == NULL else <object> tf_thread.session,
            None if tf_thread.guard == NULL else <object> tf_thread.guard)


for _cls in (ContextId, EagerSession):
    seal(_cls)
