"""Faster sweeps for two kinds of models: topic models, and observed dishes.

The code for topic models is in headers (``*_text.h``), which ``isa_*.cpp`` compile for one instruction set
each.
"""
