"""The readable walk and sweeps in Python; `hdpkit._compiled` has twins with the same distribution."""
