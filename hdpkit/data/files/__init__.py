"""Readers and writers of the formats of corpora, texts and tables."""
