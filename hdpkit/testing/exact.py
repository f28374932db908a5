"""The exact-kernel test: transition matrices of production code compared with the enumerated posterior.

It needs no seed and no statistical tolerance: a scripted source takes every branch that the code of a move
can take, from every state of a tiny franchise.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, TypeVar

import attrs
import numpy as np
from scipy.sparse import csr_array
from scipy.sparse.csgraph import connected_components

from hdpkit.arrays import Floats
from hdpkit.checks import flag, function, instance, number_array, positive_number, whole_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import check_state, take_over
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.population import restaurants_of
from hdpkit.franchise.state import occupy, recount
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move
from hdpkit.random import ChoiceSource, ScriptedSource
from hdpkit.stores import FrozenSeating, detail_of
from hdpkit.stores.protocol import Frozen
from hdpkit.testing.cases import check_move_is_one
from hdpkit.testing.enumeration import Shape, exact_posterior
from hdpkit.testing.states import frozen_key, frozen_seatings, pushforward, reduced_seatings

T = TypeVar("T")


def outcomes(
    run: Callable[[ScriptedSource], T], source: ScriptedSource | None = None
) -> Iterator[tuple[T, float]]:
    """What a function of a source returns on every branch, with the probability of the branch."""
    source = ScriptedSource() if source is None else source
    while True:
        yield run(source), source.probability
        if not source.advance():
            return


def law_of(run: Callable[[ScriptedSource], T], source: ScriptedSource | None = None) -> dict[T, float]:
    """Distribution of what a function of a source returns; 0 for what it never returns."""
    law: Any = Counter()
    for outcome, probability in outcomes(run, source):
        law[outcome] += probability
    return law


def errors_of(P: Floats, pi: Floats, reversible: bool) -> dict[str, Floats]:
    """By how much each theorem about a kernel that leaves pi invariant fails, by state."""
    flow = pi[:, None] * P
    return {
        "rows sum to one": np.maximum(np.abs(P.sum(axis=1) - 1.0), -P.min(axis=1)),
        "the posterior is invariant": np.abs(flow.sum(axis=0) - pi),
        **({"detailed balance": np.abs(flow - flow.T).max(axis=1)} if reversible else {}),
    }


def is_irreducible(P: Floats) -> bool:
    """Whether every state can be reached from every other: the graph of P > 0 is strongly connected."""
    graph = csr_array((P > 0).astype(np.int8))
    n_components, _ = connected_components(graph, directed=True, connection="strong")
    return int(n_components) == 1


TOLERANCE = 1e-12
MOST_PATHS = 5_000_000
Apply = Callable[[Franchise, ChoiceSource], Any]


class ExactFailure(AssertionError):
    """A kernel is wrong."""


class ExactModel:
    """A small franchise with every state of its seating and their exact posterior.

    A state is what the store keeps: a labelled seating, dishes and histograms, or dishes and counts. If
    groups are held, the posterior is conditional on which of their customers share a dish. Known components
    are the last customers of the root, each with its own dish: earlier observations, or a given topic.

    Parameters
    ----------
    franchise : Franchise
        Should have at most about 700 labelled seatings. Its hyperparameters don't change.
    log_marginal : callable, optional
        Log marginal probability of a list of values of one dish, computed independently of the package; by
        default the chain rule of the measure. Values are `Placed` if dishes differ by restaurant.

    Attributes
    ----------
    states : list
        Hashable states.
    pi : ndarray, shape (n_states,)
        Their posterior probabilities.
    observed : tuple of int or None
        The dish of each customer, if dishes are observed.
    """

    def __init__(
        self, franchise: Franchise, log_marginal: Callable[[list[Any]], float] | None = None
    ) -> None:
        instance("franchise", franchise, Franchise, "a small Franchise", remedy="See tiny_franchise.")
        if log_marginal is not None:
            function("log_marginal", log_marginal, remedy="Leave it out for the chain rule.")
        self._begin(franchise)
        t, measure, known = franchise.topology, franchise.measure, franchise.known
        several = t.lead is not None
        self.shape = Shape(
            parent=t.parent.tolist(),
            home=t.home.tolist(),
            lead=t.lead.tolist() if several else None,  # type: ignore[union-attr]
            weight=t.current_weights().tolist() if several else (),  # type: ignore[union-attr]
        )
        n_known = 0 if known is None else known.n_components
        self.values = [*observations(franchise), *map(Seen, range(n_known))]
        self.observed = tuple(int(value) for value in self.values) if measure.atomic else None

        theta, discount = franchise.hyperparameters.theta.tolist(), franchise.hyperparameters.d.tolist()
        of_values = self._of_dishes(log_marginal or chain_rule_of(measure))
        most = franchise.root.most_dishes
        posterior = exact_posterior(self.shape, self.values, of_values, theta, discount, most)
        self.posterior_of_seatings = _given_held(posterior, franchise)
        possible = reduced_seatings(self.shape, self.observed, self.detail)
        if any(key not in possible for key in self.posterior_of_seatings):
            raise ExactFailure(f"{measure!r} gives values of two dishes the same table")
        of_states = pushforward(self.posterior_of_seatings, lambda key: possible[key])
        seatings = frozen_seatings(self.shape, self.observed, self.detail, n_known)
        template = self.franchise.freeze()
        frozen = [{**template, "seating": seatings[key], **_dishes(seatings[key])} for key in of_states]
        self._keep(list(of_states), list(of_states.values()), frozen)
        self._check_frozen()

    def _begin(self, franchise: Franchise) -> None:
        """Take a copy of the franchise, whose states follow."""
        self.franchise, self.detail = franchise.copy(), detail_of(franchise.store_type)
        self._seen: dict[tuple[bytes, ...], tuple[Any, list[int]]] = {}
        self._version = -1  # of the hyperparameters at the last check against the states

    def _keep(self, states: list[Any], pi: Sequence[float], frozen: list[dict[str, Any]]) -> None:
        """Keep the states, their probabilities, and what the franchise is like in each of them."""
        self.states, self.pi, self._frozen = states, np.array(pi), frozen
        self._number = {state: i for i, state in enumerate(states)}

    def _split(self, parts: Callable[[dict[str, Any]], Iterable[tuple[Any, float, dict[str, Any]]]]) -> None:
        """Divide each state by what there is besides the seating: ``parts`` with p and frozen entries."""
        split = [
            ((state, what), p * q, {**frozen, **entries})
            for state, p, frozen in zip(self.states, self.pi.tolist(), self._frozen, strict=True)
            for what, q, entries in parts(frozen)
            if q > 0.0
        ]
        states, pi, frozen_states = map(list, zip(*split, strict=True))
        self._keep(states, pi, frozen_states)

    def _check_frozen(self) -> None:
        """Check every frozen state, since `enter` does not."""
        for state in self._frozen:
            check_state(self.franchise, {**state, "bank": None})  # what a bank keeps is the template's

    def _of_dishes(self, of_values: Callable[[list[Any]], float]) -> Callable[[list[Any]], float]:
        """Log marginal of the values of a dish, which may be a known component."""
        known = self.franchise.known
        return of_values if known is None else with_known(known, of_values)

    def enter(self, state: int) -> Franchise:
        """Put the franchise into a state, by number."""
        number = whole_number("state", state, 0, len(self.states) - 1, remedy="A number of a state.")
        return self._put(self._frozen[number])

    def _put(self, frozen: dict[str, Any]) -> Franchise:
        """Set the franchise to a frozen state, which was checked when the model was built."""
        franchise = self.franchise
        missing = franchise.parts.keys() - frozen["components"].keys()
        if missing or frozen["measure"] or franchise.lent is not None:
            take_over(franchise, frozen)
        else:
            with franchise.lock():
                self._enter(frozen)
        return franchise

    def _enter(self, frozen: dict[str, Any]) -> None:
        """Like `Franchise.thaw`, without the parts that enumerated states don't have."""
        franchise, numbers = self.franchise, self.franchise.hyperparameters
        franchise.store.thaw(frozen["seating"])
        if numbers.version != self._version:
            numbers.replace(frozen["concentration"], frozen["discount"])
            self._version = numbers.version
        franchise.sweep = frozen["sweep"]
        occupy(franchise, frozen["slots"], frozen["held"])
        for name, part in franchise.parts.items():
            part.reset(franchise.slots.occupied_slots())
            part.thaw(frozen["components"][name])
        franchise._read_parts()
        franchise.bank.thaw(frozen["bank"])
        recount(franchise)

    def read(self) -> int:
        """Number of the state that the franchise is in."""
        return self._among(self._number, self._state())

    def _among(self, numbers: dict[Any, int], state: Any) -> int:
        """Number of a state, which must be possible."""
        if state not in numbers:
            raise ExactFailure(f"{where(self)}: a state of probability 0 was reached: {state}")
        return numbers[state]

    def _state(self) -> Any:
        """The state that the franchise is in."""
        return self._seating()[0]

    def _seating(self) -> tuple[Any, list[int]]:
        """Key of the seating (kept by its form), and slots of its dishes in order of first customers."""
        arrays = self.franchise.store.freeze()
        form = tuple([array.tobytes() for array in (*arrays.values(), *self._besides())])
        if form not in self._seen:
            slots = list(dict.fromkeys(FrozenSeating.of(arrays).dishes.tolist()))
            self._seen[form] = self._key(arrays), slots
        return self._seen[form]

    def _besides(self) -> list[Any]:
        """Arrays on which the key depends besides those of the store."""
        return []

    def _key(self, arrays: Frozen) -> Any:
        return frozen_key(arrays, self.shape)

    def source(self) -> ScriptedSource:
        """A source at the first branch."""
        return ScriptedSource()

    def branches(self, apply: Apply) -> Iterator[tuple[int, int, float]]:
        """Every branch of one application: (state before, state after, probability)."""
        function("apply", apply, remedy="Pass a function of a franchise and a source.")
        paths = 0
        for state in range(len(self.states)):
            found = []

            def run(source: ScriptedSource, state: int = state) -> int:
                self.enter(state)
                apply(self.franchise, source)
                return self.read()

            with self.franchise.lock():  # taken once, as by a scheduler, not by each step
                for after, probability in outcomes(run, self.source()):
                    found.append((state, after, probability))
                    paths += 1
                    if paths > MOST_PATHS:
                        raise ExactFailure(
                            f"more than {MOST_PATHS} branches: test a smaller step or franchise"
                        )
            yield from found

    def rows(self, apply: Apply) -> Iterator[Floats]:
        """The rows of `matrix`, one after the other."""
        row, now = np.zeros(len(self.states)), 0
        for before, after, probability in self.branches(apply):
            if before > now:
                yield row
                row, now = np.zeros(len(self.states)), before
            row[after] += probability
        yield row

    def matrix(self, apply: Apply) -> Floats:
        """Transition matrix of one application, shape (n_states, n_states)."""
        return np.array(list(self.rows(apply)))


def checked_matrix(
    model: ExactModel, apply: Apply, reversible: bool = False, tolerance: float = TOLERANCE
) -> Floats:
    """Return `ExactModel.matrix`, or raise at the first rows that show that it can't pass `check_exact`."""
    pi, n = model.pi, len(model.states)
    P, into = np.zeros((n, n)), np.zeros(n)
    for last, row in enumerate(model.rows(apply)):
        P[last] = row
        into += pi[last] * row
        # No later row takes anything away. What rounding adds is far below the tolerance.
        errors = {
            "a row sums to one": abs(row.sum() - 1.0),
            "no more flows into a state than its probability": (into - pi).max(),
        }
        if reversible:
            there, back = pi[: last + 1] * P[: last + 1, last], pi[last] * row[: last + 1]
            errors["detailed balance"] = np.abs(there - back).max()
        for theorem, error in errors.items():
            if not error <= 2.0 * tolerance:
                raise ExactFailure(
                    f"{where(model)}, from states up to {model.states[last]}: {theorem}: off by {error:.3g}"
                )
    return P


def step_matrices(model: ExactModel, move: Move) -> list[Floats]:
    """Transition matrix of each step of a move."""
    instance("model", model, ExactModel, "an ExactModel", remedy="For instance ExactModel(franchise).")
    check_move_is_one(move)
    return [model.matrix(step) for step in steps_of(model, move)]


def steps_of(model: ExactModel, move: Move) -> Iterator[Apply]:
    """Each step of a move."""

    def step(number: int) -> Apply:
        return lambda franchise, source: move.apply(franchise, source, (number, number + 1))

    return map(step, range(move.n_steps(model.franchise)))


def check_exact(
    model: ExactModel,
    move: Move,
    *,
    reversible: bool = False,
    matrices: Iterable[Floats] | None = None,
    tolerance: float = TOLERANCE,
) -> Floats:
    """Check every step of a move, and return the matrix of the complete application (their product).

    Rows must sum to one and the posterior must be invariant, to 1e-12 unless another ``tolerance`` is given;
    with ``reversible`` also detailed balance. Raises an ExactFailure that names the step and the error.
    """
    instance("model", model, ExactModel, "an ExactModel", remedy="For instance ExactModel(franchise).")
    check_move_is_one(move)
    flag("reversible", reversible)
    positive_number("tolerance", tolerance)
    whole = np.eye(len(model.states))
    # One matrix at a time, so that the first wrong rows end a check.
    found = (checked_matrix(model, step, reversible, tolerance) for step in steps_of(model, move))
    for number, P in enumerate(found if matrices is None else _square(matrices, model)):
        check_matrix(model, move, number, P, model.pi, reversible=reversible, tolerance=tolerance)
        whole = whole @ P
    return whole


def check_matrix(
    model: ExactModel,
    move: Move,
    step: int,
    P: Floats,
    pi: Floats,
    states: Sequence[Any] | None = None,
    *,
    reversible: bool = False,
    tolerance: float = TOLERANCE,
) -> None:
    """Check the transition matrix of a step; the error names the franchise, its kernels and the state."""
    states = model.states if states is None else states
    for theorem, by_state in errors_of(P, pi, reversible).items():
        if not by_state.max() <= tolerance:  # also where it isn't a number
            raise ExactFailure(
                f"{move.name}, step {step}, {where(model)}: {theorem}: off by {by_state.max():.3g}, "
                f"most at state {states[int(by_state.argmax())]}"
            )


def where(model: ExactModel) -> str:
    """The franchise of a model, the code that it runs, and its root."""
    franchise = model.franchise
    return f"{franchise!r}, kernel {franchise.kernel('reseat')!r}, root {franchise.root.declared}"


def _square(matrices: Iterable[Floats], model: ExactModel) -> Iterator[Floats]:
    """Matrices one at a time, on demand, since they may come from a slow generator."""
    n = len(model.states)
    allowed, remedy = f"matrices of shape ({n}, {n})", "See step_matrices."
    if isinstance(matrices, str) or not isinstance(matrices, Iterable):
        raise ParameterError("matrices", matrices, allowed, remedy)
    for matrix in matrices:
        array = number_array(matrix)
        if array is None or array.shape != (n, n):
            raise ParameterError("matrices", matrix, allowed, remedy)
        yield array


def check_irreducible(model: ExactModel, P: Floats, what: str) -> None:
    """Every state must be reachable from every other under the composed schedule."""
    if not is_irreducible(P):
        raise ExactFailure(f"{what}, {model.franchise!r}: some states can't be reached")


def chain_rule_of(measure: BaseMeasure) -> Callable[[list[Any]], float]:
    """Log marginal of the values of one dish by the chain rule of a measure."""
    return lambda values: float(np.asarray(measure.log_block(values, [measure.make()]))[0])


def observations(franchise: Franchise) -> list[Any]:
    """The values of the customers as the methods of the measure are given them."""
    measure, values = franchise.measure, list(franchise.data.values)
    if not isinstance(measure, ByRestaurant):
        return values
    restaurants = restaurants_of(franchise, measure).tolist()
    return [Placed(value, restaurant) for value, restaurant in zip(values, restaurants, strict=True)]


def _given_held(posterior: dict[Any, float], franchise: Franchise) -> dict[Any, float]:
    """The posterior given which customers of held groups share a dish, as they do now."""
    n, known = franchise.topology.n_customers, franchise.topology.n_all - franchise.topology.n_customers
    # Customers of known components keep their dishes in any case.
    held = np.flatnonzero(np.isin(franchise.topology.home[:n], franchise.held.nodes)).tolist()
    held += range(n, n + known)
    dishes = [*franchise.dishes.tolist(), *range(known)]
    pairs = [(i, j, dishes[i] == dishes[j]) for i in held for j in held if i < j]
    kept = {
        key: p
        for key, p in posterior.items()
        if all((key[i][-1] == key[j][-1]) == same for i, j, same in pairs)
    }
    total = math.fsum(kept.values())
    return {key: p / total for key, p in kept.items()}


@attrs.frozen
class Seen:
    """The value of the customer who represents a known component."""

    number: int


def with_known(
    known: Known | KnownValues, log_marginal: Callable[[list[Any]], float]
) -> Callable[[list[Any]], float]:
    """Log marginal of the values of a dish that may be a known component."""

    def of_dish(values: list[Any]) -> float:
        seen = [value.number for value in values if isinstance(value, Seen)]
        terms = [value for value in values if not isinstance(value, Seen)]
        if len(seen) > 1:
            return -math.inf
        if seen and isinstance(known, Known) and known.is_frozen[seen[0]]:
            p = known.matrix[seen[0]][terms].tolist()
            return sum(map(math.log, p)) if min(p, default=1.0) > 0.0 else -math.inf
        return log_marginal([*(known.earlier(seen[0]) if seen else []), *terms])

    return of_dish


def _dishes(arrays: Frozen) -> dict[str, Any]:
    """The entries of a frozen state for the dishes of a seating, with the ids 0, 1, 2, ..."""
    dishes = FrozenSeating.of(arrays).dishes
    slots = np.unique(dishes[dishes >= 0])
    return {"slots": slots, "dish_ids": np.arange(len(slots)), "births": len(slots)}
