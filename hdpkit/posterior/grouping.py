"""Groups of similar topics, so that hundreds of topics can be read as about twenty groups."""

from __future__ import annotations

import itertools
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import choice, number_array, whole_number
from hdpkit.data.top_terms import largest
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.posterior.partitions import canonical_by
from hdpkit.posterior.readings import term_names, topic_weights
from hdpkit.posterior.topic_labels import heaviest_terms, labels_for

_METHODS = ("average", "complete", "ward")
_TERMS = 2_000
_NAMED_BY = 3  # words
_IN_TREE = 500  # components whose distances are computed; each further one joins the nearest group


def usual_groups(n_topics: int) -> int:
    """Number of groups in which this many topics are shown: about one for three topics, 2 to 20."""
    return min(max(round(n_topics / 3), 2), 20, n_topics)


def frequent_terms(topics: Floats, frequencies: Any) -> Floats:
    """Weights of the 2,000 most frequent terms, all others as one; no Jensen-Shannon distance increases."""
    if topics.shape[1] <= _TERMS:
        return topics
    order = np.argsort(-np.asarray(frequencies), kind="stable")
    return np.column_stack([topics[:, order[:_TERMS]], topics[:, order[_TERMS:]].sum(axis=1)])


def jensen_shannon(topics: Floats, others: Floats | None = None) -> Floats:
    """Jensen-Shannon distances of rows (roots of divergences in nats), among each other or to others."""
    if others is None:
        apart = scipy.spatial.distance.pdist(topics, "jensenshannon")
    else:
        apart = scipy.spatial.distance.cdist(topics, others, "jensenshannon")
    # Rounding may make the distance of equal topics slightly nonzero, or NaN.
    return np.asarray(np.maximum(np.nan_to_num(apart, nan=0.0), 0.0))


@attrs.frozen(eq=False, kw_only=True)
class TopicGroups:
    """A tree of topics, similar ones close together.

    Groups are numbered from 0 by descending share.

    Attributes
    ----------
    linkage : float64 array, shape (K - 1, 4)
        In the format of SciPy's ``linkage``, for its ``dendrogram`` or `hdpkit.plots.dendrogram`.
    topics : float64 array, shape (K, V)
        Weights of terms; rows sum to one.
    weights : float64 array, shape (K,)
        Share of each topic; they sum to one.
    vocabulary : tuple of str or None
        Word of each term.
    n_groups : int or None
        Default number of groups into which the methods cut the tree.
    """

    linkage: Floats = attrs.field(repr=False)
    topics: Floats = attrs.field(repr=False)
    weights: Floats = attrs.field(repr=False)
    vocabulary: tuple[str, ...] | None = attrs.field(default=None, repr=False)
    n_groups: int | None = None

    def cut(self, n_groups: int | None = None) -> Int64s:
        """Group of each topic if the tree is cut into this many groups: int64, shape (K,).

        Parameters
        ----------
        n_groups : int, optional
            By default the number given to `group_topics`, or else that of the report: a third of the topics,
            2 to 20.
        """
        k = len(self.weights)
        if n_groups is None:
            n_groups = usual_groups(k) if self.n_groups is None else self.n_groups
        n_groups = whole_number("n_groups", n_groups, 1, k, remedy="At most one per topic.")
        if k == 1:
            return np.zeros(1, dtype=np.int64)
        # By merges, not by heights: this gives the requested number of groups even if heights are equal.
        # Before SciPy 1.14 these functions reject read-only arrays.
        found = scipy.cluster.hierarchy.cut_tree(self.linkage.copy(), n_clusters=n_groups)[:, 0]
        return canonical_by(found, self.weights)

    def shares(self, n_groups: int | None = None) -> Floats:
        """Share of each group, descending: float64, shape (n,).

        Parameters
        ----------
        n_groups : int, optional
            As for `cut`.
        """
        return np.asarray(np.bincount(self.cut(n_groups), weights=self.weights), dtype=np.float64)

    def means(self, n_groups: int | None = None) -> Floats:
        """Mean topic of each group, weighted by share: float64, shape (n, V); rows sum to one.

        Parameters
        ----------
        n_groups : int, optional
            As for `cut`.
        """
        labels = self.cut(n_groups)
        sums = np.zeros((int(labels.max()) + 1, self.topics.shape[1]))
        # The topics of a group with zero share are weighted equally.
        some = np.bincount(labels, weights=self.weights) > 0.0
        np.add.at(sums, labels, self.topics * np.where(some[labels], self.weights, 1.0)[:, None])
        means: Floats = sums / sums.sum(axis=1, keepdims=True)
        return means

    def top_terms(self, n_groups: int | None = None, *, n_terms: int = 10) -> tuple[tuple[Any, ...], ...]:
        """First terms of the mean topic of each group: words, or ids without a vocabulary."""
        n_terms = whole_number("n_terms", n_terms, 1, remedy="10 are usual.")
        first, words = [largest(row, n_terms).tolist() for row in self.means(n_groups)], self.vocabulary
        return tuple(tuple(row if words is None else (words[v] for v in row)) for row in first)


def group_topics(
    topics: Any,
    weights: Any = None,
    n_groups: int | None = None,
    *,
    method: str = "ward",
    vocabulary: Any = None,
) -> TopicGroups:
    """Arrange topics in a tree by the distances between them.

    The defaults are those of the report and of ``hdpkit topics``. A distance is the square root of the
    Jensen-Shannon divergence (Endres & Schindelin 2003) over the 2,000 most frequent terms, with all others
    as one term. Raises a ParameterError or DataError if the topics are not valid, or weights and vocabulary
    don't fit them.

    Parameters
    ----------
    topics : array of shape (K, V), Franchise, Sample or Components
        Weights of terms in topics.
    weights : array of shape (K,), optional
        Shares of the topics, up to a factor; by default those of what was given, of an array equal ones.
        They influence shares and mean topics, not the tree.
    n_groups : int, optional
        Default number of groups of the methods; the tree can be cut into any number later.
    method : "average", "complete" or "ward"
        Linkage, as in `scipy.cluster.hierarchy.linkage`. "ward" gives groups that differ less in size; of
        hundreds of topics "average" leaves nearly all in one group.
    vocabulary : sequence of str, optional
        Word of each term; by default the franchise's.
    """
    values = topic_weights(topics)
    k, n_terms = values.shape
    choice("method", method, _METHODS, remedy="Leave it out.")
    if n_groups is not None:
        n_groups = whole_number("n_groups", n_groups, 1, k, remedy="At most one per topic.")
    if weights is None and isinstance(topics, Sample):
        weights = topics.sizes
    if weights is None and hasattr(topics, "which"):
        weights = topics.shares
    if weights is None and isinstance(topics, Franchise):
        weights = topics.dish_counts.sum(axis=1)
    shares = np.ones(k) if weights is None else number_array(weights)
    fits = shares is not None and shares.shape == (k,) and np.isfinite(shares).all() and (shares >= 0.0).all()
    if shares is None or not fits or not shares.sum() > 0.0:
        raise ParameterError(
            "weights", weights, f"{k} numbers, not negative, not all 0", "Give one per topic."
        )
    if vocabulary is None and isinstance(topics, Franchise):
        vocabulary = getattr(topics.data, "vocabulary", None)
    words = None if vocabulary is None else tuple(term_names(topics, vocabulary, n_terms))
    linkage = np.empty((0, 4))
    if k > 1:
        compared = frequent_terms(values, shares @ values)
        linkage = scipy.cluster.hierarchy.linkage(jensen_shannon(compared), method)
    shares = shares / shares.sum()
    for array in (linkage, values, shares):
        array.setflags(write=False)
    return TopicGroups(linkage=linkage, topics=values, weights=shares, vocabulary=words, n_groups=n_groups)


@attrs.frozen(eq=False, kw_only=True, slots=False)
class ComponentGroups:
    """Components in groups of similar ones, which are numbered from the largest to the smallest."""

    tree: TopicGroups  # of the 500 largest components
    of: Int64s  # group of each component, shape (T,)
    components: Any

    def __len__(self) -> int:
        return int(self.of.max()) + 1

    @property
    def shares(self) -> Floats:
        """Share of the data in each group: float64, shape (n_groups,)."""
        return np.asarray(np.bincount(self.of, weights=self.components.shares), dtype=np.float64)

    @property
    def members(self) -> list[list[int]]:
        """Numbers of the components of each group, from 1."""
        return [(np.flatnonzero(self.of == g) + 1).tolist() for g in range(len(self))]

    @cached_property
    def rows(self) -> Floats:
        """Mean of each group, weighting its components by their shares: rows sum to one."""
        total = np.zeros((len(self), self.components.n_terms))
        for first, rows in self.components.blocks():
            of = slice(first, first + len(rows))
            np.add.at(total, self.of[of], rows * self.components.shares[of, None])
        means: Floats = total / np.maximum(total.sum(axis=1, keepdims=True), np.finfo(np.float64).tiny)
        return means

    def top_terms(self, n_terms: int) -> list[Int64s]:
        """The most probable terms of each group."""
        return [largest(row, n_terms) for row in self.rows]

    def heaviest(self) -> tuple[Int64s, Floats]:
        """The heaviest terms of each group, by which labels find their groups."""
        return heaviest_terms([self.rows])

    @cached_property
    def labels(self) -> tuple[str, ...]:
        """Label that somebody gave to each group, "" for none."""
        of = self.components._of
        rows = [row for row in of.label_rows if row.topic is None]
        if not rows or of.folder is None:
            return ("",) * len(self)
        return labels_for(of.folder, rows, *self.heaviest(), self.components.n_terms)

    @cached_property
    def titles(self) -> list[str]:
        """The label of each group, or else its first three words."""
        both = zip(self.labels, self.top_terms(_NAMED_BY), strict=True)
        return [label or " ".join(map(str, self.components.words(terms))) for label, terms in both]

    def table(self, n_terms: int = 10) -> dict[str, Any]:
        """Columns of a table with a row for each group: number, label, share, its components, its terms."""
        return {
            "group": np.arange(1, len(self) + 1),
            "label": self.titles,
            "share": self.shares,
            "topics": [" ".join(map(str, members)) for members in self.members],
            "terms": [" ".join(map(str, self.components.words(top))) for top in self.top_terms(n_terms)],
        }


def grouped(components: Any, n_groups: int | None = None) -> ComponentGroups:
    """Components in this many groups of similar ones, by default the usual number of them."""
    k = len(components)
    blocks = ((first, frequent_terms(rows, components.term_counts)) for first, rows in components.blocks())
    held: list[Floats] = []
    while sum(map(len, held)) < min(k, _IN_TREE):
        held.append(next(blocks)[1])
    first = np.concatenate(held) if held else np.empty((0, 1))
    held.clear()
    n = min(k, usual_groups(k) if n_groups is None else n_groups, _IN_TREE)
    tree = group_topics(first[:_IN_TREE], components.shares[:_IN_TREE], n)
    means, near = tree.means(), []
    for rows in itertools.chain([first[_IN_TREE:]], (rows for _, rows in blocks)):
        near.append(jensen_shannon(rows, means).argmin(axis=1))
    group = canonical_by(np.concatenate([tree.cut(), *near]), components.shares)
    return ComponentGroups(tree=tree, of=group, components=components)
