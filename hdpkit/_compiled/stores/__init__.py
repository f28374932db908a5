"""Seating stores: the blocks of entries that they share, and the stores themselves."""
