"""Operations as methods of a session, which run on that session's engine wherever they are called."""

cimport cython
from .abi cimport *
from .state cimport EagerSession, close_session, install, open_session, thread_state

from importlib import import_module

from ..errors import RuntimeStateError
from .state import seal


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class SessionCall:
    """One operation bound to a session."""
    cdef EagerSession session
    cdef readonly object __wrapped__

    def __call__(self, *args, **kwargs):
        cdef EagerSession s
        if self.session.closed or self.session.runtime is None:
            raise RuntimeStateError("the session has ended; open a new one", op=self.__wrapped__.__name__)
        if thread_state().session == <PyObject *> self.session:
            return self.__wrapped__(*args, **kwargs)
        s = open_session(self.session.runtime, self.session.engine)
        try:
            return self.__wrapped__(*args, **kwargs)
        finally:
            close_session(s)

    @property
    def __doc__(self):
        return self.__wrapped__.__doc__

    def __repr__(self):
        return f"<operation {self.__wrapped__.__name__} of {self.session!r}>"


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class SessionOperation:
    """Descriptor that binds an operation to the session it is read from."""
    cdef readonly object __wrapped__

    def __init__(self, f):
        self.__wrapped__ = f

    def __get__(self, obj, owner):
        if obj is None:
            return self
        cdef SessionCall c = SessionCall.__new__(SessionCall)
        c.session = <EagerSession?> obj
        c.__wrapped__ = self.__wrapped__
        return c

    @property
    def __doc__(self):
        return self.__wrapped__.__doc__


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class LazySessionOperation(SessionOperation):
    """The same for a function of a module that is imported when the operation is first read from a session."""
    cdef readonly str module, name

    def __init__(self, str module, str name):
        self.module = module
        self.name = name

    def __get__(self, obj, owner):
        if self.__wrapped__ is None and obj is not None:
            self.__wrapped__ = getattr(import_module(self.module), self.name)
        return SessionOperation.__get__(self, obj, owner)


def install_lazy_session_operations(str module, names):
    """Make functions of a module methods of `EagerSession` without importing the module."""
    for name in names:
        install(EagerSession, name, LazySessionOperation(module, name))


def install_session_operations(dict table):
    """Make every operation of a table (name -> function) a method of `EagerSession`."""
    for name, f in table.items():
        install(EagerSession, name, SessionOperation(f))


def install_methods(type cls, dict table):
    """Add functions, properties and other descriptors to an extension type."""
    for name, f in table.items():
        install(cls, name, f)


seal(SessionCall)
