"""Verdicts: what chains have in common, whether they have converged, and which of their states are used."""

import numpy as np
import pytest
from planted_topics import sample_of

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.posterior.comparison.convergence import joint_rhat, nested_rhat
from hdpkit.posterior.readability import agreement, components_of_pieces
from hdpkit.summaries import components, diagnose

N_TERMS, N_GROUPS = 60, 24
LAWS = np.kron(np.eye(12), np.random.default_rng(1).dirichlet(np.full(5, 2.0)))  # without a term in common
SIZES = np.array([300, 200, 150, 120, 100, 80, 50])
ETA = 0.05


def state(chain, sweep, laws, rng):
    """A sample whose dish k has tokens of the planted law laws[k]; document d has mostly dish d modulo K."""
    k = len(laws)
    groups = [rng.multinomial(60, 0.02 + 0.86 * (np.arange(k) == d % k)) for d in range(N_GROUPS)]
    return sample_of(chain, sweep, [LAWS[law] for law in laws], 10 * SIZES[:k], groups, rng, ETA)


def trace_of(log_joint, **columns):
    """A trace with these numbers."""
    trace = hk.Trace()
    given = {"sweep": range(1, len(log_joint) + 1), "log_joint": log_joint, **columns}
    trace.columns().update({name: list(values) for name, values in given.items()})
    return trace


def noise(rng, n=400):
    shares = np.sort(rng.dirichlet(np.ones(5), n))[:, ::-1]
    return trace_of(rng.normal(size=n), n_dishes=rng.integers(5, 9, n), largest_shares=shares)


def chain_of(number, laws, rng, topics=None):
    """A trace with samples of these laws."""
    many = {"n_dishes": rng.integers(5, 9, 400)}
    if topics is not None:
        many = {"n_dishes": rng.integers(topics - 2, topics + 2, 400)}
        many["largest_shares"] = rng.dirichlet(np.full(20, 50.0), 400)
    trace = trace_of(rng.normal(size=400), **many)
    for sweep in range(210, 401, 20):
        trace.keep(state(number, sweep, laws(sweep) if callable(laws) else laws, rng))
    return trace


def chains(*laws, **options):
    rng = np.random.default_rng(0)
    return hk.ChainTrace([chain_of(number, own, rng, **options) for number, own in enumerate(laws)])


def test_chains_with_the_same_topics_can_be_read():
    found = diagnose(chains(range(7), range(7), range(7)))
    assert found.readable.light == "green"
    assert found.readable.figures["shared"] == pytest.approx(1.0)
    assert found.readable.figures["components"] == 7
    assert found.readable.figures["documents"] > 0.9
    assert found.readable.sentence.startswith(
        "Yes: all 7 topics are in all 3 chains (cosine at least 0.8) and hold 100% of the"
    )
    assert "not looked at: scores of left-out words" in found.readable.sentence
    assert found.quotable.light == "green"
    assert found.advice == ""


def test_the_light_follows_the_share_in_common():
    # The laws of sizes 120 to 50 differ: 650 of 1,000 tokens are in common. Then only 300 are.
    part = diagnose(chains(range(7), [0, 1, 2, 8, 9, 10, 11]))
    assert part.readable.light == "amber"
    assert part.readable.figures["shared"] == pytest.approx(0.65, abs=0.01)
    assert part.readable.sentence.startswith(
        "In part: read the topics that the chains share. 3 of the 11 topics"
    )
    none = diagnose(chains(range(7), [0, 7, 8, 9, 10, 11, 6]))
    assert none.readable.light == "red"
    assert none.readable.figures["shared"] == pytest.approx(0.35, abs=0.01)
    # The recorded numbers agree, but intervals are those of components, of which few are in both chains.
    assert none.quotable.light == "red"
    assert none.quotable.figures["settled"] == pytest.approx(0.35, abs=0.01)
    assert "tables mark the others" in none.quotable.sentence
    assert none.advice.startswith("More sweeps alone won't help")
    assert "hk.check_mixing" in none.advice
    # A coarser view is for more topics than it has groups.
    assert "coarser view" not in none.advice
    many = diagnose(chains(range(7), [0, 7, 8, 9, 10, 11, 6], topics=147))
    assert "a coarser view (group_topics, 30 groups)" in many.advice
    assert "another run with fewer, broader topics (eta=0.5)" in many.advice


def test_the_number_of_topics_has_a_verdict_of_its_own():
    rng = np.random.default_rng(0)
    pair = [chain_of(number, range(7), rng, topics=many) for number, many in enumerate((20, 40))]
    found = diagnose(hk.ChainTrace(pair))
    assert (found.readable.light, found.quotable.light, found.number.light) == ("green", "green", "red")
    assert found.advice == ""
    assert found.number.sentence.startswith("No: K, the number of topics, is 19.5 to 39.5")
    assert 19 < found.number.figures["lowest"] < 20


def test_a_component_is_settled_if_the_chains_agree_on_its_share():
    rng = np.random.default_rng(5)
    same = [state(c, s, range(7), rng) for c in range(2) for s in range(6)]
    assert components(same).settled.all()
    assert not components(same[:6]).settled.any()  # one chain can't show whether another would agree
    once = [state(0, s, range(7), rng) for s in range(6)]
    once += [state(1, s, [0, 1, 2, 3, 4, 5, 11], rng) for s in range(6)]
    found = components(once)
    assert found.settled.sum() == 6
    assert list(found.table()["settled"]) == list(found.settled)


def test_topics_that_most_documents_have_are_said():
    apart = diagnose(chains(range(7), [0, 7, 8, 9, 10, 11, 6]))
    assert apart.readable.figures["everywhere"] == 0.0
    assert "hardly distinguish" not in apart.readable.sentence
    same = diagnose(chains([0], [7]))
    assert same.readable.figures["everywhere"] == 1.0
    assert "100% of the tokens are in topics that most documents have" in same.readable.sentence
    assert "narrower topics" in same.advice
    assert "eta=0.5" not in same.advice


def test_documents_without_tokens_and_topics_of_half_of_the_documents():
    corpus = hk.Corpus.from_documents([[0, 1, 0], [], [2, 3, 3], [0, 1]] * 5, n_terms=4)
    found = hk.TopicModel(sweeps=80, random_state=0).fit(corpus).diagnosis_.readable
    assert found.figures["perplexity_highest"] < 4.0
    assert found.figures["everywhere"] == 0.0


def test_one_chain_is_never_green_and_its_halves_show_a_change():
    rng = np.random.default_rng(0)
    same = diagnose(chain_of(0, range(7), rng))
    assert (same.readable.light, same.quotable.light) == ("amber", "amber")
    assert "both halves of the chain" in same.readable.sentence
    assert "One chain can't show whether another would find the same topics" in same.readable.sentence
    assert same.advice.startswith("Begin again with several chains")
    changing = diagnose(chain_of(0, lambda sweep: range(7) if sweep < 300 else range(5, 12), rng))
    assert changing.readable.light == "red"
    assert "still changing" in changing.readable.sentence


def test_shared_components_need_a_cosine_between_the_means_of_the_pieces():
    rng = np.random.default_rng(5)
    pieces = [[state(number, s, range(7), rng) for s in range(4)] for number in range(2)]
    assert components_of_pieces(pieces).in_all_chains.tolist() == list(range(7))
    aligned = components([one for piece in pieces for one in piece])
    assert len(aligned.agreed(chains=1.0, cosine=0.8)) == 7
    assert len(aligned.agreed(chains=1.0, cosine=1.0 - 1e-9)) == 0
    # A component that only a quarter of a piece's samples have isn't shared.
    pieces[1][1:] = [state(1, s, [0, 1, 2, 3, 4, 5, 11], rng) for s in range(1, 4)]
    every = components_of_pieces(pieces)
    agreed = every.selected(every.in_all_chains)
    assert len(agreed) == 6
    assert agreed.shares.sum() == pytest.approx(0.95, abs=0.01)


def test_scores_of_left_out_words_tell_a_chain_that_predicts_worse():
    rng = np.random.default_rng(2)
    home = np.arange(N_GROUPS) % 7
    counts = np.array([rng.multinomial(60, LAWS[k]) for k in home])
    corpus = hk.Corpus.from_counts(counts)
    good, bad = state(0, 1, range(7), rng), state(1, 1, [0, 1, 2, 3, 9, 11, 10], rng)
    found = agreement([[good], [bad]], False, corpus)
    assert len(found.perplexities) == 2
    assert found.perplexities[0] * 1.05 < found.perplexities[1]
    assert not found.alike
    assert agreement([[good], [state(1, 1, range(7), rng)]], False, corpus).alike
    # The topics have learned from these documents, but the score is that of words they have not seen:
    # the perplexity of a token of its law is a lower limit.
    law = np.exp(-np.mean([counts[d] @ np.log(LAWS[k] + 1e-9) / 60 for d, k in enumerate(home)]))
    assert found.perplexities[0] > 0.9 * law


def test_nested_r_hat_is_the_plain_one_where_each_chain_has_a_state_of_its_own():
    rng = np.random.default_rng(0)
    values = rng.normal(size=(200, 40))
    assert nested_rhat(values, 1) == pytest.approx(1.0, abs=0.02)
    assert nested_rhat(values, 10) == pytest.approx(1.0, abs=0.02)
    # One draw of each chain: within a state they vary, between states they don't.
    one = rng.normal(size=(256, 1))
    assert nested_rhat(one, 32) == pytest.approx(1.0, abs=0.05)
    apart = one + np.repeat(np.arange(8.0), 32)[:, None]
    assert nested_rhat(apart, 32) > 1.5
    assert joint_rhat(rng.normal(size=(4, 100))) < 1.05
    assert np.isnan(nested_rhat(np.ones((8, 2)), 4))


def short_chains(log_joints):
    """Traces of two sweeps, of which the last is used."""
    return hk.ChainTrace([trace_of([0.0, value]) for value in log_joints])


def test_many_short_chains_from_some_states_are_judged_by_the_nested_r_hat():
    rng = np.random.default_rng(0)
    groups = [short_chains(rng.normal(size=64)) for _ in range(8)]
    found = diagnose(groups)
    assert found.settled
    assert found.quotable.light == "green"
    assert found.n_chains == 512
    apart = [short_chains(rng.normal(size=64) + 3.0 * i) for i in range(8)]
    assert diagnose(apart).quotable.light == "red"
    with pytest.raises(errors.DataError, match="equally many chains"):
        diagnose([groups[0], short_chains(np.zeros(3))])
    with pytest.raises(errors.DataError, match="two traces"):
        diagnose(groups[:1])


def test_chains_that_agree_have_settled():
    rng = np.random.default_rng(0)
    found = diagnose(hk.ChainTrace([noise(rng) for _ in range(3)]))
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
    found = diagnose(noise(np.random.default_rng(0), 10))
    assert not found.settled
    assert "5 states a chain after burn-in, at least 20 are needed" in found.sentence
    assert "run about 30 more sweeps" in found.sentence
    found = diagnose(trace_of(np.zeros(60), n_dishes=np.arange(60) % 4))
    assert "the log probability never changes" in found.sentence
    assert "add a move that changes K to the schedule" in found.sentence


@pytest.mark.parametrize("draws", [0, 7])
def test_chains_that_were_stopped_early_are_left_out(draws):
    """A run of four chains that was stopped after three of them."""
    rng = np.random.default_rng(3)
    three = [noise(rng, 1000) for _ in range(3)]
    early = noise(rng, draws) if draws else hk.Trace()
    found = diagnose(hk.ChainTrace([*three, early]))
    assert (found.n_chains, found.n_draws, found.last) == (3, 500, 1000)
    assert found.settled
    assert "3 of 4 chains" in found.sentence
    assert found.quotable.light == "green"
    with pytest.raises(errors.DataError, match="Run some sweeps first"):
        diagnose(hk.ChainTrace([hk.Trace(), hk.Trace()]))


def test_after_and_the_rule_are_the_readers():
    rng = np.random.default_rng(0)
    late = np.where(np.arange(400) < 300, 50.0, 0.0) + rng.normal(size=400)
    trace = trace_of(late, n_dishes=np.arange(400) % 4)
    assert not diagnose(trace).settled
    assert diagnose(trace, after=300).settled
    strict = hk.ConvergenceRule(ess=10_000.0)
    assert "effective draws" in diagnose(noise(rng), rule=strict).sentence
    with pytest.raises(errors.DataError, match="after"):
        diagnose(noise(rng), after=400)
    with pytest.raises(errors.DataError):
        diagnose(hk.Trace())


def continued(folder, sweeps):
    """Two chains of 20 sweeps with samples of the second half, continued for as many sweeps."""
    corpus = hk.Corpus.from_documents(np.random.default_rng(0).integers(0, 9, (12, 20)).tolist(), n_terms=9)
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
    after = diagnose(resumed).after
    assert after == 30
    assert {one.sweep for one in resumed.samples} == set(range(12, 61, 2))
    later = set(range(32, 61, 2))
    one_chain = components(resumed, chain=1)
    alignments = {
        "run": components(resumed),
        "trace": components(resumed.trace),
        "components": components(resumed, similar=0.1),
        "one chain": one_chain,
    }
    for name, aligned in alignments.items():
        assert {one.sweep for one in aligned.samples} == later, name
        assert "sweeps 32 to 60" in repr(aligned)
    assert {one.chain for one in one_chain.samples} == {1}
    assert components(resumed).source == "30 samples of 2 chains (sweeps 32 to 60)"
    every = components(resumed.samples)  # given by the caller: all of them
    assert len(every.samples) == len(resumed.samples)


def late(n, settles):
    """Log joints of a chain of n sweeps that falls until this sweep and then stays."""
    return np.random.default_rng(1).normal(size=n) + 5.0 * np.maximum(settles - np.arange(1, n + 1), 0)


def test_the_samples_of_a_chain_before_it_settled_are_left_out(tmp_path, monkeypatch):
    resumed = continued(tmp_path / "run", 80)
    trace = resumed.trace
    every = [one.sweep for one in trace.chains[1].samples]

    def used(*log_joints):
        for chain, values in zip(trace.chains, log_joints, strict=True):
            chain.columns()["log_joint"] = list(values)
        found = components(trace)
        return {one.sweep for one in found.samples}

    flat = np.random.default_rng(0).normal(size=100)
    assert used(flat, flat) == {sweep for sweep in every if sweep > 50}
    # Chain 1 fell until sweep 65: of both chains the states after it are used.
    first = min(used(flat, late(100, 65)))
    assert 60 < first <= 72
    # The same of a folder, which all commands read.
    monkeypatch.setattr(type(resumed), "trace", property(lambda run: trace))
    assert min(one.sweep for one in components(resumed).samples) == first
    # A chain that never settles: its last quarter is nearest to where it goes.
    assert min(used(flat, late(100, 100))) >= 66
    # The verdict still judges the second half.
    assert diagnose(trace).after == 50
