"""Readable stores in Python. `hdpkit._compiled.stores` has compiled twins with the same distribution."""
