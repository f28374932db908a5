"""Readable base measures in Python. `hdpkit._compiled.measures` has twins with the same results."""
