"""The exact-kernel test: transition matrices of production code compared with the enumerated posterior.

It needs no seed and no statistical tolerance: a scripted source takes every branch that the code of a move
can take, from every state of a tiny franchise.
"""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.checks import flag, function, instance, number_array, positive_number, whole_number
from hdpkit.errors import ParameterError
from hdpkit.franchise.banks import restaurants_of
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.freezing import take_over
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.seats import occupy
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move
from hdpkit.random import ChoiceSource, ScriptedSource
from hdpkit.stores import Detail, FrozenSeating, FrozenSeats, FrozenSizes, detail_of
from hdpkit.testing.counted_states import counts_of, lump_to_counts
from hdpkit.testing.enumeration import Shape, canonical_key, exact_posterior, listed
from hdpkit.testing.histogram_states import histogram_key, lump, lump_to_histograms
from hdpkit.testing.transitions import detailed_balance_error, is_irreducible, row_error, stationary_error

TOLERANCE = 1e-12
Apply = Callable[[Franchise, ChoiceSource], Any]


class ExactFailure(AssertionError):
    """A kernel is wrong."""


class ExactModel:
    """A small franchise with every state of its seating and their exact posterior.

    A state is what the store keeps: a labelled seating, dishes and histograms, or dishes and counts. The
    posterior is summed over the seatings that give the same state. If groups of the franchise are held, it
    is conditional on which of their customers share a dish. Known components are the last customers of the
    root, each with its own dish: earlier observations, or a given topic.

    Parameters
    ----------
    franchise : Franchise
        Should have at most about 700 labelled seatings. Its hyperparameters don't change.
    log_marginal : callable, optional
        Log marginal probability of a list of values of one dish, computed independently of the package. By
        default the chain rule of the measure is used. Values are `Placed` if dishes differ by restaurant.

    Attributes
    ----------
    states : list
        Hashable states.
    pi : ndarray, shape (n_states,)
        Their posterior probabilities.
    observed : list of int or None
        The dish of each customer, if dishes are observed.
    """

    def __init__(
        self, franchise: Franchise, log_marginal: Callable[[list[Any]], float] | None = None
    ) -> None:
        instance("franchise", franchise, Franchise, "a small Franchise", remedy="See tiny_franchise.")
        if log_marginal is not None:
            function("log_marginal", log_marginal, remedy="Leave it out for the chain rule.")
        self.franchise = franchise.copy()
        t = franchise.topology
        self.shape = Shape(parent=tuple(t.parent.tolist()), home=tuple(t.home.tolist()))
        known = franchise.known
        n_known = 0 if known is None else known.n_components
        self.values = [*observations(franchise), *map(Seen, range(n_known))]
        self.detail = detail_of(franchise.store_type)
        measure = franchise.measure
        self.observed = [int(value) for value in self.values] if measure.atomic else None
        observed = self.observed

        theta, discount = franchise.hyperparameters.theta.tolist(), franchise.hyperparameters.d.tolist()
        of_values = log_marginal or chain_rule_of(measure)
        self.posterior_of_seatings = exact_posterior(
            self.shape, self.values, self._of_dishes(of_values), theta, discount, franchise.root.most_dishes
        )
        self.posterior_of_seatings = _given_held(self.posterior_of_seatings, franchise)
        posterior: dict[Any, float] = dict(self.posterior_of_seatings)
        fixed = None if observed is None else tuple(observed)
        possible = reduced_seatings(self.shape, fixed, self.detail)
        if any(key not in possible for key in posterior):
            raise ExactFailure(f"{measure!r} gives values of two dishes the same table")
        if self.detail is not Detail.SEATS:
            posterior = lump(posterior, lambda key: possible[key])
        self.states = list(posterior)
        self.pi = np.array([posterior[state] for state in self.states])
        self._number = {state: i for i, state in enumerate(self.states)}
        self._seen: dict[tuple[bytes, ...], Any] = {}
        seatings = _frozen_seatings(self.shape, fixed, self.detail, n_known)
        template = self.franchise.freeze()
        self._version = -1  # of the hyperparameters at the last check against the states
        self._frozen = [
            {**template, "seating": seatings[state], **_dishes(seatings[state])} for state in self.states
        ]
        for state in self._frozen:
            self.franchise._check_frozen({**state, "bank": None})  # what a bank keeps is the template's

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
        if missing or frozen["measure"] or franchise._lent is not None:
            take_over(franchise, frozen)
        else:
            with franchise.lock():
                self._enter(frozen)
        return franchise

    def _enter(self, frozen: dict[str, Any]) -> None:
        """Like `Franchise.thaw`, without the parts that enumerated states don't have.

        It isn't marked as a change that may be incomplete, since the next state replaces everything.
        """
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
        franchise.bank.thaw(frozen["bank"])
        franchise._recount()

    def read(self) -> int:
        """Number of the state that the franchise is in."""
        return int(self._recalled())

    def _recalled(self) -> Any:
        """`_understood` of the current seating, kept: tables and dishes have numbers, a state many forms."""
        arrays = self.franchise.store.freeze()
        form = tuple([array.tobytes() for array in arrays.values()])
        if form not in self._seen:
            self._seen[form] = self._understood(arrays)
        return self._seen[form]

    def _understood(self, arrays: dict[str, npt.NDArray[np.int32]]) -> Any:
        key = self._key(arrays)
        if key not in self._number:
            raise ExactFailure(f"{where(self)}: a state of probability 0 was reached: {key}")
        return self._number[key]

    def _key(self, arrays: dict[str, npt.NDArray[np.int32]]) -> Any:
        return frozen_key(arrays, self.shape)

    def source(self) -> ScriptedSource:
        """A source at the first branch."""
        return ScriptedSource()

    def branches(self, apply: Apply, max_paths: int = 5_000_000) -> Iterator[tuple[int, int, float]]:
        """Every branch of one application: (state before, state after, probability)."""
        function("apply", apply, remedy="Pass a function of a franchise and a source.")
        max_paths = whole_number("max_paths", max_paths, 1)
        paths = 0
        for state in range(len(self.states)):
            found = []
            with self.franchise.lock():  # taken once, as by a scheduler, not by each step
                source = self.source()
                while True:
                    self.enter(state)
                    apply(self.franchise, source)
                    found.append((state, self.read(), source.probability))
                    paths += 1
                    if paths > max_paths:
                        raise ExactFailure(
                            f"more than {max_paths} branches: test a smaller step or franchise"
                        )
                    if not source.advance():
                        break
            yield from found

    def matrix(self, apply: Apply) -> Floats:
        """Transition matrix of one application, shape (n_states, n_states)."""
        P = np.zeros((len(self.states), len(self.states)))
        for before, after, probability in self.branches(apply):
            P[before, after] += probability
        return P

    def checked_matrix(self, apply: Apply, reversible: bool = False, tolerance: float = TOLERANCE) -> Floats:
        """Return `matrix`, or raise at the first rows that show that it can't pass `check_exact`.

        Parameters
        ----------
        apply : callable
            As for `matrix`.
        reversible : bool
            Whether detailed balance is checked, too.
        tolerance : float
            Of `check_exact`; here the error may be twice as large.

        Raises
        ------
        ExactFailure
            If a row doesn't sum to one, more flows into a state than its probability, or detailed balance
            doesn't hold between two rows.
        """
        flag("reversible", reversible)
        positive_number("tolerance", tolerance)
        P, into, complete = np.zeros((len(self.states), len(self.states))), np.zeros(len(self.states)), 0
        for before, after, probability in self.branches(apply):
            if before > complete:
                self._check_row(P, complete, into, reversible, tolerance)
                complete = before
            P[before, after] += probability
        return P

    def _check_row(self, P: Floats, last: int, into: Floats, reversible: bool, tolerance: float) -> None:
        """Check row ``last`` of a matrix with those before it; ``into`` is what flows from them."""
        into += self.pi[last] * P[last]
        # No later row takes anything away. What rounding adds is far below the tolerance.
        errors = {
            "a row sums to one": abs(P[last].sum() - 1.0),
            "no more flows into a state than its probability": (into - self.pi).max(),
        }
        if reversible:
            there, back = self.pi[: last + 1] * P[: last + 1, last], self.pi[last] * P[last, : last + 1]
            errors["detailed balance"] = np.abs(there - back).max()
        for theorem, error in errors.items():
            if not error <= 2.0 * tolerance:
                raise ExactFailure(
                    f"{where(self)}, from states up to {self.states[last]}: {theorem}: off by {error:.3g}"
                )

    def flow(self, apply: Apply) -> tuple[Floats, Floats]:
        """Row sums and pi P of one application, for state spaces whose matrix is too large to keep."""
        rows, into = np.zeros(len(self.states)), np.zeros(len(self.states))
        for before, after, probability in self.branches(apply):
            rows[before] += probability
            into[after] += self.pi[before] * probability
        return rows, into


def step_matrices(model: ExactModel, move: Move) -> list[Floats]:
    """Transition matrix of each step of a move."""
    instance("model", model, ExactModel, "an ExactModel", remedy="For instance ExactModel(franchise).")
    instance("move", move, Move, "a move", remedy="Pass an instance: MyMove(), not MyMove.")
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

    Rows must sum to one and the posterior must be invariant, to 1e-12 unless another ``tolerance`` is
    given; with ``reversible`` also detailed balance.

    Raises
    ------
    ExactFailure
        Naming the step and the error.
    """
    instance("model", model, ExactModel, "an ExactModel", remedy="For instance ExactModel(franchise).")
    instance("move", move, Move, "a move", remedy="Pass an instance: MyMove(), not MyMove.")
    flag("reversible", reversible)
    positive_number("tolerance", tolerance)
    whole = np.eye(len(model.states))
    # One matrix at a time, so that the first wrong rows end a check.
    found = (model.checked_matrix(step, reversible, tolerance) for step in steps_of(model, move))
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
    flow = pi[:, None] * P
    errors = {
        "rows sum to one": (row_error(P), np.abs(P.sum(axis=1) - 1.0)),
        "the posterior is invariant": (stationary_error(P, pi), np.abs(pi @ P - pi)),
    }
    if reversible:
        errors["detailed balance"] = (detailed_balance_error(P, pi), np.abs(flow - flow.T).max(axis=1))
    for theorem, (error, by_state) in errors.items():
        if not error <= tolerance:
            raise ExactFailure(
                f"{move.name}, step {step}, {where(model)}: {theorem}: off by {error:.3g}, "
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


# ------------------------------------------------------------------ states as arrays and back


def labelled_arrays(
    key: Any, shape: Shape, observed: Sequence[int] | None = None, known: int = 0
) -> dict[str, npt.NDArray[np.int32]]:
    """Frozen labelled seating of an enumerated one.

    Dishes are those of the customers if they are observed, otherwise numbers in order of first appearance.
    The dishes of the last ``known`` customers come first.
    """
    numbers: dict[tuple[int, int], int] = {}
    dishes: dict[int, int] = {path[-1]: j for j, path in enumerate(key[len(key) - known :])}
    node: list[int] = []
    dish: list[int] = []
    seat: list[int] = []
    of_customer: list[int] = []
    for customer, path in enumerate(key):
        dish_number = dishes.setdefault(path[-1], len(dishes)) if observed is None else observed[customer]
        nodes = shape.path(shape.home[customer])
        for level in range(len(path) - 1, -1, -1):
            table = (nodes[level], path[level])
            if table not in numbers:
                numbers[table] = len(node)
                node.append(nodes[level])
                dish.append(dish_number)
                above = numbers[nodes[level + 1], path[level + 1]] if level + 1 < len(path) else -1
                seat.append(above)
        of_customer.append(numbers[nodes[0], path[0]])
    columns = {"seat": of_customer, "table_node": node, "table_dish": dish, "table_seat": seat}
    return {name: np.array(values, dtype=np.int32) for name, values in columns.items()}


@functools.lru_cache(maxsize=32)
def reduced_seatings(
    shape: Shape, observed: tuple[int, ...] | None = None, detail: Detail = Detail.SIZES
) -> dict[Any, Any]:
    """The states of a store of this detail, one for each labelled seating (each possible one)."""
    reduce = {
        Detail.SEATS: lambda key, shape, observed: key,
        Detail.SIZES: lump_to_histograms,
        Detail.COUNTS: lump_to_counts,
    }[detail]
    return {key: reduce(key, shape, observed) for key in _possible(shape, observed)}


def _possible(shape: Shape, observed: tuple[int, ...] | None) -> list[Any]:
    """Seatings in which no customer sits at a table of another dish."""
    if observed is None:
        return list(listed(shape))
    return [
        key for key in listed(shape) if all(observed[i] == observed[path[-1]] for i, path in enumerate(key))
    ]


@functools.lru_cache(maxsize=32)
def _frozen_seatings(
    shape: Shape, observed: tuple[int, ...] | None, detail: Detail, known: int = 0
) -> dict[Any, Any]:
    """Arrays for a store, one for every state that it distinguishes. They are shared and read-only."""
    reduced = reduced_seatings(shape, observed, detail)
    found = {}
    for key in _possible(shape, observed):
        if len({path[-1] for path in key[len(key) - known :]}) < known:
            continue  # known components are different dishes
        seats = FrozenSeating.of(labelled_arrays(key, shape, observed, known))
        found[reduced[key]] = seats.to(detail).arrays()
    for arrays in found.values():
        for array in arrays.values():
            array.setflags(write=False)
    return found


def labelled_key(arrays: dict[str, npt.NDArray[np.int32]], shape: Shape) -> Any:
    """Canonical key of a frozen labelled seating."""
    above = arrays["table_seat"].tolist()
    seats = []
    for table in arrays["seat"].tolist():
        path = []
        while table >= 0:
            path.append(table)
            table = above[table]
        seats.append(path)
    return canonical_key(seats, shape)


def histograms_of(arrays: dict[str, npt.NDArray[np.int32]]) -> Any:
    """Canonical key of frozen dishes and histograms."""
    names = ("bin_node", "bin_dish", "bin_size", "bin_count")
    sizes: dict[tuple[int, int], list[int]] = {}
    for node, dish, size, count in zip(*(arrays[name].tolist() for name in names), strict=True):
        sizes.setdefault((node, dish), []).extend([size] * count)
    return histogram_key(arrays["dish"].tolist(), [(n, k, these) for (n, k), these in sizes.items()])


def frozen_key(arrays: dict[str, npt.NDArray[np.int32]], shape: Shape) -> Any:
    """Canonical key of a frozen seating of any form."""
    frozen = FrozenSeating.of(arrays)
    if isinstance(frozen, FrozenSeats):
        return labelled_key(arrays, shape)
    return histograms_of(arrays) if isinstance(frozen, FrozenSizes) else counts_of(arrays)


def _dishes(arrays: dict[str, npt.NDArray[np.int32]]) -> dict[str, Any]:
    """The entries of a frozen state for the dishes of a seating, with the ids 0, 1, 2, ..."""
    dishes = FrozenSeating.of(arrays).dishes
    slots = np.unique(dishes[dishes >= 0])
    return {"slots": slots, "dish_ids": np.arange(len(slots)), "births": len(slots)}
