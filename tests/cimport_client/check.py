"""Checks of the compiled client; run beside it after ``setup.py build_ext --inplace``."""

import client

assert client.engine_abi() >= 1
assert client.complex_is_known()
assert client.layout(3, 4, False) == ((3, 4), (8, 24), 12)
assert client.layout(3, 4, True) == ((3, 4), (32, 8), 12)
print("third-party cimport: ok")
