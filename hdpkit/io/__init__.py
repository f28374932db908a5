"""Data in, results out, and the demo corpus."""
