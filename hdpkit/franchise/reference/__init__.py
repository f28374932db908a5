"""The walk and the sweeps in Python: the ones to read. `hdpkit._compiled` has twins with the same law."""
