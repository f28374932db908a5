"""The sampled laws of observed dishes: Geweke's test, and whole runs whose exact law is known.

All p-values are registered in FAMILY before the first is computed. The tests at the end plant the bugs that
these tests are there to catch.
"""

from __future__ import annotations

import numpy as np
import pytest
from bugs import BUGS
from condemned import condemned
from long_cases import some_long
from montecarlo import sweep_matrix
from observed_checks import PREDICTIVES, STORES, atoms_of, observed
from planted import PlantedBug, planted

import hdpkit as hk
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.starts import start
from hdpkit.moves import Concentration, Discount, DishGibbs, Move, TableGibbs
from hdpkit.random import ScriptedSource
from hdpkit.testing.atomic_contract import atomic_log_marginal
from hdpkit.testing.cases import TinyShape, tiny_franchise
from hdpkit.testing.exact import ExactModel
from hdpkit.testing.geweke import geweke, statistics
from hdpkit.testing.pvalues import SampledTests, one_sample_p

FAMILY = SampledTests()
SHAPES = {
    1: TinyShape({}, 10),
    2: TinyShape({"document": [0] * 5 + [1] * 3 + [2] + [None]}, 10),
    3: TinyShape(
        {"author": [*"aaaaaabbb", None], "document": [0] * 3 + [1] * 2 + [None] + [2] * 3 + [None]}, 10
    ),
}
ATOMS = hk.Categorical([0.6, 0.3, 0.1])
GAMMA, BETA = hk.Gamma(1.5, 0.5), hk.Beta(1.0, 2.0)


def franchise_of(depth: int, kind: str, store: str, kernel: str = "auto") -> Franchise:
    """Priors on all hyperparameters, or on the concentrations alone; data are drawn by the test."""
    return tiny_franchise(
        SHAPES[depth],
        ATOMS,
        store=store,
        kernel=kernel,
        concentration=(GAMMA, GAMMA if kind == "tied" else hk.Each(GAMMA)),
        discount=(0.0, 0.0) if kind == "tied" else (BETA, 0.6 if kind == "fixed discount" else BETA),
    )


def schedule_of(franchise: Franchise) -> list[Move]:
    """Every move that these franchises leave something to do."""
    every: list[Move] = [TableGibbs(), DishGibbs(), Concentration(), Discount()]
    if franchise.topology.n_nodes == 1:
        every.remove(every[1])
    return every if any(one.hyperparameters[1].prior for one in franchise.declarations) else every[:-1]


GEWEKE = {
    f"geweke: depth {depth}, {kind}, {store}": franchise_of(depth, kind, store)
    for depth, kind, store in (
        (1, "tied", "explicit"),
        (1, "each", "histogram"),
        (2, "tied", "histogram"),
        (2, "each", "explicit"),
        (3, "fixed discount", "explicit"),
        (3, "each", "histogram"),
    )
}
for name_, franchise_ in GEWEKE.items():
    FAMILY.register(name_, list(statistics(franchise_)))
RUNS = {
    f"runs: {name}, {store}": (name, store)
    for name in ("two contexts", "customers at the root", "customers at inner restaurants")
    for store in STORES[:2]
}
for name_ in RUNS:
    FAMILY.register(name_, ["states", "tables"])


# ------------------------------------------------------------------ Geweke

REPLICAS, ROUNDS = 75, 4


@pytest.mark.parametrize("name", GEWEKE)
def test_geweke(name):
    franchise = GEWEKE[name]
    schedule = schedule_of(franchise)
    FAMILY.check(name, lambda more, seed: geweke(franchise, schedule, REPLICAS * more, ROUNDS, seed))


# ------------------------------------------------------------------ whole runs

DRAWS, SWEEPS = 750, 3


def law_of_runs(model: ExactModel, schedule: list[Move], sweeps: int) -> np.ndarray:
    """Exact law of the state after so many sweeps: the law of the start times the sweeps' matrices."""
    law, source = np.zeros(len(model.states)), ScriptedSource()
    while True:
        start(model.franchise, "sequential", source)
        law[model.read()] += source.probability
        if not source.advance():
            break
    sweep = np.linalg.multi_dot([np.eye(len(law)), *(sweep_matrix(model, move) for move in schedule)])
    return law @ np.linalg.matrix_power(sweep, sweeps)


def runs(name: str, store: str, kernel: str, draws: int, seed: int) -> dict[str, float]:
    """Where runs end, each with a seed of its own: p-values of the states and of their numbers of tables."""
    shape, values, corner, measure = PREDICTIVES[name]
    franchise = observed(shape, values, corner, store, kernel, measure)
    model = ExactModel(franchise, atomic_log_marginal(atoms_of(measure)))
    schedule: list[Move] = [TableGibbs(), DishGibbs()]
    law = LAWS[name, store] if (name, store) in LAWS else law_of_runs(model, schedule, SWEEPS)
    LAWS[name, store] = law
    scheduler = hk.Scheduler(schedule)
    counts = np.zeros(len(law), dtype=np.int64)
    for own_seed in np.random.default_rng(seed).integers(2**62, size=draws).tolist():
        scheduler.run(model.franchise, sweeps=SWEEPS, rng=own_seed)
        counts[model.read()] += 1
    tables = np.array([model.enter(state).n_tables for state in range(len(law))])
    by_tables = [(tables == n) for n in np.unique(tables)]
    return {
        "states": one_sample_p(counts, law),
        "tables": one_sample_p(
            [counts[own].sum() for own in by_tables], [law[own].sum() for own in by_tables]
        ),
    }


LAWS: dict[tuple[str, str], np.ndarray] = {}  # of healthy code, for the tests that plant a bug


# Every case over one of the stores, in turn; all with -m long.
@pytest.mark.parametrize("name", some_long(RUNS, lambda name: list(RUNS).index(name) % 4 not in (0, 3)))
def test_runs(name):
    FAMILY.check(name, lambda more, seed: runs(*RUNS[name], "auto", DRAWS * more, seed))


# ------------------------------------------------------------------ planted bugs

# In how many runs, each with its own seed, the first look fell below the limit (7e-7), and the largest
# p-value of these runs, as measured with 300 replicas of 5 rounds and 2,000 draws:
# - Geweke, depth 2, tied: one table a value in the root 20 of 20, 2.3e-48; with 150 replicas of 4 rounds
#   5 of 5, 1.5e-16.
# - runs, two contexts: root opens without H 20 of 20, 7e-239; d T left out of the opening mass 20 of 20,
#   1e-204; opening mass by the value's own tables 20 of 20, 1.6e-18.
# The first look has half of 150 replicas and of 1,500 draws; what it suspects is repeated with four times as
# many.
LIMIT = SampledTests.FIRST / FAMILY.n_p_values


def bug_named(name: str) -> PlantedBug:
    return next(bug for bug in BUGS if bug.name == name)


def test_geweke_catches_one_table_a_value_in_the_root():
    franchise = franchise_of(2, "tied", "explicit-reference", "reference")
    with planted(bug_named("one table a value in the root")):

        def run(more: int, seed: int) -> dict[str, float]:
            return geweke(franchise, schedule_of(franchise), REPLICAS * more, ROUNDS, seed)

        assert condemned(run, FAMILY.n_p_values)


@pytest.mark.parametrize(
    "name",
    ["root opens without H", "d T left out of the opening mass", "opening mass by the value's own tables"],
)
def test_runs_catch(name):
    runs("two contexts", "explicit", "reference", 1, 1)  # so that the law is known before the bug is planted
    with planted(bug_named(name)):
        for draws in (DRAWS // 5, 2 * DRAWS):
            p_values = runs("two contexts", "explicit", "reference", draws, 1)
            # A fifth of the first look's draws see most; else twice as many, so that the look suspects it.
            if min(p_values.values()) < LIMIT:
                return
    raise AssertionError(p_values)
