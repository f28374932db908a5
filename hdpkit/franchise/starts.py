"""Initial states."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Floats, Int32s
from hdpkit.checks import number_array, validator, whole_number
from hdpkit.data import Corpus
from hdpkit.data.corpus import Cells
from hdpkit.errors import MissingExtraError, ParameterError
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import NoKnown
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps._term_clusters import cluster_terms, copied_labels
from hdpkit.steps.fused.instruction_set import instruction_set

PLACED = 1 << 14  # terms that are compared with each other, those of most documents
ROUNDS = 5  # of k-means; more have no benefit
COPIED = 0.8  # share of customers that begin with the cluster of another customer of their document
_TERMS_EACH = 10  # terms of a cluster, on average, if there are more clusters than 3 sqrt(terms)
_COUNTS = 1 << 26  # most counts of terms in topics at the start, unless there are few topics
_FEWEST_LIMITED = 64  # topics that may have more counts
STATES = 30  # of a hidden Markov model at the start: chains leave too many states sooner than too few
FEWEST = 2_000  # customers; below this the sequential start is as good
_PLAIN_SWEEPS = 20  # of a start by topics that are the same in every document; in each tenth also DishGibbs
_PLAIN_ETA = 0.1  # at least, since a smaller one begins with more topics than remain


class _Plain:
    """The start by a short chain over topics that don't differ by restaurant."""


PLAIN = _Plain()


@attrs.frozen
class TermClusters:
    """Customers begin with clusters of terms: their own term's, or that of another one of their document.

    The 16,384 terms that occur in most documents are placed by latent semantic analysis (a randomised one;
    Halko, Martinsson & Tropp 2011, algorithm 4.4, on the logarithms of the counts) and grouped by spherical
    k-means; each other term gets a cluster that is frequent in its documents. Four of five customers take the
    cluster of a random customer of their document, the others that of their own term: documents then begin
    with few topics, and terms with all topics in which they are used. Customers are seated from the prior
    given their dishes. This start is not part of the chain, which is exact from any start. It is the same on
    any number of threads (those of the Scheduler) and on every processor.

    Parameters
    ----------
    n_dishes : int, optional
        K, at least 1. By default it is three times the square root of the number of terms that occur, or, if
        that is more, half the square root of the number of customers, but at most a tenth of these terms. It
        is at most the square root of the number of customers, the K of `hdpkit.FixedWeights` and, for many
        terms, the larger of 64 and 2^26 divided by the number of terms, since each topic has a count of every
        term.
    """

    n_dishes: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.TermClusters(100).")
        ),
    )


def _measure_of_topics(franchise: Any) -> Any:
    """The measure, or the one within it if topics differ by restaurant."""
    measure = franchise.measure
    return measure.measure if measure.seats_values else measure


def serves_term_clusters(franchise: Any) -> bool:
    """Whether the data are documents of terms, and topics have a Dirichlet distribution, plain or sparse."""
    kinds = (DirichletMultinomial, SparseDirichletMultinomial)
    return isinstance(franchise.data, Corpus) and isinstance(_measure_of_topics(franchise), kinds)


def prefers_term_clusters(franchise: Any) -> bool:
    """Whether this start is the default: for mixtures by group with enough data to compare terms.

    Sparse models keep too many of the topics with which they start (docs/startup.md).
    """
    return (
        serves_term_clusters(franchise)
        and not isinstance(_measure_of_topics(franchise), SparseDirichletMultinomial)
        and franchise.topology.n_levels > 1
        and not franchise.topology.known
        and len(franchise.data) >= FEWEST
    )


def plain_dishes(franchise: Any, source: RandomStream) -> Any:
    """Dishes of a short chain over topics that don't differ by restaurant: shape (n_customers,).

    Chains of topics that differ had a higher log joint after this start than after others (docs/measures.md).
    """
    above: Any = franchise.measure.measure
    if isinstance(above, DirichletMultinomial) and np.ndim(above.eta) == 0:
        above = DirichletMultinomial(max(float(above.eta), _PLAIN_ETA), above.n_terms)
    for declaration in franchise.declarations:
        above = attrs.evolve(declaration, base=above)
    fixed = franchise.root.most_dishes is not None
    twin = type(franchise)(above, franchise.data, root=franchise.root.declared if fixed else "restaurant")
    start(twin, "auto", source)
    n = twin.topology.n_customers
    for sweep in range(_PLAIN_SWEEPS):
        twin.in_chunks(0, n, lambda first, last: twin.reseat(first, last, source))
        if sweep % 10 == 5:
            _resample_dishes(twin, source)
    return twin.dishes


def _resample_dishes(franchise: Any, source: RandomStream) -> None:
    """Dish Gibbs over the tables of all restaurants below the root."""
    with franchise.labelled_seating(source):
        for level in range(franchise.topology.n_levels - 1, 0, -1):
            units = franchise.units(level)
            franchise.in_chunks(
                0,
                len(units),
                lambda first, last, units=units: franchise.resample_dish(units, first, last, source),
            )


def check_term_clusters(start: TermClusters, franchise: Any) -> None:
    """Raise a ParameterError if the data aren't documents of terms."""
    if not serves_term_clusters(franchise):
        raise ParameterError(
            "init", start, "a start that fits: TermClusters is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip
    franchise.root._check_number("init", start.n_dishes or 1)


def term_clusters(
    start: TermClusters, franchise: Any, source: RandomStream, threads: int = 1
) -> npt.NDArray[np.int32]:
    """Dish of each customer: int32, shape (n_customers,)."""
    data: Any = franchise.data
    labels = labels_of_terms(start, franchise, source, threads)
    key = source.generator.integers(0, 2**63, size=2).tolist()
    begins = np.concatenate([[0], np.cumsum(data.document_lengths, dtype=np.int64)])
    found: npt.NDArray[np.int32] = copied_labels(labels, data.terms, begins, COPIED, *key, threads)
    return found


def usual_clusters(n_tokens: int, n_used: int, n_terms: int) -> int:
    """Number of clusters by default, for this many tokens and terms, of which some occur (startup.md)."""
    root = n_tokens**0.5
    wanted = min(root, max(3 * n_used**0.5, min(root / 2, n_used / _TERMS_EACH)))
    return max(1, round(min(wanted, max(_FEWEST_LIMITED, _COUNTS // max(1, n_terms)))))


def labels_of_terms(
    start: TermClusters, franchise: Any, source: RandomStream, threads: int = 1
) -> npt.NDArray[np.int32]:
    """Cluster of each term: int32, shape (n_terms,); 0 for those that don't occur."""
    counts = franchise.data.to_counts()
    documents = np.bincount(counts.indices, minlength=counts.shape[1])  # in which each term occurs
    used = np.flatnonzero(documents)
    n_placed = min(len(used), PLACED)
    if len(used) > n_placed:
        used = used[np.argsort(-documents[used], kind="stable")]
    del documents
    default = usual_clusters(len(franchise.data), len(used), counts.shape[1])
    n_dishes = start.n_dishes or min(default, franchise.root.most_dishes or default)
    generator = source.generator
    first = generator.choice(n_placed, min(n_dishes, n_placed), replace=False)
    labels: npt.NDArray[np.int32] = cluster_terms(
        counts.indptr.astype(np.int64),
        counts.indices.astype(np.int32, copy=False),
        counts.data.astype(np.int64, copy=False),
        counts.shape[1],
        used.astype(np.int32),
        n_placed,
        first.astype(np.int64),
        ROUNDS,
        int(generator.integers(0, 2**63)),
        threads,
        instruction_set() != "baseline",
    )
    return labels


_ROUNDS = 100  # number of multiplicative updates
_MOST = 100  # default upper limit of the number of dishes
_AT_ONCE = 1 << 14  # customers


def _topics(value: Any) -> Floats | None:
    """Topics with rows normalised to sum 1; None is returned as it is."""
    if value is None:
        return None
    found = number_array(value)
    if found is None or found.ndim != 2 or not found.shape[1] or not np.isfinite(found).all():
        raise _unfit(value)
    if (found < 0).any():
        raise _unfit(value)
    sums = found.sum(axis=1, keepdims=True)
    if (sums <= 0).any():
        raise _unfit(value)
    rows: Floats = found / sums
    rows.setflags(write=False)
    return rows


def _unfit(value: Any) -> ParameterError:
    return ParameterError(
        "topics", value, "a matrix of numbers of at least 0, shape (K, n_terms), no row of zeros",
        "For instance sample.topics() of a run over fewer customers.",
    )  # fmt: skip


@attrs.frozen
class Factors:
    """Customers begin with the components of a non-negative factorisation of the counts.

    Counts by document and term are written as W H, W of shape (documents, K) and H of shape (K, terms), by
    scikit-learn's NMF with the Kullback-Leibler divergence (Lee & Seung 2001), after each document was scaled
    to sum 1, because otherwise the largest documents would dominate. A customer of document d and term v
    begins with dish k with probability proportional to W_dk H_kv. This start is meant for few terms and large
    documents. It is not part of the chain, which is exact from any start.

    Parameters
    ----------
    n_dishes : int, optional
        K, at least 1; by default the minimum of twice the square root of the number of terms that occur, 100,
        and the K of `hdpkit.FixedWeights`. Dishes without customers are removed.
    topics : array, shape (K, n_terms), optional
        H, with rows of any scale: then only W is fitted, by variational updates with shares from a Dirichlet
        distribution with parameter 1/K (Blei, Ng & Jordan 2003, section 5.2), and K is the number of rows.
        They may be from a run over a part of the customers (`hdpkit.downsample`), which mixes faster.
    """

    n_dishes: int | None = attrs.field(
        default=None,
        validator=attrs.validators.optional(
            validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.Factors(20).")
        ),
    )
    topics: Floats | None = attrs.field(
        default=None, kw_only=True, converter=_topics, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )

    def __attrs_post_init__(self) -> None:
        if self.topics is not None and self.n_dishes not in (None, len(self.topics)):
            raise ParameterError(
                "n_dishes", self.n_dishes, f"{len(self.topics)}, the number of topics", "Leave it out."
            )


def check_factors(start: Factors, franchise: Any) -> None:
    """Raise an error if the data aren't documents of terms, or scikit-learn is missing."""
    if not serves_term_clusters(franchise):
        raise ParameterError(
            "init", start, "a start that fits: Factors is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip
    try:
        import sklearn.decomposition  # noqa: F401
    except ImportError as error:
        raise MissingExtraError(
            "sklearn", None, "installed, to factorise counts", "pip install 'hdpkit[text]', or another start."
        ) from error
    n_dishes, known = start.n_dishes, franchise.topology.known
    if start.topics is not None:
        n_dishes, n_terms = start.topics.shape
        if n_dishes + known == 0:
            raise ParameterError(
                "init", start, "one topic or more, where no component is known", "Give hk.init.Factors(20)."
            )
        if n_terms != franchise.data.n_terms:
            raise ParameterError(
                "init", start, f"topics over the {franchise.data.n_terms} terms of the data",
                "Take them of a run over the same terms.",
            )  # fmt: skip
    franchise.root._check_number("init", max(1, known + (n_dishes or 0)))


def factors_of(start: Factors, franchise: Any, source: RandomStream) -> tuple[Floats, Floats]:
    """W and H: float64, shapes (n_documents, K) and (K, n_terms); known components are the first."""
    counts = scipy.sparse.csr_matrix(franchise.data.to_counts(), dtype=np.float64)
    used = np.flatnonzero(np.asarray((counts > 0).sum(axis=0)).ravel())
    known = franchise.known_dishes
    if start.topics is None:
        lengths = np.asarray(counts.sum(axis=1), dtype=np.float64).ravel()
        shares = scipy.sparse.diags(1.0 / np.maximum(lengths, 1.0)) @ counts
        weights, laws = _factorised(start, franchise, shares, used, source)
        if not known.n:
            return weights, laws
        laws = laws[laws.sum(axis=1) > 0.0]
        laws = laws / laws.sum(axis=1, keepdims=True)
    else:
        laws = start.topics
    laws = known.before(laws)
    left = used[laws[:, used].sum(axis=0) == 0.0]  # terms that occur in no component
    if len(left):
        laws = np.vstack([laws, np.bincount(left, minlength=laws.shape[1]) / len(left)])
    return _weights(counts, laws), laws


def _factorised(
    start: Factors, franchise: Any, shares: Any, used: Any, source: RandomStream
) -> tuple[Floats, Floats]:
    """W and H of the shares of terms, if no topics are given."""
    from sklearn.decomposition import NMF

    default = max(1, min(round(2 * len(used) ** 0.5), _MOST))
    most = franchise.root.most_dishes
    n_dishes = start.n_dishes or min(default, default if most is None else most - franchise.topology.known)
    if n_dishes == 0:
        return np.empty((shares.shape[0], 0)), np.empty((0, shares.shape[1]))
    seed = int(source.generator.integers(2**31))
    few = n_dishes <= min(shares.shape[0], len(used))
    model = NMF(
        n_dishes, init="nndsvda" if few else "random", solver="mu", beta_loss="kullback-leibler",
        max_iter=_ROUNDS, tol=0.0, random_state=seed,
    )  # fmt: skip
    weights: Floats = np.asarray(model.fit_transform(shares[:, used]), dtype=np.float64)
    laws = np.zeros((n_dishes, shares.shape[1]))
    laws[:, used] = model.components_
    return weights, laws


def _weights(counts: Any, laws: Floats) -> Floats:
    """W, given H: geometric means of shares in a mean field, sparser than those of a factorisation."""
    weights = np.empty((counts.shape[0], len(laws)))
    size = max(1, _LARGEST // counts.shape[1])
    for first in range(0, len(weights), size):
        block = counts[first : first + size].toarray()
        expected = np.repeat(block.sum(axis=1, keepdims=True) / len(laws), len(laws), axis=1)
        for _ in range(_ROUNDS):
            own = np.exp(scipy.special.digamma(expected + 1.0 / len(laws)))  # each row up to a factor
            expected = own * ((block / np.maximum(own @ laws, 1e-300)) @ laws.T)
        weights[first : first + size] = np.exp(scipy.special.digamma(expected + 1.0 / len(laws)))
    return weights


def law_of_cells(factors: tuple[Floats, Floats], documents: Any, terms: Any) -> Floats:
    """Distribution of the dish for these documents and terms: float64, shape (n, K); rows sum to one."""
    weights, laws = factors
    law = weights[documents] * laws[:, terms].T
    total = law.sum(axis=1, keepdims=True)
    return np.where(total > 0, law / np.where(total > 0, total, 1.0), 1.0 / law.shape[1])


def dishes_of_factors(start: Factors, franchise: Any, source: RandomStream) -> npt.NDArray[np.int32]:
    """Dish of each customer: int32, shape (n_customers,)."""
    data: Any = franchise.data
    factors = factors_of(start, franchise, source)
    dishes = np.empty(len(data), dtype=np.int32)
    for first in range(0, len(data), _AT_ONCE):
        last = min(first + _AT_ONCE, len(data))
        law = law_of_cells(factors, data.codes_between("document", first, last), data.terms[first:last])
        drawn = source.generator.random(last - first)[:, None]
        dishes[first:last] = np.minimum((np.cumsum(law, axis=1) < drawn).sum(axis=1), law.shape[1] - 1)
    return dishes


_CELLS = 1 << 14  # cells drawn at once
_LARGEST = 1 << 21  # most entries of a table of cells and dishes


@attrs.frozen(eq=False)
class CellStart:
    """Dishes of cells, from 0.

    Attributes
    ----------
    runs : int32 array, shape (n_cells,)
        Number of dishes of each cell.
    dish, count : int32 arrays
        The dishes, ascending within a cell, and their numbers of customers.
    n_dishes : int
        All dishes are below it; some may have no customers. Known components are the first.
    """

    runs: Int32s
    dish: Int32s
    count: Int32s
    n_dishes: int


def _of_tables(tables: list[Any], n_dishes: int) -> CellStart:
    """Concatenate tables of cells by dishes, each given by the dishes of its columns and counts."""
    runs, dish, count = [], [], []
    for columns, table in tables:
        cell, place = np.nonzero(table)
        runs.append(np.bincount(cell, minlength=len(table)).astype(np.int32))
        dish.append(columns[place].astype(np.int32))
        count.append(table[cell, place].astype(np.int32))
    return CellStart(_one(runs), _one(dish), _one(count), n_dishes)


def _one(parts: list[Int32s]) -> Int32s:
    return np.concatenate([np.empty(0, np.int32), *parts])


def one_dish(cells: Cells, known: int = 0) -> CellStart:
    """All customers have one dish, in addition to known components."""
    n = len(cells.count)
    return CellStart(np.ones(n, np.int32), np.full(n, known, np.int32), cells.count.copy(), known + 1)


def random_dishes(cells: Cells, n_dishes: int, source: RandomStream, known: NoKnown) -> CellStart:
    """A uniformly random dish for each customer, among those that may have its term."""
    weights = known.allowed(n_dishes)
    n_dishes, generator = weights.shape[1], source.generator
    columns, size = np.arange(n_dishes), max(1, min(_CELLS, _LARGEST // n_dishes))
    tables = []
    for first in range(0, len(cells.count), size):
        terms = cells.term[first : first + size]
        law = weights.take(terms, axis=0, mode="clip")  # there may be one row for all terms
        table = generator.multinomial(cells.count[first : first + size], law)
        tables.append(_of_tables([(columns, table)], n_dishes))
    return _joined(tables, n_dishes)


def _joined(parts: list[CellStart], n_dishes: int) -> CellStart:
    runs, dish, count = zip(*((one.runs, one.dish, one.count) for one in parts), strict=True)
    return CellStart(_one([*runs]), _one([*dish]), _one([*count]), n_dishes)


def term_cluster_cells(
    start: TermClusters, franchise: Any, source: RandomStream, threads: int = 1
) -> CellStart:
    """Clusters of terms: a customer takes that of its own term or of another customer of its document."""
    check_term_clusters(start, franchise)
    labels, cells, generator = (
        labels_of_terms(start, franchise, source, threads),
        franchise.topology.cells,
        source.generator,
    )
    known = franchise.topology.known
    n_dishes, parts = known + int(labels.max()) + 1, []
    for first, last in zip(cells.begin[:-1].tolist(), cells.begin[1:].tolist(), strict=True):
        if first == last:
            continue
        own, count = labels[cells.term[first:last]], cells.count[first:last]
        dishes, place = np.unique(own, return_inverse=True)
        share = np.bincount(place, weights=count)
        copied = generator.binomial(count, COPIED)
        table = generator.multinomial(copied, share / share.sum())
        table[np.arange(last - first), place] += count - copied
        parts.append(_of_tables([(dishes + known, table)], n_dishes))
    return _joined(parts, n_dishes)


def factor_cells(start: Factors, franchise: Any, source: RandomStream) -> CellStart:
    """Factors of the counts: the customers of a cell are drawn over dishes by the cell's weights."""
    check_factors(start, franchise)
    cells, generator = franchise.topology.cells, source.generator
    factors = factors_of(start, franchise, source)
    n, documents = len(factors[1]), cells.documents()
    columns, size = np.arange(n), max(1, min(_CELLS, _LARGEST // n))
    tables = []
    for first in range(0, len(cells.count), size):
        here = slice(first, first + size)
        law = law_of_cells(factors, documents[here], cells.term[here])
        tables.append(_of_tables([(columns, generator.multinomial(cells.count[here], law))], n))
    return _joined(tables, n)


def seat_cells(franchise: Any, start: CellStart, source: RandomStream) -> None:
    """Seat all customers with the dishes of a start; tables and weights of the root are drawn given these."""
    totals = np.bincount(start.dish, weights=start.count, minlength=start.n_dishes)
    known = franchise.topology.known
    names = np.flatnonzero(totals[known:]) + known
    franchise.root._check_number("init", known + len(names))
    slots = np.arange(start.n_dishes, dtype=np.int32)  # known components already have theirs
    slots[names] = [franchise.open_dish(source) for _ in names]
    franchise.population.enter(start.runs, slots[start.dish], start.count, source)


@attrs.frozen
class Random:
    """The dish of each customer is uniform on K dishes; then seats are drawn from the prior given the dishes.

    Parameters
    ----------
    n_dishes : int
        K, at least 1. If no customer draws a dish, there are fewer than K. Known components are the first
        of the K dishes; a customer whose term is impossible under a frozen one draws one of the others.
    """

    n_dishes: int = attrs.field(
        validator=validator(whole_number, 1, 2**31 - 1, remedy="For instance hk.init.Random(100).")
    )


def check_start(init: Any, franchise: Franchise) -> None:
    """Raise an error if `start` would reject `init`; draws and changes nothing. None is accepted."""
    if not isinstance(init, (Mapping, type(franchise))) and init is not None:
        franchise.held.check_start(init)
    init = _resolved(init, franchise)
    if isinstance(init, str) and init == "one":
        franchise.dish_kind.check_start(init)
        franchise.root._check_number("init", franchise.known_dishes.n + 1)
        return
    if isinstance(init, Random):
        franchise.dish_kind.check_start(init)
        franchise.root._check_number("init", max(init.n_dishes, franchise.known_dishes.n))
        return
    if isinstance(init, TermClusters):
        check_term_clusters(init, franchise)
        return
    if isinstance(init, Factors):
        check_factors(init, franchise)
        return
    if init is PLAIN:
        return
    prepared = None if init is None else _prepare(init, franchise, Streams(0).source(STARTS))
    if isinstance(prepared, Mapping):
        franchise._check_frozen(prepared)
    elif prepared is not None:
        franchise.root._check_number("init", _number(franchise, _distinct(prepared)))


def start(franchise: Franchise, init: Any, source: RandomStream, threads: int = 1) -> None:
    """Put a franchise into an initial state and its hyperparameters at their starting values.

    Parameters
    ----------
    threads : int
        For `TermClusters`; the state doesn't depend on it.
    init : "auto", "sequential", "one", Random, TermClusters, Factors, array of dishes, state or Franchise
        "auto": `TermClusters` for topic models that aren't sparse, 30 random states for hidden Markov models
        (`hk.PreviousDish`; at most one for ten observations), "sequential" for everything else and for little
        data. If topics differ by restaurant, the dishes of 20 sweeps over topics that don't.
        "sequential": customers are seated one by one with their predictive probabilities given those before
        them (Wang & Blei 2012, section 4). "one": all customers have the same dish. An array gives the dish
        of each customer (any whole numbers >= 0). If dishes are given, customers are seated
        one by one from the prior given their dishes. With J known components, the numbers below J stand for
        them; "one" and `TermClusters` assign other dishes, and "auto" is "sequential", or random dishes if
        customers are counted by cell. Hyperparameters begin at the means of their priors, but under the
        starts that don't give dishes a `Bursty` measure's concentration begins at
        `BaseMeasure.starting_parameters`.
    """
    with franchise.transaction():
        _start(franchise, init, source, min(threads, MOST_THREADS))


def _start(franchise: Franchise, init: Any, source: RandomStream, threads: int) -> None:
    n = franchise.topology.n_customers
    if not isinstance(init, (Mapping, type(franchise))):
        franchise.held.check_start(init)
    init = _resolved(init, franchise)
    # Starts by chance know no dishes yet; others do, whose customers are seated with the usual parameters.
    own = franchise.measure.starting_parameters if isinstance(init, (str, Random, TermClusters)) else {}
    if not franchise.population.single:
        by_cell = _by_cell(init, franchise, source, threads)
        if by_cell is not None:
            _start_cells(franchise, by_cell, own, source)
            return
        if not isinstance(init, (Mapping, type(franchise))):
            franchise.expand_cells()
    prepared = _prepare(init, franchise, source, threads)
    names = None if prepared is None or isinstance(prepared, Mapping) else _distinct(prepared)
    if names is not None:
        franchise.root._check_number("init", _number(franchise, names))
    franchise.reset_hyperparameters()
    franchise.sweep = 0
    if isinstance(prepared, Mapping):
        state = {**prepared, "sweep": 0, "streams": None, "measure": franchise.base_parameters}
        current = franchise.hyperparameters
        state |= {"concentration": current.concentration.copy(), "discount": current.discount.copy()}
        franchise.thaw(state, source)
        return
    franchise.set_base_parameters(**own)
    franchise.clear()
    franchise.bank.prepare(source)
    if prepared is None or names is None:
        franchise.in_chunks(0, n, lambda first, last: franchise.enter(first, last, source))
    else:
        known = franchise.known_dishes.n  # their dishes exist, with these numbers
        slots = np.array(
            [name if name < known else franchise.open_dish(source) for name in names.tolist()], dtype=np.int32
        )
        given = _renamed(prepared, names, slots)
        del prepared
        if franchise.topology.is_chain and franchise.draws_tables:  # all at once
            franchise.enter_given(given, 0, n, source)
        else:
            franchise.in_chunks(0, n, lambda first, last: franchise.enter_given(given, first, last, source))
    _parts_started(franchise, source)


def _by_cell(init: Any, franchise: Franchise, source: RandomStream, threads: int) -> CellStart | None:
    """A start by cell; None for a start by customer or a state."""
    cells: Any = franchise.topology.cells  # type: ignore[union-attr]
    if isinstance(init, str) and init == "one":
        return one_dish(cells, franchise.known_dishes.n)
    if isinstance(init, Random):
        return random_dishes(cells, init.n_dishes, source, franchise.known_dishes)
    if isinstance(init, Factors):
        return factor_cells(init, franchise, source)
    return term_cluster_cells(init, franchise, source, threads) if isinstance(init, TermClusters) else None


def _start_cells(
    franchise: Franchise, by_cell: CellStart, own: Mapping[str, float], source: RandomStream
) -> None:
    franchise.reset_hyperparameters()
    franchise.set_base_parameters(**own)
    franchise.sweep = 0
    franchise.clear()
    seat_cells(franchise, by_cell, source)
    _parts_started(franchise, source)


def _parts_started(franchise: Franchise, source: RandomStream) -> None:
    for part in franchise.parts.values():
        part.started(franchise, source)


def _resolved(init: Any, franchise: Franchise) -> Any:
    """The start that "auto" means for this franchise; anything else is returned unchanged."""
    if not isinstance(init, str) or init != "auto":
        return init
    if prefers_term_clusters(franchise):
        plain = franchise.measure.seats_values and franchise.population.single
        return PLAIN if plain else TermClusters()
    if franchise.topology.is_chain:
        n = max(min(STATES, franchise.topology.n_customers // 10), 1)
        return Random(min(n, franchise.root.most_dishes or n))
    # The sequential start assigns customers to the known components; by cell, random dishes do.
    by_cell = franchise.known_dishes.n and not franchise.population.single
    return Random(_started_with(franchise)) if by_cell else "sequential"


def _started_with(franchise: Franchise) -> int:
    """Number of dishes of a random start with known components: these and one more, if possible."""
    return min(franchise.known_dishes.n + 1, franchise.root.most_dishes or franchise.known_dishes.n + 1)


def _number(franchise: Franchise, names: Any) -> int:
    """Number of dishes of a start that uses these numbers, including all known components."""
    return franchise.known_dishes.n + int(np.count_nonzero(names >= franchise.known_dishes.n))


def _prepare(init: Any, franchise: Franchise, source: RandomStream, threads: int = 1) -> Any:
    """None (sequential start), an array of dishes, or a frozen state; checked before anything changes."""
    n = franchise.topology.n_customers
    if isinstance(init, str) and init == "sequential":
        return None
    if not isinstance(init, (Mapping, type(franchise))) and init is not None:
        franchise.dish_kind.check_start(init)
    if init is PLAIN:
        return plain_dishes(franchise, source)
    if isinstance(init, str):
        if init == "one":
            return np.full(n, franchise.known_dishes.n, dtype=np.int32)
    elif isinstance(init, Random):
        drawn = source.generator.integers(0, init.n_dishes, size=n, dtype=np.int32)
        return franchise.known_dishes.possible(franchise.data, drawn, init.n_dishes, source)
    elif isinstance(init, TermClusters):
        check_term_clusters(init, franchise)
        dishes = term_clusters(init, franchise, source, threads)
        dishes += np.int32(franchise.known_dishes.n)
        return dishes
    elif isinstance(init, Factors):
        check_factors(init, franchise)
        return dishes_of_factors(init, franchise, source)
    elif isinstance(init, Mapping):
        return init
    elif isinstance(init, type(franchise)):
        return init.freeze()
    elif init is not None:
        dishes = _dishes(init, n)
        franchise.known_dishes.check_possible(franchise.data, dishes, "init")
        return dishes
    raise ParameterError(
        "init", init, '"auto", "sequential", "one", hk.init.Random(K), an array of dishes, a state, or None',
        "None continues from the state of a started franchise.",
    )  # fmt: skip


def _distinct(dishes: Any) -> Any:
    """The dishes that occur, ascending."""
    if len(dishes) and int(dishes.max()) < len(dishes):
        return np.flatnonzero(np.bincount(dishes))
    return np.unique(dishes)


def _renamed(dishes: Any, names: Any, slots: Int32s) -> Int32s:
    """The slot of each customer's dish, given that of each name."""
    if len(names) and int(names[-1]) < len(dishes):
        table = np.zeros(int(names[-1]) + 1, dtype=np.int32)
        table[names] = slots
        return table[dishes]
    return slots[np.searchsorted(names, dishes)]


def _dishes(init: Any, n: int) -> Any:
    try:
        dishes = np.asarray(init)
    except ValueError:  # ragged
        dishes = np.empty(0)
    whole = dishes.dtype.kind in "iu" or (
        dishes.dtype.kind == "f" and bool(np.all(np.isfinite(dishes) & (dishes == np.floor(dishes))))
    )
    if dishes.shape != (n,) or not whole or np.any(dishes < 0) or np.any(dishes >= 2.0**63):
        raise ParameterError(
            "init", init, f"whole numbers >= 0, shape ({n},)", "Give each customer's dish, in data order."
        )
    return dishes.astype(np.int64)
