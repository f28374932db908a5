"""The components of two runs matched with each other: which are in both, which are new, which are missing."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol, runtime_checkable

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import instance, real_number, whole_number
from hdpkit.data.files.tables import Columns
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.sample import rows_at_once
from hdpkit.posterior.alignment import MIN_COSINE, assigned, unit_rows
from hdpkit.run.tables import data_frame

_REMEDY = "hk.open_run(folder), the folder, or components(run)."
_ALLOWED = "a run, its folder, or components that samples have in common"
_WORDS = 8


@attrs.frozen(eq=False, kw_only=True)
class ComponentSet:
    """Components as non-negative weights over columns that have names: terms, channels, or customers."""

    source: str  # what they are components of
    names: tuple[str, ...]
    shares: Floats  # of all customers
    columns: Sequence[Any] | int  # names of the columns, or their number if they have none
    rows: Callable[[Int64s], Floats]  # weights of some components, shape (n, n_columns)
    words: Callable[[int, int], Sequence[str]]  # of a component, at most so many that describe it
    # Where columns are customers: what the data are, so that customers of other data aren't compared.
    data: Any = None

    def blocks(self) -> list[Int64s]:
        """Numbers of the components, as many at a time as fit into memory."""
        step = rows_at_once(self.n_columns)
        return [
            np.arange(first, min(first + step, len(self.names))) for first in range(0, len(self.names), step)
        ]

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return self.columns if isinstance(self.columns, int) else len(self.columns)


@runtime_checkable
class Matchable(Protocol):
    """An object with components that can be matched with those of another."""

    def component_set(self, source: str) -> ComponentSet:
        """The components; ``source`` is what they are components of, in messages."""
        ...


@attrs.frozen(eq=False, kw_only=True, repr=False, slots=False)
class TopicMatch:
    """The topics of two runs, matched. See `match_topics`, which makes it.

    The topics of either run are numbered from 0 here, by descending share, and named from 1.

    Attributes
    ----------
    sources : (str, str)
        The two runs, as messages and tables name them.
    names : (tuple of str, tuple of str)
        Names of the topics of each run, as ``hdpkit topics`` prints them.
    shares : (float64 array, float64 array)
        Share of each topic in the data of its run.
    cosines : float64 array, shape (T1, T2)
        Cosine of each topic of the first run with each of the second: of their distributions over terms
        (those
        of one run count as zero in the other), or of the probabilities with which customers are in them.
    pairs : int64 array, shape (n, 2)
        Numbers of the topics that are matched, by descending share in the first run.
    min_cosine : float
    n_columns : (int, int, int)
        Terms of each run, and those that both have.
    """

    sources: tuple[str, str]
    names: tuple[tuple[str, ...], tuple[str, ...]]
    shares: tuple[Floats, Floats]
    cosines: Floats
    pairs: Int64s
    min_cosine: float
    n_columns: tuple[int, int, int]
    _words: tuple[Any, Any]

    def __str__(self) -> str:
        one, other = self.sources
        first, second = self.shared
        missing, new = map(len, self.unmatched)
        sizes = f"{len(self.names[0])} topics of {one} and {len(self.names[1])} of {other}"
        return (
            f"{len(self.pairs)} of {sizes} are matched (cosine at least {self.min_cosine:g}): {first:.1%} of "
            f"the data of {one}, {second:.1%} of {other}; {missing} are missing in {other}, {new} are new"
        )

    def __repr__(self) -> str:
        return f"<TopicMatch: {self}>"

    @property
    def cosine(self) -> Floats:
        """Cosine of each pair: float64, shape (n,)."""
        return self.cosines[self.pairs[:, 0], self.pairs[:, 1]]

    @property
    def missing(self) -> Int64s:
        """Topics of the first run that the second doesn't have: int64, by descending share."""
        return self.unmatched[0]

    @property
    def new(self) -> Int64s:
        """Topics of the second run that the first doesn't have: int64, by descending share."""
        return self.unmatched[1]

    @property
    def unmatched(self) -> tuple[Int64s, Int64s]:
        """`missing` and `new`."""
        missing, new = (
            np.setdiff1d(np.arange(len(names)), self.pairs[:, side]) for side, names in enumerate(self.names)
        )
        return missing, new

    @property
    def shared(self) -> tuple[float, float]:
        """Share of the data of each run in the topics that are matched."""
        first, second = (float(self.shares[side][self.pairs[:, side]].sum()) for side in (0, 1))
        return first, second

    def words(self, side: int, topic: int, n: int = _WORDS) -> tuple[str, ...]:
        """The most probable terms of a topic, or other words that describe a component.

        Parameters
        ----------
        side : int
            0 for the first run, 1 for the second.
        topic : int
            Its number, from 0.
        n : int
            The largest number of words.
        """
        side = whole_number("side", side, 0, 1, remedy="0 is the first run, 1 the second.")
        last = len(self.names[side]) - 1
        topic = whole_number("topic", topic, 0, last, remedy="Topics are numbered from 0.")
        found: Sequence[str] = self._words[side](topic, whole_number("n", n, 1, remedy="8 are usual."))
        return tuple(found)

    def table(self, n_terms: int = _WORDS) -> Columns:
        """The rows of `to_pandas` as a dict: column name -> values.

        Parameters
        ----------
        n_terms : int
            Number of terms of each topic.
        """
        n_terms = whole_number("n_terms", n_terms, 1, remedy="8 are usual.")
        rows: list[tuple[str, list[int | None]]] = [("matched", pair) for pair in self.pairs.tolist()]
        rows += [("missing", [topic, None]) for topic in self.missing.tolist()]
        rows += [("new", [None, topic]) for topic in self.new.tolist()]
        table: dict[str, list[Any]] = {
            name: [] for name in ("status", "topic_1", "topic_2", "cosine", "share_1", "share_2", "nearest",
                                  "nearest_cosine", "terms_1", "terms_2")
        }  # fmt: skip
        for status, both in rows:
            row: dict[str, Any] = dict.fromkeys(table) | {"status": status}
            for side, number in enumerate(both):
                if number is not None:
                    row[f"topic_{side + 1}"] = self.names[side][number]
                    row[f"share_{side + 1}"] = float(self.shares[side][number])
                    row[f"terms_{side + 1}"] = " ".join(self.words(side, number, n_terms))
            if status == "matched":
                row["cosine"] = float(self.cosines[tuple(both)])
            else:
                missing, new = both
                cosines = self.cosines[missing] if missing is not None else self.cosines[:, new]
                if len(cosines):
                    best = int(np.argmax(cosines))
                    row["nearest"] = self.names[1 if missing is not None else 0][best]
                    row["nearest_cosine"] = float(cosines[best])
            for name, values in table.items():
                values.append(row[name])
        return table

    def to_pandas(self, n_terms: int = _WORDS) -> Any:
        """A row for each pair, then for each topic that is missing in the second run, and each that is new.

        Columns: status ("matched", "missing", "new"), topic_1 and topic_2, their cosine, share_1 and share_2,
        nearest and nearest_cosine (for a topic without partner the most similar one of the other run),
        terms_1 and terms_2. Needs pandas: ``pip install 'hdpkit[pandas]'``.

        Parameters
        ----------
        n_terms : int
            Number of terms of each topic.
        """
        return data_frame(self.table(n_terms))


def matched_components(
    one: Any, other: Any, min_cosine: float = MIN_COSINE, sources: tuple[str, str] = ("run 1", "run 2")
) -> TopicMatch:
    """Match the components of two objects that have some; ``sources`` is what they are components of."""
    min_cosine = real_number("min_cosine", min_cosine)
    if not 0.0 <= min_cosine <= 1.0:
        raise ParameterError("min_cosine", min_cosine, "from 0 to 1", f"{MIN_COSINE} is the default.")
    for name, given in (("one", one), ("other", other)):
        instance(name, given, Matchable, _ALLOWED, remedy=_REMEDY)
    first, second = (given.component_set(of) for given, of in zip((one, other), sources, strict=True))
    own, others = _in_common(first, second)
    cosines = _cosines(first, second, own, others)
    to = assigned(1.0 - cosines, 1.0 - min_cosine)
    matched = np.flatnonzero(to >= 0)
    return TopicMatch(
        sources=(first.source, second.source),
        names=(first.names, second.names),
        shares=(first.shares, second.shares),
        cosines=cosines,
        pairs=np.column_stack([matched, to[matched]]),
        min_cosine=min_cosine,
        n_columns=(first.n_columns, second.n_columns, len(own)),
        words=(first.words, second.words),
    )


def _in_common(first: ComponentSet, second: ComponentSet) -> tuple[Int64s, Int64s]:
    """Numbers of the columns that both have, in either."""
    one, other = first.columns, second.columns
    if first.data != second.data:
        raise DataError(
            "one and other", "of different data", "of the same data, if components are of numbers",
            "They are compared by the customers that they have. Match runs over one data set.",
        )  # fmt: skip
    if isinstance(one, int) or isinstance(other, int):
        if one != other:
            raise DataError(
                "one and other", f"of {_told(one)} and {_told(other)}", "of equally many or named terms",
                "Give runs over corpora that have vocabularies.",
            )  # fmt: skip
        return np.arange(first.n_columns), np.arange(first.n_columns)
    place = {word: v for v, word in enumerate(other)}
    pairs = np.array([(v, place[word]) for v, word in enumerate(one) if word in place], dtype=np.int64)
    if not len(pairs):
        raise DataError(
            "one and other", f"of {_told(one)} and {_told(other)}", "with terms in common",
            f"First terms: {list(map(str, one[:3]))} and {list(map(str, other[:3]))}: give similar data.",
        )  # fmt: skip
    return pairs[:, 0], pairs[:, 1]


def _told(columns: Sequence[Any] | int) -> str:
    return f"{columns} terms without names" if isinstance(columns, int) else f"{len(columns)} terms"


def _cosines(first: ComponentSet, second: ComponentSet, own: Int64s, others: Int64s) -> Floats:
    """Cosine of each row of one set with each of the other, some rows at a time."""
    cosines = np.zeros((len(first.names), len(second.names)))
    for here in first.blocks():
        rows = unit_rows(first.rows(here))[:, own]
        for there in second.blocks():
            cosines[np.ix_(here, there)] = rows @ unit_rows(second.rows(there))[:, others].T
    np.clip(cosines, 0.0, 1.0, out=cosines)
    cosines.setflags(write=False)
    return cosines
