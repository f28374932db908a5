"""`check_mixing` says misfit where the model is wrong, not where it is right; its checks are calibrated."""

import json
import math

import attrs
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import (
    DataError,
    DeclarationError,
    HdpkitError,
    ParameterError,
    ReturnValueError,
    StateError,
)
from hdpkit.posterior.comparison.mixing import CheckedChains, _misfits
from hdpkit.posterior.comparison.predictive import predictive_checks
from hdpkit.random import RandomStream

SCHEDULE = [moves.TableGibbs(), moves.DishGibbs().every(5), moves.Concentration()]


def declare(measure=None, each="document", fixed=None):
    base = hk.DirichletMultinomial(eta=0.2) if measure is None else measure
    prior = hk.Gamma(2.0, 1.0) if fixed is None else fixed
    root = hk.Restaurant(base=base, concentration=prior, name="root")
    return root if each is None else hk.Restaurant(base=root, concentration=prior, each=each)


def simulated(seed, documents=25, length=30, terms=30, **options):
    """A franchise in the state from which its data were simulated: an exact draw from its posterior."""
    shape = hk.Corpus.from_counts(np.full((documents, terms), length // terms))
    franchise = hk.Franchise(declare(fixed=1.5), shape, **options)
    if options:
        hk.Scheduler([moves.CountGibbs()]).run(franchise, 1, rng=0, init="one")
    return franchise.simulate(seed, keep="hyperparameters")


def repeated(seed, times):
    """A corpus of topics in which every word is said several times."""
    generator = np.random.default_rng(seed)
    topics = generator.dirichlet(np.full(60, 0.2), size=3)
    shares = generator.dirichlet(np.full(3, 0.5), size=40)
    counts = np.stack([generator.multinomial(30, row @ topics) for row in shares])
    return hk.Corpus.from_counts(times * counts)


def fitted(corpus, schedule=SCHEDULE, sweeps=60, measure=None, each="document", **options):
    franchise = hk.Franchise(declare(measure, each), corpus, **options)
    hk.Scheduler(schedule).run(franchise, sweeps, rng=0)
    return franchise


def test_data_of_the_model_are_no_misfit():
    for seed in range(3):
        franchise = simulated(seed)
        found = hk.check_mixing(franchise, SCHEDULE[:2], sweeps=60, rng=seed)
        assert found.verdict in ("converged", "slow")
        assert found.misfits == ()
        assert set(found.data.checks[0]) == {"distinct_cells", "count_variance"}


def test_a_mixture_converges():
    generator = np.random.default_rng(0)
    points = np.concatenate([generator.normal(-4.0, size=30), generator.normal(4.0, size=30)])
    measure = hk.NormalGamma(mean=0.0, strength=0.1, shape=3.0, rate=3.0)
    franchise = hk.Franchise(hk.Restaurant(base=measure, concentration=1.0), hk.Groups.from_arrays([points]))
    hk.Scheduler([moves.TableGibbs()]).run(franchise, 50, rng=0)
    found = hk.check_mixing(franchise, sweeps=1500, inits=["one"], copies=10)
    assert found.verdict == "converged"
    assert found.sentence.startswith(
        "Converged: after 1,500 sweeps chains from different starts (one, own state)"
    )


def test_repeated_words_are_a_misfit():
    found = hk.check_mixing(fitted(repeated(0, 3)), SCHEDULE, sweeps=60)
    assert found.verdict == "misfit"
    assert found.misfits[0] == "distinct_cells"
    last = found.data.checks[-1]
    assert last["distinct_cells"].distance < -5.0
    assert last["count_variance"].distance > 1.0
    assert found.sentence.startswith("The model does not fit: ")
    assert "hk.Bursty" in found.sentence
    text = str(found)
    assert found.table() in text
    assert found.chains_table() in text
    assert "different pairs of document and term" in text
    assert "no draw from its posterior" in text.replace("\n", " ")


def test_the_same_seed_gives_the_same_result():
    franchise = fitted(repeated(1, 1), sweeps=5)
    before = franchise.freeze()

    def facts(rng):
        found = hk.check_mixing(franchise, SCHEDULE, sweeps=40, rng=rng, inits=["one"], copies=10).to_dict()
        for side in ("data", "simulated", "redrawn"):
            for chain in found[side]["chains"]:
                del chain["seconds"]
        return json.dumps(found)

    assert facts(3) == facts(3)
    assert facts(3) != facts(4)
    assert np.array_equal(before["slots"], franchise.freeze()["slots"])
    assert franchise.sweep == before["sweep"]


def test_checks_are_calibrated_at_draws_of_the_posterior():
    """A state from which data were simulated is one: distances then have mean 0 and standard deviation 1."""
    away = {"distinct_cells": [], "count_variance": []}
    for seed in range(60):
        franchise = simulated(seed)
        with franchise.lock():
            found = predictive_checks(franchise, 20, RandomStream((seed, 1)), {})
        for name, check in found.items():
            away[name].append(check.distance)
    for values in away.values():
        assert abs(np.mean(values)) < 4 / math.sqrt(60)
        assert 0.6 < np.std(values) < 1.5


def test_statistics_by_cell_are_those_by_customer():
    options = {"store": "counts", "root": "weights"}
    given = simulated(5, **options)
    assert not given.population.single
    other = given.copy()
    other.expand_cells()
    one, two = (predictive_checks(franchise, 200, RandomStream((1, 2)), {}) for franchise in (given, other))
    for name in one:
        assert abs(one[name].observed - two[name].observed) < 0.3 * one[name].sd
        assert abs(one[name].expected - two[name].expected) < 0.5 * one[name].sd
    assert one["distinct_cells"].observed == two["distinct_cells"].observed
    found = hk.check_mixing(given, sweeps=60)
    assert found.verdict in ("converged", "slow")
    assert found.data.chains[0].sweeps[-1] == 60


def test_statistics_of_the_caller():
    franchise = fitted(repeated(0, 3), sweeps=10)
    longest = {"longest run": lambda values, dishes: np.max(np.bincount(values))}
    found = hk.check_mixing(franchise, SCHEDULE, sweeps=40, inits=["one"], statistics=longest)
    assert found.data.checks[0]["longest run"].observed == np.max(np.bincount(franchise.data.values))
    for bad in (lambda values, dishes: "x", lambda values, dishes: np.nan):
        with pytest.raises(ReturnValueError, match="statistics"):
            hk.check_mixing(franchise, SCHEDULE, sweeps=40, inits=["one"], statistics={"bad": bad})


def check_of(observed, expected, sd=1.0):
    return hk.StatisticCheck(observed, expected, sd, 20)


def chains_of(checks):
    return CheckedChains(
        starts=("auto", "one", "sequential", "own state"), chains=(), log_joint=np.zeros(4), within=1.0,
        diagnoses={}, reasons=(), checks=tuple({"distinct_cells": one} for one in checks),
    )  # fmt: skip


FAR, NEAR = check_of(90.0, 100.0), check_of(100.0, 100.5)


@pytest.mark.parametrize(
    ("data", "simulated", "misfit"),
    [
        ([FAR] * 4, [NEAR] * 4, True),
        ([FAR] * 3 + [NEAR], [NEAR] * 4, False),  # the fitted state explains the data
        ([NEAR] + [FAR] * 3, [NEAR] * 4, False),
        ([FAR] * 4, [FAR] * 3 + [NEAR], False),  # so far away are chains where the model is right
        ([FAR] * 4, [check_of(96.0, 100.0)] * 3 + [NEAR], False),
        ([FAR] * 4, [check_of(96.0, 100.0)] * 2 + [NEAR] * 2, True),
        ([FAR, FAR, check_of(70.0, 100.0), check_of(60.0, 100.0)], [check_of(96.0, 100.0)] * 4, False),
        ([FAR] * 3 + [check_of(110.0, 100.0)], [NEAR] * 4, False),  # on different sides
    ],
)
def test_the_rule(data, simulated, misfit):
    assert bool(_misfits(chains_of(data), chains_of(simulated))) is misfit


def test_what_has_no_answer_says_why():
    observed = hk.Franchise(declare(hk.Uniform(3), "group"), hk.Groups.from_arrays([[0, 1, 1], [2]]))
    hk.Scheduler([moves.TableGibbs()]).run(observed, 1, rng=0)
    with pytest.raises(DeclarationError, match="latent dishes"):
        hk.check_mixing(observed, sweeps=40)
    known = hk.Franchise(declare(), repeated(0, 1), known=hk.Known(np.full((1, 60), 1 / 60), counts=600))
    hk.Scheduler([moves.TableGibbs()]).run(known, 1, rng=0)
    with pytest.raises(HdpkitError, match="known"):
        hk.check_mixing(known, sweeps=40)
    with pytest.raises(StateError, match="unseated"):
        hk.check_mixing(hk.Franchise(declare(), repeated(0, 1)), sweeps=40)
    franchise = fitted(repeated(0, 1), sweeps=1)
    franchise.hold([0])
    with pytest.raises(StateError, match="held"):
        hk.check_mixing(franchise, sweeps=40)
    franchise.release()
    with pytest.raises(ParameterError, match="seconds"):
        hk.check_mixing(franchise, sweeps=40, seconds=1.0)
    with pytest.raises(ParameterError, match="chain"):
        hk.check_mixing(franchise, sweeps=40, chain=1)
    cells = fitted(repeated(0, 1), [moves.CountGibbs()], 2, store="counts", root="weights")
    if not cells.population.single:
        with pytest.raises(DataError, match="by cell"):
            hk.check_mixing(cells, sweeps=40, statistics={"n": lambda values, dishes: 1.0})


def test_distances():
    check = check_of(90.0, 100.0, 2.0)
    assert (check.distance, check.relative) == (-5.0, pytest.approx(-0.1))
    assert attrs.evolve(check, sd=0.0).distance == -math.inf
    assert attrs.evolve(check, observed=100.0, sd=0.0).distance == 0.0
    assert check_of(1.0, 0.0).relative == math.inf
