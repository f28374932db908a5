"""Data: `Corpus` for documents, `NGrams` for words in contexts, `Sequences` in order, `Groups` for others."""

from hdpkit.data.corpus import Corpus
from hdpkit.data.downsampling import downsample
from hdpkit.data.files.counts import Limits
from hdpkit.data.groups import GroupedData, Groups
from hdpkit.data.ngrams import NGrams
from hdpkit.data.sequences import Sequences
from hdpkit.data.sharded import ShardedCorpus

__all__ = ["Corpus", "GroupedData", "Groups", "Limits", "NGrams", "Sequences", "ShardedCorpus", "downsample"]
