"""Cython and C++: stores, the walk through the tree, banks of statistics, and the sweeps.

Each package imports only from those before it: `support`, `stores`, `walk`, `measures`, `generic_sweeps`,
`fused_sweeps`, `fixed_dishes`, `starts`. Nothing here imports a Python class of hdpkit; other packages wrap
this code.
"""
