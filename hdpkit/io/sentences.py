"""Files of sentences, one per line: public names of `hdpkit.formats.sentences`."""

from hdpkit.formats.sentences import read_sentences

__all__ = ["read_sentences"]
