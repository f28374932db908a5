"""The contract of a base measure, of latent dishes or with atoms."""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from hdpkit.arrays import Int64s
from hdpkit.checks import instance, items
from hdpkit.data import Groups
from hdpkit.errors import HdpkitError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.population import place
from hdpkit.measures._measure import CompiledBank
from hdpkit.measures.atomic import AtomicMeasure
from hdpkit.measures.by_restaurant import ByRestaurant, Placed
from hdpkit.measures.protocol import BaseMeasure, log_likelihoods
from hdpkit.measures.python_bank import PythonBank
from hdpkit.moves import DishParameters
from hdpkit.random import Streams
from hdpkit.testing.cases import SHAPES as TINY
from hdpkit.testing.cases import (
    TinyShape,
    check_keys,
    example_moves,
    fewer_units,
    repeated,
    serves,
    stores_and_kernels,
    tiny_franchise,
)
from hdpkit.testing.enumeration import LogMarginal
from hdpkit.testing.exact import ExactModel, check_exact, observations
from hdpkit.testing.exact_models import exact_model, grid_of
from hdpkit.testing.geweke import check_geweke
from hdpkit.testing.normalisation import (
    MeasureFailure,
    check_frequencies,
    check_support,
    close,
    statistics_of,
    value_key,
)

MOST = 200  # largest number of atoms that are all tested


def check_atomic_contract(franchise: Franchise) -> list[str]:
    """Check H, the statistics of a table of the root, and the results for franchises, or raise."""
    measure: Any = franchise.measure
    report = [_check_distribution(measure)]
    atoms = _atoms(measure, franchise.data.values)
    report += [
        _check_data(measure),
        _check_draw(measure, atoms),
        _check_changes(measure, atoms),
        _check_blocks(measure, atoms),
        _check_atomic_bank(franchise),
        _check_rows(franchise),
        _check_atomic_simulate(measure, atoms),
    ]
    return report


def _check_distribution(measure: AtomicMeasure) -> str:
    n, logs = measure.n_terms, np.asarray(measure.log_probabilities(), dtype=float)
    if logs.shape != (n,) or np.any(np.isnan(logs)):
        raise MeasureFailure(f"log_probabilities: shape ({n},) and numbers, not {logs}")
    if not 0.0 <= measure.remainder <= 1.0:
        raise MeasureFailure(f"remainder: a probability, not {measure.remainder}")
    total = float(np.exp(logs).sum()) + measure.remainder
    close("sum of H over the atoms, and the remainder", total, 1.0)
    close("H when asked again", np.asarray(measure.log_probabilities(), dtype=float), logs)
    return "log_probabilities and remainder add up to one"


def _atoms(measure: AtomicMeasure, values: Any) -> Int64s:
    """The atoms of the data, and a few others."""
    possible = np.flatnonzero(np.isfinite(measure.log_probabilities()))
    return np.union1d(np.asarray(values, dtype=np.int64), possible[:MOST])


def _check_data(measure: AtomicMeasure) -> str:
    """Values that aren't atoms must raise an error, since compiled code looks up H by value."""
    impossible = np.flatnonzero(np.isneginf(measure.log_probabilities()))[:1].tolist()
    bad: list[Any] = [[-1], [measure.n_terms], [0.5], ["a"], *([value] for value in impossible)]
    for values in bad:
        try:
            measure.for_data(Groups.from_labels(values, {}))
        except HdpkitError:
            continue
        except Exception as error:
            raise MeasureFailure(f"for_data: {values} is refused by no typed error") from error
        raise MeasureFailure(f"for_data: {values} is taken, which is no atom of positive probability")
    return "for_data refuses what is no atom"


def _check_draw(measure: AtomicMeasure, atoms: Int64s) -> str:
    """A new table has probability H(value); a table with customers has its value with probability one."""
    logs = np.asarray(measure.log_probabilities(), dtype=float)
    first, last = int(atoms[0]), int(atoms[-1])
    many = [statistics_of(measure, values) for values in ([], [first], [first] * 3, [last])]
    for value in atoms.tolist():
        expected = [logs[value], *(0.0 if own == value else -np.inf for own in (first, first, last))]
        close(f"log_predictive of {value}", measure.log_predictive(value, many), expected)
        for one, alone in zip(many, expected, strict=True):
            close(f"log_predictive of {value}, alone", measure.log_predictive(value, [one]), [alone])
    return "log_predictive: H for a new table, certainty for one with customers"


def _check_changes(measure: AtomicMeasure, atoms: Int64s) -> str:
    first, last = int(atoms[0]), int(atoms[-1])
    statistics = statistics_of(measure, [first] * 3)
    copy = measure.copy(statistics)
    for left in (2, 1, 0):
        measure.remove(statistics, first)
        fresh = statistics_of(measure, [first] * left)
        for value in (first, last):
            a, b = np.asarray(measure.log_predictive(value, [statistics, fresh]))
            close("log_predictive after a removal", a, b)
    measure.add(statistics, last)
    whole = statistics_of(measure, [first] * 3)
    for value in (first, last):
        a, b = np.asarray(measure.log_predictive(value, [copy, whole]))
        close("a copy after the original changed", a, b)
    return "remove undoes add, also of the last customer; copies are independent"


def _check_blocks(measure: AtomicMeasure, atoms: Int64s) -> str:
    """All customers below a table of the root have its value, which counts once."""
    witness = atomic_log_marginal(np.exp(np.asarray(measure.log_probabilities(), dtype=float)).tolist())
    first, last = int(atoms[0]), int(atoms[-1])
    empty, full = measure.make(), statistics_of(measure, [first] * 2)
    for block in ([first], [first] * 3, [last] * 2, [first, last], [last, first, first]):
        whole = witness(block)
        given = 0.0 if set(block) == {first} else -np.inf
        close(f"log_block of {block}", measure.log_block(block, [empty, full]), [whole, given])
    if measure.supports("log_marginal"):
        close("log_marginal", measure.log_marginal(full), witness([first] * 2))
    return "log_block and log_marginal: H once for a table, none for one that mixes values"


def _check_atomic_bank(franchise: Franchise) -> str:
    measure: Any = franchise.measure
    bank: Any = measure.bank(franchise.data)
    logs, values = np.asarray(measure.log_probabilities()), np.asarray(franchise.data.values)
    close("the bank's log H", bank.log_base, logs)
    close("the bank's H, what is left last", bank.base, [*np.exp(logs), measure.remainder])
    close("the bank's values", bank.values, values)
    slots = franchise.slots.occupied_slots()
    close("slots, one per atom", slots, np.arange(measure.n_terms))
    near = np.array(sorted({*values.tolist(), 0}), dtype=np.int32)
    for i, j in itertools.product(range(len(values)), repeat=2):
        certain = np.array([*(near == values[i]), False])
        row = np.asarray(bank.log_predictive(i, near))
        close("the bank's predictives", np.exp(row - row.max()), certain)
        row = np.exp(bank.log_block([i, j], near))
        close("the bank's block probabilities", row > 0.0, certain & (values[i] == values[j]))
    return "the bank has the values and H, and a dish is certain given its customer"


def _check_rows(franchise: Franchise) -> str:
    """Empty restaurants pass H on."""
    measure: Any = franchise.measure
    empty = franchise.copy()
    empty.clear()
    expected = [*np.exp(measure.log_probabilities()), measure.remainder]
    for node, kernel in itertools.product(range(empty.topology.n_nodes), ("auto", "reference")):
        close("the row of an empty restaurant", empty.walk(kernel).prior_row(node), expected)
    return "empty restaurants pass H on"


def _check_atomic_simulate(measure: AtomicMeasure, atoms: Int64s) -> str:
    generator = np.random.default_rng(5)
    logs = np.asarray(measure.log_probabilities(), dtype=float)
    draws = [int(measure.simulate(measure.make(), generator)) for _ in range(4000)]
    if not set(draws) <= set(np.flatnonzero(np.isfinite(logs)).tolist()):
        raise MeasureFailure("simulate: draws what is no atom of positive probability")
    check_frequencies(draws, logs[draws] - np.log(np.exp(logs).sum()))
    own = int(atoms[-1])
    if {int(measure.simulate(statistics_of(measure, [own]), generator)) for _ in range(50)} != {own}:
        raise MeasureFailure("simulate: a table with customers has their value")
    return "simulate draws from H, and repeats the value of a table with customers"


def atomic_log_marginal(probabilities: Sequence[float]) -> LogMarginal:
    """Observed dishes: all customers beneath a root table have its value w, which contributes H(w) once."""

    def log_marginal(values: Sequence[Any]) -> float:
        dish = values[0]
        if any(value != dish for value in values) or probabilities[dish] == 0:
            return -math.inf
        return math.log(probabilities[dish])

    return log_marginal


INVARIANCE = 1e-9  # looser than for a move, since the numbers of a measure can have any size
SHAPES = ("flat 4", "2+2", "three levels")
READABLE_STORE = "explicit-reference"
_LONG = range(5, 26)  # customers of a block that is long enough for both ways of computation


def check_base_measure(
    measure: BaseMeasure, values: Sequence[Any] | None = None, *, shapes: Sequence[str] = SHAPES
) -> list[str]:
    """Check a base measure, and raise an error if it is wrong.

    The predictive distributions must be normalised, exchangeable, and consistent with blocks, marginals,
    removals, copies and the bank. Every registered discrete move runs over every compiled store and one
    readable store at every depth, and must leave the exact posterior invariant. If dishes have parameters in
    the state, the posterior is enumerated with them if the prior is `Finite`; otherwise Geweke's test is
    used. A measure with atoms must be a distribution over them. Returns what was checked, one line each.
    Raises an AssertionError that names what is wrong (`MeasureFailure`), or the step, the franchise and the
    error.

    Parameters
    ----------
    measure : BaseMeasure
    values : sequence, optional
        A few distinct observations that are possible under it (numbers, vectors, strings, objects: anything
        that `Groups` accepts); by default its `example_values`, or terms 0, 1, 2.
    shapes : sequence of str
        Keys of ``hdpkit.testing.SHAPES`` for the franchises; moves with many branches use smaller shapes of
        the same depth.
    """
    instance("measure", measure, BaseMeasure, "a base measure", remedy="Pass an instance.")
    allowed, remedy = "a sequence of observations", "Leave it out for the measure's examples."
    if values is not None and not items("values", values, allowed, remedy=remedy):
        raise ParameterError("values", values, allowed, remedy)
    check_keys("shapes", shapes, TINY)
    if not measure.conjugate:
        report = []
        if not grid_of(measure):
            return check_geweke(DishParameters(), measure=measure, shapes=("2+2",), replicas=100)
    else:
        report = check_contract(measure, values)
    for shape in shapes:
        report += _check_moves(measure, values, shape)
    return report


def _check_moves(measure: BaseMeasure, values: Sequence[Any] | None, shape: str) -> list[str]:
    """Every registered discrete move leaves the exact posterior invariant."""
    # Stores don't use a measure, so each runs with compiled kernels, and the readable one over one store.
    report: list[str] = []
    if isinstance(measure, ByRestaurant) and measure.differ_by not in ("root", *TINY[shape].labels):
        return [f"{shape!r} declares no {measure.differ_by!r}: left out"]
    models: dict[tuple[str, str, str], ExactModel] = {}  # the moves share them
    for move in example_moves(continuous=False):
        small = fewer_units(shape, move)
        these = None if values is None else repeated(values, TINY[small].n_customers)
        seen = set()
        for store, kernel in stores_and_kernels(measure, values, small):
            twin = store.removesuffix("-reference")
            if kernel == "reference" and twin in seen and store != READABLE_STORE:
                continue  # compiled kernels come before readable ones, readable stores after compiled ones
            seen.add(twin)
            name = (small, store, kernel)
            if name not in models:
                models[name] = exact_model(
                    tiny_franchise(small, measure, store=store, kernel=kernel, values=these)
                )
            if serves(models[name].franchise, move):
                check_exact(models[name], move, tolerance=INVARIANCE)
                report.append(f"{move!r} on {small!r}, {store}/{kernel}: exact")
    return report


def _customers(measure: BaseMeasure, n: int) -> TinyShape:
    """Customers of one restaurant, or of two of those by which dishes of a measure differ."""
    if isinstance(measure, ByRestaurant) and measure.differ_by != "root":
        return TinyShape({measure.differ_by: repeated([0, 0, 1, 1, 0], n)}, n)
    return TinyShape({}, n)


def check_contract(
    measure: BaseMeasure, values: Sequence[Any] | None = None, *, draws: bool = True
) -> list[str]:
    """Checks without moves, the fast part of `check_base_measure`; without ``draws`` no simulated values."""
    franchise, larger = (
        tiny_franchise(
            _customers(measure, n), measure, values=None if values is None else repeated(values, n)
        )
        for n in (5, 5 + len(_LONG))
    )
    if isinstance(franchise.measure, AtomicMeasure):
        return check_atomic_contract(franchise)
    ready, data = franchise.measure, observations(franchise)
    examples = measure.example_values() if values is None else values
    distinct = (
        list(franchise.data.values)
        if examples is None
        else list(Groups.from_labels(repeated(examples, len(examples)), {}).values)
    )
    report = [
        _check_predictives(ready, data),
        _check_exchangeable(ready, data),
        _check_removal(ready, data),
        _check_optional(ready, data),
        _check_bank(ready, larger),
        _check_normalised(ready, data, distinct),
    ]
    if not draws:
        return report
    if measure.supports("simulate"):
        report.append(_check_simulate(ready, data))
    if measure.conjugate and (measure.supports("draw_parameters") or measure.supports("log_likelihood")):
        report.append(_check_drawn(ready, data))
    return report


def _check_predictives(measure: BaseMeasure, values: list[Any]) -> str:
    many = [statistics_of(measure, values[:n]) for n in range(len(values))]
    for value in values:
        together = np.asarray(measure.log_predictive(value, many), dtype=float)
        if together.shape != (len(many),) or not np.all(np.isfinite(together)):
            raise MeasureFailure(f"log_predictive: shape ({len(many)},) and finite, not {together}")
        alone = [np.asarray(measure.log_predictive(value, [one]))[0] for one in many]
        close("many dishes in one call and one by one", together, alone)
    return "log_predictive: one value per dish, each as if asked alone"


def _chain(measure: BaseMeasure, values: Sequence[Any], before: Sequence[Any] = ()) -> float:
    statistics, total = statistics_of(measure, before), 0.0
    for value in values:
        total += float(np.asarray(measure.log_predictive(value, [statistics]))[0])
        measure.add(statistics, value)
    return total


def _check_exchangeable(measure: BaseMeasure, values: list[Any]) -> str:
    first = _chain(measure, values)
    for order in itertools.islice(itertools.permutations(values), 1, 24):
        close("the joint of the same values in another order", _chain(measure, order), first)
    return "log_predictive: the joint doesn't depend on the order of the values"


def _check_removal(measure: BaseMeasure, values: list[Any]) -> str:
    for gone in range(len(values)):
        statistics = statistics_of(measure, values)
        measure.remove(statistics, values[gone])
        fresh = statistics_of(measure, values[:gone] + values[gone + 1 :])
        a, b = (np.asarray(measure.log_predictive(v, [statistics, fresh])) for v in (values[0], values[-1]))
        close("predictive after a removal", a[0], a[1])
        close("predictive after a removal", b[0], b[1])
    original = statistics_of(measure, values[:2])
    before = np.asarray(measure.log_predictive(values[0], [original]))
    measure.add(measure.copy(original), values[2])
    close("statistics after their copy changed", measure.log_predictive(values[0], [original]), before)
    return "remove undoes add; copies are independent"


def _check_optional(measure: BaseMeasure, values: list[Any]) -> str:
    empty = measure.make()
    for start in range(1, len(values)):
        block, before = values[start:], values[:start]
        many = [statistics_of(measure, before), empty]
        expected = [_chain(measure, block, before), _chain(measure, block)]
        close("log_block against the chain rule", measure.log_block(block, many), expected)
    if measure.supports("log_marginal"):
        whole = measure.log_marginal(statistics_of(measure, values))
        close("log_marginal against the chain rule", whole, _chain(measure, values))
    return "log_block and log_marginal agree with the chain rule"


def _check_bank(measure: BaseMeasure, franchise: Any) -> str:
    bank, readable = measure.bank(franchise.data), PythonBank(measure, observations(franchise))
    if isinstance(measure, ByRestaurant):
        place(franchise, bank, measure)
    dishes = _dishes(0, 1, 0, 1, -1)
    slots = np.array([0, 1], dtype=np.int32)
    for one in (bank, readable):
        one.rebuild(dishes, slots)
        one.add(1, [4])
        one.remove(0, [0])
    for customer in range(5):
        a, b = (np.asarray(one.log_predictive(customer, slots)) for one in (bank, readable))
        close("the bank's predictives, up to a constant", a - a[-1], b - b[-1])
        c, d = (one.log_block([customer, (customer + 1) % 5], slots) for one in (bank, readable))
        close("the bank's block probabilities", c, d)
    if isinstance(bank, CompiledBank):
        for block in ([4], list(_LONG)):
            weights, logs = bank.block(block, slots), bank.log_block(block, slots)
            close("block weights, up to a factor", np.log(weights / weights[-1]), logs - logs[-1])
    after = _dishes(-1, 1, 0, 1, 1)
    close("the bank's marginals", bank.log_marginals(slots, after), readable.log_marginals(slots, after))
    _check_slots(bank)
    return "the bank agrees with make, add, remove and log_predictive, whatever numbers its slots have"


def _dishes(*first: int) -> Any:
    """Dishes of the first customers; the others are not seated."""
    return np.array([*first, *[-1] * len(_LONG)], dtype=np.int32)


def _check_slots(bank: Any) -> None:
    """Renumbering slots, with one empty again, changes nothing else."""
    far, near = np.array([3, 40], dtype=np.int32), np.array([0, 1], dtype=np.int32)
    dishes = _dishes(40, 3, 40, 3, -1)
    bank.rebuild(dishes, far)
    marginals, rows = bank.log_marginals(far, dishes), [bank.log_predictive(i, far) for i in range(5)]
    mapping = np.full(41, -1, dtype=np.int32)
    mapping[far] = near
    bank.relabelled(mapping)
    for customer in range(5):
        close("predictives of slots with new numbers", bank.log_predictive(customer, near), rows[customer])
    close(
        "marginals of slots with new numbers",
        bank.log_marginals(near, np.where(dishes >= 0, mapping[dishes], -1)),
        marginals,
    )
    bank.born(3)
    row = np.asarray(bank.log_predictive(4, [3]))
    close("a slot that is free again against a new dish", row[0], row[1])
    bank.add(3, [4, 0])
    bank.remove(3, [0])
    bank.remove(3, [4])
    row = np.asarray(bank.log_predictive(4, [3]))
    close("a slot that is empty again against a new dish", row[0], row[1])
    bank.died(3)


class _InOneRestaurant(BaseMeasure):
    """The predictive of a measure whose dishes differ by restaurant, in one of these."""

    def __init__(self, measure: ByRestaurant, restaurant: int) -> None:
        self.measure, self.restaurant = measure, restaurant
        self.support = measure.support
        self.n_terms = getattr(measure, "n_terms", None)

    def make(self) -> Any:
        return self.measure.make()

    def add(self, statistics: Any, value: Any) -> None:
        self.measure.add(statistics, Placed(value, self.restaurant))

    def remove(self, statistics: Any, value: Any) -> None:
        self.measure.remove(statistics, Placed(value, self.restaurant))

    def log_predictive(self, value: Any, many: Sequence[Any]) -> Any:
        return self.measure.log_predictive(Placed(value, self.restaurant), many)

    def log_observable(self, statistics: Any) -> float:
        return self.measure.log_observable(statistics)

    def simulate(self, statistics: Any, generator: np.random.Generator) -> Any:
        return self.measure.simulate_in(statistics, self.restaurant, generator)


def _check_normalised(measure: BaseMeasure, values: list[Any], examples: Sequence[Any]) -> str:
    many = [measure.make(), statistics_of(measure, values)]
    if isinstance(measure, ByRestaurant):
        measure = _InOneRestaurant(measure, values[0].restaurant)
    if measure.support is not None:
        return check_support(measure, many, examples)
    n_terms = getattr(measure, "n_terms", None)
    if n_terms is not None:
        total = sum(np.exp(np.asarray(measure.log_predictive(v, many))) for v in range(n_terms))
        observable = np.exp([measure.log_observable(one) for one in many])
        close("sum of the predictive over the terms", total, observable)
        return "predictives sum to one over the terms"

    return "normalisation: not checked (declare the measure's `support`)"


def _check_simulate(measure: BaseMeasure, values: list[Any]) -> str:
    """Frequencies of values that occur often, and the overlap of two dishes' laws, which is symmetric."""
    generator = np.random.default_rng(5)
    a, b = measure.make(), statistics_of(measure, values)
    if isinstance(measure, ByRestaurant):
        measure = _InOneRestaurant(measure, values[0].restaurant)
    for source, target in ((b, a), (a, b)):
        draws = [measure.simulate(source, generator) for _ in range(4000)]
        logs = _log_predictives(measure, draws, [target, source])
        logs -= [measure.log_observable(one) for one in (target, source)]  # drawn values can be observed
        check_frequencies(draws, logs[:, 1])
        weights = np.exp(np.minimum(logs[:, 0] - logs[:, 1], 0.0))
        # Bounded weights min(1, t/s): both directions estimate the same overlap of the two laws.
        if source is b:
            overlap, spread = weights.mean(), weights.std() / np.sqrt(len(weights))
        else:
            other, other_spread = weights.mean(), weights.std() / np.sqrt(len(weights))
    error = abs(overlap - other) / max(np.hypot(spread, other_spread), 1e-12)
    if error > 5.5 and abs(overlap - other) > 1e-9:  # two-sided level 4e-8
        raise MeasureFailure(f"simulate doesn't draw from log_predictive: overlaps {overlap} and {other}")
    return "simulate draws from the predictive (frequencies; overlap of two dishes, both ways)"


def _log_predictives(measure: BaseMeasure, draws: list[Any], many: list[Any]) -> Any:
    """Log predictives of all draws, shape (n, len(many)): each distinct value is evaluated once."""
    keys = [value_key(value) for value in draws]
    of = {
        key: np.asarray(measure.log_predictive(value, many))
        for key, value in dict(zip(keys, draws, strict=True)).items()
    }
    return np.array([of[key] for key in keys])


def _check_drawn(measure: BaseMeasure, values: list[Any]) -> str:
    """The mean likelihood of one value and of two over drawn parameters must equal their predictive."""
    for method in ("draw_parameters", "log_likelihood"):
        if not measure.supports(method):
            raise MeasureFailure(f"{method} is missing: draw_parameters and log_likelihood need each other")
    source = Streams(7).source(1)
    sought = [values[:1], values[-1:], values[:2]]
    for given in (measure.make(), statistics_of(measure, values[:3])):
        expected = [float(np.exp(np.asarray(measure.log_block(block, [given]))[0])) for block in sought]
        drawn = [measure.draw_parameters(given, source) for _ in range(2000)]
        logs = np.array([[measure.log_likelihood(values[i], one) for i in (0, -1, 1)] for one in drawn])
        found = np.exp(np.stack([logs[:, 0], logs[:, 1], logs[:, 0] + logs[:, 2]], axis=1))
        error = found.std(axis=0) / np.sqrt(len(found)) + 1e-9
        if not np.all(np.abs(found.mean(axis=0) - expected) <= 6.5 * error):
            raise MeasureFailure(
                f"draw_parameters and log_likelihood: mean likelihoods {found.mean(axis=0)} over draws "
                f"are not the predictive probabilities {np.array(expected)}"
            )
    if measure.supports("draw_arrays") and measure.supports("posterior_mean"):
        shape, mean = np.shape(measure.draw_arrays(given, 3, source)), np.shape(measure.posterior_mean(given))
        if shape != (3, *mean):
            raise MeasureFailure(f"draw_arrays: 3 draws of shape {shape}, but posterior_mean has {mean}")
    if not measure.supports("draw_values"):
        return "the mean likelihood given drawn parameters is the predictive"
    # The mean of q / (p + q) over draws from a density p is that of p / (p + q) over draws from q.
    generator, pair = np.random.default_rng(7), [measure.draw_parameters(given, source) for _ in range(2)]
    shares = []
    for one, other in (pair, pair[::-1]):
        drawn_values = measure.draw_values(one, 4000, generator)
        logs = np.asarray(log_likelihoods(measure, drawn_values, [one, other]))
        if len(drawn_values) != 4000 or not np.all(np.isfinite(logs[:, 0])):
            raise MeasureFailure("draw_values: not n values, or some that have no density")
        shares.append(1.0 / (1.0 + np.exp(np.clip(logs[:, 0] - logs[:, 1], -700.0, 700.0))))
    error = np.sqrt(sum(share.var() / len(share) for share in shares)) + 1e-9
    if abs(shares[0].mean() - shares[1].mean()) > 6.5 * error:
        raise MeasureFailure("draw_values: the values don't have the density of log_likelihood")
    return "the mean likelihood given drawn parameters is the predictive, and values are drawn by it"
