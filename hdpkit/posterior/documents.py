"""Tokens and shares of components in documents, and in documents with the same label or date."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.data.files.labels import date_keys, periods_of
from hdpkit.errors import DataError, StateError
from hdpkit.posterior.trends import Trends, shares_in

_AT_ONCE = 1 << 24  # counts of documents that are in memory at once, at most
_BLOCK = 1 << 14  # documents of which there are shares at once, at most
_SHARES = 1 << 22  # shares of documents that are in memory at once
_VALUES = 1000  # of a label by which shares are written, at most
PRESENT = 0.05
"""A component counts as present in a document if it has at least this share of the document's tokens."""


@attrs.frozen(eq=False)
class DocumentShares:
    """Shares of the components in consecutive documents."""

    names: Sequence[Any]  # or numbers
    lengths: Int64s  # in tokens
    shares: Floats  # posterior means (n, T + 1), the rest in the last column; rows sum to one


@attrs.frozen(eq=False)
class DocumentCounts:
    """Tokens of the components in consecutive documents, averaged over the samples."""

    names: Sequence[Any]  # or numbers
    lengths: Int64s  # in tokens
    labels: dict[str, tuple[Int64s, Sequence[Any]]]  # such as dates and groups: codes and keys
    counts: Any  # csr_array (n, T)


def of_documents(found: Any) -> bool:
    """Whether the groups of all samples are the documents of the data; a StateError if there are none."""
    n = getattr(found.data, "n_documents", None)
    if n is None:
        raise StateError("components", "of other data", "of documents", "See group_shares.")
    return all(one.label == "document" and one.n_groups == n for one in found.samples)


def document_counts(found: Any) -> Iterator[DocumentCounts]:
    """Tokens of the components in all documents in order; one block is in memory at a time.

    Where samples don't have the documents as their groups (over shards, and in models whose deepest
    groups are others), they are those of the newest state.
    """
    if of_documents(found):
        choosers = [chooser(found.which(one), len(found)) for one in found.samples]
        step = max(1, _AT_ONCE // (len(found.samples) * max(max(one.n_dishes for one in found.samples), 1)))
        for first in range(0, found.data.n_documents, step):
            here = slice(first, min(first + step, found.data.n_documents))
            pairs = zip(found.samples, choosers, strict=True)
            total = sum(one.group_counts[here] @ adding for one, adding in pairs)
            counts = scipy.sparse.csr_array(total) / len(found.samples)
            yield _counted(found.data, here, 0, scipy.sparse.csr_array(counts))
    else:
        state = found.states[0]
        adding = chooser(found.which(state.sample), len(found))
        for block in state.documents():
            counts = scipy.sparse.csr_array(block.counts @ adding, dtype=np.float64)
            yield _counted(block.corpus, slice(0, block.corpus.n_documents), block.first, counts)


def check_documents(found: Any) -> None:
    """Raise a DataError unless the groups of the deepest level are the documents."""
    deepest = found.states[0].franchise.declarations[-1].each
    if deepest != "document":
        raise DataError(
            "restaurants", deepest, "with the documents as the groups of the deepest level",
            "hk.summaries.components(folder).group_shares has the shares of the groups.",
        )  # fmt: skip


def documents(found: Any) -> Iterator[DocumentShares]:
    """The shares that `Components.documents` returns."""
    if of_documents(found):
        data, names = found.data, found.names
        width = sum(2 * sample.n_dishes + len(found) for sample in found.samples)
        step = max(1, min(_BLOCK, _SHARES // (width + 1)))
        for first in range(0, data.n_documents, step):
            here = slice(first, min(first + step, data.n_documents))
            yield DocumentShares(names[here], data.document_lengths[here], found.group_rows(here))
        return
    check_documents(found)
    state = found.states[0]
    own = found.which(state.sample)
    for block in state.documents():
        sample, lengths = block.sample, block.corpus.document_lengths
        assert sample is not None  # as the deepest groups are documents
        step = max(1, min(_BLOCK, _SHARES // (2 * sample.n_dishes + len(found) + 1)))
        for first in range(0, len(lengths), step):
            here = slice(first, min(first + step, len(lengths)))
            shares = found.by_component(own, sample.group_weights(here))
            yield DocumentShares(sample.names[here], lengths[here], shares)


def document_shares(found: Any) -> Floats:
    """Share of the documents with tokens in which each component has at least 5 % of them: (T,)."""
    present, filled = np.zeros(len(found)), 0
    for block in document_counts(found):
        cells = block.counts.tocoo()
        enough = cells.data >= PRESENT * block.lengths[cells.row]
        present += np.bincount(cells.col[enough], minlength=len(found))
        filled += int((block.lengths > 0).sum())
    return present / max(filled, 1)


def document_labels(found: Any) -> dict[str, tuple[Int64s, Sequence[Any]]]:
    """Labels of the documents, such as dates and groups: name -> (codes, keys)."""
    names = [name for name in getattr(found.data, "label_names", ()) if name != "document"]
    return {name: found.data.document_labels[name] for name in names}


def dated_label(found: Any) -> str | None:
    """The first label of documents that has dates; None if there is none."""
    return next((name for name, own in document_labels(found).items() if date_keys(own[1])), None)


def trends_of(found: Any, by: str | None = None, labels: Int64s | None = None) -> Trends | None:
    """The shares that `Components.trends` returns."""
    name = dated_label(found)
    if name is None or not of_documents(found):
        return None
    codes, keys = document_labels(found)[name]
    periods, which = periods_of([None if c < 0 else keys[c] for c in codes.tolist()], by)
    return shares_in(found, periods, which, np.arange(len(found)) if labels is None else labels)


def shares_by_label(found: Any) -> dict[str, Trends]:
    """Shares by each label of documents but that with dates, if it has at most 1,000 values."""
    if not of_documents(found):
        return {}
    each = np.arange(len(found))
    return {
        name: shares_in(found, list(map(str, keys)), codes, each)
        for name, (codes, keys) in document_labels(found).items()
        if name != dated_label(found) and 0 < len(keys) <= _VALUES
    }


def _counted(corpus: Any, here: slice, before: int, counts: Any) -> DocumentCounts:
    """Some documents of a corpus, before which there are ``before`` others in corpora of their own."""
    names = corpus.names or range(before, before + corpus.n_documents)
    labels = {
        name: (own[0][here], own[1]) for name, own in corpus.document_labels.items() if name != "document"
    }
    return DocumentCounts(names[here], corpus.document_lengths[here], labels, counts)


def chooser(own: Int64s, n: int) -> Any:
    """A matrix that adds up the columns of the dishes of each component: shape (n_dishes, n)."""
    there = np.flatnonzero(own >= 0)
    return scipy.sparse.csr_array((np.ones(len(there)), (there, own[there])), shape=(len(own), n))
