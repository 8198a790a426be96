"""NumPy's stable sort, whose lines several threads take where there is much to do: it gives up the GIL meanwhile."""

import threading

import numpy as np

PIECES = 4              # for each thread


def argsort(array, axis, threads):
    """``np.argsort(array, axis, kind="stable")``, with the same result for any number of threads.

    Parameters
    ----------
    array : ndarray
        Any dtype and layout, at least one axis.
    axis : int
        From 0.
    threads : int
        The calling one included.

    Returns
    -------
    ndarray of intp

    Raises
    ------
    MemoryError
        There is not enough for the order or for the sort.
    """
    others = [k for k in range(array.ndim) if k != axis and array.shape[k] > 1]
    if not others:
        return np.argsort(array, axis, kind="stable")
    cut = max(others, key=lambda k: (array.shape[k] >= threads, abs(array.strides[k])))
    n = array.shape[cut]
    each = -(-n // min(n, PIECES * threads))
    before = (slice(None),) * cut
    pieces = iter([(*before, slice(i, i + each)) for i in range(0, n, each)])
    found = np.empty_like(array, np.intp)
    failures = []

    def work():
        try:
            for piece in pieces:
                found[piece] = np.argsort(array[piece], axis, kind="stable")
        except BaseException as e:
            failures.append(e)

    helpers = [threading.Thread(target=work, daemon=True) for _ in range(min(threads, -(-n // each)) - 1)]
    for t in helpers:
        t.start()
    work()
    for t in helpers:
        t.join()
    if failures:
        raise failures[0]
    return found
