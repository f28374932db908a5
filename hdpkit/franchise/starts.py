"""Initial states."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from typing import Any, Self

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
from hdpkit.franchise.freezing import check_state
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomial
from hdpkit.random import RandomStream
from hdpkit.steps._term_clusters import cluster_terms, copied_labels
from hdpkit.steps.fused.instruction_set import instruction_set

PLACED = 1 << 14  # terms that are compared with each other, those of most documents
ROUNDS = 5  # of k-means; more have no benefit
COPIED = 0.8  # share of customers that begin with the cluster of another customer of their document
_TERMS_EACH = 10  # terms of a cluster, on average, if there are more clusters than 3 sqrt(terms)
_COUNTS = 1 << 26  # most counts of terms in topics at the start, unless there are few topics
_FEWEST_LIMITED = 64  # topics that may have more counts
FEWEST = 2_000  # customers; below this the sequential start is as good
_PLAIN_SWEEPS = 20  # of a start by topics that are the same in every document; in each tenth also DishGibbs
_ROUNDS = 100  # of multiplicative updates of factors
_MOST = 100  # factors, by default
_AT_ONCE = 1 << 14  # customers
_CELLS = 1 << 14  # cells drawn at once
_LARGEST = 1 << 21  # most entries of a table of cells and dishes
_PLAIN_ETA = 0.1  # at least, since a smaller one begins with more topics than remain

_some = validator(whole_number, 1, 2**31 - 1, remedy="For instance 100.")


@attrs.frozen(eq=False)
class OfCustomers:
    """A dish for each customer, from 0; known components are the first dishes."""

    dishes: Int32s

    def enter(self, franchise: Any, source: RandomStream) -> None:
        """Seat all customers, from the prior given their dishes."""
        given = _opened(franchise, self.dishes, source)
        n = len(given)
        if franchise.topology.chained and franchise.draws_tables:
            franchise.enter_given(given, 0, n, source)
        else:
            franchise.in_chunks(0, n, lambda first, last: franchise.enter_given(given, first, last, source))


@attrs.frozen(eq=False)
class OfCells:
    """Dishes of cells, from 0; known components are the first dishes."""

    runs: Int32s  # shape (n_cells,): number of dishes of each cell
    dish: Int32s  # dish and count: the dishes, ascending within a cell, and their numbers of customers
    count: Int32s

    @classmethod
    def of_tables(cls, tables: Iterable[tuple[Any, Any]]) -> Self:
        """Those of tables of cells by dishes, each given by the dishes of its columns and its counts."""
        runs, dish, count = [], [], []
        for columns, table in tables:
            cell, place = np.nonzero(table)
            runs.append(np.bincount(cell, minlength=len(table)).astype(np.int32))
            dish.append(columns[place].astype(np.int32))
            count.append(table[cell, place].astype(np.int32))
        return cls(*(np.concatenate([np.empty(0, np.int32), *parts]) for parts in (runs, dish, count)))

    @classmethod
    def drawn(cls, cells: Cells, n_dishes: int, law: Callable[[slice], Floats], source: RandomStream) -> Self:
        """Dishes of each customer from the distribution of its cell: ``law`` returns those of some cells."""
        columns, size = np.arange(n_dishes), max(1, min(_CELLS, _LARGEST // n_dishes))
        pieces = (slice(first, first + size) for first in range(0, len(cells.count), size))
        return cls.of_tables(
            (columns, source.generator.multinomial(cells.count[here], law(here))) for here in pieces
        )

    def enter(self, franchise: Any, source: RandomStream) -> None:
        """Seat all customers; tables and weights of the root are drawn given the dishes."""
        franchise.population.enter(self.runs, _opened(franchise, self.dish, source), self.count, source)


def _opened(franchise: Any, dishes: Int32s, source: RandomStream) -> Int32s:
    """Open the dishes that have customers, and return the slot of each entry."""
    few = len(dishes) == 0 or int(dishes.max()) < len(dishes)  # numbers may be as large as users like
    names = np.flatnonzero(np.bincount(dishes)) if few else np.unique(dishes)
    known = franchise.known_dishes.n  # these already have slots
    franchise.root._check_number("init", known + int(np.count_nonzero(names >= known)))
    slots = np.array(
        [k if k < known else franchise.open_dish(source) for k in names.tolist()], dtype=np.int32
    )
    if not few:
        return slots[np.searchsorted(names, dishes)]
    table = np.zeros(int(names[-1]) + 1 if len(names) else 0, dtype=np.int32)
    table[names] = slots
    return table[dishes]


class Start:
    """What a value of ``init`` means: it draws dishes, and customers are seated with them."""

    _by_chance = True  # its dishes tell nothing of topics: `BaseMeasure.starting_parameters` are for such

    def _check(self, franchise: Any) -> None:
        """Raise an error if it doesn't fit; draws and changes nothing."""

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> Any:
        """Draw dishes: `OfCustomers`, or `OfCells` if the franchise counts customers by cell."""
        raise NotImplementedError

    def _put(self, franchise: Any, source: RandomStream, threads: int) -> None:
        """Put the franchise into the state."""
        self._check(franchise)
        own = franchise.measure.starting_parameters if self._by_chance else {}
        drawn = self._drawn(franchise, source, threads)
        franchise.reset_hyperparameters()
        franchise.set_base_parameters(**own)
        franchise.sweep = 0
        franchise.clear()
        franchise.bank.prepare(source)
        drawn.enter(franchise, source)
        for part in franchise.parts.values():
            part.started(franchise, source)


class _Sequential(Start):
    """Customers are seated one by one, with their predictive probabilities given those before them."""

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> Self:
        franchise.expand_cells()
        return self

    def enter(self, franchise: Any, source: RandomStream) -> None:
        """Seat all customers, in data order."""
        n = franchise.topology.n_customers
        franchise.in_chunks(0, n, lambda first, last: franchise.enter(first, last, source))


class _One(Start):
    """All customers have one dish, in addition to known components."""

    def _check(self, franchise: Any) -> None:
        franchise.dish_kind.check_start("one")
        franchise.root._check_number("init", franchise.known_dishes.n + 1)

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers | OfCells:
        known = franchise.known_dishes.n
        if franchise.population.single:
            return OfCustomers(np.full(franchise.topology.n_customers, known, dtype=np.int32))
        count = franchise.topology.cells.count
        return OfCells(np.ones(len(count), np.int32), np.full(len(count), known, np.int32), count.copy())


@attrs.frozen
class Random(Start):
    """The dish of each customer is uniform on K dishes; then seats are drawn from the prior given the dishes.

    Parameters
    ----------
    n_dishes : int
        K, at least 1. If no customer draws a dish, there are fewer than K. Known components are the first
        of the K dishes; a customer whose term is impossible under a frozen one draws one of the others.
    """

    n_dishes: int = attrs.field(validator=_some)

    def _check(self, franchise: Any) -> None:
        franchise.dish_kind.check_start(self)
        franchise.root._check_number("init", max(self.n_dishes, franchise.known_dishes.n))

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers | OfCells:
        known = franchise.known_dishes
        if franchise.population.single:
            n = franchise.topology.n_customers
            drawn = source.generator.integers(0, self.n_dishes, size=n, dtype=np.int32)
            return OfCustomers(known.possible(franchise.data, drawn, self.n_dishes, source))
        cells, weights = franchise.topology.cells, known.allowed(self.n_dishes)

        def law(here: slice) -> Floats:
            return weights.take(cells.term[here], axis=0, mode="clip")  # or one row for all terms

        return OfCells.drawn(cells, weights.shape[1], law, source)


class _Given(Start):
    """Each customer's dish is given, by any whole number; those of known components stand for them."""

    _by_chance = False

    def __init__(self, init: Any, franchise: Any) -> None:
        names, place = np.unique(_dishes(init, franchise.topology.n_customers), return_inverse=True)
        known = franchise.known_dishes.n
        new = names >= known
        self.n_dishes = known + int(np.count_nonzero(new))
        self.dishes = np.where(new, known + np.cumsum(new) - 1, names)[place]

    def _check(self, franchise: Any) -> None:
        franchise.known_dishes.check_possible(franchise.data, self.dishes, "init")
        franchise.root._check_number("init", self.n_dishes)

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers:
        franchise.expand_cells()
        return OfCustomers(self.dishes)


class _State(Start):
    """A state, with hyperparameters at their starting values."""

    def __init__(self, frozen: Mapping[str, Any]) -> None:
        self.frozen = frozen

    def _check(self, franchise: Any) -> None:
        check_state(franchise, self.frozen)

    def _put(self, franchise: Any, source: RandomStream, threads: int) -> None:
        franchise.reset_hyperparameters()
        now = franchise.hyperparameters
        state = {**self.frozen, "sweep": 0, "streams": None, "measure": franchise.base_parameters}
        state |= {"concentration": now.concentration.copy(), "discount": now.discount.copy()}
        franchise.thaw(state, source)


class _Plain(Start):
    """The dishes of a short chain over topics that don't differ by restaurant."""

    # Chains of topics that differ had a higher log joint after this start than after others.

    _by_chance = False

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers:
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
        return OfCustomers(twin.dishes)


@attrs.frozen
class TermClusters(Start):
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

    n_dishes: int | None = attrs.field(default=None, validator=attrs.validators.optional(_some))

    def _check(self, franchise: Any) -> None:
        _check_documents(self, franchise)
        franchise.root._check_number("init", self.n_dishes or 1)

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers | OfCells:
        data, known = franchise.data, franchise.known_dishes.n
        labels = labels_of_terms(self, data, franchise.root.most_dishes, source, threads)
        if not franchise.population.single:
            return OfCells.of_tables(_copied_in_cells(labels, franchise.topology.cells, known, source))
        key = source.generator.integers(0, 2**63, size=2).tolist()
        begins = np.concatenate([[0], np.cumsum(data.document_lengths, dtype=np.int64)])
        dishes: Int32s = copied_labels(labels, data.terms, begins, COPIED, *key, threads)
        return OfCustomers(dishes + np.int32(known))


def _measure_of_topics(franchise: Any) -> Any:
    """The measure, or the one within it if topics differ by restaurant."""
    measure = franchise.measure
    return measure.measure if measure.seats_values else measure


def serves_term_clusters(franchise: Any) -> bool:
    """Whether the data are documents of terms, and topics have a Dirichlet distribution, plain or sparse."""
    kinds = (DirichletMultinomial, SparseDirichletMultinomial)
    return isinstance(franchise.data, Corpus) and isinstance(_measure_of_topics(franchise), kinds)


def prefers_term_clusters(franchise: Any) -> bool:
    """Whether this start is the default: for mixtures by group with enough data to compare terms."""
    # Sparse models keep too many of the topics with which they start (benchmarks/results/starts.md).
    return (
        serves_term_clusters(franchise)
        and not isinstance(_measure_of_topics(franchise), SparseDirichletMultinomial)
        and franchise.topology.n_levels > 1
        and not franchise.known_dishes.n
        and len(franchise.data) >= FEWEST
    )


def _resample_dishes(franchise: Any, source: RandomStream) -> None:
    """Dish Gibbs over the tables of all restaurants below the root."""
    with franchise.labelled_seating(source):
        for level in range(franchise.topology.n_levels - 1, 0, -1):
            units = franchise.units(level)
            franchise.in_chunks(0, len(units), partial(franchise.resample_dish, units, source=source))


def _check_documents(start: Start, franchise: Any) -> None:
    """Raise a ParameterError if the data aren't documents of terms."""
    if not serves_term_clusters(franchise):
        kind = type(start).__name__
        raise ParameterError(
            "init", start, f"a start that fits: {kind} is for a Corpus under a Dirichlet-multinomial",
            'For instance "sequential", or hk.init.Random(100).',
        )  # fmt: skip


def _copied_in_cells(
    labels: Int32s, cells: Cells, known: int, source: RandomStream
) -> Iterator[tuple[Any, Any]]:
    """Tables of the cells of each document: a customer's label, or that of another one of its document."""
    for first, last in zip(cells.begin[:-1].tolist(), cells.begin[1:].tolist(), strict=True):
        if first == last:
            continue
        own, count = labels[cells.term[first:last]], cells.count[first:last]
        dishes, place = np.unique(own, return_inverse=True)
        share = np.bincount(place, weights=count)
        copied = source.generator.binomial(count, COPIED)
        table = source.generator.multinomial(copied, share / share.sum())
        table[np.arange(last - first), place] += count - copied
        yield dishes + known, table


def usual_clusters(n_tokens: int, n_used: int, n_terms: int) -> int:
    """Number of clusters by default, for tokens and terms, some of which occur."""
    root = n_tokens**0.5
    wanted = min(root, max(3 * n_used**0.5, min(root / 2, n_used / _TERMS_EACH)))
    return max(1, round(min(wanted, max(_FEWEST_LIMITED, _COUNTS // max(1, n_terms)))))


def labels_of_terms(
    start: TermClusters, corpus: Any, most_dishes: int | None, source: RandomStream, threads: int = 1
) -> npt.NDArray[np.int32]:
    """Cluster of each term: int32, shape (n_terms,); 0 for those that don't occur."""
    counts = corpus.to_counts()
    documents = np.bincount(counts.indices, minlength=counts.shape[1])  # in which each term occurs
    used = np.flatnonzero(documents)
    n_placed = min(len(used), PLACED)
    if len(used) > n_placed:
        used = used[np.argsort(-documents[used], kind="stable")]
    del documents
    default = usual_clusters(len(corpus), len(used), counts.shape[1])
    n_dishes = start.n_dishes or min(default, most_dishes or default)
    generator = source.generator
    first = generator.choice(n_placed, min(n_dishes, n_placed), replace=False)
    return cluster_terms(
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


def _topics(value: Any) -> Floats | None:
    """Topics with rows normalised to sum 1; None is returned as it is."""
    if value is None:
        return None
    found = number_array(value)
    good = found is not None and found.ndim == 2 and found.shape[1] and np.isfinite(found).all()
    if found is None or not good or (found < 0).any() or not found.any(axis=1).all():
        raise ParameterError(
            "topics", value, "a matrix of numbers of at least 0, shape (K, n_terms), no row of zeros",
            "For instance sample.topics() of a run over fewer customers.",
        )  # fmt: skip
    rows: Floats = found / found.sum(axis=1, keepdims=True)
    rows.setflags(write=False)
    return rows


@attrs.frozen
class Factors(Start):
    """Customers begin with the components of a non-negative factorisation of the counts.

    Counts by document and term, each document scaled to sum 1, are written as W H, W of shape (documents, K)
    and H of shape (K, terms), by scikit-learn's NMF with the Kullback-Leibler divergence (Lee & Seung 2001).
    A customer of document d and term v begins with dish k with probability proportional to W_dk H_kv. This
    start is meant for few terms and large documents. The chain is exact from any start.

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

    n_dishes: int | None = attrs.field(default=None, validator=attrs.validators.optional(_some))
    topics: Floats | None = attrs.field(
        default=None, kw_only=True, converter=_topics, eq=attrs.cmp_using(eq=np.array_equal), hash=False
    )

    def __attrs_post_init__(self) -> None:
        if self.topics is not None and self.n_dishes not in (None, len(self.topics)):
            raise ParameterError(
                "n_dishes", self.n_dishes, f"{len(self.topics)}, the number of topics", "Leave it out."
            )

    _by_chance = False

    def _check(self, franchise: Any) -> None:
        _check_documents(self, franchise)
        try:
            import sklearn.decomposition  # noqa: F401
        except ImportError as error:
            raise MissingExtraError(
                "sklearn", None, "installed, to factorise counts",
                "pip install 'hdpkit[text]', or another start.",
            ) from error  # fmt: skip
        n_dishes, known = self.n_dishes, franchise.known_dishes.n
        if self.topics is not None:
            n_dishes, n_terms = self.topics.shape
            if n_dishes + known == 0:
                allowed = "one topic or more, where no component is known"
                raise ParameterError("init", self, allowed, "Give hk.init.Factors(20).")
            if n_terms != franchise.data.n_terms:
                raise ParameterError(
                    "init", self, f"topics over the {franchise.data.n_terms} terms of the data",
                    "Take them of a run over the same terms.",
                )  # fmt: skip
        franchise.root._check_number("init", max(1, known + (n_dishes or 0)))

    def _drawn(self, franchise: Any, source: RandomStream, threads: int) -> OfCustomers | OfCells:
        data = franchise.data
        weights, laws = factors_of(self, franchise, source)

        def law(documents: Any, terms: Any) -> Floats:
            """Distribution of the dish for these documents and terms: rows sum to one."""
            found = weights[documents] * laws[:, terms].T
            total = found.sum(axis=1, keepdims=True)
            return np.where(total > 0, found / np.where(total > 0, total, 1.0), 1.0 / len(laws))

        if not franchise.population.single:
            cells, documents = franchise.topology.cells, franchise.topology.cells.documents()
            return OfCells.drawn(
                cells, len(laws), lambda here: law(documents[here], cells.term[here]), source
            )
        dishes = np.empty(len(data), dtype=np.int32)
        for first in range(0, len(data), _AT_ONCE):
            last = min(first + _AT_ONCE, len(data))
            own = law(data.codes_between("document", first, last), data.terms[first:last])
            drawn = source.generator.random(last - first)[:, None]
            dishes[first:last] = np.minimum((np.cumsum(own, axis=1) < drawn).sum(axis=1), len(laws) - 1)
        return OfCustomers(dishes)


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
    n_dishes = start.n_dishes or min(default, default if most is None else most - franchise.known_dishes.n)
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


def check_start(init: Any, franchise: Franchise) -> None:
    """Raise an error if `start` would reject `init`; draws and changes nothing. None is accepted."""
    if init is not None:
        _as_start(init, franchise)._check(franchise)


def start(franchise: Franchise, init: Any, source: RandomStream, threads: int = 1) -> None:
    """Put a franchise into an initial state and its hyperparameters at their starting values."""
    with franchise.transaction():
        _as_start(init, franchise)._put(franchise, source, min(threads, MOST_THREADS))


def _as_start(init: Any, franchise: Franchise) -> Start:
    """What a value of ``init`` means for this franchise."""
    if isinstance(init, Franchise):
        init = init.freeze()
    if isinstance(init, Mapping):
        return _State(init)
    franchise.held.check_start(init)
    if isinstance(init, Start):
        return init
    if isinstance(init, str) and init in _NAMED:
        return _NAMED[init](franchise)
    franchise.dish_kind.check_start(init)
    if init is None or isinstance(init, str):
        raise ParameterError(
            "init", init,
            '"auto", "sequential", "one", hk.init.Random(K), an array of dishes, a state, or None',
            "None continues from the state of a started franchise.",
        )  # fmt: skip
    return _Given(init, franchise)


def _usual(franchise: Any) -> Start:
    """The start that "auto" means for this franchise."""
    single, known = franchise.population.single, franchise.known_dishes.n
    most = franchise.root.most_dishes
    if prefers_term_clusters(franchise):
        return _Plain() if franchise.measure.seats_values and single else TermClusters()
    n = franchise.topology.usual_dishes()
    if known and not single:
        # The sequential start assigns customers to the known components; by cell, random dishes do, and
        # one more dish, if possible.
        n = known + 1
    return _Sequential() if n is None else Random(min(n, most or n))


_NAMED: dict[str, Callable[[Any], Start]] = {
    "auto": _usual,
    "sequential": lambda franchise: _Sequential(),
    "one": lambda franchise: _One(),
}


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
