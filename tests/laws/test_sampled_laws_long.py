"""The sampled laws, long versions: new seeds, a thousand replicas, four levels, documents of lengths [4, 3].

Run with ``pytest -m long -s tests/laws/test_sampled_laws_long.py``; the summary at the end goes to
docs/correctness.md. The family's seed is printed with it; to repeat a run give it as HDPKIT_SEED.
HDPKIT_REPLICAS multiplies all numbers of draws: 3 makes the run three hours of two cores, in place of one.
"""

import os
from collections.abc import Callable

import numpy as np
import pytest
from calibration import calibration, quantities
from montecarlo import one_step
from parameter_cases import MEASURES
from test_sampled_laws import (
    DISCOUNTED,
    PRIOR,
    RANKED,
    ROUNDS,
    SHAPES,
    STORES,
    continuous_moves,
    discounted,
    flat,
    law_from_a_state,
    updates_of,
)
from test_sampled_laws import franchise_of as ordinary_franchise

import hdpkit as hk
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import TableGibbs
from hdpkit.moves.registry import moves
from hdpkit.testing.cases import TinyShape, tiny_franchise
from hdpkit.testing.combinations import serves
from hdpkit.testing.exact import ExactModel
from hdpkit.testing.geweke import geweke, statistics
from hdpkit.testing.pvalues import SampledTests

pytestmark = pytest.mark.long

GIVEN = os.environ.get("HDPKIT_SEED")
TIMES = int(os.environ.get("HDPKIT_REPLICAS", "1"))
FAMILY = SampledTests(seed=int(GIVEN)) if GIVEN else SampledTests(fresh=True)
Run = Callable[[int, int], dict[str, float]]
RUNS: dict[str, tuple[list[str], Run]] = {}

DEEP = {
    **SHAPES,
    4: TinyShape(
        {
            "region": [*"NNNNNNNNNNSSSSSSSS"],
            "author": [*"aaaaaabbbbccccdddd"],
            "document": [0, 0, 0, 0, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4, 5, 5],
        },
        18,
    ),
    "inner customers": TinyShape(
        {
            "author": [*"aaaaabbbb", None, None, None],
            "document": [0, 0, 0, None, None, 1, 1, None, None, None, None, None],
        },
        12,
    ),
}


def franchise_of(shape: TinyShape, store: str, each: bool, corner: str, eta: object = 0.5) -> Franchise:
    return tiny_franchise(
        shape,
        hk.DirichletMultinomial(eta, n_terms=3),
        store=store,
        corner=corner,
        concentration=(PRIOR, hk.Each(PRIOR) if each else PRIOR),
        values=np.arange(shape.n_customers) % 3,
    )


def model_of(shape: str, store: str, corner: str) -> ExactModel:
    return ExactModel(tiny_franchise(shape, hk.DirichletMultinomial(0.5), store=store, corner=corner))


def add(name: str, labels: list[str], run: Run) -> None:
    RUNS[name] = (labels, run)
    FAMILY.register(name, labels)


def add_geweke(name: str, franchise: Franchise, schedule: list, replicas: int = 1000) -> None:
    add(
        name,
        list(statistics(franchise)),
        lambda more, seed: geweke(franchise, schedule, replicas * TIMES * more, ROUNDS, seed),
    )


def add_calibration(name: str, franchise: Franchise, schedule: list, replicas: int = 500) -> None:
    add(
        name,
        list(quantities(franchise)),
        lambda more, seed: calibration(franchise, schedule, replicas * TIMES * more, RANKED, seed, thin=2),
    )


def add_one_step(name: str, shape: str, store: str, corner: str, schedule: list, draws: int) -> None:
    def run(more: int, seed: int) -> dict[str, float]:
        return one_step(model_of(shape, store, corner), schedule, draws * TIMES * more, seed)

    add(name, ["invariance"], run)


def add_row(name: str, store: str, corner: str, move: hk.moves.Move, draws: int) -> None:
    def run(more: int, seed: int) -> dict[str, float]:
        model = model_of("3+3", store, corner)
        return one_step(model, move, draws * TIMES * more, seed, **law_from_a_state(model, move))

    add(name, ["invariance", "row"], run)


for shape_name, shape_ in DEEP.items():
    for store_ in STORES:
        for each_, corner_ in ((False, "middle"), (True, "discounts")):
            if shape_.depth == 1 and each_:
                continue
            franchise_ = franchise_of(shape_, store_, each_, corner_)
            kind = f"{shape_name}, {'each' if each_ else 'tied'}, {corner_}, {store_}"
            add_geweke(f"geweke: default schedule, {kind}", franchise_, flat(shape_.depth))
            add_calibration(f"calibration: default schedule, {kind}", franchise_, flat(shape_.depth))
            for move_name in continuous_moves():
                for number, move_ in enumerate(moves[move_name].examples()):
                    if serves(franchise_, move_):
                        schedule_ = [move_] if "seating" in move_.updates else [TableGibbs(), move_]
                        add_geweke(f"geweke: {move_name}#{number}, {kind}", franchise_, schedule_)
    for each_, corner_ in ((False, "discounts"), (True, "middle")):
        if shape_.depth == 1 and each_:
            continue
        franchise_ = franchise_of(shape_, STORES[0], each_, corner_)
        for number, move_ in enumerate(moves["concentration"].examples()):
            add_geweke(
                f"geweke: concentration#{number}, {shape_name}, {'each' if each_ else 'tied'}, {corner_}",
                franchise_,
                [TableGibbs(), move_],
            )
    for number_, kind_ in enumerate(DISCOUNTED):
        if shape_.depth > 1 or kind_ in ("tied", "shifted", "below zero"):
            franchise_ = discounted(kind_, shape_, STORES[number_ % 2])
            for method_ in ("auto", "slice"):
                schedule_ = [TableGibbs(), *updates_of(franchise_, method_)]
                add_geweke(f"geweke: discount, {kind_}, {method_}, {shape_name}", franchise_, schedule_)
            seating_ = [move for move in flat(shape_.depth) if not move.continuous]
            schedule_ = [*seating_, *updates_of(franchise_, "auto")]
            add_calibration(f"calibration: discount, {kind_}, {shape_name}", franchise_, schedule_)
for number_, (label_, measure_) in enumerate(MEASURES.items()):
    for move_ in moves["base-measure-parameters"].examples():
        franchise_ = ordinary_franchise(2, STORES[number_ % len(STORES)], measure=measure_)
        add_geweke(f"geweke: {move_!r} of {label_}", franchise_, [TableGibbs(), move_])
add_geweke(
    "geweke: default schedule, unequal eta",
    franchise_of(DEEP[3], "histogram", False, "middle", [0.2, 1.0, 0.5]),
    flat(3),
)
for move_name, entry in moves.items():
    for number, move_ in enumerate(entry.examples()):
        if not move_.continuous:
            for store_ in STORES:
                for corner_ in ("middle", "few dishes, many tables", "discounts"):
                    kind = f"{move_name}#{number}, {corner_}, {store_}"
                    add_one_step(f"one step: 4+3, {kind}", "4+3", store_, corner_, [move_], 40_000)
                add_row(f"one step: 3+3, {move_name}#{number}, {store_}", store_, "discounts", move_, 40_000)
for store_ in STORES:
    sweep = [move for move in flat(2) if not move.continuous]
    add_one_step(f"one step: 4+3, default schedule, {store_}", "4+3", store_, "discounts", sweep, 40_000)


@pytest.fixture(scope="module", autouse=True)
def summary():
    yield
    print(f"\nSampled laws, HDPKIT_SEED={FAMILY.seed}\n{FAMILY.summary()}")
    least = {o.name: min(o.first.values()) for o in FAMILY.outcomes}
    repeats = [o.name for o in FAMILY.outcomes if o.repeat]
    print(f"{len(least)} tests, smallest p-value {min(least.values(), default=1.0):.3g}; repeated: {repeats}")
    if FAMILY.unchecked:
        print(f"not run: {len(FAMILY.unchecked)}")


@pytest.mark.parametrize("name", RUNS)
def test_sampled_law(name):
    FAMILY.check(name, RUNS[name][1])
