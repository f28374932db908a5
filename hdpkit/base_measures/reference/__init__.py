"""Base measures in Python: the ones to read. `hdpkit._compiled.measures` has twins with the same numbers."""
