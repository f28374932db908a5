"""Sweeps that serve every compiled store and measure, and the units that they reseat."""
