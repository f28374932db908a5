"""Sweeps for all compiled stores and measures, and the units that they reseat.

A rejected proposal is undone from a journal of the seats, including table numbers (`Group`); the readable
twin freezes the store and thaws it. Parts are notified of births and deaths only when a proposal is accepted.
Blocks are scored by ratios of marginals, products that are protected against overflow, with one logarithm for
many factors.
"""
