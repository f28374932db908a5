"""Data: `Corpus` for documents of words, `Groups` for any other grouped observations."""

from hdpkit.data.corpus import Corpus
from hdpkit.data.groups import GroupedData, Groups

__all__ = ["Corpus", "GroupedData", "Groups"]
