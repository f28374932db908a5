"""Initial states that are computed in compiled code."""
