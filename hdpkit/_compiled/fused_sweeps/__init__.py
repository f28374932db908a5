"""Faster sweeps for two shapes of model: topic models, and observed dishes.

Text for topic models is in headers (``*_text.h``). ``isa_*.cpp`` compile it, each for one instruction set.
"""
