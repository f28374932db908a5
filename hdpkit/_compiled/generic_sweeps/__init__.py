"""Sweeps for all compiled stores and measures, and the units that they reseat."""
