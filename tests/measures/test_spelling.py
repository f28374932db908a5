"""The open vocabulary: H over all strings by their spelling, alone and below a franchise over words."""

import itertools
import math
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from hdpkit.numerics import exp_each

import hdpkit as hk
from hdpkit import moves
from hdpkit.kinds import spelling
from hdpkit.kinds.spelling import StringModel
from hdpkit.testing import check_base_measure
from hdpkit.testing.pvalues import SampledTests, one_sample_p

FAMILY = SampledTests()
FAMILY.register("strings drawn")

VERBS = [
    "walk",
    "walked",
    "walking",
    "talk",
    "talked",
    "talking",
    "jump",
    "jumped",
    "jumping",
    "look",
    "looked",
]
SENTENCES = [["she", "walked"], ["he", "walked", "and", "talked"], ["she", "was", "talking"], []]


def quick(**options):
    return hk.Spelling(**{"order": 3, "sweeps": 6, "samples": 3, **options})


def strings(alphabet, longest):
    """All strings up to a length."""
    return ["".join(s) for n in range(longest + 1) for s in itertools.product(alphabet, repeat=n)]


def corpus(words):
    """Data whose vocabulary are these words."""
    return hk.Corpus.from_documents([list(range(len(words)))], vocabulary=words)


# ---------------------------------------------------------------------- H, checked by hand


def test_order_one_by_hand():
    """Every symbol of "ab" occurs once, at a table of its own."""
    theta, d, h = 0.7, 0.3, 1.0 / (0x110000 + 1)
    measure = hk.Spelling(1, words=["ab"], concentrations=theta, discounts=d, sweeps=3, samples=2)
    known, new = (1.0 - d + (theta + 3 * d) * h) / (theta + 3), (theta + 3 * d) * h / (theta + 3)
    expected = {
        "ab": known**3,
        "": known,
        "bbb": known**4,
        "aé": new * known**2,
        "\ud800\U0010ffff": new**2 * known,
    }
    for word, p in expected.items():
        assert measure.log_probability_of(word) == pytest.approx(math.log(p), abs=1e-12), word


def test_order_two_by_hand():
    """The word "a" twice makes two restaurants (start; a) with one customer each, and two tables above."""
    theta, d, h = (0.7, 1.3), (0.3, 0.6), 1.0 / 3
    measure = hk.Spelling(
        2, words=["a"], concentrations=theta, discounts=d, alphabet="ab", sweeps=2, samples=2
    )
    share = (theta[0] + 2 * d[0]) / (theta[0] + 2)
    root = {"a": (1.0 - d[0]) / (theta[0] + 2) + share * h, "b": share * h}
    root["end"] = root["a"]
    back = (theta[1] + d[1]) / (theta[1] + 1)
    first = {c: back * root[c] + (1.0 - back) * (c == "a") for c in root}  # after the start
    after_a = {c: back * root[c] + (1.0 - back) * (c == "end") for c in root}
    expected = {
        "": first["end"],
        "a": first["a"] * after_a["end"],
        "ab": first["a"] * after_a["b"] * root["end"],  # nobody came after "b"
        "aab": first["a"] * after_a["a"] * after_a["b"] * root["end"],
    }
    for word, p in expected.items():
        assert measure.log_probability_of(word) == pytest.approx(math.log(p), abs=1e-12), word
    assert measure.log_probability_of("ac") == -math.inf


def test_samples_are_averaged():
    """The same chain, run by hand over the same base: uniform over the characters that occur."""
    words = sorted(VERBS)
    symbols = sorted(set("".join(words)))
    measure = hk.Spelling(2, words=words, alphabet="".join(symbols), sweeps=8, samples=2, seed=3)
    data = hk.NGrams.from_sentences(map(list, words), order=2)
    priors = {"concentration": hk.Gamma(1.0, 1.0), "discount": hk.Beta(1.0, 1.0)}
    franchise = hk.Franchise(
        hk.Restaurant(hk.Restaurant(hk.Uniform(), **priors), each="context 1", **priors), data
    )
    schedule = hk.Scheduler([moves.TableGibbs(), moves.Concentration(), moves.Discount()])
    asked, found = ["walk", "lamp", ""], []
    for draw in schedule.sample(franchise, 8, rng=3):
        if draw.sweep in (6, 8):
            rows = {
                key[0]: franchise.restaurant("context 1", key).probabilities()
                for key in franchise.keys("context 1")
            }
            found.append([])
            for word in asked:
                path = zip(("<s>", *word), (*word, "</s>"), strict=True)
                found[-1].append(math.prod(rows[before][data.word_id(c)] for before, c in path))
    expected = np.log(np.mean(found, axis=0))
    assert [measure.log_probability_of(word) for word in asked] == pytest.approx(expected, abs=1e-10)


# ---------------------------------------------------------------------- H is a distribution


@pytest.mark.parametrize("order", [1, 3])
def test_all_strings_sum_to_one(order):
    """The longer the strings that are added up, the less is left: a constant factor less for each length."""
    declared = quick(order=order, alphabet="ab", words=["a", "ab", "b", "aa", ""])
    left = []
    for longest in range(12):
        ready = declared.for_data(corpus(strings("ab", longest)))
        total = math.fsum(np.exp(ready.log_probabilities()))
        assert total < 1.0
        assert ready.remainder == pytest.approx(1.0 - total, abs=1e-12)
        left.append(1.0 - total)
    ratios = np.array(left[1:]) / np.array(left[:-1])
    assert ratios.max() < 0.8  # so the remainder tends to 0
    assert left[-1] < 0.02


def test_strings_are_drawn_from_h():
    measure = quick(alphabet="ab", words=["a", "ab", "b", "aa", "abab"])
    short = strings("ab", 4)
    law = np.exp([measure.log_probability_of(word) for word in short])

    def run(scale, seed):
        drawn = measure.sample(4000 * scale, rng=seed)
        counts = [drawn.count(word) for word in short]
        return one_sample_p([*counts, len(drawn) - sum(counts)], [*law, 1.0 - law.sum()])

    FAMILY.check("strings drawn", run)


# ---------------------------------------------------------------------- spelling


def test_strings_are_scored_in_pieces(monkeypatch):
    measure = quick(words=VERBS, alphabet="".join(sorted(set("".join(VERBS)))))
    words = ["walk" * 40, "", "a", "zebra", *VERBS]
    whole = [measure.log_probability_of(word) for word in words]
    assert whole[3] == -math.inf
    together = measure._ready().model.log_probabilities
    assert np.array_equal(together(words), whole)
    for chunk in (1, 7):
        monkeypatch.setattr(spelling, "_CHUNK", chunk)
        assert together(words) == pytest.approx(whole, rel=1e-13)


def test_the_end_of_sentences_is_spelled_but_not_fitted_to():
    with_end = quick().for_data(hk.NGrams.from_sentences([["a", "b"]], order=2))
    without = quick().for_data(hk.NGrams.from_sentences([["a", "b"]], order=2, end=None))
    ordinary = quick().for_data(hk.NGrams.from_sentences([["a", "b", "</s>"]], order=2, end=None))
    assert with_end.log_probability_of("ab") == without.log_probability_of("ab")
    assert with_end.log_probabilities()[2] == without.log_probability_of("</s>") > -math.inf
    assert ordinary.log_probability_of("</s>") > with_end.log_probability_of("</s>") + 10.0


# ---------------------------------------------------------------------- what H depends on


def test_h_depends_on_words_arguments_and_seed_alone():
    h = quick(words=VERBS).log_probabilities()
    assert np.array_equal(quick(words=VERBS).log_probabilities(), h)
    backwards = quick(words=VERBS[::-1]).log_probabilities()
    assert np.array_equal(backwards[::-1], h)
    assert not np.array_equal(quick(words=VERBS, seed=1).log_probabilities(), h)
    data = hk.NGrams.from_sentences([VERBS[::-1]], order=2)
    of_data = quick().for_data(data)
    assert np.array_equal(of_data.log_probabilities()[: len(VERBS)][::-1], h)
    assert not h.flags.writeable


def test_threads_share_a_model():
    measure = quick(words=VERBS)
    words = [word + "s" * n for n, word in enumerate(VERBS)] * 20
    expected = [measure.log_probability_of(word) for word in words]
    with ThreadPoolExecutor(4) as threads:
        assert list(threads.map(measure.log_probability_of, words)) == expected


# ---------------------------------------------------------------------- below a franchise over words


def bigrams(measure, sentences=SENTENCES):
    data = hk.NGrams.from_sentences(sentences, order=2)
    root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0), discount=0.4)
    return hk.Franchise(hk.Restaurant(root, concentration=0.5, discount=0.6, each="context 1"), data)


def schedule():
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration()])


def test_predictives_sum_to_one_over_all_strings():
    franchise = bigrams(quick())
    schedule().run(franchise, sweeps=3, rng=0)
    data, snapshot, measure = franchise.data, franchise.snapshot(), franchise.measure
    assert math.fsum(np.exp(measure.log_probabilities())) + measure.remainder == pytest.approx(1.0, abs=1e-12)
    for node in range(franchise.topology.n_nodes):
        row = snapshot.row(node)
        assert row.shape == (data.n_terms + 1,)
        assert row.sum() == pytest.approx(1.0, abs=1e-12)
        nodes, nobody = np.full(2, node, np.int32), np.full(2, -1, np.int32)
        above = np.exp([measure.log_probability_of(word) for word in ("walking", "gnilaw")])
        new = snapshot.probabilities(nodes, nobody, above)
        assert new / above == pytest.approx(
            row[-1] / measure.remainder, rel=1e-9
        )  # one share for all new words
        assert new[0] > new[1] > 0.0


def test_exact_kernels():
    report = check_base_measure(quick(words=["a", "ab", "b"], sweeps=2, samples=2))
    assert sum("exact" in line for line in report) > 10


def test_a_longer_text_brings_new_words(monkeypatch):
    more = [["she", "jumped"], ["he", "jumps"]]
    franchise = bigrams(quick())
    schedule().run(franchise, sweeps=2, rng=0)
    before = franchise.measure
    franchise.extend(franchise.data.plus(more), rng=1)
    franchise.audit()
    after = franchise.measure
    assert after.n_terms == before.n_terms + 2
    assert not np.array_equal(after.log_probabilities()[: before.n_terms], before.log_probabilities())
    anew = bigrams(quick(), SENTENCES + more).measure
    word = franchise.data.word_id("jumps")
    assert after.log_probabilities()[word] == anew.log_probability_of("jumps")
    assert np.array_equal(franchise.bank.base, [*exp_each(after.log_probabilities()), after.remainder])
    schedule().run(franchise, sweeps=2, init=None, audit_every=1)

    fixed = bigrams(quick(words=VERBS))
    schedule().run(fixed, sweeps=2, rng=0)
    before = fixed.measure
    monkeypatch.setattr(StringModel, "fitted", None)
    fixed.extend(fixed.data.plus(more), rng=1)
    assert np.array_equal(fixed.measure.log_probabilities()[: before.n_terms], before.log_probabilities())
    assert fixed.measure.remainder < before.remainder
    fixed.discard(1, 2, rng=0)
    fixed.copy().audit()


def test_a_run_folder_keeps_all_arguments(tmp_path):
    given = {
        "order": 2, "concentrations": [hk.Gamma(2.0, 1.0), 0.5], "discounts": (0.1, 0.2), "words": VERBS,
        "sweeps": 4, "samples": 2, "seed": 7, "store": "explicit", "alphabet": "adeghijklmnopstuw</>",
    }  # fmt: skip
    hk.Scheduler([moves.TableGibbs()]).run(bigrams(hk.Spelling(**given)), 2, rng=0, folder=tmp_path / "run")
    declared = hk.open_run(tmp_path / "run").franchise().declarations[-1].measure
    found = {name: getattr(declared, name) for name in given}
    assert found == {**given, "concentrations": (hk.Gamma(2.0, 1.0), 0.5), "words": tuple(VERBS)}


def test_a_language_model_scores_new_words_of_any_length():
    model = hk.NGramModel(2, base=quick()).fit(SENTENCES, sweeps=4, burn_in=2, samples=2, rng=0)
    scores = model.score([["she", "wa" * 500, "walking"]])
    assert scores.n_unpredicted == 0
    share = model.remainder(("she",)) / model.franchise.measure.remainder
    expected = math.log(share) + model.franchise.measure.log_probability_of("wa" * 500)
    assert scores.log_probability[1] == pytest.approx(expected, rel=1e-12)
    assert expected < -1000.0  # exp is 0
    known, new, end = math.log(model.probability("she", ("<s>",))), expected, scores.log_probability[3]
    assert scores.log_probability[0] == pytest.approx(known, rel=1e-12)
    assert scores.log_probability[2] == pytest.approx(
        math.log(model.probability("walking", ("wa" * 500,))), rel=1e-12
    )
    assert model.log_probability(["she", "wa" * 500]) == pytest.approx(
        known + new + math.log(model.probability("</s>", ("wa" * 500,))), rel=1e-12
    )
    assert np.isfinite([end, model.perplexity([["she", "wä"]])]).all()
