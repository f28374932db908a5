"""Files of sentences, one a line, to import from here; see `hdpkit.formats.sentences`."""

from hdpkit.formats.sentences import read_sentences

__all__ = ["read_sentences"]
