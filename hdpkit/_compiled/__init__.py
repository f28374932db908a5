"""Cython: stores, the tree walk, the Dirichlet-multinomial and the sweeps.

Nothing here knows a Python class of the package; the layers below put faces on it.
"""
