"""Reproducible randomness: keyed streams, choice sources, and chains that depend only on the seed."""

import itertools
import math

import numpy as np
import pytest
from hdpkit.steps.fused._document_workspace import philox32
from one_sample import one_sample_p
from states import same_state

import hdpkit as hk
from hdpkit.errors import HdpkitError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.moves import Concentration, DishGibbs, SplitMerge, TableGibbs
from hdpkit.random import STARTS, Purpose, RandomStream, ScriptedSource, Streams, as_source

DOCUMENTS = [[0, 0, 1, 3], [1, 2, 2], [], [3, 3, 0, 2, 2], [1]]


def franchise_of(store: str = "histogram", kernel: str = "auto", discount: float = 0.2) -> Franchise:
    corpus = hk.Corpus.from_documents(DOCUMENTS, n_terms=4)
    root = hk.Restaurant(
        base=hk.DirichletMultinomial(eta=0.5), concentration=hk.Gamma(2.0, 1.0), discount=discount
    )
    return Franchise(
        hk.Restaurant(base=root, concentration=hk.Each(hk.Gamma(2.0, 1.0)), each="document"),
        corpus,
        store=store,
        kernel=kernel,
    )


def schedule() -> hk.Scheduler:
    return hk.Scheduler([TableGibbs(), DishGibbs(), SplitMerge().repeat(2), Concentration()])


def columns(trace: hk.Trace, first: int = 0) -> dict[str, np.ndarray]:
    return {key: trace[key][first:] for key in trace}


def test_the_seed_of_a_trace_gives_the_same_chain():
    for seed in (None, np.random.default_rng(3), np.random.SeedSequence(5), np.int64(9)):
        trace = schedule().run(franchise_of(), 3, rng=seed)
        again = schedule().run(franchise_of(), 3, rng=trace.seed)
        assert same_state(columns(trace), columns(again))
    fresh = [schedule().run(franchise_of(), 1).seed for _ in range(2)]
    assert fresh[0] != fresh[1]


@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_a_chain_does_not_depend_on_who_watches(store):
    plain = franchise_of(store)
    trace = schedule().run(plain, 6, rng=19)

    ticks, draws = [], []
    watchers = {
        "progress": {"progress": ticks.append},
        "callbacks": {"callbacks": [draws.append, lambda draw: draw.franchise.dish_parameters()]},
        "audit_every": {"audit_every": 1},
        "thin": {"thin": 3},
        "record": {"record": {"weights": lambda franchise: franchise.root_weights()[1]}},
        "pieces": {},
    }
    for name, arguments in watchers.items():
        watched = franchise_of(store)
        if name == "pieces":
            for draw in schedule().sample(watched, 6, rng=19):
                watched.log_joint()
                assert draw.sweep == watched.sweep
        else:
            own = schedule().run(watched, 6, rng=19, **arguments)
            step = arguments.get("thin", 1)
            assert all(np.array_equal(own[key], trace[key][step - 1 :: step]) for key in trace), name
        assert same_state(plain.freeze(), watched.freeze()), name
    assert ticks
    assert len(draws) == 6


def test_a_schedule_with_a_further_move_leaves_the_others_their_streams():
    """A move's stream is named by its place and the sweep: what an idle move does can't shift it."""
    idle = SplitMerge().after(100)
    a, b = franchise_of(), franchise_of()
    hk.Scheduler([TableGibbs(), Concentration()]).run(a, 4, rng=23)
    hk.Scheduler([TableGibbs(), Concentration(), idle]).run(b, 4, rng=23)
    assert same_state(a.freeze(), b.freeze())


KEYS = [
    ((0, 0), (0, 0, 0)),
    ((1, 2), (3, 4, 5)),
    ((2**64 - 1, 2**64 - 1), (2**64 - 1, 2**64 - 1, 2**64 - 1)),
    ((0x243F6A8885A308D3, 0x13198A2E03707344), (0, 1 << 63, 7 | 1 << 32)),
]


@pytest.mark.parametrize(("key", "words"), KEYS)
def test_philox_is_numpys_word_for_word(key, words):
    ours = RandomStream(key, words).bit_generator
    numpys = np.random.Philox(
        key=np.array(key, dtype=np.uint64), counter=np.array([0, *words], dtype=np.uint64)
    )
    assert np.array_equal(ours.random_raw(1003), numpys.random_raw(1003))


def philox32_block(counter, key):
    """Salmon et al. 2011, section 3.3, written again."""
    c, k = list(counter), list(key)
    for _ in range(10):
        p0, p1 = c[0] * 0xD2511F53, c[2] * 0xCD9E8D57
        c = [p1 >> 32 ^ c[1] ^ k[0], p1 & 0xFFFFFFFF, p0 >> 32 ^ c[3] ^ k[1], p0 & 0xFFFFFFFF]
        k = [(k[0] + 0x9E3779B9) & 0xFFFFFFFF, (k[1] + 0xBB67AE85) & 0xFFFFFFFF]
    return c


def test_philox_of_32_bits_gives_the_known_words():
    pi = np.array([0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344, 0xA4093822, 0x299F31D0], dtype=np.uint32)
    none = np.zeros(2, dtype=np.uint32)
    known = [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8], [0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1]
    assert philox32(0, 0, none, none)[0].tolist() == known[0]
    found = philox32(int(pi[0]), int(pi[1]), pi[2:4].copy(), pi[4:].copy())
    assert found[0].tolist() == known[1]
    for i, words in enumerate(found.tolist()):
        assert words == philox32_block([int(pi[0]) + i, *map(int, pi[1:4])], list(map(int, pi[4:])))


@pytest.mark.parametrize(("key", "words"), KEYS)
def test_a_generator_on_our_philox_draws_what_numpys_does(key, words):
    ours = RandomStream(key, words).generator
    counter = np.array([0, *words], dtype=np.uint64)
    numpys = np.random.Generator(np.random.Philox(key=np.array(key, dtype=np.uint64), counter=counter))
    for draw in (
        lambda g: g.random(5),
        lambda g: g.integers(0, 1000, size=7, dtype=np.int32),  # leaves half a word behind
        lambda g: g.standard_gamma(0.3, size=5),
        lambda g: g.standard_normal(5),
        lambda g: g.random(3, dtype=np.float32),
        lambda g: g.beta(0.5, 2.0, size=4),
    ):
        assert np.array_equal(draw(ours), draw(numpys))


def test_a_rekeyed_stream_starts_anew_whatever_was_used():
    fresh = RandomStream((5, 6), (7, 8, 9)).generator.random(10)
    for used in range(6):
        stream = RandomStream((1, 1))
        stream.generator.integers(0, 10, size=used, dtype=np.int32)
        stream.rekey(5, 6, 7, 8, 9)
        assert np.array_equal(stream.generator.random(10), fresh)


def test_every_part_of_a_name_names_another_stream():
    names = [
        (seed, chain, place, sweep, unit)
        for seed in (0, 1, 2**127)
        for chain in (0, 1)
        for place in (STARTS, 1, 2)
        for sweep in (0, 1)
        for unit in (0, 1)
    ]
    words = {
        tuple(Streams(seed, chain).source(place, sweep, unit).bit_generator.random_raw(2))
        for seed, chain, place, sweep, unit in names
    }
    assert len(words) == len(names)


def test_a_source_is_passed_through_and_a_seed_is_made_one():
    source = RandomStream((1, 2))
    assert as_source(source) is source
    a, b = (as_source(4).bit_generator.random_raw(3) for _ in range(2))
    assert np.array_equal(a, b)


def _stream_with(first: float, above: bool) -> tuple[int, float]:
    """A key whose first double is beyond a bound, and the double."""
    stream = RandomStream()
    for key in range(200_000):
        stream.rekey(key, 0, 0, 0, 0)
        u = (int(stream.bit_generator.random_raw()) >> 11) / 2**53
        if (u > first) == above:
            return key, u
    raise AssertionError("no such stream")


def test_choose_ends_on_the_last_positive_weight():
    key, u = _stream_with(1 - 1e-4, above=True)
    low, _ = _stream_with(1e-4, above=False)
    stream = RandomStream()
    rng = np.random.default_rng(0)
    for n in range(1, 40):
        weights = np.zeros(n + 7)
        weights[3 : 3 + n] = rng.random(n) + 1e-3
        stream.rekey(key, 0, 0, 0, 0)
        expected = int(np.searchsorted(np.cumsum(weights), u * np.cumsum(weights)[-1], side="right"))
        assert stream.choose(weights) == expected < 3 + n
        stream.rekey(low, 0, 0, 0, 0)
        assert stream.choose(weights) == 3


@pytest.mark.parametrize("scale", [5e-324, 1e-300, 1.0, 1e300])
def test_choose_never_returns_an_index_of_weight_zero(scale):
    weights = np.array([0.0, 1.0, 0.0, 3.0, 2.0, 0.0, 0.0]) * scale
    stream = RandomStream((3, 1))
    counts = np.bincount([stream.choose(weights) for _ in range(6000)], minlength=7)
    assert counts[weights == 0].sum() == 0
    if scale > 1e-310:  # subnormal weights have no room for a threshold between them
        assert one_sample_p(counts[[1, 3, 4]], np.array([1, 3, 2]) / 6) > 1e-4


def test_choose_with_a_total_that_a_subnormal_threshold_reaches():
    # u * 5e-324 rounds to 5e-324 where u > 1/2, and the running sum then never exceeds the threshold.
    stream = RandomStream((3, 2))
    assert {stream.choose([0.0, 5e-324, 0.0, 0.0]) for _ in range(200)} == {1}


def test_index_is_uniform_over_a_range_that_does_not_divide_the_words():
    # With a modulus alone the first third would have probability 1/2 instead of 1/3 ...
    n = 3 * 2**61
    stream = RandomStream((2, 0))
    counts = np.bincount([stream.index(n) // 2**61 for _ in range(6000)], minlength=3)
    assert one_sample_p(counts, np.full(3, 1 / 3)) > 1e-4
    # ... and without the rejection every third value would be twice as likely as its neighbours.
    residues = np.bincount([stream.index(n) % 3 for _ in range(6000)], minlength=3)
    assert one_sample_p(residues, np.full(3, 1 / 3)) > 1e-4


def test_permutations_are_uniform():
    stream = RandomStream((4, 4))
    number = {p: i for i, p in enumerate(itertools.permutations(range(4)))}
    counts = np.bincount([number[tuple(stream.permutation(4).tolist())] for _ in range(4800)], minlength=24)
    assert one_sample_p(counts, np.full(24, 1 / 24)) > 1e-4
    for n in (0, 1, 2, 50):
        drawn = stream.permutation(n)
        assert drawn.dtype == np.int64
        assert sorted(drawn.tolist()) == list(range(n))


def test_bernoulli_and_choose_log():
    stream = RandomStream((6, 6))
    counts = np.bincount([stream.bernoulli(0.3) for _ in range(4000)], minlength=2)
    assert one_sample_p(counts, [0.7, 0.3]) > 1e-4
    assert not any(stream.bernoulli(0.0) for _ in range(1000))
    assert all(stream.bernoulli(p) for p in (1.0, 1.5, math.inf) for _ in range(1000))
    logs = np.log([1.0, 3.0, 2.0]) - 5000.0
    counts = np.bincount([stream.choose_log([-math.inf, *logs]) for _ in range(4000)], minlength=4)
    assert one_sample_p(counts, [0, 1 / 6, 1 / 2, 1 / 3]) > 1e-4


def paths_of(program) -> dict[tuple, float]:
    """Result and probability of every path of a program."""
    source, paths = ScriptedSource(), {}
    while True:
        result = program(source)
        assert source.path not in paths
        paths[source.path] = (result, source.probability)
        if not source.advance():
            return paths


def test_scripts_walk_through_every_path_once():
    def program(source):
        a = source.choose([1.0, 0.0, 2.0, 1.0, 0.0])
        if a == 2:
            return (a, source.bernoulli(0.25), tuple(source.permutation(3)))
        return (a, source.index(3), source.choose_log([0.0, -math.inf, math.log(3.0)]))

    paths = paths_of(program)
    assert len(paths) == 2 * 6 + 2 * 3 * 2
    law: dict[tuple, float] = {}
    for result, probability in paths.values():
        law[result] = law.get(result, 0.0) + probability
    assert len(law) == len(paths)
    assert sum(law.values()) == pytest.approx(1.0, abs=1e-14)
    assert law[2, True, (0, 1, 2)] == pytest.approx(0.5 * 0.25 / 6, abs=1e-15)
    assert law[0, 1, 2] == pytest.approx(0.25 / 3 * 0.75, abs=1e-15)
    assert list(paths) == sorted(paths)


@pytest.mark.parametrize("n", [0, 1, 2, 3, 4, 5])
def test_every_permutation_has_the_same_probability(n):
    paths = paths_of(lambda source: tuple(source.permutation(n).tolist()))
    drawn = [result for result, _ in paths.values()]
    assert sorted(drawn) == list(itertools.permutations(range(n)))
    assert all(p == pytest.approx(1 / math.factorial(n), rel=1e-14) for _, p in paths.values())


def test_a_path_can_be_taken_again_and_a_wrong_one_is_refused():
    source = ScriptedSource([2, 1])
    assert (source.choose([1, 1, 2]), source.index(4)) == (2, 1)
    assert source.path == (2, 1)
    assert source.probability == 0.125
    for script, weights in (([3], [1, 1, 2]), ([-1], [1, 1, 2]), ([1], [1, 0, 2])):
        with pytest.raises(StateError):
            ScriptedSource(script).choose(weights)
    with pytest.raises(StateError, match="Geweke"):
        _ = ScriptedSource().generator


def test_each_purpose_has_words_of_its_own():
    first = {tuple(as_source(4, purpose).bit_generator.random_raw(3)) for purpose in Purpose}
    first.add(tuple(Streams(4).source(STARTS).bit_generator.random_raw(3)))
    first.update(tuple(Streams(4).source(place).bit_generator.random_raw(3)) for place in range(1, 20))
    first.update(tuple(as_source(4, Purpose.EXTEND, calls).bit_generator.random_raw(3)) for calls in (1, 2))
    assert len(first) == len(Purpose) + 1 + 19 + 2
    assert len(set(Purpose)) == len(Purpose.__members__)


def growing(store: str) -> Franchise:
    sentences = [[f"w{i * j % 7}" for i in range(6)] for j in range(8)]
    data = hk.NGrams.from_sentences(sentences, order=2)
    root = hk.Restaurant(hk.Uniform(), concentration=1.0, discount=0.3)
    franchise = Franchise(hk.Restaurant(root, each="context 1", discount=0.5), data, store=store)
    hk.Scheduler([TableGibbs()]).run(franchise, 1, rng=0)
    return franchise


MORE = [["w1", "w2", "w3", "w1", "w5"]] * 6


def again(franchise: Franchise) -> object:
    """The seating after the same sentences have come and gone, with one seed."""
    n = franchise.data.n_sentences
    franchise.extend(franchise.data.plus(MORE), rng=0)
    there = franchise.freeze()["seating"]
    franchise.discard(n, n + len(MORE), rng=0)
    return there


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_a_seed_given_twice_draws_other_words_and_the_whole_is_reproducible(store):
    one, two = growing(store), growing(store)
    assert "seeded_calls" not in one.freeze()  # as it was before there was a count
    before = one.freeze()
    first, other = again(one), again(two)
    assert same_state(first, other)
    assert one._seeded_calls == one.freeze()["seeded_calls"] == one.copy()._seeded_calls == 2
    assert same_state(again(one.copy()), again(two))
    counted = one.freeze()
    states = []
    for calls in (0, 1, 2, 3):
        one.thaw({**before, "seeded_calls": calls})
        states.append(again(one))
    assert same_state(states[0], first)
    assert not all(same_state(states[0], state) for state in states[1:])
    one.thaw(before)
    assert one._seeded_calls == 0
    with pytest.raises(HdpkitError, match="seeded_calls"):
        one.thaw({**counted, "seeded_calls": -1})
