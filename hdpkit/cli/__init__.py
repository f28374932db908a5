"""The command line: ``hdpkit``."""
