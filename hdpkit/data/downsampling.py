"""Downsampling of the largest documents."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy

from hdpkit.checks import instance, whole_number
from hdpkit.data.corpus import Corpus
from hdpkit.data.files.counts import TOKEN_LIMIT
from hdpkit.data.groups import label_values
from hdpkit.errors import DataError
from hdpkit.random import Purpose, RandomStream, Seed, Streams

_MOST = 10**9  # limit of NumPy's generator for the tokens of a document


def downsample(corpus: Corpus, max_per_group: int, rng: Seed = 0) -> Corpus:
    """Return a corpus in which no document has more tokens than this.

    From a larger document this many tokens are drawn without replacement, so its counts by term are
    multivariate hypergeometric. Other documents don't change.

    Use it for counts that vary more than a multinomial distribution does, such as mutations of a tumour. In a
    document with a million tokens, differences of a thousandth are significant, and the posterior explains
    them by additional, meaningless components. With 10,000 drawn tokens it doesn't. If the model is right,
    the shares in such documents become less precise. Downsampling changes the data and is never applied by
    default. The result has the same terms, names and labels; it is the same object if no document is larger.
    Raises a ParameterError if an argument isn't valid; a DataError if a document to be downsampled has 10^9
    tokens or more.

    Parameters
    ----------
    corpus : Corpus
    max_per_group : int
        The largest number of tokens of a document, at least 1.
    rng : seed
        A seed for `numpy.random.SeedSequence`, or a Generator. The same seed gives the same counts.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="hk.Corpus.from_counts(X).")
    most = whole_number("max_per_group", max_per_group, 1, TOKEN_LIMIT - 1, remedy="For instance 10000.")
    lengths = corpus.document_lengths
    large = np.flatnonzero(lengths > most)
    if not len(large):
        return corpus
    if int(lengths.max()) >= _MOST:
        document = int(np.argmax(lengths))
        raise DataError(
            f"corpus, document {document}", int(lengths[document]), f"below {_MOST} tokens",
            "Divide its counts first.",
        )  # fmt: skip
    source: Any = Streams(rng).source(Purpose.DOWNSAMPLE)
    assert isinstance(source, RandomStream)
    counts = scipy.sparse.csr_array(corpus.to_counts())
    drawn = counts.data.astype(np.int64, copy=True)
    for document in large.tolist():
        here = slice(int(counts.indptr[document]), int(counts.indptr[document + 1]))
        drawn[here] = source.generator.multivariate_hypergeometric(drawn[here], most, method="marginals")
    matrix = scipy.sparse.csr_array((drawn, counts.indices, counts.indptr), shape=counts.shape)
    matrix.eliminate_zeros()
    groups = {
        name: label_values(corpus.document_labels, name, corpus.n_documents)
        for name in corpus.label_names
        if name != "document"
    }
    return Corpus.from_counts(matrix, vocabulary=corpus.vocabulary, names=corpus.names, groups=groups)
