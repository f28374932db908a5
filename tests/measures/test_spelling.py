"""The open vocabulary: H over all strings by their spelling, alone and below a franchise over words."""

import itertools
import math

import numpy as np
import pytest
from hdpkit.numerics import exp_each
from one_sample import one_sample_p

import hdpkit as hk
from hdpkit import moves
from hdpkit.kinds.spelling import StringModel
from hdpkit.testing import check_base_measure
from hdpkit.testing.pvalues import SampledTests

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


def test_the_end_of_sentences_is_spelled_but_not_fitted_to():
    with_end = quick().for_data(hk.NGrams.from_sentences([["a", "b"]], order=2))
    without = quick().for_data(hk.NGrams.from_sentences([["a", "b"]], order=2, end=None))
    ordinary = quick().for_data(hk.NGrams.from_sentences([["a", "b", "</s>"]], order=2, end=None))
    assert with_end.log_probability_of("ab") == without.log_probability_of("ab")
    assert with_end.log_probabilities()[2] == without.log_probability_of("</s>") > -math.inf
    assert ordinary.log_probability_of("</s>") > with_end.log_probability_of("</s>") + 10.0


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


def bigrams(measure, sentences=SENTENCES):
    data = hk.NGrams.from_sentences(sentences, order=2)
    root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0), discount=0.4)
    return hk.Franchise(hk.Restaurant(root, concentration=0.5, discount=0.6, each="context 1"), data)


def schedule():
    return hk.Scheduler([moves.TableGibbs(), moves.Concentration()])


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
