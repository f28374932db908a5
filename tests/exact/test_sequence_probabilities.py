"""Sequences of hidden Markov models with the states summed out: enumerated paths, evidence, samples."""

import itertools
import math

import numpy as np
import pytest
from marginals import dirichlet_multinomial_log_marginal
from state_homes_checks import sticky_franchise
from test_hidden_markov import labelled, log_sequences

import hdpkit as hk
from hdpkit import moves
from hdpkit.posterior.hidden_states import Densities, HiddenStates, hidden_states
from hdpkit.random import RandomStream
from hdpkit.steps.state_sequences import scaled_rows


def given_states(n=3, seed=0):
    """Random parameters; one transition and one start are impossible."""
    generator = np.random.default_rng(seed)
    pi = generator.dirichlet(np.ones(n), size=n + 1)
    pi[0, 1] = pi[-1, 0] = 0.0
    pi /= pi.sum(axis=1, keepdims=True)
    logs = generator.normal(scale=2.0, size=(6, n))
    return HiddenStates(pi[-1], pi[:-1], n, lambda values: logs[values]), logs


def paths_of(states, logs, missing):
    """Log joint probability of each path of states with the observations."""
    n = len(states.start)
    found = {}
    for path in itertools.product(range(n), repeat=len(logs)):
        p = [states.start[path[0]]] + [states.transitions[a, b] for a, b in itertools.pairwise(path)]
        if min(p) > 0.0:
            own = math.fsum(logs[t, k] for t, k in enumerate(path) if not missing[t])
            found[path] = math.fsum(map(math.log, p)) + own
    return found


def densities(logs, missing, scaled=False):
    index = np.where(missing, -1, np.arange(len(logs))).astype(np.int32)
    return Densities(logs, index, *(scaled_rows(logs) if scaled else ()))


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("gaps", [[], [2], [0, 5], [0, 1, 2, 3, 4, 5]])
@pytest.mark.parametrize("seed", [0, 1])
def test_the_forward_and_backward_pass_sum_over_all_paths(seed, gaps, scaled):
    states, logs = given_states(seed=seed)
    missing, bounds = np.isin(np.arange(len(logs)), gaps), np.array([0, 6])
    rows = densities(logs, missing, scaled)
    norms, filters = states.filtered(rows, bounds)
    whole = paths_of(states, logs, missing)
    total = np.logaddexp.reduce(list(whole.values()))
    assert norms.sum() == pytest.approx(total, abs=1e-12)
    smoothed = np.zeros((len(logs), 3))
    for path, log in whole.items():
        smoothed[np.arange(len(path)), path] += math.exp(log - total)
    assert np.abs(states.smoothed(filters, bounds) - smoothed).max() < 1e-12
    assert tuple(states.best_paths(rows, bounds)) == max(whole, key=whole.get)
    for t in range(1, len(logs)):
        begun = paths_of(states, logs[:t], missing)
        own = np.array([np.logaddexp.reduce([*(v for p, v in begun.items() if p[-1] == k), -1e300])
                        for k in range(3)])  # fmt: skip
        assert filters[t - 1] == pytest.approx(np.exp(own - np.logaddexp.reduce(own)), abs=1e-12)
        assert norms[:t].sum() == pytest.approx(np.logaddexp.reduce(own), abs=1e-12)


@pytest.mark.parametrize("scaled", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_densities_and_transitions_beyond_the_range_of_doubles(seed, scaled):
    """States that one observation makes impossible in doubles are needed for the next one."""
    generator = np.random.default_rng(seed)
    pi = generator.dirichlet(np.ones(3), size=4)
    pi[0, 1:], pi[1, [0, 2]], pi[2] = [0.0, 1e-300], [1e-280, 0.0], [0.0, 1e-12, 1.0]
    pi /= pi.sum(axis=1, keepdims=True)
    logs = np.round(generator.normal(scale=3000.0, size=(6, 3)), 3)
    logs[2, 1] = -np.inf
    states, missing, bounds = HiddenStates(pi[-1], pi[:-1], 3, None), np.arange(6) == 4, np.array([0, 6])
    whole = paths_of(states, logs, missing)
    total = np.logaddexp.reduce(list(whole.values()))
    norms, filters = states.filtered(densities(logs, missing, scaled), bounds)
    assert norms.sum() == pytest.approx(total, rel=1e-12)
    smoothed = np.zeros((len(logs), 3))
    for path, log in whole.items():
        smoothed[np.arange(len(path)), path] += math.exp(log - total)
    assert np.abs(states.smoothed(filters, bounds) - smoothed).max() < 1e-9
    # In two pieces: the filter between them has the logarithms, too.
    first, last = states.filtered(densities(logs[:3], missing[:3], scaled), np.array([0, 3]))
    rest, _ = states.filtered(densities(logs[3:], missing[3:], scaled), np.array([0, 3]), last[-1])
    assert [*first, *rest] == pytest.approx(norms, rel=1e-12)


@pytest.mark.parametrize("threads", [1, 3])
def test_sequences_are_passed_by_themselves(threads):
    """Several sequences, an empty one and one of several pieces of the filter: bit for bit the same."""
    states, _ = given_states(n=4)
    generator = np.random.default_rng(2)
    offsets = np.array([0, 5, 5, 9006, 9007])
    missing = generator.random(9007) < 0.1
    rows = densities(generator.normal(scale=2.0, size=(9007, 4)), missing)
    norms, filters = states.filtered(rows, offsets, threads=threads)
    smoothed = states.smoothed(filters, offsets, threads)
    path = states.best_paths(rows, offsets, threads)
    last = states.filtered(rows, offsets, every=False, threads=threads)[1]
    assert last[[0, 2, 3]].tolist() == filters[[4, 9005, 9006]].tolist()
    for first, end in ((0, 5), (5, 9006), (9006, 9007)):
        own, bounds = Densities(rows.logs, rows.index[first:end]), np.array([0, end - first])
        alone = states.filtered(own, bounds)
        assert (norms[first:end].tolist(), filters[first:end].tolist()) == (
            alone[0].tolist(),
            alone[1].tolist(),
        )
        assert smoothed[first:end].tolist() == states.smoothed(alone[1], bounds).tolist()
        assert path[first:end].tolist() == states.best_paths(own, bounds).tolist()


ALPHA, GAMMA, ETA = 0.8, 1.5, 0.4


def log_evidence(arrays, kappa):
    """log p(sequences): all partitions of the observations into states, of any number."""
    values = list(itertools.chain(*arrays))
    begins = {sum(map(len, arrays[:j])) for j in range(len(arrays))}
    marginal = dirichlet_multinomial_log_marginal(ETA, 2)
    logs = []
    for z in labelled(len(values)):
        dishes = [[x for x, k in zip(values, z, strict=True) if k == j] for j in range(max(z) + 1)]
        logs.append(log_sequences(z, begins, ALPHA, GAMMA, kappa) + sum(map(marginal, dishes)))
    return np.logaddexp.reduce(logs)


def small(arrays, kappa, root="weights", store="counts"):
    data = hk.Sequences.from_arrays(arrays, n_terms=2)
    above = hk.Restaurant(hk.DirichletMultinomial(ETA), concentration=GAMMA)
    rows = hk.Restaurant(above, concentration=ALPHA, each=hk.PreviousDish(sticky=kappa))
    return hk.Franchise(rows, data, store=store, root=root)


CASES = {
    "plain": (0.0, "weights", "counts"),
    "sticky": (1.2, "weights", "counts"),
    "restaurant": (0.0, "restaurant", "histogram"),
}


@pytest.mark.parametrize("held", [None, [[1], [0, 0]]])
@pytest.mark.parametrize("case", CASES)
def test_log_probability_of_new_sequences_is_a_ratio_of_evidences(case, held):
    """Averaged over a long chain, against the sums over all partitions."""
    kappa, root, store = CASES[case]
    old, new = [[0, 1, 0]], [[0], [1]]
    franchise = small(old, kappa, root, store)
    schedule = [moves.TableGibbs(), *([moves.RootWeights()] if root == "weights" else [])]
    states = hk.Scheduler(schedule).sample(franchise, 1200, rng=1)
    held_out = None if held is None else hk.Sequences.from_arrays(held, n_terms=2)
    found = hk.evaluate(
        states, hk.Sequences.from_arrays(new, n_terms=2), held_out=held_out, particles=1, rng=2
    )
    # Of single sequences: each is averaged by itself.
    for s, log in enumerate(found.group_log_probability.tolist()):
        whole = new[s] if held is None else new[s] + held[s]
        given = old if held is None else [*old, new[s]]
        expected = log_evidence([*old, whole], kappa) - log_evidence(given, kappa)
        assert log == pytest.approx(expected, abs=4.5 * found.standard_error + 1e-3)
    assert found.group_tokens.tolist() == [1, 1] if held is None else [1, 2]
    assert found.method == "forward"
    assert 0.0 < found.standard_error < 0.05


def fitted(kappa=1.2, **options):
    franchise = sticky_franchise("weights", kappa, **options)
    hk.Scheduler([moves.TableGibbs(), moves.RootWeights()]).run(franchise, 5, rng=2)
    return franchise


@pytest.mark.parametrize("kappa", [0.0, 1.2])
def test_mean_parameters_are_those_of_the_readings(kappa):
    """The first observation, by hand."""
    franchise = fitted(kappa)
    row = [franchise.measure.log_predictive(2, [one]) for one in statistics(franchise)]
    expected = math.log(float(franchise.start() @ np.exp(np.ravel(row))))
    found = franchise.state_probabilities(hk.Sequences.from_arrays([[2]], n_terms=3))
    assert found.log_probability[0] == pytest.approx(expected, abs=1e-12)
    # After an observation of a new dish alone, the next state is from the row of a new dish.
    states = hidden_states(franchise, "mean", RandomStream((1, 2)))
    weights, rest = franchise.root_weights()
    alpha = franchise.concentration("state")
    new = np.append(alpha * weights, alpha * rest + kappa) / (alpha + kappa)
    assert states.transitions[-1] == pytest.approx(new, abs=1e-12)


def statistics(franchise):
    slots = franchise.slots.occupied_slots()
    return [*franchise.bank.statistics(slots, franchise.seating.dishes()), franchise.measure.make()]


def test_new_sequences_have_the_law_of_the_readings():
    franchise = fitted()
    K, first = franchise.n_dishes, np.zeros(franchise.n_dishes + 1)
    after = np.zeros_like(first)
    n = 3000
    for seed in range(n):
        arrays, states = franchise.draw_sequences([2, 0, 1], rng=seed)
        assert [len(one) for one in arrays] == [len(one) for one in states] == [2, 0, 1]
        first[min(states[0][0], K)] += 1
        if states[0][0] == 0:
            after[min(states[0][1], K)] += 1
    assert np.all(np.abs(first / n - franchise.start()) < 4.5 * np.sqrt(0.25 / n))
    expected = franchise.transitions()[0]
    assert np.all(np.abs(after / after.sum() - expected) < 4.5 * np.sqrt(0.25 / after.sum()))


def log_ratio(old, given, more):
    return log_evidence([*old, given + more], 0.0) - log_evidence([*old, given] if given else old, 0.0)


@pytest.mark.parametrize("new", [None, [[0, 0], []]])
def test_forecasts_of_terms_are_ratios_of_evidences(new):
    """Probabilities of terms 1 and 2 steps ahead, and those of pairs of drawn values."""
    old = [[0, 1, 0]]
    franchise = small(old, 0.0)
    states = hk.Scheduler([moves.TableGibbs(), moves.RootWeights()]).sample(franchise, 2400, rng=1)
    data = None if new is None else hk.Sequences.from_arrays(new, n_terms=2)
    found = hk.forecast(states, 2, data, draws=6000, rng=2)
    for s, begun in enumerate(old if new is None else new):
        rest = [] if new is None else old
        pairs = np.exp([[log_ratio(rest, begun, [a, b]) for b in (0, 1)] for a in (0, 1)])
        expected = np.array([pairs.sum(axis=1), pairs.sum(axis=0)])
        assert found.probabilities[s] == pytest.approx(expected, abs=0.016)
        drawn = found.draws[:, s]
        counted = [[np.mean((drawn == [a, b]).all(axis=1)) for b in (0, 1)] for a in (0, 1)]
        assert np.array(counted) == pytest.approx(pairs, abs=0.035)
        if new is None:
            assert found.n_parameters[s] == pytest.approx(2400)
        else:
            assert 10.0 < found.n_parameters[s] <= 2400.0 + 1e-6
    assert found.probabilities.sum(axis=-1) == pytest.approx(np.ones((len(found.names), 2)), abs=1e-9)


def test_states_ahead_are_powers_of_the_transitions():
    franchise = fitted()
    found = franchise.state_probabilities(hk.Sequences.from_arrays([[0, 1], []], n_terms=3), horizon=4)
    fixed = hidden_states(franchise, "mean", RandomStream((1, 2)))
    last = found.filtered[1]
    assert found.ahead.shape == (2, 4, franchise.n_dishes + 1)
    for h in range(4):
        expected = last @ np.linalg.matrix_power(fixed.transitions, h + 1)
        assert found.ahead[0, h] == pytest.approx(expected, abs=1e-12)
        expected = fixed.start @ np.linalg.matrix_power(fixed.transitions, h)
        assert found.ahead[1, h] == pytest.approx(expected, abs=1e-12)
    assert found.next.tolist() == found.ahead[:, 0].tolist()


def test_samples_of_a_chain_give_the_scores_of_its_states():
    franchise = small([[0, 1, 0], [1, 1]], hk.Gamma(2.0, 1.0))
    new = hk.Sequences.from_arrays([[0, 1], [], [None, 0]], n_terms=2)
    schedule = hk.Scheduler([moves.TableGibbs(), moves.RootWeights(), moves.Sticky()])
    trace = schedule.run(franchise, 5, rng=1, samples=hk.Samples(after=4))
    now = hk.evaluate(franchise, new, rng=3)
    of_sample = hk.evaluate(franchise, new, samples=trace.samples, rng=3)
    assert of_sample.group_log_probability == pytest.approx(now.group_log_probability, abs=1e-12)
    assert of_sample.group_tokens.tolist() == [2, 0, 1]
    assert of_sample.group_log_probability[1] == 0.0
