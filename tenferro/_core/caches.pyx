"""Limits and statistics of the caches, and what runtimes share through an AdContext."""

import re
from collections import namedtuple
from operator import index

cimport cython
from .state cimport EagerRuntime, install
from . import memory
from ..errors import ValidationError

CacheStats = namedtuple("CacheStats", "entries retained_bytes hits misses evictions clears", module=__name__)
CacheStats.__doc__ = """Statistics of one cache.

Parameters
----------
entries, retained_bytes : int
    What it holds now.
hits, misses, evictions, clears : int
    What happened since it was made.

Examples
--------
>>> import tenferro as tfr
>>> tfr.EagerRuntime().cache_stats().ad_transforms.entries
0
"""
CacheReport = namedtuple("CacheReport", "ad_transforms prepared_derivatives buffers contraction_plans", module=__name__)
CacheReport.__doc__ = "`CacheStats` of every cache that a runtime uses; the last two are the process's."


cdef Py_ssize_t positive(object n, str argument) except -1:
    try:
        value = index(n)
    except TypeError:
        value = 0
    if not 0 < value < 1 << 63 or isinstance(n, bool):
        raise ValidationError(f"{argument} must be a positive integer, not {n!r}", op="CacheLimits", argument=argument)
    return value


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class CacheLimits:
    """CacheLimits(max_entries=256, max_retained_bytes=67108864)\n--\n
    Limits of a cache whose least recently used entries go first; compared by value.

    Parameters
    ----------
    max_entries : int
    max_retained_bytes : int
        64 MiB by default.

    Raises
    ------
    ValidationError
        A limit is not positive.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.CacheLimits(max_entries=8).max_entries
    8
    """

    def __init__(self, max_entries=256, max_retained_bytes=64 << 20):
        self.max_entries = positive(max_entries, "max_entries")
        self.max_retained_bytes = positive(max_retained_bytes, "max_retained_bytes")

    def __eq__(self, other):
        if not isinstance(other, CacheLimits):
            return NotImplemented
        return (self.max_entries == (<CacheLimits> other).max_entries
                and self.max_retained_bytes == (<CacheLimits> other).max_retained_bytes)

    def __hash__(self):
        return hash((self.max_entries, self.max_retained_bytes))

    def __repr__(self):
        return f"CacheLimits(max_entries={self.max_entries}, max_retained_bytes={self.max_retained_bytes})"

    def __reduce__(self):
        return CacheLimits, (self.max_entries, self.max_retained_bytes)


cdef inline int place_of(unsigned long long key) noexcept:
    return <int> ((key * <unsigned long long> 11400714819323198485U) >> 54)


cdef class CacheEntry:
    """One cached object."""


cdef class DerivativeCache:
    """Objects under keys that need not be unique; the least recently used go first."""

    def __cinit__(self):
        self.limits = CacheLimits()
        self.buckets = {}

    cdef bint seen_before(self, unsigned long long key) noexcept:
        """Whether a structure was differentiated before and may be kept; the record of keys is bounded and may forget."""
        cdef unsigned long long *place = &self.seen[place_of(key)]
        if place[0] == key:
            return self.rejected[place_of(key)] != key
        place[0] = key
        return False

    cdef bint is_rejected(self, unsigned long long key) noexcept:
        return self.rejected[place_of(key)] == key

    cdef int reject(self, unsigned long long key) noexcept:
        self.rejected[place_of(key)] = key
        return 0

    cdef int forget(self) noexcept:
        """Empty the record of keys."""
        for i in range(1024):
            self.seen[i] = 0
            self.rejected[i] = 0
        return 0

    cdef int touch(self, CacheEntry e) except -1:
        self.clock += 1
        e.stamp = self.clock
        self.hits += 1
        return 0

    cdef bint add(self, object key, object value, Py_ssize_t nbytes) except -1:
        """Keep an object; False if it exceeds the limit by itself."""
        cdef CacheEntry e
        if nbytes > self.limits.max_retained_bytes:
            return False
        e = CacheEntry()
        e.key = key
        e.value = value
        e.nbytes = nbytes
        self.clock += 1
        e.stamp = self.clock
        self.buckets.setdefault(key, []).append(e)
        self.entries += 1
        self.nbytes += nbytes
        self.trim()
        return True

    cdef int trim(self) except -1:
        """Evict until the limits hold."""
        cdef CacheEntry e, oldest
        while self.entries > self.limits.max_entries or self.nbytes > self.limits.max_retained_bytes:
            oldest = None
            for bucket in self.buckets.values():
                for e in bucket:
                    if oldest is None or e.stamp < oldest.stamp:
                        oldest = e
            self.remove(oldest)
            self.evictions += 1
        return 0

    cdef int remove(self, CacheEntry e) except -1:
        cdef list bucket = self.buckets[e.key]
        bucket.remove(e)
        if not bucket:
            del self.buckets[e.key]
        self.entries -= 1
        self.nbytes -= e.nbytes
        return 0

    cdef object stats(self):
        return CacheStats(self.entries, self.nbytes, self.hits, self.misses, self.evictions, self.clears)

    cdef int clear(self) except -1:
        self.clears += 1
        self.buckets = {}
        self.entries = 0
        self.nbytes = 0
        return self.forget()

    cdef int limit(self, object limits) except -1:
        if not isinstance(limits, CacheLimits):
            raise ValidationError(f"cache limits are given as CacheLimits(...), not {type(limits).__name__}",
                                  argument="limits")
        self.limits = limits
        self.forget()
        return self.trim()


@cython.binding(False)
@cython.embedsignature.format("clinic")
cdef class AdContext:
    """AdContext(rules=())\n--\n
    Extension rules and one AD-transform cache; runtimes made from it share that cache and its limits.

    Parameters
    ----------
    rules : iterable
        Objects with a ``family_id`` (namespaced and versioned, such as ``"mylib.sparse.v1"``) and the callables
        ``vjp`` and ``jvp``, each of which may be None.

    Raises
    ------
    ValidationError
        A family is registered twice, or its id is malformed.

    Examples
    --------
    >>> import tenferro as tfr
    >>> ad = tfr.AdContext()
    >>> a, b = tfr.EagerRuntime.with_ad_context(ad), tfr.EagerRuntime.with_ad_context(ad)
    >>> a.ad_transform_cache_limits = tfr.CacheLimits(max_entries=8)
    >>> b.ad_transform_cache_limits.max_entries
    8
    """

    def __cinit__(self, *args, **kwargs):
        self.rules_ = {}
        self.transforms = DerivativeCache()

    def __init__(self, rules=()):
        for rule in rules:
            family = family_of(rule)
            if family in self.rules_:
                raise ValidationError(f"two rules were given for {family!r}; give each family one", op="AdContext",
                                      argument="rules")
            self.rules_[family] = rule

    @property
    def rules(self):
        """The rules, in the order in which they were given."""
        return tuple(self.rules_.values())

    def __repr__(self):
        return f"<AdContext with {len(self.rules_)} rules>"


def check_family(family, str argument):
    """The id itself when it is namespaced and versioned, such as ``mylib.sparse.v1``; else ValidationError."""
    if not isinstance(family, str) or not re.fullmatch(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", family, re.ASCII) \
            or not re.fullmatch(r"v[0-9]+", family.rpartition(".")[2]):
        raise ValidationError(f"malformed id {family!r}: it must be namespaced and versioned, such as "
                              "'mylib.sparse.v1'", argument=argument)
    return family


cdef object family_of(object rule):
    family = check_family(getattr(rule, "family_id", None), "rules")
    for name in ("vjp", "jvp"):
        f = getattr(rule, name, None)
        if f is not None and not callable(f):
            raise ValidationError(f"the {name} of {family!r} is not callable", op="AdContext", argument="rules")
    return family


# ---- members of EagerRuntime -----------------------------------------------------------------------------------------

cdef tuple _plans = None        # (statistics, clear) of the contraction plans


def set_plan_cache(stats, clear):
    """Announce the process's cache of contraction plans.

    ``stats()`` gives the fields of CacheStats, ``clear()`` empties the cache.
    """
    global _plans
    _plans = stats, clear


cdef DerivativeCache transforms(EagerRuntime rt):
    if rt.ad is None:
        rt.ad = AdContext()
    return (<AdContext> rt.ad).transforms


cdef DerivativeCache prepared(EagerRuntime rt):
    if rt.caches is None:
        rt.caches = DerivativeCache()
    return <DerivativeCache> rt.caches


def with_ad_context(AdContext ad not None, engine=None):
    """A runtime with the extension rules and the AD-transform cache of `ad`.

    Parameters
    ----------
    ad : AdContext
    engine : ExecutionEngine, optional
        Default engine of the runtime.

    Returns
    -------
    EagerRuntime

    Raises
    ------
    UnsupportedError
        The engine is no `ExecutionEngine`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerRuntime.with_ad_context(tfr.AdContext()).default_engine is None
    True
    """
    cdef EagerRuntime rt = EagerRuntime(engine)
    rt.ad = ad
    return rt


def clear_ad_transform_caches(EagerRuntime self):
    """Empty the cache of derivative programs that this runtime shares through its AdContext.

    Returns
    -------
    None

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> rt.clear_ad_transform_caches()
    >>> rt.cache_stats().ad_transforms.clears
    1
    """
    transforms(self).clear()


def clear_prepared_derivative_cache(EagerRuntime self):
    """Empty this runtime's cache of prepared derivatives.

    Returns
    -------
    None

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> rt.clear_prepared_derivative_cache()
    >>> rt.cache_stats().prepared_derivatives.clears
    1
    """
    prepared(self).clear()


def clear_caches(EagerRuntime self):
    """Empty both derivative caches, the contraction plans, and the free blocks of the process's buffer pool.

    Returns
    -------
    None

    Examples
    --------
    >>> import tenferro as tfr
    >>> rt = tfr.EagerRuntime()
    >>> rt.clear_caches()
    >>> rt.cache_stats().prepared_derivatives.entries
    0
    """
    transforms(self).clear()
    prepared(self).clear()
    memory.clear_buffers()
    if _plans is not None:
        _plans[1]()


def cache_stats(EagerRuntime self):
    """Statistics of every cache.

    Returns
    -------
    CacheReport
        ``ad_transforms``, ``prepared_derivatives``, ``buffers`` and ``contraction_plans``, each a `CacheStats`.

    Examples
    --------
    >>> import tenferro as tfr
    >>> tfr.EagerRuntime().cache_stats().ad_transforms.hits
    0
    """
    return CacheReport(transforms(self).stats(), prepared(self).stats(), CacheStats(*memory.buffer_stats()),
                       CacheStats(0, 0, 0, 0, 0, 0) if _plans is None else CacheStats(*_plans[0]()))


def get_transform_limits(EagerRuntime self):
    """`CacheLimits` of the AD-transform cache, shared through the AdContext; lowering one evicts at once."""
    return transforms(self).limits


def set_transform_limits(EagerRuntime self, limits):
    transforms(self).limit(limits)


def get_prepared_limits(EagerRuntime self):
    """`CacheLimits` of the cache of prepared derivatives; lowering one evicts at once."""
    return prepared(self).limits


def set_prepared_limits(EagerRuntime self, limits):
    prepared(self).limit(limits)


for _f in (clear_ad_transform_caches, clear_prepared_derivative_cache, clear_caches, cache_stats):
    install(EagerRuntime, _f.__name__, _f)
install(EagerRuntime, "with_ad_context", staticmethod(with_ad_context))
install(EagerRuntime, "ad_transform_cache_limits", property(get_transform_limits, set_transform_limits))
install(EagerRuntime, "prepared_derivative_cache_limits", property(get_prepared_limits, set_prepared_limits))
