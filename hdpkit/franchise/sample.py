"""A sample: the part of a state that summaries of the posterior need.

`hdpkit.run.samples` decides after which sweeps samples are taken, and reads and writes their files.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import DAMAGED, fitting, instance, refuse, whole_number, whole_numbers
from hdpkit.errors import ParameterError, StateError
from hdpkit.franchise.as_html import sample_table
from hdpkit.franchise.scores import columns_of
from hdpkit.franchise.state import State
from hdpkit.measures._selection import Selection
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.measures.selection import draw_topic
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source

Columns = tuple[Int64s, Int64s, Int64s, Int64s]  # restaurant, dish, customers and tables of entries


def rows_at_once(n_terms: int) -> int:
    """Number of topics of which there are dense rows at once: at most 64, in 32 MB where terms are many."""
    return max(1, min(64, (1 << 22) // max(n_terms, 1)))


@attrs.frozen(eq=False)
class TermMeans:
    """Posterior mean topics as functions of counts."""

    # Term v of dish k has mean (n_kv + smoothing) inside_k if n_kv > 0, and smoothing outside_k otherwise.

    smoothing: Floats  # shape (), (n_terms,) or (K, 1): Dirichlet parameter
    # inside and outside: shape (K,): they are equal unless topics select terms
    # (`BaseMeasure.term_means`)
    inside: Floats
    outside: Floats
    # shape (2,) or (K, 2): if topics select terms: r and s, where the proportion of selected
    # terms has the prior Beta(r, s), or log pi_k and log(1 - pi_k), where that of each dish is given
    selection: Floats | None = None


@attrs.frozen(eq=False, kw_only=True)
class Level:
    """Restaurants of one declaration below the root, by number: the data that determine their weights."""

    name: str  # name of the declaration
    # shape (n,) or (n, parents): number of the restaurant above each, among the root (0) and the
    # restaurants of earlier levels; those of several parents
    parent: Int64s = attrs.field(repr=False)
    # counts and tables: shape (n, K): customers and tables of each dish. ``tables`` is None if no
    # restaurant has a discount.
    counts: Any = attrs.field(repr=False)
    tables: Any = attrs.field(repr=False)
    concentration: Floats  # concentration and discount: shape () or (n,)
    discount: Floats
    # in a hidden Markov model the number of restaurants that belong to no dish: the first is the start
    # row. Restaurant n_fixed + k is the row of dish k. None: restaurants are labels of the data.
    n_fixed: int | None = None
    own: float = 0.0  # what is added to the count of a dish in its own row
    weights: Floats | None = None  # shape (parents,): weights of several parents; None: there is one

    def base_rows(self, above: Floats, chosen: slice) -> Floats:
        """The rows from which some restaurants draw, given those of all restaurants above."""
        rows = above[self.parent[chosen]]
        return rows if self.weights is None else np.einsum("j,njk->nk", self.weights, rows)

    def favours(self, chosen: slice) -> tuple[Floats, tuple[Int64s, Int64s]]:
        """`own` of some restaurants, and the entries of their rows to which it is added: rows and columns."""
        nodes = np.arange(len(self.parent))[chosen]
        if self.n_fixed is None or self.own == 0.0:
            return np.zeros(len(nodes)), (np.empty(0, dtype=np.int64), np.empty(0, dtype=np.int64))
        row = np.flatnonzero(nodes >= self.n_fixed)
        return np.where(nodes >= self.n_fixed, self.own, 0.0), (row, nodes[row] - self.n_fixed)


def _as_tuple(values: Iterable[Any]) -> tuple[Any, ...]:
    return tuple(values)


@attrs.frozen(eq=False)
class TopicLaw:
    """The posterior of one topic given a sample: a Dirichlet distribution over the terms that it selects."""

    # If topics select terms (Wang & Blei 2009), those that have customers are selected, and the number of
    # others is random; which others are is uniform given their number.

    # shape (n,): terms that have customers; all terms if ``parameters`` differ among those that have
    # none
    terms: Int64s
    parameters: Floats  # shape (n,): Dirichlet parameters of these terms
    smoothing: Floats  # shape () or (V,): Dirichlet parameter of any other term
    # sum of the Dirichlet parameters; if topics select terms, 1 / the mean of its inverse. Infinite if
    # the topic is fixed: ``parameters`` is then the topic.
    total: float
    n_terms: int  # V
    selection: Any = None  # distribution of the number of other terms that are selected; None: all are
    customers: int = 0  # customers of the dish

    def draw(self, source: ChoiceSource) -> Floats:
        """Draw the topic: float64, shape (V,), with a sum of one."""
        _check_source(source)
        if self.selection is not None:
            shapes = np.zeros(self.n_terms)
            shapes[self.terms] = self.parameters
            return draw_topic(self.selection, self.customers, shapes, float(self.smoothing), source)
        own = np.array(np.broadcast_to(self.smoothing, (self.n_terms,)))
        own[self.terms] = self.parameters
        return own if np.isinf(self.total) else dirichlet(own[None, :], source.generator)[0]

    def draw_each(self, terms: Int64s, n: int, source: ChoiceSource) -> Floats:
        """Draw the probability of each of some terms ``n`` times from its own distribution."""
        # Terms with equal parameters have equal draws: good for intervals of single terms, and for nothing
        # that depends on several.
        _check_source(source)
        terms = whole_numbers("terms", terms, 0, self.n_terms - 1, remedy="Numbers of terms, ascending.")
        n = whole_number("n", n)
        own = np.array(
            np.broadcast_to(self.smoothing, (len(terms),))
            if not self.smoothing.shape
            else self.smoothing[terms]
        )
        place = np.searchsorted(terms, self.terms)
        here = place < len(terms)
        here[here] = terms[place[here]] == self.terms[here]
        own[place[here]] = self.parameters[here]
        if np.isinf(self.total):
            return np.repeat(own[:, None], n, axis=1)
        has = np.zeros(len(terms), dtype=bool)
        has[place[here]] = True
        kinds, kind = np.unique(np.where(has, own, -own), return_inverse=True)  # negative: without customers
        a, total, alone = np.abs(kinds)[:, None], np.array(self.total), kinds < 0
        if self.selection is not None:
            distinct = len(self.terms)
            more = [self.selection.draw(distinct, self.customers, source) for _ in range(n)]
            total = self.parameters.sum() + float(self.smoothing) * np.array(more)
        drawn = source.generator.beta(a, np.maximum(total - a, _LEAST), size=(len(kinds), n))
        if self.selection is not None:
            left = max(self.n_terms - distinct, 1)
            drawn[alone] *= source.generator.random((np.count_nonzero(alone), n)) * left < more
        return np.asarray(drawn[kind])


def _check_source(source: Any) -> None:
    instance("source", source, ChoiceSource, "a choice source", remedy="hdpkit.random.as_source(0).")


_LEAST = 1e-300  # a beta distribution has positive parameters
_LOGS = (-1e6, -1e-300)  # range of logarithms of probabilities in `Selection`


def topic_law(
    counts: Any, means: TermMeans | None, parameters_of_dishes: Mapping[str, npt.NDArray[Any]], dish: int
) -> TopicLaw | None:
    """The posterior of a topic from a sample (see `Sample`); None if the sample has only its mean."""
    n_terms = int(counts.shape[1])
    if means is None:
        precision, mean = parameters_of_dishes.get("precision"), parameters_of_dishes.get("mean")
        if precision is None or mean is None:
            return None
        total = float(precision[dish])
        parameters = np.array(mean[dish]) if np.isinf(total) else mean[dish] * total
        return TopicLaw(np.arange(n_terms), parameters, np.zeros(()), total, n_terms)
    inside, outside, selection = float(means.inside[dish]), float(means.outside[dish]), means.selection
    if selection is None and inside != outside:
        return None
    begin, end = counts.indptr[dish], counts.indptr[dish + 1]
    order = np.argsort(counts.indices[begin:end], kind="stable")
    terms = np.asarray(counts.indices[begin:end], dtype=np.int64)[order]
    data = counts.data[begin:end][order]
    smoothing = means.smoothing
    if smoothing.ndim == 2:  # one for each dish
        smoothing = smoothing[dish, 0]
    smoothing = np.asarray(smoothing, dtype=np.float64)
    parameters = np.asarray(data + (smoothing[terms] if smoothing.shape else smoothing), dtype=np.float64)
    law = None
    if selection is not None:
        if selection.ndim == 1:
            law = Selection(n_terms, float(smoothing), r=selection[0], s=selection[1])
        else:
            log_pi, log_rest = np.clip(selection[dish], *_LOGS).tolist()
            law = Selection(n_terms, float(smoothing), log_pi=log_pi, log_rest=log_rest)
    return TopicLaw(terms, parameters, smoothing, 1.0 / inside, n_terms, law, int(data.sum()))


def drawn_weights(level: Level, above: Floats, chosen: slice, generator: np.random.Generator) -> Floats:
    """Shares of every dish and of a new one in some restaurants of a level, drawn given the rows above it."""
    theta, d = (np.broadcast_to(a, len(level.parent))[chosen] for a in (level.concentration, level.discount))
    rows, own = level.base_rows(above, chosen), level.counts[chosen]
    if level.tables is None:
        shapes = theta[:, None] * rows + _dense(own, rows.shape)
        shapes[level.favours(chosen)[1]] += level.own
        return dirichlet(shapes, generator)
    tables = level.tables[chosen]
    n_tables = np.asarray(tables.sum(axis=1))
    rest = theta + d * n_tables
    shares = _dense(own, rows.shape) - d[:, None] * _dense(tables, rows.shape)
    shares[:, -1] = np.where(
        n_tables > 0, rest, 1.0
    )  # without customers everything is new, and theta may be < 0
    drawn = dirichlet(shares, generator)
    remainder = drawn[:, -1:].copy()
    drawn[:, -1] = 0.0
    return drawn + remainder * _pitman_yor(rest, d, rows, generator)


_MOST_PARTS = 1000.0


def _pitman_yor(theta: Floats, d: Floats, base: Floats, generator: np.random.Generator) -> Floats:
    """Shares of the parts of a partition in one draw of PY(theta, d) for each row of their base weights."""
    # The shares are those of the increments of a generalised gamma subordinator over times S base, S ~
    # Gamma(theta / d) (Pitman & Yor 1997, proposition 21). If theta / d is large this takes many draws: a
    # Dirichlet distribution with the same mean and variances, P (1 - P) (1 - d) / (theta + 1), is used.
    few = (d > 0.0) & (theta <= _MOST_PARTS * d)
    drawn = dirichlet(np.where(few, 1.0, (theta + d) / (1.0 - d))[:, None] * base, generator)
    if not few.any():
        return drawn
    theta, d, base = theta[few], d[few], base[few]
    first = np.zeros(base.shape)  # PY(theta, d) has theta > -d: its first weight is Beta(1 - d, theta + d)
    left = np.ones(len(base))
    for row in np.flatnonzero(theta <= 0.0).tolist():
        share = generator.beta(1.0 - d[row], theta[row] + d[row])
        first[row, generator.choice(base.shape[1], p=base[row] / base[row].sum())] = share
        left[row] -= share
    shapes = (theta + np.where(theta <= 0.0, d, 0.0)) / d
    masses = generator.standard_gamma(shapes)[:, None] * base
    pieces = np.maximum(np.ceil(masses), 1.0).astype(np.int64)
    discounts = np.broadcast_to(d[:, None], base.shape)
    each = np.repeat((masses / pieces).ravel(), pieces.ravel())
    found = _tempered(each, np.repeat(discounts.ravel(), pieces.ravel()), generator)
    ends = np.cumsum(pieces.ravel())
    sums = np.add.reduceat(found, ends - pieces.ravel()).reshape(base.shape)
    total = sums.sum(axis=1, keepdims=True)
    for row in np.flatnonzero(total[:, 0] <= 0.0).tolist():  # all below the least float: one has nearly all
        sums[row, generator.choice(base.shape[1], p=base[row] / base[row].sum())] = total[row] = 1.0
    drawn[few] = first + left[:, None] * (sums / total)
    return drawn


def _tempered(mass: Floats, d: Floats, generator: np.random.Generator) -> Floats:
    """Draws with Laplace transforms exp(-mass ((1 + s)**d - 1)), for masses up to about 1."""
    # A stable draw (Kanter 1975) is accepted with probability exp(-its size).
    found, todo = np.zeros(len(mass)), np.flatnonzero(mass > 0.0)
    while len(todo):
        own = d[todo]
        angle, exponential = (
            generator.uniform(0.0, np.pi, len(todo)),
            generator.standard_exponential(len(todo)),
        )
        with np.errstate(divide="ignore", over="ignore", under="ignore"):
            logs = np.log(np.sin(own * angle)) + (1.0 - own) / own * np.log(
                np.sin((1.0 - own) * angle) / exponential
            )
            size = np.exp(logs + (np.log(mass[todo]) - np.log(np.sin(angle))) / own)
        taken = generator.standard_exponential(len(todo)) >= size
        found[todo[taken]] = size[taken]
        todo = todo[~taken]
    return found


def _dense(matrix: Any, shape: tuple[int, ...]) -> Floats:
    """A sparse matrix as an array with an additional column of zeros."""
    full = np.zeros(shape)
    full[:, :-1] = matrix.toarray()
    return full


def dirichlet(parameters: Floats, generator: np.random.Generator) -> Floats:
    """One draw for each row of parameters; a parameter of 0 gives a share of 0."""
    drawn = generator.standard_gamma(parameters)
    total = drawn.sum(axis=1, keepdims=True)
    # If all parameters are tiny, all gamma draws may be 0 in double precision: one share is then 1.
    for row in np.flatnonzero(total[:, 0] <= 0.0).tolist():
        drawn[row, generator.choice(parameters.shape[1], p=parameters[row] / parameters[row].sum())] = 1.0
        total[row] = 1.0
    return np.asarray(drawn / total, dtype=np.float64)


@attrs.frozen(eq=False, kw_only=True, slots=False)
class Sample:
    """The part of a state after a sweep that summaries of the posterior need. It never changes.

    It doesn't refer to the franchise or the data, and the size of its arrays is that of the counts, not of
    the data (but for ``dishes``, where they are kept).

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
    tables : csr_array of int64, shape (K, n_terms), or None
        Tables of terms by dish over a `Bursty` measure, whose observations of topics they are. None: topics
        are computed from ``counts``.
    parameters : dict
        ``"mean"``: posterior mean parameters of each dish, shape (K, ...), as in `Franchise.dish_parameters`.
        Empty for topics, which are computed from `topic_counts`, and for measures without such a mean.
        ``"drawn"``: for data other than terms, n draws of the parameters of each dish given its data, with
        the layout of the means, shape (K, n, ...), where the measure has `BaseMeasure.draw_parameters`. With
        known components also ``"precision"``, shape (K,): the topic of dish k has a Dirichlet posterior with
        parameters precision_k mean_k; infinite if it is frozen.
    root_weights : float64 array, shape (K + 1,)
        Posterior mean weights of the dishes in the root and, last, of all new dishes.
    root_precision : float
        Given the state the weights of the root are Dirichlet(root_precision root_weights): its concentration
        and its customers. Infinite if ``root_weights`` are the weights: those in the state, or fixed ones.
    label : str
        Label of the deepest declaration, which names the kind of groups ("document").
    names : tuple
        Names of the groups. In a hidden Markov model they are "start" and the dishes, 0 to K - 1.
    group_counts : csr_array of int64, shape (n_groups, K)
        Number of customers of each dish in each group.
    dishes : int32 array, shape (n_customers,), or None
        Dish of each customer, in data order; -1 while unseated. Only of a flat mixture (one restaurant), of
        sequences (their states), or of data that are no terms, and of at most 2**20 customers.
    hyperparameters : dict
        Concentrations, discounts, kappa and parameters of the base measure, by the keys of a trace.
    log_joint : float
        In nats.
    term_means : TermMeans or None
        Further data for `topics`.
    levels : tuple of Level
        Data for `group_weights`: the declarations below the root, that of the groups last.
    """

    chain: int
    sweep: int
    ids: Int64s = attrs.field(repr=False)
    sizes: Int64s = attrs.field(repr=False)
    counts: Any = attrs.field(default=None, repr=False)
    tables: Any = attrs.field(default=None, repr=False)
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
                for one in value.values() if isinstance(value, Mapping) else (value,):
                    sparse = isinstance(one, scipy.sparse.csr_array)
                    for array in (one.data, one.indices, one.indptr) if sparse else (one,):
                        if isinstance(array, np.ndarray):
                            array.setflags(write=False)

    def _repr_html_(self) -> str:
        return sample_table(self)

    def __reduce__(self) -> Any:
        return _again, ({**self.__dict__, **{name: dict(getattr(self, name)) for name in _MAPPINGS}},)

    @property
    def n_dishes(self) -> int:
        """Number of dishes, K."""
        return len(self.ids)

    @property
    def topic_counts(self) -> Any:
        """Counts from which topics are computed, (K, n_terms): ``tables`` or, without them, ``counts``."""
        return self.counts if self.tables is None else self.tables

    @property
    def n_groups(self) -> int:
        """Number of groups."""
        return int(self.group_counts.shape[0])

    def topics(self) -> Floats:
        """Posterior mean of each topic given its counts: float64, shape (K, n_terms); rows sum to one.

        Raises a StateError if the data are not terms.
        """
        return self.topics_of(np.arange(self.n_dishes))

    def topic_blocks(self, dishes: Int64s) -> Iterator[Floats]:
        """Rows of `topics` for some dishes, a few at a time: all of them may not fit in memory."""
        n = rows_at_once(1 if self.counts is None else self.counts.shape[1])
        for first in range(0, len(dishes), n):
            yield self.topics_of(dishes[first : first + n])

    def topics_of(self, dishes: Int64s) -> Floats:
        """Rows of `topics` for some dishes."""
        if self.counts is not None and self.term_means is not None:
            means = self.term_means
            there = self.topic_counts[dishes].toarray()
            smoothing = means.smoothing[dishes] if means.smoothing.ndim == 2 else means.smoothing
            inside = (there + smoothing) * means.inside[dishes, None]
            if np.array_equal(means.inside, means.outside):
                return np.asarray(inside, dtype=np.float64)
            return np.where(there > 0, inside, smoothing * means.outside[dishes, None])
        mean = self.parameters.get("mean")
        if self.counts is None or mean is None or mean.shape != self.counts.shape:
            raise StateError(
                "topics", "of data that are no terms", "of a measure over terms",
                "See sample.parameters, which has the posterior means of the dishes.",
            )  # fmt: skip
        return np.array(mean[dishes], dtype=np.float64)

    def topic_law(self, dish: int) -> TopicLaw | None:
        """The posterior distribution of the topic of a dish given its counts.

        None if the data are not terms, or if the sample has only the means of its topics. Raises a
        ParameterError if there is no such dish.
        """
        whole_number("dish", dish, 0, self.n_dishes - 1, remedy="See Sample.n_dishes.")
        if self.counts is None:
            return None
        return topic_law(self.topic_counts, self.term_means, self.parameters, dish)

    def draw_topics(self, rng: ChoiceSource | Seed = None) -> Floats:
        """Draw each topic from its posterior given the counts; `topics` is the mean of these draws.

        Under a Dirichlet prior the topics are Dirichlet(n_kv + eta_v). If topics select terms (Wang & Blei
        2009), the number of selected terms is drawn first, then which, and the topic is Dirichlet over them;
        other terms are 0. A frozen component is always the same. `moves.DrawTopics` draws from the same law.
        Returns a float64 array, shape (K, n_terms); rows sum to one. Raises a StateError if the data are not
        terms, or the sample has only the means of its topics.

        The same seed gives the same draw.
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

        ``groups`` is a slice of their numbers; all by default.
        """
        rows, chosen = self._above(), self._chosen(groups)
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
        Returns a float64 array, shape (n_groups, K + 1): the last column is for a new dish, rows sum to one.

        Parameters
        ----------
        rng : int, SeedSequence, Generator or None
            The same seed gives the same draw.
        groups : slice, optional
            Which ones, by number; all by default.
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

    def transitions(self) -> Floats:
        """Posterior mean transition probabilities of a hidden Markov model: float64, shape (K, K + 1).

        As `Franchise.transitions`: row j is that of dish j, the last column a dish without customers yet.
        Raises a StateError if the model isn't one of `hk.PreviousDish`.
        """
        return self.group_weights(self._rows("transitions"))

    def start(self) -> Floats:
        """Posterior mean probabilities of the first state of a sequence: float64, shape (K + 1,)."""
        self._rows("start")
        return self.group_weights(slice(0, 1))[0]

    def draw_transitions(self, rng: ChoiceSource | Seed = None) -> Floats:
        """Draw all rows of transition probabilities from their posterior given the state.

        Returns a float64 array, shape (K + 1, K + 1): the rows of dishes 0 to K - 1 and, last, the start row.
        `transitions` and `start` are the means of these draws. Rows sum to one. Raises a StateError if the
        model isn't one of `hk.PreviousDish`.

        The same seed gives the same draw.
        """
        rows = self._rows("transitions")
        drawn = self.draw_group_weights(rng)
        return np.concatenate([drawn[rows], drawn[:1]])

    def above_rows(self) -> Floats:
        """Posterior mean weights of the restaurant above the rows of a hidden Markov model: shape (K + 1,).

        Those of the root, unless there are levels in between.
        """
        self._rows("rows")
        return np.asarray(self._above()[self.levels[-1].parent[0]], dtype=np.float64)

    def _above(self) -> Floats:
        """Posterior mean weights in the root and in all restaurants above the groups."""
        rows = self.root_weights[None, :]
        for level in self.levels[:-1]:
            rows = np.concatenate([rows, _weights(level, rows, slice(None))])
        return rows

    def _rows(self, what: str) -> slice:
        """Groups that are rows of dishes."""
        if not self.levels or self.levels[-1].n_fixed is None:
            raise StateError(
                what, self.label, "of hk.PreviousDish, over hk.Sequences",
                "Only a hidden Markov model has transitions; see group_weights().",
            )  # fmt: skip
        return slice(self.levels[-1].n_fixed, None)

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


def _weights(level: Level, above: Floats, chosen: slice) -> Floats:
    """P of every dish and of a new one in some restaurants of a level, given the rows above it."""
    theta, d = (np.broadcast_to(a, len(level.parent))[chosen] for a in (level.concentration, level.discount))
    counts, tables = level.counts[chosen], None if level.tables is None else level.tables[chosen]
    n = np.asarray(counts.sum(axis=1), dtype=np.float64)
    rows = level.base_rows(above, chosen)
    rest = theta if tables is None else theta + d * np.asarray(tables.sum(axis=1))
    extra, favoured = level.favours(chosen)
    empty = (n == 0) & (extra == 0.0)
    rows *= np.where(empty, 1.0, rest)[:, None]
    rows[favoured] += level.own
    own = counts.tocoo()
    rows[own.row, own.col] += own.data
    if tables is not None:
        own = tables.tocoo()
        rows[own.row, own.col] -= d[own.row] * own.data
    rows /= np.where(empty, 1.0, n + theta + extra)[:, None]
    return rows


_CUSTOMERS = 1 << 20  # customers whose dishes are kept, at most


def hyperparameter_values(state: State) -> dict[str, Any]:
    """Hyperparameters by their keys in a trace."""
    values = state.hyperparameters.current()
    for name, value in state.measure.parameters.items():
        shared = isinstance(value, float) or np.ndim(value) == 0
        values[parameter_key(name)] = float(value) if shared else value
    return {**values, **state.topology.values()}


def parameter_key(name: str) -> str:
    """Key of a parameter of the base measure in a trace: "base/eta", but "concentration/bursts"."""
    return name if "/" in name else f"base/{name}"


@attrs.frozen(eq=False, repr=False)
class SeatingSample:
    """The sample of a franchise of observed dishes: what a `Snapshot` of the same restaurants needs."""

    chain: int
    sweep: int
    # ``node``, ``dish``, ``customers`` and ``tables`` of each pair of a restaurant and a dish in it,
    # sorted; ``concentration`` and ``discount`` of each restaurant
    arrays: Mapping[str, npt.NDArray[Any]]


def seating_arrays(state: Any) -> dict[str, npt.NDArray[Any]]:
    """The seating by restaurant and dish, and the hyperparameters; see `SeatingSample`."""
    columns = columns_of(state.seating, state.topology.n_nodes)
    counts = dict(zip(("node", "dish", "customers", "tables"), columns, strict=True))
    hyperparameters = state.hyperparameters
    weights = state.topology.current_weights()
    own = {} if weights is None else {"weights": weights}
    return {
        **counts, "concentration": hyperparameters.theta.copy(), "discount": hyperparameters.d.copy(), **own
    }  # fmt: skip


def kept_of(state: Any, log_joint: float | None = None) -> Sample | SeatingSample:
    """What a run keeps of a sweep: the sample of latent dishes, or of observed ones."""
    if not state.measure.atomic:
        return sample_of(state, log_joint)
    return SeatingSample(state.streams.chain, state.sweep, seating_arrays(state))


def sample_of(state: Any, log_joint: float | None = None) -> Sample:
    """The sample of a franchise. ``log_joint`` may be passed if known."""
    if state.measure.atomic:
        raise StateError(
            "samples", "of observed dishes", "of latent ones: components",
            "Where dishes are the values themselves: franchise.snapshot(), or hk.NGramModel.",
        )  # fmt: skip
    slots, topology = state.slots.occupied_slots(), state.topology
    columns = _columns(state, slots)
    levels = levels_of(state, columns)
    sizes = _sizes(state, columns, len(slots))
    deepest = len(state.declarations) - 1
    counts, tables, means, parameters = _of_dishes(state, slots)
    weights, rest = state.root_weights()
    streams, n = state.streams, state.seating.node_customers(0)
    drawn = state.root._kind() == "restaurant" and n > 0  # otherwise weights are in the state, or fixed
    precision = float(state.hyperparameters.theta[0]) + n if drawn else np.inf
    keeps = topology.n_customers <= _CUSTOMERS and (
        counts is None or not levels or levels[-1].n_fixed is not None
    )
    return Sample(
        chain=0 if streams is None else streams.chain,
        sweep=state.sweep,
        ids=state.slots.ids(),
        sizes=sizes,
        counts=counts,
        tables=tables,
        parameters=parameters,
        root_weights=np.append(weights, rest),
        root_precision=precision,
        label=state.declarations[deepest].label or state.declarations[deepest].name,
        names=topology.names_in_sample(deepest, len(slots)),
        group_counts=levels[-1].counts if levels else scipy.sparse.csr_array(sizes[None, :]),
        dishes=state.dishes.astype(np.int32) if keeps else None,
        hyperparameters=hyperparameter_values(state),
        log_joint=float(state.log_joint() if log_joint is None else log_joint),
        term_means=means,
        levels=levels,
    )


def _columns(state: State, slots: npt.NDArray[np.int32]) -> Columns:
    """The entries of the seating, with dishes from 0."""
    rank = np.full(int(slots[-1]) + 1 if len(slots) else 0, -1, dtype=np.int64)
    rank[slots] = np.arange(len(slots))
    node, dish, customers, tables = (
        np.asarray(c, dtype=np.int64) for c in columns_of(state.seating, state.topology.n_nodes)
    )
    return state.topology.by_restaurant(node, rank[dish], customers, tables)


def levels_of(state: State, columns: Columns | None = None) -> tuple[Level, ...]:
    """The declarations below the root, as a sample has them."""
    slots = state.slots.occupied_slots()
    columns = _columns(state, slots) if columns is None else columns
    return tuple(
        state.topology.in_sample(number, _level(state, number, columns, len(slots)), slots)
        for number in range(1, len(state.declarations))
    )


def _level(state: State, number: int, columns: Columns, n_dishes: int) -> Level:
    node, dish, customers, tables = columns
    own = [np.arange(state.topology.n_nodes)[state.topology.nodes(i)] for i in range(number + 1)]
    nodes, above = own[-1], np.concatenate(own[:-1])
    place = np.zeros(state.topology.n_nodes, dtype=np.int64)  # of each restaurant in the rows above
    place[above] = np.arange(len(above))
    first, last = (np.searchsorted(node, nodes, side) for side in ("left", "right"))  # it is ascending
    begin = np.concatenate([[0], np.cumsum(last - first)])
    here = np.repeat(first - begin[:-1], last - first) + np.arange(begin[-1])

    def by_dish(values: Int64s) -> Any:
        kind, shape = np.int32 if max(len(values), n_dishes) < 2**31 else np.int64, (len(nodes), n_dishes)
        made = scipy.sparse.csr_array((values, dish[here].astype(kind), begin.astype(kind)), shape=shape)
        made.sort_indices()
        return made

    theta, d = (
        np.array(a[0] if len(a) and np.all(a == a[0]) else a, dtype=np.float64)  # one number if all are equal
        for a in (state.hyperparameters.theta[nodes], state.hyperparameters.d[nodes])
    )
    return Level(
        name=state.declarations[number].name,
        parent=place[state.topology.parents_of(number)],
        weights=state.topology.weights_of(number),
        counts=by_dish(customers[here]),
        tables=by_dish(tables[here]) if np.any(d > 0) else None,
        concentration=theta,
        discount=d,
    )


def _sizes(state: State, columns: Columns, n_dishes: int) -> Int64s:
    """Data customers of each dish: customers of all restaurants minus tables of all but the root."""
    node, dish, customers, tables = columns
    sizes = np.bincount(dish, weights=customers, minlength=n_dishes)
    below = node > 0
    sizes -= np.bincount(dish[below], weights=tables[below], minlength=n_dishes)
    sizes[: state.topology.n_all - state.topology.n_customers] -= 1  # customers of known components
    return sizes.astype(np.int64)


def _of_dishes(
    state: Any, slots: npt.NDArray[np.int32]
) -> tuple[Any, Any, TermMeans | None, dict[str, npt.NDArray[Any]]]:
    """Counts of terms, and of their tables, means of topics as functions of them, and other parameters."""
    measure, known = state.measure, state.known_dishes
    bank: Any = state.bank
    counts, tables, means = None, None, None
    if measure.takes_terms and getattr(state.data, "n_terms", None):
        counts = _term_counts(state, slots)
        if measure.seats_values:
            tables = table_counts(state, slots)
        totals = known.add_seen((counts if tables is None else tables).sum(axis=1))
        means = _term_means(measure, bank, slots, state.population.dishes(), totals)
    if not len(slots) or (means is not None and not known.n):
        return counts, tables, means, {}
    if not (measure.supports("posterior_mean") or measure.supports("posterior_means")):
        return counts, tables, None, {}
    parameters = {"mean": np.array(state.dish_parameters())}
    drawn = None if known.n or counts is not None else _drawn(state, slots, parameters["mean"])
    if drawn is not None:
        parameters["drawn"] = drawn
    if means is not None:  # topics of known components don't depend only on their counts
        frozen = known.is_frozen(np.arange(len(slots)))
        parameters["precision"] = np.where(frozen, np.inf, 1.0 / means.inside)
    return counts, tables, None, parameters


def _defined(measure: BaseMeasure, *methods: str) -> int:
    """How far up in its bases a measure defines any of these methods."""
    return next(
        i for i, kind in enumerate(type(measure).__mro__) if not vars(kind).keys().isdisjoint(methods)
    )


_DRAWS = 20  # of the parameters of each dish in a sample, at most
_DRAWS_OF_ALL = 1000  # of all dishes together, but at least 5 of each
_DRAWN_NUMBERS = 1 << 17  # in all draws, but at least one draw of each dish
_SEED = 2
_LAYOUT = ("posterior_mean", "posterior_means")


def _drawn(state: Any, slots: npt.NDArray[np.int32], means: npt.NDArray[Any]) -> Floats | None:
    """Draws of the parameters of the dishes given their data, shape (K, n, ...)."""
    # A sample of one sweep and chain always has the same draws; the streams of the chain aren't used.
    measure, shape = state.measure, means.shape[1:]
    single, several = (_defined(measure, name) for name in ("draw_parameters", "draw_arrays"))
    # A subclass may have means in another layout than the draws of its base.
    if not measure.supports("draw_parameters") or _defined(measure, *_LAYOUT) < min(single, several):
        return None
    n = min(_DRAWS, max(5, _DRAWS_OF_ALL // len(slots)), max(1, _DRAWN_NUMBERS // max(means.size, 1)))
    chain = 0 if state.streams is None else state.streams.chain
    source = as_source(np.random.SeedSequence([_SEED, chain, state.sweep]), Purpose.OTHER)
    found = np.empty((len(slots), n, *shape))
    for out, statistics in zip(found, state.bank.statistics(slots, state.population.dishes()), strict=True):
        if several <= single:  # a subclass with other draws doesn't have the method of its base
            drawn = measure.draw_arrays(statistics, n, source)
            if np.shape(drawn) != out.shape:
                allowed = f"an array of shape {out.shape}: n of posterior_mean()"
                raise refuse(measure, "draw_arrays", drawn, allowed)
        else:
            drawn = [measure.draw_parameters(statistics, source) for _ in range(n)]
            try:
                drawn = np.asarray(drawn, dtype=np.float64)
            except (TypeError, ValueError):  # other objects
                return None
            if drawn.shape != out.shape:
                return None
        out[:] = drawn
    return found


def _term_means(measure: BaseMeasure, bank: Any, *dishes: npt.NDArray[Any]) -> TermMeans | None:
    """`term_means` of the measure, unless a subclass overrides its means but not `term_means`."""
    if _defined(measure, *_MEANS) < _defined(measure, "term_means"):
        return None
    found = measure.term_means(bank, *dishes)
    if found is None:
        return None
    return TermMeans(*(np.array(one, dtype=np.float64) for one in found))


_MEANS = ("posterior_mean", "posterior_means", "log_predictive", "predictive")


def _term_counts(state: Any, slots: npt.NDArray[np.int32]) -> Any:
    """Counts of terms by dish, sparse."""
    if state.measure.seats_values or not hasattr(state.bank, "counts"):
        return scipy.sparse.csr_array(state.dish_counts)
    return state.known_dishes.without_sparse(_counts_of(state.bank, slots, state.data.n_terms))


def table_counts(state: Any, slots: npt.NDArray[np.int32]) -> Any:
    """Tables of terms by dish if values sit at tables of their own, sparse: see `Sample`."""
    inner, n_terms = state.bank.inner, state.data.n_terms
    if hasattr(inner, "counts"):
        found = _counts_of(inner, slots, n_terms)
    else:
        rows = [one.terms for one in inner.statistics(slots, state.population.dishes())]
        found = scipy.sparse.csr_array(np.array(rows, dtype=np.int64).reshape(-1, n_terms))
    return state.known_dishes.without_sparse(found)


def _counts_of(bank: Any, slots: npt.NDArray[np.int32], n_terms: int) -> Any:
    """Counts that a bank has of the dishes in these slots, sparse; never dense for all dishes at once."""
    n = rows_at_once(n_terms)
    parts = [scipy.sparse.csr_array((0, n_terms), dtype=np.int64)]
    for first in range(0, len(slots), n):
        dense = np.asarray(bank.counts(slots[first : first + n]), dtype=np.int64)
        parts.append(scipy.sparse.csr_array(dense))
    return scipy.sparse.csr_array(scipy.sparse.vstack(parts, format="csr"))
