"""Data: `Corpus` for documents, `NGrams` for words in contexts, `Groups` for any other observations."""

from hdpkit.data.corpus import Corpus
from hdpkit.data.groups import GroupedData, Groups
from hdpkit.data.limits import Limits
from hdpkit.data.ngrams import NGrams

__all__ = ["Corpus", "GroupedData", "Groups", "Limits", "NGrams"]
