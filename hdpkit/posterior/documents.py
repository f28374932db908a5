"""Tokens and shares of components in documents, in documents with the same label, and over time."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, items, whole_numbers
from hdpkit.data.files.labels import PERIODS, date_keys, iso_date, periods_of
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.intervals import checked_level, halves_of, interval_of_shares
from hdpkit.run.tables import data_frame


@attrs.frozen(eq=False, kw_only=True)
class Trends:
    """Shares of topics, or of groups of topics, in the documents of each period.

    Attributes
    ----------
    periods : tuple of str
        All periods from the first date to the last, P of them.
    documents, tokens : int64 array, shape (P,)
        Documents and tokens of each period.
    shares : float64 array, shape (P, K)
        Share of the tokens of a period in each topic, mean over the samples; NaN without tokens.
    lower, upper : float64 array, shape (P, K), or None
        Ends of the intervals over the samples; None for a single sample.
    """

    periods: tuple[str, ...]
    documents: Int64s = attrs.field(repr=False)
    tokens: Int64s = attrs.field(repr=False)
    shares: Floats = attrs.field(repr=False)
    lower: Floats | None = attrs.field(default=None, repr=False)
    upper: Floats | None = attrs.field(default=None, repr=False)

    def columns(self, name: str = "topic", labels: Sequence[str] = ()) -> dict[str, Any]:
        """A table with a row for each period and topic: name of the column -> values.

        Parameters
        ----------
        name : str
            Name of the column of topics, which are numbered from 1.
        labels : sequence of str, optional
            A label for each topic.
        """
        n, k = self.shares.shape
        table: dict[str, Any] = {
            "period": [period for period in self.periods for _ in range(k)],
            "documents": np.repeat(self.documents, k),
            "tokens": np.repeat(self.tokens, k),
            name: np.tile(np.arange(1, k + 1), n),
            **({"label": [*labels] * n} if labels else {}),
            "share": self.shares.ravel(),
        }
        if self.lower is not None and self.upper is not None:
            table |= {"lower": self.lower.ravel(), "upper": self.upper.ravel()}
        return table

    def to_pandas(self, name: str = "topic") -> Any:
        """The table of `columns` as a data frame; needs pandas: ``pip install 'hdpkit[pandas]'``.

        Parameters
        ----------
        name : str
            As for `columns`.
        """
        return data_frame(self.columns(name))


def trends(
    topics: Any, dates: Any, *, by: str | None = None, labels: Any = None, level: float = 0.9
) -> Trends:
    """Compute the shares of topics over time.

    Raises a ParameterError or DataError if an argument is out of range, a date can't be read, or groups
    aren't documents.

    Parameters
    ----------
    topics : Components or Sample
        With documents as groups. Aligned topics also give intervals.
    dates : sequence of length n_documents
        Date of each document: a year, a text in ISO 8601 or another usual notation, or a date; None where it
        is not known.
    by : str, optional
        Length of the periods: "day", "month", "quarter", "year", "5 years", "decade" or "century". By default
        the shortest for which there are at most 40 periods, at least half of them with documents.
    labels : array of int, shape (K,), optional
        Group of each topic, from 0, whose shares are added up: ``group_topics(topics).cut()``.
    level : float
        Probability of the intervals, which contain the variation between samples, not between documents that
        a period might have had.
    """
    if not isinstance(topics, Sample) and (isinstance(topics, type) or not hasattr(topics, "which")):
        raise ParameterError("topics", topics, "a Sample or Components", "franchise.sample().")
    samples = (topics,) if isinstance(topics, Sample) else topics.samples
    given = items("dates", dates, "a date for each document", remedy="For instance [1994, 2001].")
    n = samples[0].n_groups
    if len(given) != n or any(sample.n_groups != n for sample in samples):
        raise DataError("dates", f"{len(given)} dates", f"{n} dates, one per group", "Give one each.")
    if by is not None:
        choice("by", by, PERIODS, remedy="Leave it out.")
    level = checked_level(level)
    k = topics.n_dishes if isinstance(topics, Sample) else len(topics)
    to = np.arange(k)
    if labels is not None:
        remedy = "group_topics(topics).cut()."
        to = whole_numbers("labels", labels, 0, max(k - 1, 0), length=k, remedy=remedy)
    texts: list[str | None] = []
    for d, date in enumerate(given):
        try:
            texts.append(None if date is None or date != date else iso_date(date))
        except ValueError:
            raise DataError(
                f"dates[{d}]", date, "a date such as 2024-05-31, a year, or None", "Write YYYY-MM-DD."
            ) from None
    periods, which = periods_of(texts, by)
    if not periods:
        raise DataError("dates", "None for each document", "at least one date", "Give the dates.")
    return shares_in(topics, periods, which, to, level)


def shares_in(topics: Any, periods: Sequence[str], which: Int64s, to: Int64s, level: float = 0.9) -> Trends:
    """As `trends`, given the number of each document's period, or group, and of each topic's column."""
    samples = (topics,) if isinstance(topics, Sample) else topics.samples
    n_columns, adding, found = int(to.max(initial=-1)) + 1, chooser(which, len(periods)).T.tocsr(), []
    for sample in samples:
        own = to if isinstance(topics, Sample) else np.append(to, -1)[topics.which(sample)]
        found.append(((adding @ sample.group_counts) @ chooser(own, n_columns)).toarray())
    tokens = np.asarray((adding @ samples[0].group_counts).sum(axis=1), dtype=np.int64).ravel()
    with np.errstate(invalid="ignore"):
        shares = np.array(found) / np.where(tokens > 0, tokens, np.nan)[:, None]
    mean = shares.mean(axis=0)
    ends: tuple[Floats | None, Floats | None] = (None, None)
    if len(samples) > 1:
        ends = interval_of_shares(shares[:, None], level, halves_of(samples), mean)
    documents = np.bincount(which[which >= 0], minlength=len(periods))
    return Trends(
        periods=tuple(periods), documents=documents, tokens=tokens, shares=mean,
        lower=ends[0], upper=ends[1],
    )  # fmt: skip


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
    """Tokens of the components in all documents in order; one block is in memory at a time."""
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
    ones = np.ones(len(there), dtype=np.int64)
    return scipy.sparse.csr_array((ones, (there, own[there])), shape=(len(own), n))
