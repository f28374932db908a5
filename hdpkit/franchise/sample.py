"""Samples: the parts of states from which the posterior is summarised."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.checks import DAMAGED, fitting, instance, made_by, whole_number
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.as_html import sample_table
from hdpkit.franchise.sample_draws import TopicLaw, dirichlet, drawn_weights, topic_law
from hdpkit.franchise.sample_parts import Level, TermMeans, rows_at_once
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source

__all__ = ["Sample"]

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]


def _as_tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


@made_by("Franchise.sample")
@attrs.frozen(eq=False, kw_only=True, slots=False)
class Sample:
    """The part of a state after a sweep that summaries of the posterior need. It never changes.

    It doesn't refer to the franchise or the data, and the size of its arrays is that of the counts, not of
    the data (but for ``dishes`` of a flat mixture).

    Attributes
    ----------
    chain, sweep : int
        Chain and sweep of the state.
    ids : int64 array, shape (K,)
        Lasting ids of the dishes: `Franchise.dish_ids`.
    sizes : int64 array, shape (K,)
        Customers of each dish.
    counts : csr_array of int64, shape (K, n_terms), or None
        Counts of terms by dish. None if the data are not terms.
    parameters : dict
        ``"mean"``: posterior mean parameters of each dish, shape (K, ...), as in `Franchise.dish_parameters`.
        Empty for topics, which are computed from ``counts``, and for measures without such a mean. With known
        components also ``"precision"``, shape (K,): the topic of dish k has a Dirichlet posterior with
        parameters precision_k mean_k; infinite if it is frozen.
    root_weights : float64 array, shape (K + 1,)
        Posterior mean weights of the dishes in the root and, last, of all new dishes.
    root_precision : float
        Given the state the weights of the root are Dirichlet(root_precision root_weights): its concentration
        and its customers. Infinite if ``root_weights`` are the weights: those in the state, or fixed ones.
    label : str
        Label of the deepest declaration, which names the kind of groups ("document").
    names : tuple
        Names of the groups.
    group_counts : csr_array of int64, shape (n_groups, K)
        Number of customers of each dish in each group.
    dishes : int32 array, shape (n_customers,), or None
        Dish of each customer, in data order; -1 while unseated. Only of a flat mixture (one restaurant) of at
        most 2**20 customers: its items are customers, while those of other models are groups.
    hyperparameters : dict
        Concentrations, discounts and parameters of the base measure, by the keys of a trace.
    log_joint : float
        In nats.
    term_means : TermMeans or None
        Further data for `topics`.
    levels : tuple of Level
        Data for `group_weights`: the declarations below the root, that of the groups last.
    """

    chain: int
    sweep: int
    ids: Ints = attrs.field(repr=False)
    sizes: Ints = attrs.field(repr=False)
    counts: Any = attrs.field(default=None, repr=False)
    parameters: Mapping[str, npt.NDArray[Any]] = attrs.field(factory=dict, repr=False)
    root_weights: Floats = attrs.field(repr=False)
    root_precision: float = attrs.field(default=float("inf"), repr=False)
    label: str = "group"
    names: tuple[Any, ...] = attrs.field(default=(), converter=_as_tuple, repr=False)
    group_counts: Any = attrs.field(repr=False)
    dishes: npt.NDArray[np.int32] | None = attrs.field(default=None, repr=False)
    hyperparameters: Mapping[str, Any] = attrs.field(factory=dict, repr=False)
    log_joint: float = float("nan")
    term_means: TermMeans | None = attrs.field(default=None, repr=False)
    levels: tuple[Level, ...] = attrs.field(default=(), converter=_as_tuple, repr=False)

    def __attrs_post_init__(self) -> None:
        for name in ("parameters", "hyperparameters"):
            object.__setattr__(self, name, MappingProxyType(dict(getattr(self, name))))
        for thing in (self, self.term_means, *self.levels):
            for value in () if thing is None else attrs.astuple(thing, recurse=False):
                _read_only(value)

    def _repr_html_(self) -> str:
        return sample_table(self)

    def __reduce__(self) -> Any:
        return _again, ({**self.__dict__, **{name: dict(getattr(self, name)) for name in _MAPPINGS}},)

    @property
    def n_dishes(self) -> int:
        """Number of dishes, K."""
        return len(self.ids)

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group_counts.shape[0])

    def topics(self) -> Floats:
        """Posterior mean of each topic given its counts: float64, shape (K, n_terms); rows sum to one.

        Raises
        ------
        StateError
            If the data are not terms.
        """
        return self._topics_of(np.arange(self.n_dishes))

    def _topic_blocks(self, dishes: Ints) -> Iterator[Floats]:
        """Rows of `topics` for some dishes, a few at a time: all of them may not fit in memory."""
        n = rows_at_once(1 if self.counts is None else self.counts.shape[1])
        for first in range(0, len(dishes), n):
            yield self._topics_of(dishes[first : first + n])

    def _topics_of(self, dishes: Ints) -> Floats:
        """Rows of `topics` for some dishes."""
        if self.counts is not None and self.term_means is not None:
            means = self.term_means
            there = self.counts[dishes].toarray()
            smoothing = means.smoothing[dishes] if means.smoothing.ndim == 2 else means.smoothing
            inside = (there + smoothing) * means.inside[dishes, None]
            if np.array_equal(means.inside, means.outside):
                return np.asarray(inside, dtype=np.float64)
            topics: Floats = np.where(there > 0, inside, smoothing * means.outside[dishes, None])
            return topics
        mean = self.parameters.get("mean")
        if self.counts is None or mean is None or mean.shape != self.counts.shape:
            raise StateError(
                "topics", "of data that are no terms", "of a measure over terms",
                "See sample.parameters, which has the posterior means of the dishes.",
            )  # fmt: skip
        return np.array(mean[dishes], dtype=np.float64)

    def topic_law(self, dish: int) -> TopicLaw | None:
        """The posterior distribution of the topic of a dish given its counts.

        Parameters
        ----------
        dish : int
            0 to K - 1.

        Returns
        -------
        TopicLaw or None
            None if the data are not terms, or if the sample has only the means of its topics.

        Raises
        ------
        ParameterError
            If there is no such dish.
        """
        whole_number("dish", dish, 0, self.n_dishes - 1, remedy="See Sample.n_dishes.")
        if self.counts is None:
            return None
        return topic_law(self.counts, self.term_means, self.parameters, dish)

    def draw_topics(self, rng: ChoiceSource | Seed = None) -> Floats:
        """Draw each topic from its posterior given the counts; `topics` is the mean of these draws.

        Under a Dirichlet prior the topics are Dirichlet(n_kv + eta_v). If topics select terms (Wang & Blei
        2009), the number of selected terms is drawn first, then which, and the topic is Dirichlet over them;
        other terms are 0. A frozen component is always the same. `moves.DrawTopics` draws from the same law.

        Parameters
        ----------
        rng : int, SeedSequence, Generator or None
            The same seed gives the same draw.

        Returns
        -------
        float64 array, shape (K, n_terms)
            Rows sum to one.

        Raises
        ------
        StateError
            If the data are not terms, or the sample has only the means of its topics.
        """
        laws = [self.topic_law(k) for k in range(self.n_dishes)]
        if self.counts is None or any(law is None for law in laws):
            raise StateError(
                "topics", "of data that are no terms, or of which only means are kept",
                "of a measure over terms whose posterior is a Dirichlet distribution",
                "See Sample.topics and sample.parameters for posterior means.",
            )  # fmt: skip
        source = as_source(rng, Purpose.OTHER)
        drawn = [law.draw(source) for law in laws if law is not None]
        return np.array(drawn).reshape(self.n_dishes, self.counts.shape[1])

    def group_weights(self, groups: slice | None = None) -> Floats:
        """Posterior mean share of each dish in each group: float64, shape (n_groups, K + 1).

        The last column is for a new dish; rows sum to one. For a Dirichlet process with parent weights P they
        are (n_jk + alpha P_k) / (n_j + alpha); a restaurant with a discount d and T_j tables has (n_jk - d
        t_jk + (theta + d T_j) P_k) / (n_j + theta) (Teh 2006, equation 4), from the root down.

        Parameters
        ----------
        groups : slice, optional
            Which ones, by number; all by default.

        Returns
        -------
        float64 array
        """
        rows = self.root_weights[None, :]
        for level in self.levels[:-1]:
            rows = np.concatenate([rows, _weights(level, rows, slice(None))])
        chosen = self._chosen(groups)
        return _weights(self.levels[-1], rows, chosen) if self.levels else rows[chosen].copy()

    def draw_group_weights(self, rng: ChoiceSource | Seed = None, groups: slice | None = None) -> Floats:
        """Draw the shares of the dishes in each group from their posterior given the state.

        `group_weights` is the mean of these draws. Levels are drawn from the top down. The weights of a root
        that is a restaurant are Dirichlet(m_1 - d, ..., m_K - d, theta + d K) given its customers m_k; those
        of any other root are not drawn, because they are in the state or fixed. For a Dirichlet process with
        parent weights P the shares are Dirichlet(n_jk + alpha P_k), where the last parameter is for a new
        dish. With a discount d they are Dirichlet(n_jk - d t_jk, ..., theta + d T_j), and the last share is
        divided among all dishes by a Pitman-Yor process with concentration theta + d T_j over P (Pitman 1996,
        corollary 20), drawn by its subordinator (Pitman & Yor 1997, proposition 21). If (theta + d T_j) / d
        is above 1,000 this process is replaced by a Dirichlet distribution with the same mean and variances.

        Parameters
        ----------
        rng : int, SeedSequence, Generator or None
            The same seed gives the same draw.
        groups : slice, optional
            Which ones, by number; all by default.

        Returns
        -------
        float64 array, shape (n_groups, K + 1)
            The last column is for a new dish; rows sum to one.
        """
        generator = as_source(rng, Purpose.OTHER).generator
        chosen = self._chosen(groups)
        rows = self.root_weights[None, :]
        if np.isfinite(self.root_precision):
            rows = dirichlet(self.root_precision * rows, generator)
        if not self.levels:
            return rows[chosen].copy()
        for level in self.levels[:-1]:
            rows = np.concatenate([rows, drawn_weights(level, rows, slice(None), generator)])
        return drawn_weights(self.levels[-1], rows, chosen, generator)

    def _chosen(self, groups: Any) -> slice:
        if groups is None:
            return slice(None)
        remedy = "For instance slice(0, 10)."
        instance("groups", groups, slice, "a slice of groups, or None", remedy=remedy)
        try:
            groups.indices(self.n_groups)
        except (TypeError, ValueError):
            raise ParameterError("groups", groups, "a slice of whole numbers", remedy) from None
        return groups

    def shares(self) -> Floats:
        """Share of each dish in all customers: float64, shape (K,)."""
        return self.sizes / max(int(self.sizes.sum()), 1)


_MAPPINGS = ("parameters", "hyperparameters")


def _again(values: dict[str, Any]) -> Sample:
    with fitting("pickle of Sample", "the fields of a sample", remedy=DAMAGED):
        return Sample(**values)


def _read_only(value: Any) -> None:
    if isinstance(value, Mapping):
        for inner in value.values():
            _read_only(inner)
    elif isinstance(value, np.ndarray):
        value.setflags(write=False)
    elif isinstance(value, scipy.sparse.csr_array):
        for part in (value.data, value.indices, value.indptr):
            part.setflags(write=False)


def _weights(level: Level, above: Floats, chosen: slice) -> Floats:
    """P of every dish and of a new one in some restaurants of a level, given the rows above it."""
    theta, d = (np.broadcast_to(a, len(level.parent))[chosen] for a in (level.concentration, level.discount))
    counts, tables = level.counts[chosen], None if level.tables is None else level.tables[chosen]
    n = np.asarray(counts.sum(axis=1), dtype=np.float64)
    rows = above[level.parent[chosen]]
    rest = theta if tables is None else theta + d * np.asarray(tables.sum(axis=1))
    rows *= np.where(n > 0, rest, 1.0)[:, None]
    own = counts.tocoo()
    rows[own.row, own.col] += own.data
    if tables is not None:
        own = tables.tocoo()
        rows[own.row, own.col] -= d[own.row] * own.data
    rows /= np.where(n > 0, n + theta, 1.0)[:, None]
    return rows
