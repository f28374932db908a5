"""Hidden Markov models, sticky ones among them: exact kernels, the law of the states, what is refused."""

import itertools
import math

import numpy as np
import pytest
from exact_points import check_balance, one_step_of_points
from hdpkit.steps.fused._state_sequences import PIECE, StateSequences
from marginals import dirichlet_multinomial_log_marginal, stirling
from one_sample import one_sample_p
from state_homes_checks import (
    SplitWeightsModel,
    StateHomesModel,
    WeightedStateHomesModel,
    check_start_row,
    check_sticky_scores,
    step_with_parameters,
    sticky_franchise,
    weights_balance,
)

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import DirichletMultinomialReference
from hdpkit.franchise.sample import sample_of
from hdpkit.franchise.starts import start
from hdpkit.random import STARTS, RandomStream, Streams
from hdpkit.steps.state_sequences import scaled_rows
from hdpkit.testing.exact import check_exact, check_irreducible, step_matrices

ONE = hk.Sequences.from_arrays([[0, 1, 1, 0]])
TWO = hk.Sequences.from_arrays([[0, 1], [1, 0]])
GAPS = hk.Sequences.from_arrays([[0, None, 2], [None]])
DATA = {"one sequence": ONE, "two sequences": TWO, "missing": GAPS}


KERNELS = {"compiled": "fused", "readable": "reference"}
ETA = 0.5


def terms_franchise(kernel, root, sticky, data, **options):
    """A model over terms whose single sites run on this kernel."""
    franchise = sticky_franchise(
        root,
        sticky,
        data,
        "counts",
        measure=hk.DirichletMultinomial(ETA, n_terms=3),
        kernel=KERNELS[kernel],
        **options,
    )
    assert franchise.kernel("reseat") == KERNELS[kernel]
    return franchise


@pytest.mark.parametrize("root", [hk.FixedWeights(3), hk.FixedWeights(2)])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_single_sites_leave_dishes_tables_and_overrides_invariant(sticky, data, root):
    model = StateHomesModel(sticky_franchise(root, sticky, DATA[data]))
    check_irreducible(model, check_exact(model, moves.TableGibbs()), "table Gibbs")


@pytest.mark.parametrize("root", [hk.FixedWeights(4), hk.FixedWeights(2)])
@pytest.mark.parametrize("data", DATA)
@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_compiled_single_sites(sticky, data, root):
    """Births and deaths of states among them; the matrix of the readable kernel, too."""
    found = []
    for kernel in KERNELS:
        model = StateHomesModel(terms_franchise(kernel, root, sticky, DATA[data]))
        found.append(check_exact(model, moves.TableGibbs()))
    assert np.abs(found[0] - found[1]).max() <= 1e-12
    check_irreducible(model, found[0], "table Gibbs")


@pytest.mark.quick
@pytest.mark.parametrize("begin", [None, 5.0])
@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_compiled_single_sites_over_another_measure(sticky, begin):
    franchise = bits_franchise(hk.FixedWeights(4), sticky, kernel="fused", begin=begin)
    check_exact(StateHomesModel(franchise, marginal_of_bits), moves.TableGibbs())


@pytest.mark.parametrize("sticky", [0.0, 1.2])
@pytest.mark.parametrize("arrays", [[[0, 1, 1]], [[0, 1], [1]], [[0, None], [2]]])
def test_compiled_single_sites_and_root_weights_are_in_balance(arrays, sticky):
    data = hk.Sequences.from_arrays(arrays, n_terms=3)
    options = {"measure": hk.DirichletMultinomial(ETA, n_terms=3), "kernel": "fused", "store": "counts"}
    assert (
        weights_balance(hk.PreviousDish(sticky, start_concentration=2.0), len(data), data=data, **options)
        > 30
    )


@pytest.mark.parametrize("sticky", [0.0, 5.0])
@pytest.mark.parametrize("measure", ["terms", "numbers"])
def test_compiled_and_readable_single_sites_choose_alike(measure, sticky):
    """By the same random numbers; draws of tables, which differ, are at the end."""
    generator = np.random.default_rng(3)
    if measure == "terms":
        own, arrays = (
            hk.DirichletMultinomial(0.3, n_terms=5),
            [generator.integers(5, size=60).tolist(), [1, None, 2]],
        )
        data = hk.Sequences.from_arrays(arrays, n_terms=5)
    else:
        own, data = (
            hk.NormalGamma(0.0, 0.1, 2.0, 1.0),
            hk.Sequences.from_arrays([generator.normal(size=60), [0.5, np.nan]]),
        )
    ends = []
    for kernel in ("fused", "reference"):
        franchise = sticky_franchise("weights", sticky, data, "counts", measure=own, kernel=kernel, begin=2.0)
        start(franchise, hk.init.Random(6), Streams(0).source(STARTS))
        franchise.reseat(0, len(data), RandomStream((4, 5)))
        franchise.audit()
        ends.append(franchise.dishes.tolist())
    assert ends[0] == ends[1]
    assert len(set(ends[0])) > 2


STARTS_ALONE = hk.Sequences.from_arrays([[0], [1, 0], [1]], n_terms=3)


@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_a_start_row_with_a_concentration_of_its_own(sticky):
    """Single sites, tables, and splits and merges; the enumeration has the concentration of each row."""
    for data in (TWO, STARTS_ALONE):
        model = StateHomesModel(sticky_franchise(hk.FixedWeights(4), sticky, data, begin=5.0))
        for move in (moves.TableGibbs(), moves.TableCounts(), moves.SplitMergeStates(scans=0)):
            check_exact(model, move, reversible=isinstance(move, moves.SplitMergeStates))
    three = hk.Sequences.from_arrays([[0, 1], [1]])
    rule = hk.PreviousDish(sticky, start_concentration=5.0)
    assert weights_balance(rule, 3, data=three, store="counts") > 30


@pytest.mark.parametrize("kappa", [0.0, 2.0])
def test_concentrations_of_the_start_row_and_of_the_rows(kappa):
    check_start_row(kappa)


@pytest.mark.parametrize("data", DATA)
def test_tables_and_overrides_given_dishes(data):
    check_exact(StateHomesModel(sticky_franchise(data=DATA[data])), moves.TableCounts())


@pytest.mark.parametrize("sticky", [0.0, 1.2])
@pytest.mark.parametrize("arrays", [[[0, 1, 1]], [[0, 1], [1]], [[0, None], [2]]])
def test_single_sites_and_root_weights_are_in_balance(arrays, sticky):
    data = hk.Sequences.from_arrays(arrays)
    assert weights_balance(hk.PreviousDish(sticky), len(data), data=data, store="counts") > 30


@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_scores_are_those_of_the_enumeration(sticky):
    check_sticky_scores(sticky)


def log_sequences(z, begins, alpha, gamma, kappa):
    """log p(z): the sum over numbers of tables, and of overrides among them (Fox et al. 2008)."""
    counts = {}
    for t, dish in enumerate(z):
        row = -1 if t in begins else z[t - 1]
        counts[row, dish] = counts.get((row, dish), 0) + 1
    n_dishes = max(z) + 1
    totals = {(0,) * n_dishes: 1.0}  # weight by the customers of the root
    for (row, dish), n in counts.items():
        grown = {}
        for tables, weight in totals.items():
            for m in range(1, n + 1):
                for w in range(m + 1 if row == dish else 1):
                    more = tuple(t + (m - w) * (k == dish) for k, t in enumerate(tables))
                    ways = stirling(n, m) * math.comb(m, w) * alpha ** (m - w) * kappa**w
                    grown[more] = grown.get(more, 0.0) + weight * ways
        totals = grown
    of_root = math.fsum(
        weight * math.prod(math.gamma(t) for t in tables) / math.gamma(gamma + sum(tables))
        for tables, weight in totals.items()
        if min(tables) > 0
    )
    log = math.log(of_root) + n_dishes * math.log(gamma) + math.lgamma(gamma)
    for row in {row for row, _ in counts}:
        n, own = sum(c for (r, _), c in counts.items() if r == row), alpha + kappa * (row >= 0)
        log -= math.fsum(math.log(own + i) for i in range(n))
    return log


def labelled(n):
    """Dishes of n customers, numbered by their first customers."""
    found = [()]
    for _ in range(n):
        found = [(*z, k) for z in found for k in range(max(z, default=-1) + 2)]
    return found


def law_of_states(arrays, alpha, gamma, eta, kappa):
    """Probability of each numbering of the dishes given sequences of terms 0 and 1."""
    values = list(itertools.chain(*arrays))
    begins = {sum(map(len, arrays[:j])) for j in range(len(arrays))}
    marginal = dirichlet_multinomial_log_marginal(eta, 2)
    logs = {}
    for z in labelled(len(values)):
        dishes = [[x for x, k in zip(values, z, strict=True) if k == j] for j in range(max(z) + 1)]
        logs[z] = log_sequences(z, begins, alpha, gamma, kappa) + sum(map(marginal, dishes))
    total = math.fsum(map(math.exp, logs.values()))
    return {z: math.exp(log) / total for z, log in logs.items()}


KNOWN = {
    "two sequences": ([[0, 1, 0], [1, 1]], 0.0, [0.1544, 0.3352, 0.3681, 0.1218, 0.0206]),
    "sticky": ([[0, 0, 1, 1]], 1.2, [0.3211, 0.5227, 0.1468, 0.0093]),
}


@pytest.mark.parametrize("name", KNOWN)
def test_the_enumerated_posterior_is_that_of_the_sequences(name):
    arrays, kappa, _ = KNOWN[name]
    data = hk.Sequences.from_arrays(arrays, n_terms=2)
    measure = DirichletMultinomialReference(0.4, n_terms=2)
    franchise = sticky_franchise("weights", kappa, data, theta=(1.5, 0.8), measure=measure)
    model = StateHomesModel(franchise, dirichlet_multinomial_log_marginal(0.4, 2))
    found = {}
    for key, p in zip(model.states, model.pi.tolist(), strict=True):
        z = tuple(states_of(key[0] if kappa else key))
        found[z] = found.get(z, 0.0) + p
    expected = law_of_states(arrays, 0.8, 1.5, 0.4, kappa)
    assert max(abs(found[z] - expected[z]) for z in expected) <= 1e-13


def states_of(key):
    """Dishes in order of their first customers, of a state of a store of counts."""
    label = {}
    return [label.setdefault(dish, len(label)) for dish in key[0]]


WHOLE = {
    "beam": moves.BeamSampler(),
    "two threads": moves.BeamSampler(threads=2),
    "forward-backward": moves.ForwardBackward(),
}


SERVED = [
    *((sticky, data, "auto") for sticky in (0.0, 1.2) for data in DATA),
    (0.0, "two sequences", "reference"),
    (1.2, "missing", "reference"),
]


@pytest.mark.parametrize(("sticky", "data", "kernel"), SERVED)
def test_the_beam_from_exact_draws(sticky, data, kernel):
    """States, tables, overrides and weights of the root, after one sweep from exact draws."""
    franchise = sticky_franchise("weights", sticky, DATA[data], "counts", kernel=kernel)
    model = WeightedStateHomesModel(franchise)
    p_values = one_step_of_points(model, moves.BeamSampler(), 6000 if kernel == "auto" else 2500, 11)
    assert min(p_values.values()) > 1e-3 / len(p_values), p_values


def one_step_p(model, move, draws, seed):
    """P-value of the states after one move from exact draws."""
    generator = np.random.default_rng(seed)
    starts = generator.choice(len(model.pi), size=draws, p=model.pi / model.pi.sum())
    ends = np.zeros(len(model.pi), dtype=np.int64)
    for number, begin in enumerate(starts.tolist()):
        model.enter(begin)
        move.apply(model.franchise, RandomStream((seed, number)))
        ends[model.read()] += 1
    return one_sample_p(ends, model.pi / model.pi.sum())


@pytest.mark.parametrize("move", ["beam", "forward-backward"])
@pytest.mark.parametrize(("sticky", "data", "kernel"), SERVED)
def test_finite_models_from_exact_draws(sticky, data, kernel, move):
    franchise = sticky_franchise(hk.FixedWeights(3), sticky, DATA[data], "counts", kernel=kernel)
    assert one_step_p(StateHomesModel(franchise), WHOLE[move], 3000, 12) > 1e-4


BITS = hk.Sequences.from_arrays([[[1, 0], [1, 1], [0, 0]], [[1, 0]]])


def marginal_of_bits(values):
    """Log marginal of two columns under Beta(0.7, 0.4)."""
    log = 0.0
    for d in range(2):
        ones = sum(int(value[d]) for value in values)
        for a, n in ((0.7, ones), (0.4, len(values) - ones)):
            log += math.lgamma(a + n) - math.lgamma(a)
        log -= math.lgamma(1.1 + len(values)) - math.lgamma(1.1)
    return log


def bits_franchise(root, sticky, **options):
    return sticky_franchise(root, sticky, BITS, "counts", measure=hk.BetaBernoulli(0.7, 0.4), **options)


@pytest.mark.parametrize("sticky", [0.0, 1.2])
def test_the_beam_over_another_measure(sticky):
    model = WeightedStateHomesModel(bits_franchise("weights", sticky), marginal_of_bits)
    p_values = one_step_of_points(model, moves.BeamSampler(), 4000, 13)
    assert min(p_values.values()) > 1e-3 / len(p_values), p_values


@pytest.mark.parametrize(
    ("sticky", "move", "kernel"),
    [
        (0.0, "beam", "auto"),
        (1.2, "forward-backward", "auto"),
        (1.2, "beam", "reference"),
    ],
)
def test_states_with_parameters_from_exact_draws(sticky, move, kernel):
    """States, and the parameter of the last one, after one sweep of sequences with a missing observation."""
    data = hk.Sequences.from_arrays([[0, None, 1], [1]])
    step_with_parameters(hk.FixedWeights(3), sticky, data, WHOLE[move], kernel)


def test_parameters_of_states_where_observations_are_missing():
    """An update is given the values that there are."""
    seen = []

    def update(p, values, generator):
        seen.append(sorted(map(float, values)))
        return p

    measure = hk.NonConjugate(lambda x, p: -((x - p) ** 2), lambda g: g.normal(), update=update)
    data = hk.Sequences.from_arrays([[1.0, np.nan, 2.0]])
    franchise = sticky_franchise("weights", 0.0, data, "counts", measure=measure, init="one")
    schedule = [moves.BeamSampler(), moves.DishParameters(), moves.RootWeights()]
    hk.Scheduler(schedule).run(franchise, sweeps=20, rng=1, audit_every=1)
    assert {x for values in seen for x in values} == {1.0, 2.0}


def test_batches_of_numbers_on_several_threads_give_the_chain_of_one(monkeypatch):
    """Short sequences in batches, and long ones in pieces; an error of the measure ends the sweep."""
    monkeypatch.setattr("hdpkit.steps.state_sequences.BATCH", 8)
    monkeypatch.setattr("hdpkit.steps.state_sequences.LONG", 40)
    generator = np.random.default_rng(1)
    arrays = [generator.normal(size=n) for n in (3, 5, 20, 0, 60, 1, 50, 7, 7)]
    data, found = hk.Sequences.from_arrays(arrays), []
    for threads in (1, 3):
        franchise = sticky_franchise("weights", data=data, measure=hk.NormalGamma(0.0, 0.5, 2.0, 1.0))
        schedule = hk.Scheduler([moves.BeamSampler(threads=threads), moves.RootWeights()])
        schedule.run(franchise, sweeps=8, rng=1)
        found.append(franchise.dishes.tolist())
    assert found[0] == found[1]

    def fails(self, values, parameters):
        raise ArithmeticError("no likelihood")

    monkeypatch.setattr(type(franchise.measure), "log_likelihoods", fails)
    with pytest.raises(ArithmeticError, match="no likelihood"):
        schedule.run(franchise, sweeps=1, rng=1, init=None)


@pytest.mark.parametrize("scaled", [False, True])
def test_slices_that_allow_only_what_an_observation_makes_unlikely(scaled):
    """The second observation favours state 1, the third state 0 much more; slices forbid changes."""
    logs = np.array([[0.0, 0.0], [-9000.0, 0.0], [0.0, -20000.0], [-800.0, 0.0]])
    pi = np.array([[0.999, 0.001], [0.001, 0.999], [0.5, 0.5]])
    scaled_logs = scaled_rows(logs)[1] if scaled else None
    for slices, expected in ((True, [0, 0, 0, 0]), (False, [0, 1, 0, 1])):
        states = np.zeros(4, dtype=np.int32)
        paths = StateSequences(states, np.array([0, 4]), (3, 4), slices, 1)
        paths.set_rows(pi)
        if slices:
            assert paths.draw_slices() > 0.001
        paths.draw(0, 1, logs, scaled_logs, np.arange(4, dtype=np.int32), 1)
        assert states[1:].tolist() == expected[1:]
        assert not slices or states[0] == 0


def test_pieces_of_a_long_sequence_give_the_states_of_one():
    """Likelihoods that are computed piece by piece, and twice, and all of them at once."""
    generator, length, n = np.random.default_rng(1), 3 * PIECE + 17, 4
    pi = generator.dirichlet(np.ones(n), size=n + 1)
    logs = generator.normal(size=(length, n))
    index = np.where(generator.random(length) < 0.1, -1, np.arange(length)).astype(np.int32)
    for slices in (False, True):
        ends = []
        for at_once in (True, False):
            states = np.zeros(length, dtype=np.int32)
            paths = StateSequences(states, np.array([0, length]), (3, 4), slices, 1)
            paths.set_rows(pi)
            if slices:
                paths.draw_slices()
            if at_once:
                paths.draw(0, 1, logs, None, index, 1)
            else:
                paths.draw_long(0, lambda first, last: (logs, index[first:last]))
            ends.append(states.tolist())
        assert ends[0] == ends[1]
        assert len(set(ends[0])) == n


@pytest.mark.parametrize(("sticky", "data", "kernel"), SERVED)
def test_splits_and_merges_leave_states_tables_and_overrides_invariant(sticky, data, kernel):
    """Of one state and of two at a time; four customers can have four states."""
    model = StateHomesModel(sticky_franchise(hk.FixedWeights(4), sticky, DATA[data], "counts", kernel=kernel))
    P = check_exact(model, moves.SplitMergeStates(scans=0), reversible=True)
    Q = check_exact(model, moves.SplitMergeStates(scans=0, length=1), reversible=True)
    assert np.abs(P - Q).max() > 0.01  # some are of two states
    check_irreducible(model, Q @ step_matrices(model, moves.TableCounts())[0], "splits, merges and tables")


@pytest.mark.parametrize(
    ("franchise", "move"),
    [
        ((hk.FixedWeights(3), 0.0, TWO), moves.SplitMergeStates(scans=1, length=1)),
        ((hk.FixedWeights(3), 1.2, TWO), moves.SplitMergeStates(scans=1, length=1)),
        ((hk.FixedWeights(4), 0.0, ONE), moves.SplitMergeStates(scans=1)),
    ],
)
def test_scans_before_the_final_one(franchise, move):
    check_exact(StateHomesModel(sticky_franchise(*franchise, "counts")), move, reversible=True)


@pytest.mark.parametrize(("sticky", "discount"), [(0.0, 0.0), (1.2, 0.0), (1.2, 0.3)])
@pytest.mark.parametrize("arrays", [[[0, 1, 1]], [[0, 1], [1]]])
def test_splits_divide_the_weight_of_a_state(arrays, sticky, discount):
    """Detailed balance of states, tables and weights of the root, with the density of the share."""
    data = hk.Sequences.from_arrays(arrays, n_terms=3)
    franchise = sticky_franchise("weights", sticky, data, "counts", d=(discount, 0.0))
    assert check_balance(SplitWeightsModel(franchise), moves.SplitMergeStates(scans=0, length=1)) > 10


@pytest.mark.parametrize(
    ("sticky", "store", "root", "begin"),
    [
        (0.0, "counts", "weights", None),
        (3.0, "counts", "weights", 2.5),
        (0.0, "histogram", "restaurant", None),
    ],
)
def test_transitions_and_the_start_row(sticky, store, root, begin):
    arrays = [[0, 0, 1, 1, 2, 0], [1, 1], [2]]
    data = hk.Sequences.from_arrays(arrays, n_terms=3)
    franchise = sticky_franchise(root, sticky, data, store, begin=begin)
    start(franchise, [0, 0, 1, 1, 2, 0, 1, 1, 2], Streams(0).source(STARTS))
    n = np.array([[1, 1, 0, 0], [0, 2, 1, 0], [1, 0, 0, 0]])
    found, first = franchise.transitions(), franchise.start()
    assert np.allclose(found.sum(axis=1), 1.0)
    weights, rest = franchise.root_weights()
    psi, alpha = np.append(weights, rest), franchise.concentration("state")
    kappa = sticky * np.eye(3, 4)
    assert found == pytest.approx((n + alpha * psi + kappa) / (n.sum(1, keepdims=True) + alpha + sticky))
    of_start = alpha if begin is None else begin
    assert first == pytest.approx((np.array([1, 1, 1, 0]) + of_start * psi) / (3 + of_start))
    assert sample_of(franchise).start() == pytest.approx(first)
    groups = hk.Franchise(hk.Restaurant(hk.DirichletMultinomial(0.5)), hk.Groups.from_labels([0, 1]))
    for method in (groups.transitions, groups.start):
        with pytest.raises(errors.StateError):
            method()
