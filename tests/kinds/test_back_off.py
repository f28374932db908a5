"""Language models as ARPA files: the file read back equals the model."""

import itertools
import math

import pytest

import hdpkit as hk
from hdpkit import errors
from hdpkit.data.files.sentences import read_arpa

TEXT = [["a", "b", "a"], ["c", "a", "b", "<unk>"], ["b", "b", "c", "a"], []]
MORE = [["a", "b", "a", "c"], ["c", "never", "a"], ["b"], ["<unk>", "b", "a"], []]


def exported(tmp_path, order=3, text=TEXT, samples=1, **options):
    model = hk.NGramModel(order, **options).fit(text, sweeps=12, burn_in=2, samples=samples, rng=0)
    model.export_arpa(tmp_path / "model.arpa")
    return model, read_arpa(tmp_path / "model.arpa")


def contexts_of(model, longest):
    symbols = [*model.vocabulary, "<s>", "never"]
    return itertools.chain.from_iterable(itertools.product(symbols, repeat=n) for n in range(longest + 1))


@pytest.mark.parametrize(("order", "store"), [(1, "histogram"), (3, "explicit"), (5, "histogram")])
def test_one_sample_is_the_model_to_the_last_digits(tmp_path, order, store):
    model, arpa = exported(tmp_path, order, store=store)
    for context in contexts_of(model, min(order, 3)):
        for word in [*model.vocabulary, "never"]:
            expected = math.log10(model.probability(word, context))
            assert arpa.log10_probability(word, context) == pytest.approx(expected, abs=1e-12)
    total = sum(
        arpa.log10_probability(word, ["<s>", *sentence][: place + 1])
        for sentence in MORE
        for place, word in enumerate([*sentence, "</s>"])
    )
    assert total * math.log(10) == pytest.approx(sum(map(model.log_probability, MORE)), abs=1e-10)


@pytest.mark.parametrize("order", [1, 3])
def test_an_average_is_right_for_what_occurs_and_sums_to_one(tmp_path, order):
    model, arpa = exported(tmp_path, order, samples=5)
    n_entries = 0
    for listed in arpa.orders:
        for ngram, (log10, _) in listed.items():
            if ngram != ("<s>",):
                expected = math.log10(model.probability(ngram[-1], ngram[:-1]))
                assert log10 == pytest.approx(expected, abs=1e-12)
                n_entries += 1
    assert n_entries >= sum(1 for ngram in itertools.chain(*arpa.orders)) - 1
    unseen = []
    for context in contexts_of(model, order):
        mass = {word: 10 ** arpa.log10_probability(word, context) for word in model.vocabulary}
        assert sum(mass.values()) == pytest.approx(1.0, abs=1e-12)
        unseen += [abs(mass[word] - model.probability(word, context)) for word in mass]
    assert max(unseen) < 0.05  # words that a context hasn't seen are right in sum
    assert order == 1 or max(unseen) > 1e-6


def test_what_is_in_the_file(tmp_path):
    model, arpa = exported(tmp_path, 3)
    assert set(arpa.vocabulary) == {"a", "b", "c", "<unk>", "</s>", "<s>"}
    padded = [["<s>", *sentence, "</s>"] for sentence in TEXT]
    for n in (2, 3):
        ngrams = {tuple(s[i : i + n]) for s in padded for i in range(len(s) - n + 1)}
        assert set(arpa.orders[n - 1]) == ngrams
    assert arpa.orders[0][("<s>",)][0] == -math.inf
    for ngram, (_, weight) in itertools.chain(arpa.orders[0].items(), arpa.orders[1].items()):
        goes_on = any(
            tuple(s[i : i + len(ngram)]) == ngram for s in padded for i in range(len(s) - len(ngram))
        )
        assert (weight is not None) == goes_on
    view = model.restaurant(("a",))
    share = (view.concentration + view.discount * view.n_tables) / (view.concentration + view.n_customers)
    assert 10 ** arpa.orders[0][("a",)][1] == pytest.approx(share, rel=1e-12)


def test_all_that_lies_outside_is_the_unknown_word(tmp_path):
    model, arpa = exported(tmp_path, 2, [["a", "b"]], base=hk.Uniform(100))
    for context in ((), ("a",), ("<s>",), ("never",)):
        outside = 10 ** arpa.log10_probability("never", context)
        assert outside == pytest.approx(model.remainder(context), rel=1e-12)
        assert outside == pytest.approx(97 * model.probability("never", context), rel=1e-12)


@pytest.mark.parametrize(
    ("text", "options", "told"),
    [
        ([[1, 2]], {}, "strings"),
        ([["a b"]], {}, "blanks"),
        ([["<s>"]], {"start": "BOS"}, "symbols of the format"),
        ([["</s>"]], {"end": "EOS"}, "symbols of the format"),
        ([["<unk>", "UNK"]], {"unknown": "UNK"}, "symbols of the format"),
        (hk.NGrams.from_pairs(["a"], [("b",)]), {}, "made of sentences"),
    ],
)
def test_what_the_format_can_t_hold_is_refused(tmp_path, text, options, told):
    with pytest.raises(errors.DataError, match=told):
        exported(tmp_path, 2, text, **options)
    assert list(tmp_path.iterdir()) == []
