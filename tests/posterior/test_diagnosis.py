"""Whether a run has converged, in one sentence."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.kinds.catalog import kind_of_run

RNG = np.random.default_rng(0)


def trace_of(log_joint, n_dishes=None, shares=None, first_sweep=1):
    """A trace with these numbers."""
    trace, n = hk.Trace(), len(log_joint)
    trace.columns()["sweep"] = list(range(first_sweep, first_sweep + n))
    trace.columns()["log_joint"] = list(log_joint)
    trace.columns()["n_dishes"] = list(RNG.integers(5, 9, n) if n_dishes is None else n_dishes)
    shares = np.sort(RNG.dirichlet(np.ones(5), n))[:, ::-1] if shares is None else shares
    trace.columns()["largest_shares"] = list(shares)
    return trace


def noise(n=400, **options):
    return trace_of(RNG.normal(size=n), **options)


def test_chains_that_agree_have_settled():
    found = hk.summaries.diagnose(hk.ChainTrace([noise() for _ in range(3)]))
    assert found.settled
    assert found.reasons == ()
    assert found.readable.light == "grey"
    assert found.quotable.light == "green"
    assert found.advice == ""
    assert str(found) == "\n".join(f"{question} {verdict}" for question, verdict in found.verdicts)
    assert found.sentence.startswith("Converged: over sweeps 201 to 400 of 3 chains R-hat is at most 1.0")
    assert "the log probability, K and the 5 largest shares" in found.sentence
    assert (found.n_chains, found.n_draws, found.after, found.last) == (3, 200, 200, 400)
    assert list(found.table.index) == ["log_joint", "n_dishes", *(f"share_{i}" for i in range(1, 6))]
    assert (found.table["rhat"] < 1.05).all()


def test_few_draws_and_frozen_chains_say_so():
    found = hk.summaries.diagnose(noise(10))
    assert not found.settled
    assert "5 states a chain after burn-in, at least 20 are needed" in found.sentence
    assert "run about 30 more sweeps" in found.sentence
    found = hk.summaries.diagnose(trace_of(np.zeros(60)))
    assert "the log probability never changes" in found.sentence
    assert "add a move that changes K to the schedule" in found.sentence


@pytest.mark.parametrize("draws", [0, 7])
def test_chains_that_were_stopped_early_are_left_out(draws):
    """A run of four chains that was stopped after three of them."""
    rng = np.random.default_rng(3)
    three = [trace_of(rng.normal(size=1000)) for _ in range(3)]
    early = trace_of(rng.normal(size=draws)) if draws else hk.Trace()
    found = hk.summaries.diagnose(hk.ChainTrace([*three, early]))
    assert (found.n_chains, found.n_draws, found.last) == (3, 500, 1000)
    assert found.settled
    assert "3 of 4 chains" in found.sentence
    assert found.quotable.light == "green"
    with pytest.raises(errors.DataError, match="Run some sweeps first"):
        hk.summaries.diagnose(hk.ChainTrace([hk.Trace(), hk.Trace()]))


def test_after_and_the_rule_are_the_readers():
    late = np.where(np.arange(400) < 300, 50.0, 0.0) + RNG.normal(size=400)
    K = np.arange(400) % 4
    assert not hk.summaries.diagnose(trace_of(late, K)).settled
    assert hk.summaries.diagnose(trace_of(late, K), after=300).settled
    strict = hk.ConvergenceRule(ess=10_000.0)
    assert "effective draws" in hk.summaries.diagnose(noise(), rule=strict).sentence
    with pytest.raises(errors.DataError, match="after"):
        hk.summaries.diagnose(noise(), after=400)
    with pytest.raises(errors.DataError):
        hk.summaries.diagnose(hk.Trace())


def continued(folder, sweeps):
    """Two chains of 20 sweeps with samples of the second half, continued for as many sweeps."""
    corpus = hk.Corpus.from_documents(RNG.integers(0, 9, (12, 20)).tolist(), n_terms=9)
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, concentration=1.0, each="document"), corpus)
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])
    scheduler.run(franchise, 20, rng=0, chains=2, samples=5, folder=folder)
    hk.open_run(folder).resume(sweeps)
    return hk.open_run(folder)


@pytest.fixture(scope="module")
def resumed(tmp_path_factory):
    return continued(tmp_path_factory.mktemp("resumed") / "run", 40)


def test_summaries_use_the_states_after_the_burn_in(resumed):
    after = hk.summaries.diagnose(resumed).after
    assert after == 30
    assert {one.sweep for one in resumed.samples} == set(range(12, 61, 2))
    later = set(range(32, 61, 2))
    one_chain = hk.summaries.components(resumed, chain=1)
    alignments = {
        "run": hk.summaries.components(resumed),
        "trace": hk.summaries.components(resumed.trace),
        "components": hk.summaries.components(resumed, similar=0.1),
        "signatures": kind_of_run(resumed).signatures(resumed),
        "one chain": one_chain,
    }
    for name, aligned in alignments.items():
        assert {one.sweep for one in aligned.samples} == later, name
        assert "sweeps 32 to 60" in repr(aligned)
    assert {one.chain for one in one_chain.samples} == {1}
    assert hk.summaries.components(resumed).source == "30 samples of 2 chains (sweeps 32 to 60)"
    every = hk.summaries.components(resumed.samples)  # given by the caller: all of them
    assert len(every.samples) == len(resumed.samples)


def late(n, settles):
    """Log joints of a chain of n sweeps that falls until this sweep and then stays."""
    return RNG.normal(size=n) + 5.0 * np.maximum(settles - np.arange(1, n + 1), 0)


def test_the_samples_of_a_chain_before_it_settled_are_left_out(tmp_path, monkeypatch):
    resumed = continued(tmp_path / "run", 80)
    trace = resumed.trace
    every = [one.sweep for one in trace.chains[1].samples]

    def used(*log_joints):
        for chain, values in zip(trace.chains, log_joints, strict=True):
            chain.columns()["log_joint"] = list(values)
        found = hk.summaries.components(trace)
        return {one.sweep for one in found.samples}

    flat = RNG.normal(size=100)
    assert used(flat, flat) == {sweep for sweep in every if sweep > 50}
    # Chain 1 fell until sweep 65: of both chains the states after it are used.
    first = min(used(flat, late(100, 65)))
    assert 60 < first <= 72
    # The same of a folder, which all commands read.
    monkeypatch.setattr(type(resumed), "trace", property(lambda run: trace))
    assert min(one.sweep for one in hk.summaries.components(resumed).samples) == first
    assert min(one.sweep for one in kind_of_run(resumed).signatures(resumed).samples) == first
    # A chain that never settles: its last quarter is nearest to where it goes.
    assert min(used(flat, late(100, 100))) >= 66
    # The verdict still judges the second half.
    assert hk.summaries.diagnose(trace).after == 50
