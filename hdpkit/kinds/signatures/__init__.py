"""Mutational signatures. Users import them from `hdpkit.signatures`."""
