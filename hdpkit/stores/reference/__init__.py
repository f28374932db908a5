"""Stores in Python: the ones to read. `hdpkit._compiled.stores` has twins with the same law."""
