"""Geweke's joint-distribution test, by independent replicas.

The model draws hyperparameters, seating and data jointly; a move changes everything except the data, and
leaves its distribution given the data invariant. So after a draw from the model, any number of rounds (apply
the moves, then draw new data given the seating) end in a draw from the model, for any speed of mixing (Geweke
2004). Each replica starts from a new draw, which makes the final states independent, so that their comparison
with further new draws gives a valid p-value; a single long chain would need an estimate of its
autocorrelation.

This is the test for moves with continuous draws, which can't be enumerated, and for entire schedules.
"""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import parameter_key
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.moves import Move, TableGibbs
from hdpkit.moves.protocol import check_move
from hdpkit.posterior.simulate import simulate_in_place
from hdpkit.priors import Beta, Each, Gamma
from hdpkit.random import ChoiceSource, Streams
from hdpkit.stores import Detail, at_least
from hdpkit.testing.cases import SHAPES, serves, serving_stores, tiny_franchise
from hdpkit.testing.exact import ExactFailure
from hdpkit.testing.pvalues import SampledTests, two_sample_p

_FRESH, _MOVED = 1, 2  # places of the streams of the two samples
_DIGITS = 10


def statistics(franchise: Franchise) -> dict[str, float]:
    """The statistics by which the two samples are compared, rounded so that equal ones are tied."""
    counts = np.bincount(franchise.dishes)
    values = {
        "dishes": float(franchise.n_dishes),
        "tables": float(franchise.n_tables),
        "largest dish": float(counts.max() / counts.sum()),
        "log joint": franchise.log_joint(),
        **hyperparameters(franchise),
        "data": _of_data(franchise.data.values),
    }
    if franchise.root.declared == "weights":
        values["largest weight"] = float(franchise.root_weights()[0].max())
    if not franchise.measure.conjugate:
        values["dish parameters"] = float(np.mean(franchise.dish_parameters() ** 2))
    for name, part in franchise.parts.items():
        values |= {f"{name}/{key}": float(value) for key, value in part.scalars(franchise).items()}
    return rounded(values)


def hyperparameters(franchise: Franchise) -> dict[str, float]:
    """Every hyperparameter that has a prior, those of the base measure included."""
    values: dict[str, float] = {}
    for one in franchise.hyperparameters.sharers:
        current = (franchise.concentration(one.name), franchise.discount(one.name))
        for kind, declared, value in zip(one.named, one.hyperparameters, current, strict=False):
            name = f"{kind}/{one.name}"
            if declared.prior is not None and declared.each:
                keys = franchise.keys(one.name)
                values |= {f"{name}[{key}]": float(v) for key, v in zip(keys, value, strict=True)}
            elif declared.prior is not None:
                values[name] = float(value)
    values |= {parameter_key(name): value for name, value in franchise.base_parameters.items()}
    return values


def rounded(values: Mapping[str, float]) -> dict[str, float]:
    """Return the values rounded to ten digits, so that those equal up to rounding errors are tied."""
    return {name: float(f"{value:.{_DIGITS}g}") for name, value in values.items()}


def _of_data(values: Any) -> float:
    array = np.asarray(values)
    if array.dtype.kind == "f":
        return float(np.mean(array**2))
    if array.dtype.kind in "iub" and array.ndim == 1:
        counts = np.unique(array, return_counts=True)[1]
    else:
        counts = np.array(list(Counter(map(repr, values)).values()))
    return float(np.sum((counts / counts.sum()) ** 2))


def apply_moves(franchise: Franchise, moves: Sequence[Move], rng: ChoiceSource, sweep: int = 1) -> None:
    """Apply moves in order; a move with a time table only if it is due in this sweep."""
    with franchise.lock():  # taken once, as by a scheduler, not by each step
        for move in moves:
            if move.runs_in(sweep):
                move.apply(franchise, rng)


def geweke(
    franchise: Franchise,
    moves: Sequence[Move],
    replicas: int,
    rounds: int,
    seed: int,
) -> dict[str, float]:
    """P-values of the hypothesis that the moves leave the posterior invariant."""
    for move in moves:
        check_move(move, franchise)
    streams = Streams(seed)
    fresh, moved = [], []
    state = franchise.copy()  # of which nothing is left after the first draw
    for replica in range(replicas):
        with state.lock():  # taken once, not by each draw
            state = simulate_in_place(state, streams.source(_FRESH, replica))
            fresh.append(statistics(state))
            source = streams.source(_MOVED, replica)
            state = simulate_in_place(state, source)
            for sweep in range(1, rounds + 1):
                apply_moves(state, moves, source, sweep)
                state = simulate_in_place(state, source, keep="seating")
            moved.append(statistics(state))
    return {
        name: two_sample_p([values[name] for values in fresh], [values[name] for values in moved])
        for name in fresh[0]
    }


def check_geweke(
    move: Move,
    *,
    measure: BaseMeasure | None = None,
    shapes: Sequence[str] = ("flat 4", "3+3", "three levels"),
    seed: int = 0,
    replicas: int = 250,
    rounds: int = 4,
) -> list[str]:
    """Run Geweke's test of a move over every registered store, or raise; a line for each franchise."""
    # First one concentration for all restaurants of a declaration, then one for each. It fails by chance
    # with probability at most 1e-4 over all franchises together.
    measure = measure or DirichletMultinomial(0.5, n_terms=3)
    schedule = [move] if "seating" in move.updates else [TableGibbs(), move]
    prior, beta = Gamma(2.0, 1.0), Beta(1.0, 2.0)
    tied, each = (prior, prior), (prior, Each(prior))
    kinds: dict[str, dict[str, Any]] = {
        "tied, middle": {"concentration": tied},
        "each, discounts": {"concentration": each, "corner": "discounts"},
    }
    if "discount" in move.updates:
        kinds = {
            "tied": {"concentration": tied, "discount": (beta, beta)},
            "each": {"concentration": each, "discount": (beta, Each(beta))},
        }
    cases: dict[str, Franchise] = {}
    for root in ("restaurant", "weights"):
        for shape, (kind, options) in itertools.product([] if cases else shapes, kinds.items()):
            if kind.startswith("each") and SHAPES[shape].depth == 1:
                continue
            # Stores of counts don't support discounts under weights, nor separate ones under a restaurant.
            counts = kind == "tied, middle" if root == "weights" else kind != "each"
            for store in serving_stores() if counts else at_least(Detail.SIZES):
                franchise = tiny_franchise(shape, measure, store=store, root=root, **options)
                if serves(franchise, move):
                    cases[f"{move.name} on {shape!r} ({kind}), {store}"] = franchise
    options = next(iter(kinds.values()))
    for store in at_least(Detail.SIZES):
        franchise = tiny_franchise("a grandparent on two ways", measure, store=store, **options)
        if serves(franchise, move):
            cases[f"{move.name} on several parents, {store}"] = franchise
    if not cases:
        raise ExactFailure(f"{move.name}: no franchise of {list(shapes)} gives it anything to do")
    return check_together(cases, schedule, replicas, rounds, seed)


def check_together(
    cases: Mapping[str, Franchise], moves: Sequence[Move], replicas: int, rounds: int, seed: int
) -> list[str]:
    """Geweke's test of several franchises, which are one family of sampled tests; a line for each."""
    family = SampledTests(seed=seed)
    for name, franchise in cases.items():
        family.register(name, list(statistics(franchise)))
    report = []
    for name, franchise in cases.items():

        def run(more: int, look_seed: int, franchise: Franchise = franchise) -> dict[str, float]:
            return geweke(franchise, moves, replicas * more, rounds, look_seed)

        smallest = min((first := family.check(name, run).first).values())
        report.append(f"{name}: Geweke's test, {len(first)} p-values >= {smallest:.3g}")
    return report
