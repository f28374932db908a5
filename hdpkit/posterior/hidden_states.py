"""Hidden Markov models with given parameters: probabilities of sequences with the states summed out.

Transition probabilities and densities come from a state of the chain in one of two forms. *Drawn*: from their
joint distribution given the state, with further states broken off the remainder of the root's weights until
less than `LEAST` of it is left, which is also the mean share that rows lose. Averaged over draws and states
of the chain, the probability of a sequence is the posterior predictive probability. *Mean*: the posterior
mean of each row, the predictive density of each dish, and one further state for all new dishes. This is what
`Franchise.transitions` shows; it needs no random numbers, and is not an average over anything.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats, Int32s, Int64s
from hdpkit.checks import choice, instance, items, whole_number
from hdpkit.data import Sequences
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.franchise import offered
from hdpkit.franchise.guard import unguarded
from hdpkit.franchise.sample import Level, Sample, sample_of
from hdpkit.franchise.state_topology import ChainTopology
from hdpkit.measures.by_restaurant import SAME, NewRestaurants
from hdpkit.measures.protocol import log_likelihoods
from hdpkit.numerics import add_up
from hdpkit.posterior.fold_in import checked_numbers, coded_terms, log_densities, restaurants_of_sample
from hdpkit.random import ChoiceSource, Purpose, Seed, as_source
from hdpkit.steps.state_sequences import Rows, distinct_numbers, scaled_rows, shares

FORMS = ("mean", "drawn")
LEAST = 1e-9  # of the root's weights may be left when states are broken off
MOST_STATES = 4096
MOST_AHEAD = 1_000_000  # steps
BATCH = 1 << 14  # observations whose densities are computed at once
_FORMS_REMEDY = '"mean" needs no seed; averages over draws are exact.'

Bools = npt.NDArray[np.bool_]


@attrs.frozen(eq=False)
class Densities:
    """Log densities of observations."""

    logs: Floats  # in each state, shape (n_rows, n)
    index: Int32s  # row of each observation; -1: missing, shape (m,)
    # See scaled_rows: worth the time where many observations share a row; shapes (n_rows,) and (n_rows, n).
    tops: Floats | None = None
    scaled: Floats | None = None

    def __len__(self) -> int:
        return len(self.index)


@attrs.frozen(eq=False)
class HiddenStates:
    """Transition probabilities and densities of n states; the first K are those of the franchise."""

    start: Floats  # shape (n,)
    transitions: Floats  # rows sum to one, shape (n, n)
    n_live: int  # K
    log_densities: Callable[[Any], Floats]  # takes m values, and returns their log densities, shape (m, n)
    parameters: list[Any] = attrs.field(factory=list)  # those of each state, if they were drawn

    # ------------------------------------------------------------------ passes over sequences

    def filtered(
        self,
        rows: Densities,
        offsets: Int64s,
        before: Floats | None = None,
        *,
        every: bool = True,
        threads: int = 1,
    ) -> tuple[Floats, Floats]:
        """Filter sequences forward."""
        n = len(self.start)
        norms, last = np.zeros(len(rows)), np.zeros((len(offsets) - 1, n))
        filters = np.empty((len(rows), n)) if every else None
        arguments = rows.logs, rows.scaled, rows.tops, rows.index, offsets, before
        at = self._passes(threads).filter(*arguments, norms, filters, last)
        if at < len(rows):
            raise _impossible(at - int(offsets[np.searchsorted(offsets, at, "right") - 1]))
        return norms, last if filters is None else filters

    def smoothed(self, filters: Floats, offsets: Int64s, threads: int = 1) -> Floats:
        """p(z_t | the whole sequence) from filters: float64, shape (m, n)."""
        found = np.empty_like(filters)
        self._passes(threads).smooth(filters, offsets, found)
        return found

    def best_paths(self, rows: Densities, offsets: Int64s, threads: int = 1) -> Int64s:
        """The most probable states of each sequence, all together (Viterbi 1967): int64, shape (m,)."""
        path = np.empty(len(rows), dtype=np.int64)
        self._passes(threads).best_paths(rows.logs, rows.index, offsets, path)
        return path

    def _passes(self, threads: int) -> Any:
        from hdpkit.steps.fused._state_sequences import StatePasses  # few runs need it

        return StatePasses(np.ascontiguousarray(np.vstack([self.transitions, self.start])), threads)

    def rows_of(self, values: Any, missing: Bools) -> Callable[[int, int], Densities]:
        """A function of first and last, of the densities of these observations."""
        if values.ndim == 1 and values.dtype.kind in "iub" and not missing.all():
            index = np.full(len(values), -1, dtype=np.int32)
            distinct, index[~missing] = distinct_numbers(values[~missing])
            logs = np.ascontiguousarray(self.log_densities(distinct))
            table = Densities(logs, index, *scaled_rows(logs))
            return lambda first, last: attrs.evolve(table, index=table.index[first:last])

        def rows(first: int, last: int) -> Densities:
            there = ~missing[first:last]
            index = np.where(there, np.cumsum(there) - 1, -1).astype(np.int32)
            logs = self.log_densities(values[first:last][there]) if there.any() else ()
            return Densities(np.ascontiguousarray(np.reshape(logs, (-1, len(self.start)))), index)

        return rows

    def log_probabilities(
        self, values: Any, missing: Bools, offsets: Int64s, threads: int = 1
    ) -> tuple[Floats, Floats]:
        """log p(x_t | x_1 .. x_t-1) of each observation of sequences, and the filters of their last ones."""
        rows, norms, s = self.rows_of(values, missing), np.zeros(len(values)), 0
        lasts = np.zeros((len(offsets) - 1, len(self.start)))
        for bounds in batches(offsets):
            f, begin, end = None, int(bounds[0]), int(bounds[-1])
            for first in range(begin, end, BATCH):  # a long sequence has several pieces
                last = min(first + BATCH, end)
                own = np.clip(bounds, first, last) - first
                norms[first:last], found = self.filtered(
                    rows(first, last), own, f, every=False, threads=threads
                )
                lasts[s : s + len(found)], f = found, found[0]
            s += len(bounds) - 1
        return norms, np.maximum(lasts, 0.0)

    def ahead(self, last: Floats, lengths: Int64s, horizon: int = 1) -> Floats:
        """Distributions of the states after sequences with these last filters: (n_sequences, horizon, n)."""
        found = np.empty((len(last), horizon, len(self.start)))
        found[:, 0] = np.where(lengths[:, None] > 0, last @ self.transitions, self.start)
        for step in range(1, horizon):
            found[:, step] = found[:, step - 1] @ self.transitions
        return found

    def known_only(self) -> HiddenStates:
        """The states of the franchise alone: those without observations are impossible."""
        k, log_densities = self.n_live, self.log_densities
        start, rows = self.start[:k], self.transitions[:k, :k]
        return HiddenStates(
            start / start.sum(), rows / rows.sum(axis=1, keepdims=True), k,
            lambda values: log_densities(values)[:, :k],
        )  # fmt: skip

    def summed(self, rows: Floats) -> Floats:
        """Columns of states that have no observations yet added up in the last: shape (..., K + 1)."""
        live, new = rows[..., : self.n_live], rows[..., self.n_live :]
        return np.concatenate([live, new.sum(axis=-1, keepdims=True)], axis=-1)


def batches(offsets: Int64s) -> Iterator[Int64s]:
    """Bounds of the sequences of each batch, which has at most `BATCH` observations or one sequence."""
    s, n = 0, len(offsets) - 1
    while s < n:
        end = max(int(np.searchsorted(offsets, offsets[s] + BATCH, "right")) - 1, s + 1)
        yield offsets[s : end + 1]
        s = end


def _impossible(t: int) -> DataError:
    return DataError(
        "data", f"observation {t} of a sequence", "one that has a positive density in some possible state",
        "Leave it out, or choose a base measure that allows it.",
    )  # fmt: skip


# ---------------------------------------------------------------------- from a state of the chain


@attrs.frozen(eq=False, kw_only=True)
class _Given:
    """A state of the chain: that of a franchise, or a sample over its data."""

    franchise: Any
    sample: Sample
    measure: Any
    bank: Any
    slots: Int32s
    dishes: Any  # slot of each value of the bank, -1 where an observation is missing

    @property
    def level(self) -> Level:
        """The start row and the rows of the dishes."""
        return self.sample.levels[-1]

    @property
    def alpha(self) -> Floats:
        """Concentration of the rows of dishes, and of the start row."""
        each = np.broadcast_to(self.level.concentration, len(self.level.parent))
        return np.array([each[-1], each[0]])


def chain_tree(state: Any, what: str) -> ChainTopology:
    """The tree of a hidden Markov model."""
    tree = state.topology
    if not isinstance(tree, ChainTopology):
        raise StateError(
            what, state.declarations[-1].each, "hk.PreviousDish, over hk.Sequences",
            "Only a hidden Markov model has transitions; see group_weights(name).",
        )  # fmt: skip
    return tree


def hidden_states(
    franchise: Any, parameters: str, source: ChoiceSource, sample: Sample | None = None
) -> HiddenStates:
    """The states of a hidden Markov model, of a franchise or a sample over its data, in one of two forms."""
    choice("parameters", parameters, FORMS, remedy=_FORMS_REMEDY)
    arguments = (franchise, sample, parameters, source)
    made: HiddenStates = franchise.access.call(_fixed, arguments, reading=True)
    return made


def _fixed(franchise: Any, sample: Sample | None, parameters: str, source: ChoiceSource) -> HiddenStates:
    given = _given(franchise, sample)
    return _mean(given) if parameters == "mean" else _drawn(given, source)


def _given(franchise: Any, sample: Sample | None) -> _Given:
    chain_tree(franchise, "states of sequences")
    if sample is not None:
        return _given_sample(franchise, sample)
    if not len(franchise.slots.occupied_slots()) or not franchise.population.all_seated():
        raise StateError(
            "franchise", "with unseated customers", "one whose customers have states", "Run some sweeps."
        )
    return _Given(
        franchise=franchise, sample=sample_of(franchise, 0.0), measure=franchise.measure, bank=franchise.bank,
        slots=franchise.slots.occupied_slots(), dishes=franchise.population.dishes(),
    )  # fmt: skip


def _given_sample(franchise: Any, sample: Any) -> _Given:
    instance("sample", sample, Sample, "a sample of a chain over these data", remedy="See trace.samples.")
    data = franchise.data
    if sample.dishes is None or len(sample.dishes) != len(data) or sample.levels[-1].n_fixed is None:
        raise DataError(
            "sample", sample, f"a sample of this model with the states of {len(data):,} observations",
            "Keep samples of the chain over these data; they have the states of at most 2**20 observations.",
        )  # fmt: skip
    state, slots = restaurants_of_sample(
        franchise, sample, np.where(data.missing, np.int32(-1), sample.dishes)
    )
    return _Given(
        franchise=franchise, sample=sample, measure=state.measure, bank=state.bank, slots=slots,
        dishes=state.dishes,
    )  # fmt: skip


def _mean(given: _Given) -> HiddenStates:
    """Posterior mean rows and predictive densities."""
    measure, sample = given.measure, given.sample
    if not measure.predicts:
        raise DeclarationError(
            "base", type(measure).__name__, "a measure with a predictive density of a new dish",
            'The density of a value under a new dish has no closed form here: use parameters="drawn".',
        )  # fmt: skip
    rows = np.empty((sample.n_dishes + 1,) * 2)
    rows[:-1] = sample.transitions()
    # The row of a new dish has no customers yet. All new dishes are one state, which favours itself.
    rows[-1] = given.alpha[0] * sample.above_rows()
    rows[-1, -1] += given.level.own
    rows[-1] /= given.alpha[0] + given.level.own
    start = sample.start()
    franchise, slots = given.franchise, given.slots
    state = NewRestaurants(measure, given.bank, given.dishes, SAME)

    def logs(values: Any) -> Floats:
        found: Floats = franchise.access.call(log_densities, (franchise, state, values, slots), reading=True)
        return found

    return HiddenStates(start / start.sum(), rows / rows.sum(axis=1, keepdims=True), len(rows) - 1, logs)


def _drawn(given: _Given, source: ChoiceSource) -> HiddenStates:
    """Rows and parameters drawn given the state, with further states until nearly nothing is left."""
    pi, parameters = _draw_states(given, source)
    measure, n = given.measure, given.sample.n_dishes
    return HiddenStates(
        pi[-1], pi[:-1], n, lambda values: log_likelihoods(measure, values, parameters), parameters
    )


def _draw_states(given: _Given, source: ChoiceSource) -> tuple[Floats, list[Any]]:
    """Transition probabilities, the start row last, and parameters of all states; the first K have data."""
    measure, sample, level = given.measure, given.sample, given.level
    if not measure.supports("draw_parameters") or not measure.supports("log_likelihood"):
        raise DeclarationError(
            "base", type(measure).__name__, "a measure with draw_parameters() and log_likelihood()",
            'Define them, or use parameters="mean".',
        )  # fmt: skip
    discount = max(float(np.max(one)) for name, one in sample.hyperparameters.items() if "discount/" in name)
    if discount > 0.0 or len(sample.levels) > 1:
        raise DeclarationError(
            "discount, levels", (discount, 1 + len(sample.levels)),
            "no discount and two levels, where transition probabilities are drawn",
            'The remainder of the root is broken into states until little is left: use parameters="mean".',
        )  # fmt: skip
    psi = sample.root_weights
    if np.isfinite(sample.root_precision):
        psi = source.dirichlet(sample.root_precision * psi)
    parameters = list(measure.draw_many(given.bank, given.slots, given.dishes, source))
    psi = _broken(np.asarray(psi, dtype=np.float64), given.franchise, sample, source)
    k, n = len(parameters), len(psi) - 1
    parameters += [measure.draw_parameters(measure.make(), source) for _ in range(n - k)]
    of_dishes = level.counts.toarray()
    counts = np.zeros((n + 1, n), dtype=np.int64)
    counts[:k, :k], counts[-1, :k] = of_dishes[1:], of_dishes[0]
    pi = Rows(psi, given.alpha, level.own, counts, source).pi[:, :-1]
    return pi / pi.sum(axis=1, keepdims=True), parameters


def _broken(psi: Floats, franchise: Any, sample: Sample, source: ChoiceSource) -> Floats:
    """Weights of the root with its remainder broken into those of further states, until `LEAST` is left."""
    pieces, rest = psi[:-1].tolist(), float(psi[-1])
    gamma = float(sample.hyperparameters[f"concentration/{franchise.declarations[0].name}"])
    if franchise.root.most_dishes is not None:
        left = franchise.root.most_dishes - len(pieces)
        return np.array([*pieces, *[1.0 / franchise.root.most_dishes] * left, 0.0])
    while rest > LEAST and len(pieces) < MOST_STATES:
        share, others = shares(1.0, gamma, source)
        pieces.append(rest * share)
        rest *= others
    return np.array([*pieces, rest])


# ---------------------------------------------------------------------- data


def values_of(franchise: Any, data: Any) -> tuple[npt.NDArray[Any], Sequences]:
    """Values of sequences as the franchise's measure takes them, after checks; None: its own data."""
    chain_tree(franchise, "states of sequences")
    own = franchise.data
    if data is None or data is own:
        return own.values, own
    if not isinstance(data, Sequences):
        raise ParameterError(
            "data", data, "hk.Sequences", "Build them: hk.Sequences.from_arrays([first, second])."
        )
    if getattr(own, "n_terms", getattr(franchise.measure, "n_terms", None)) is None:
        return checked_numbers(franchise, data), data
    if data.values.ndim != 1 or data.values.dtype.kind not in "iu":
        raise DataError("data", data, "sequences of terms, as those of the franchise", "Give n_terms.")
    return coded_terms(franchise, data, ~data.missing, "data"), data


def log_probabilities(franchise: Any, states: HiddenStates, data: Any) -> Floats:
    """log p(x_t | x_1 .. x_t-1) of each observation of sequences; None: those of the franchise."""
    values, data = values_of(franchise, data)
    return states.log_probabilities(values, data.missing, data.offsets)[0]


@offered
def _summed_out(self: Any, parameters: str, source: ChoiceSource) -> float:
    """log p(data | transition probabilities, parameters of the dishes): see `Franchise.log_likelihood`."""
    return add_up(log_probabilities(self, hidden_states(self, parameters, source), None).tolist())


# ---------------------------------------------------------------------- probabilities of states


@attrs.frozen(eq=False, repr=False, kw_only=True)
class StateProbabilities:
    """States of sequences given the parameters of a state of the chain. Arrays are read-only.

    Returned by `Franchise.state_probabilities`. States are numbered as the dishes of the franchise; K, the
    last column, stands for all states that have no observations yet.

    Attributes
    ----------
    parameters : str
        "mean" or "drawn".
    names : tuple
        Name of each sequence.
    sequence : int64 array, shape (n_customers,)
        Number of the sequence of each observation.
    smoothed : float64 array, shape (n_customers, K + 1)
        p(z_t | the whole sequence). Rows sum to one.
    filtered : float64 array, shape (n_customers, K + 1)
        p(z_t | x_1 .. x_t).
    ahead : float64 array, shape (n_sequences, horizon, K + 1)
        Distributions of the states 1 to ``horizon`` steps after the last observation of each sequence.
    path : int64 array, shape (n_customers,)
        The most probable path of each sequence (Viterbi).
    log_probability : float64 array, shape (n_customers,)
        log p(x_t | x_1 .. x_t-1) in nats; 0 where an observation is missing.
    """

    parameters: str
    names: tuple[Any, ...]
    sequence: Int64s
    smoothed: Floats
    filtered: Floats
    ahead: Floats
    path: Int64s
    log_probability: Floats

    @property
    def n_states(self) -> int:
        """Number of states, K; the last columns are not among them."""
        return self.smoothed.shape[1] - 1

    @property
    def next(self) -> Floats:
        """Distribution of the state after the last observation of each sequence: (n_sequences, K + 1)."""
        return self.ahead[:, 0]

    @property
    def sequence_log_probability(self) -> Floats:
        """log p of each sequence: float64, shape (n_sequences,), in nats."""
        found = np.bincount(self.sequence, self.log_probability, len(self.names))
        return np.asarray(found, dtype=np.float64)

    @property
    def most_probable(self) -> Int64s:
        """The most probable state of each observation by itself: int64, shape (n_customers,)."""
        return np.asarray(self.smoothed.argmax(axis=1), dtype=np.int64)

    def __repr__(self) -> str:
        total = float(self.log_probability.sum())
        return (
            f"<StateProbabilities: {len(self.names)} sequences, {len(self.path)} observations, "
            f"{self.n_states} states and new ones, log p {total:.6g} ({self.parameters} parameters)>"
        )


@offered
def transitions(self: Any) -> Floats:
    """Posterior mean transition probabilities of a hidden Markov model: float64, shape (K, K + 1).

    Row j is that of state (dish) j; the last column is a state that no observation has yet. Given weights of
    the root, (n_jk + alpha psi_k + kappa [j = k]) / (n_j + alpha + kappa). A StateError if the model isn't
    one of
    `hk.PreviousDish`.
    """
    t = chain_tree(self, "transitions")
    nodes = t.first_row + t.rows.of_slots(self.slots.occupied_slots())
    walk = self.walk()
    rows = [walk.prior_row(node) for node in nodes.tolist()]
    return np.array(rows).reshape(len(rows), -1)


@offered
def start(self: Any) -> Floats:
    """Posterior mean probabilities of the first state of a sequence: shape (K + 1,), as `transitions`."""
    row: Floats = self.walk().prior_row(chain_tree(self, "start").first[-1])
    return row


@offered
@unguarded
def state_probabilities(
    self: Any,
    data: Any = None,
    *,
    parameters: str = "mean",
    sample: Sample | None = None,
    horizon: int = 1,
    threads: int = 1,
    rng: ChoiceSource | Seed = None,
) -> StateProbabilities:
    """Probabilities of the states of sequences, old or new, in a hidden Markov model.

    The forward and backward pass given transition probabilities and parameters of the dishes, which come from
    the current state of the chain. The states of the observations in the chain are used only for these.
    Raises a StateError if the model isn't one of `hk.PreviousDish`, or customers are not seated; a DataError
    if an observation is impossible in every state, or isn't of the kind of the franchise's; a
    DeclarationError if the base measure doesn't support such parameters.

    Parameters
    ----------
    data : Sequences, optional
        By default the sequences of the franchise.
    parameters : "mean" or "drawn"
        "mean": posterior mean transition probabilities (`transitions`), and the predictive density of each
        dish. "drawn": both drawn given the state, with new states until less than 1e-9 of the weights is
        left; an average over draws and states of the chain is the posterior probability.
    sample : Sample, optional
        A sample of a chain over these data, instead of the current state. States are numbered as its dishes.
    horizon : int
        Number of steps ahead of the last observation of each sequence, for ``ahead``.
    threads : int
        Each has one sequence at a time. The result doesn't depend on it.
    rng : seed, Generator or choice source
        For drawn parameters.
    """
    horizon = whole_number("horizon", horizon, 1, MOST_AHEAD, remedy="1: the next state alone.")
    whole_number("threads", threads, 1, MOST_THREADS, remedy="One per processor is usual.")
    states = hidden_states(self, parameters, as_source(rng, Purpose.FOLD_IN), sample)
    return probabilities_under(self, states, data, parameters, horizon, threads)


def probabilities_under(
    franchise: Any, states: HiddenStates, data: Any, parameters: str, horizon: int = 1, threads: int = 1
) -> StateProbabilities:
    """States of sequences under given parameters; None: the sequences of the franchise."""
    values, data = values_of(franchise, data)
    n, width = len(values), states.n_live + 1
    smoothed, filtered = np.empty((n, width)), np.empty((n, width))
    path, norms = np.empty(n, dtype=np.int64), np.empty(n)
    lasts = np.zeros((data.n_sequences, len(states.start)))
    rows, s = states.rows_of(values, data.missing), 0
    for bounds in batches(data.offsets):
        first, last, end = int(bounds[0]), int(bounds[-1]), s + len(bounds) - 1
        own, bounds = rows(first, last), bounds - first
        norms[first:last], filters = states.filtered(own, bounds, threads=threads)
        smoothed[first:last] = states.summed(states.smoothed(filters, bounds, threads))
        filters = np.maximum(filters, 0.0)
        filtered[first:last] = states.summed(filters)
        path[first:last] = np.minimum(states.best_paths(own, bounds, threads), states.n_live)
        lasts[s:end][np.diff(bounds) > 0] = filters[bounds[1:][np.diff(bounds) > 0] - 1]
        s = end
    after = states.summed(states.ahead(lasts, data.lengths, horizon))
    sequence = np.repeat(np.arange(data.n_sequences), data.lengths)
    for array in (smoothed, filtered, after, path, norms, sequence):
        array.setflags(write=False)
    return StateProbabilities(
        parameters=parameters, names=tuple(data.names), sequence=sequence, smoothed=smoothed,
        filtered=filtered, ahead=after, path=path, log_probability=norms,
    )  # fmt: skip


# ---------------------------------------------------------------------- new sequences


@offered
@unguarded
def draw_sequences(
    self: Any, lengths: Any, *, sample: Sample | None = None, rng: ChoiceSource | Seed = None
) -> tuple[list[npt.NDArray[Any]], list[Int64s]]:
    """Draw new sequences from a hidden Markov model given its current state.

    Transition probabilities are drawn once for all sequences. Values are drawn by the predictive distribution
    of their dish given its data and the values drawn before (terms from a drawn topic). Returns the
    observations of each sequence, shape (length, ...), and the number of the dish of each observation, int64
    arrays, shape (length,). Dishes that the franchise doesn't have are K, K + 1, ... in the order of their
    first appearance. Raises a StateError if the model isn't one of `hk.PreviousDish`; a DeclarationError if
    the measure can't draw values.

    Parameters
    ----------
    lengths : sequence of int
        Number of observations of each sequence.
    sample : Sample, optional
        A sample of a chain over these data, instead of the current state.
    rng : seed, Generator or choice source
        The same seed gives the same sequences.
    """
    given = items("lengths", lengths, "numbers of observations", remedy="For instance [100, 100].")
    sizes = [whole_number("lengths", n, 0, remedy="For instance [100, 100].") for n in given]
    drawn: tuple[list[npt.NDArray[Any]], list[Int64s]] = self.access.call(
        _draw_sequences, (self, sizes, as_source(rng, Purpose.SIMULATE), sample), reading=True
    )
    return drawn


def _draw_sequences(
    franchise: Any, sizes: list[int], source: ChoiceSource, sample: Sample | None
) -> tuple[list[npt.NDArray[Any]], list[Int64s]]:
    measure = franchise.measure
    if not measure.supports("simulate"):
        raise DeclarationError(
            "base", type(measure).__name__, "a base measure with simulate()", "Define simulate()."
        )
    given = _given(franchise, sample)
    pi, parameters = _draw_states(given, source)
    draw, n_live = _values_drawn(given, parameters, source), given.sample.n_dishes
    number: dict[int, int] = {k: k for k in range(n_live)}
    arrays, paths = [], []
    for size in sizes:
        state, values, path = len(pi) - 1, [], np.empty(size, dtype=np.int64)
        for t in range(size):
            state = source.choose(pi[state])
            values.append(draw(state))
            path[t] = number.setdefault(state, len(number))
        like = franchise.data.values
        arrays.append(np.array(values, dtype=like.dtype).reshape(size, *like.shape[1:]))
        paths.append(path)
    return arrays, paths


def _values_drawn(given: _Given, parameters: list[Any], source: ChoiceSource) -> Callable[[int], Any]:
    """A function that draws the next value of a state: from its topic, or by the chain rule."""
    measure = given.measure
    if hasattr(given.bank, "log_marginals_under"):  # compiled counts of terms
        return lambda state: source.choose(parameters[state])
    kept = given.bank.statistics(given.slots, given.dishes)
    statistics = [measure.copy(one) for one in kept]
    statistics += [measure.make() for _ in range(len(parameters) - len(kept))]

    def draw(state: int) -> Any:
        value = measure.simulate(statistics[state], source.generator)
        measure.add(statistics[state], value)
        return value

    return draw
