"""Engines over array-API namespaces: every operation in the standard's functions, one module per family."""
