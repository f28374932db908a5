"""The baseline of language models, `benchmarks/kneser_ney.py`: a text worked by hand, general properties."""

import gzip
import importlib.util
import math
import subprocess
import sys
from collections import Counter
from fractions import Fraction as F
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

SCRIPT = Path(__file__).resolve().parents[2] / "benchmarks" / "kneser_ney.py"
spec = importlib.util.spec_from_file_location("kneser_ney", SCRIPT)
kneser_ney = importlib.util.module_from_spec(spec)
spec.loader.exec_module(kneser_ney)
ModifiedKneserNey = kneser_ney.ModifiedKneserNey

# The text and all that follows from it, by hand. 22 things to predict: 15 words, 7 ends.
TEXT = [line.split() for line in ("c d d", "b d d a", "c", "a", "c", "d d", "d d d")]
HELD_OUT = [["d", "d"], ["a"]]
WORDS = ("a", "b", "c", "d", "</s>")  # V = 5

# Counts of the text.
TEXT_1 = {"a": 2, "b": 1, "c": 3, "d": 9, "</s>": 7}
TEXT_2 = {
    "<s> a": 1, "<s> b": 1, "<s> c": 3, "<s> d": 2, "a </s>": 2, "b d": 1,
    "c d": 1, "c </s>": 2, "d a": 1, "d d": 5, "d </s>": 3,
}  # fmt: skip
TEXT_3 = {
    "<s> a </s>": 1, "<s> b d": 1, "<s> c d": 1, "<s> c </s>": 2, "<s> d d": 2, "b d d": 1,
    "c d d": 1, "d a </s>": 1, "d d a": 1, "d d d": 1, "d d </s>": 3,
}  # fmt: skip
# Different left neighbours: of a {<s>, d}, b {<s>}, c {<s>}, d {<s>, b, c, d}, </s> {a, c, d}.
LEFT_1 = {"a": 2, "b": 1, "c": 1, "d": 4, "</s>": 3}
# The same for pairs (d d after <s>, b, c, d; a </s> after <s>, d); those that begin with <s> keep the text's.
LEFT_2 = {
    "<s> a": 1, "<s> b": 1, "<s> c": 3, "<s> d": 2, "a </s>": 2, "b d": 1,
    "c d": 1, "c </s>": 1, "d a": 1, "d d": 4, "d </s>": 1,
}  # fmt: skip

# By order of the model, for each of its levels: the counts used, n1 to n4, D1 to D3+.
LEVELS = {
    1: [(TEXT_1, (1, 1, 1, 0), (F(1, 3), F(1), F(3)))],  # Y = 1/3
    2: [
        (LEFT_1, (2, 1, 1, 1), (F(1, 2), F(1, 2), F(1))),  # Y = 1/2
        (TEXT_2, (5, 3, 2, 0), (F(5, 11), F(12, 11), F(3))),  # Y = 5/11
    ],
    3: [
        (LEFT_1, (2, 1, 1, 1), (F(1, 2), F(1, 2), F(1))),
        (LEFT_2, (7, 2, 1, 1), (F(7, 11), F(23, 22), F(5, 11))),  # Y = 7/11
        (TEXT_3, (8, 2, 1, 0), (F(2, 3), F(1), F(3))),  # Y = 2/3
    ],
}

# Interpolation weights: the discounts of what was seen after a context over its total count.
WEIGHTS = {
    1: {"": (F(1, 3) + 1 + 3 * 3) / 22},
    2: {
        "": (2 * F(1, 2) + F(1, 2) + 2 * 1) / 11,
        "<s>": (2 * F(5, 11) + F(12, 11) + 3) / 7,
        "a": F(12, 11) / 2,
        "b": F(5, 11) / 1,
        "c": (F(5, 11) + F(12, 11)) / 3,
        "d": (F(5, 11) + 3 + 3) / 9,
    },
    3: {
        "": F(7, 22),
        "<s>": (2 * F(7, 11) + F(23, 22) + F(5, 11)) / 7,
        "a": F(23, 22) / 2,
        "b": F(7, 11) / 1,
        "c": (2 * F(7, 11)) / 2,
        "d": (2 * F(7, 11) + F(5, 11)) / 6,
        "<s> a": F(2, 3) / 1,
        "<s> b": F(2, 3) / 1,
        "<s> c": (F(2, 3) + 1) / 3,
        "<s> d": F(1) / 2,
        "b d": F(2, 3) / 1,
        "c d": F(2, 3) / 1,
        "d a": F(2, 3) / 1,
        "d d": (2 * F(2, 3) + 3) / 5,
        "d </s>": F(1),  # nothing follows a sentence's end,
        "a b": F(1),  # nor what isn't in the text
    },
}

# Probabilities of a, b, c, d, </s> after some contexts.
UNIGRAM = [F(n, 110) for n in (22, 12, 12, 37, 27)]  # (count - D)/11 + 7/22/5, for models of order 2 and 3
AFTER_D = [F(n, 7260) for n in (858, 228, 228, 4993, 953)]  # order 3: (count - D)/6 + 19/66 of the unigram's
DISTRIBUTIONS = {
    1: {"": [F(n, 330) for n in (46, 41, 31, 121, 91)]},  # (count - D)/22 + 31/66/5
    2: {
        "": UNIGRAM,
        "<s>": [F(n, 154) for n in (34, 24, 12, 57, 27)],  # (count - D)/7 + 5/7 of the unigram's
        # (count - D)/9 + 71/99 of the unigram's
        "d": [F(n, 10890) for n in (2222, 852, 852, 5047, 1917)],
        "d d": [F(n, 10890) for n in (2222, 852, 852, 5047, 1917)],
    },
    3: {
        "": UNIGRAM,
        "d": AFTER_D,
        "d d": [F(n, 108900) for n in (18414, 2964, 2964, 72169, 12389)],  # (count - D)/5 + 13/15 of d's
        "<s> d": [F(n, 14520) for n in (858, 228, 228, 12253, 953)],  # (count - D)/2 + 1/2 of d's
        "a d": AFTER_D,  # a d isn't in the text
        "a b": [F(n, 1210) for n in (154, 84, 84, 699, 189)],  # (count - D)/1 + 7/11 of the unigram's
    },
}

# p of the held-out words: d d </s>, then a </s>, the sentences' starts known.
HELD_OUT_TOKENS = {
    1: [F(121, 330), F(121, 330), F(91, 330), F(46, 330), F(91, 330)],
    2: [F(57, 154), F(5047, 10890), F(1917, 10890), F(34, 154), F(10, 22) + F(6, 11) * F(27, 110)],
    3: [F(4567, 16940), F(12253, 14520), F(12389, 108900), F(101, 770), F(10702, 14520)],
}


def test_the_text_by_hand():
    for order, levels in LEVELS.items():
        model = ModifiedKneserNey(order).fit(TEXT)
        assert model.fallbacks == []
        assert sorted(model.vocabulary) == sorted(WORDS)
        for level, (counts, n, discounts) in zip(model.levels, levels, strict=True):
            seen = {gram: model.count(gram.split()) for gram in counts}
            assert seen == counts
            assert level.counts.sum() == sum(counts.values())  # and there are no others
            assert tuple(level.counts_of_counts) == n
            assert level.discounts == pytest.approx([float(d) for d in discounts], rel=1e-14)
        for context, weight in WEIGHTS[order].items():
            assert model.weight(context.split()) == pytest.approx(float(weight), rel=1e-14), context
        for context, distribution in DISTRIBUTIONS[order].items():
            assert sum(distribution) == 1
            for word, p in zip(WORDS, distribution, strict=True):
                assert model.probability(word, context.split()) == pytest.approx(float(p), rel=1e-14)
        tokens = HELD_OUT_TOKENS[order]
        log_p = [math.log(p) for p in tokens]
        assert model.log_probabilities(HELD_OUT) == pytest.approx(log_p, rel=1e-13)
        assert model.log_probability(["d", "d"]) == pytest.approx(sum(log_p[:3]), rel=1e-13)
        assert model.perplexity(HELD_OUT) == pytest.approx(float(math.prod(tokens)) ** (-1 / 5), rel=1e-13)


def test_words_that_the_text_has_not():
    model = ModifiedKneserNey(2, vocabulary=["e", "a"]).fit(TEXT)  # V = 6
    assert model.probability("e") == pytest.approx(float(F(7, 22) / 6), rel=1e-14)
    assert model.probability("d", ["e"]) == model.probability("d")
    assert model.probability("e", ["d"]) == pytest.approx(float(F(71, 99) * F(7, 132)), rel=1e-14)
    with pytest.raises(ValueError, match="'f' is outside the vocabulary"):
        model.perplexity([["f"]])
    with_unknown = ModifiedKneserNey(2).fit([*TEXT, ["<unk>", "d"]])
    assert with_unknown.probability("f", ["<s>"]) == with_unknown.probability("<unk>", ["<s>"])
    assert with_unknown.probability("d", ["f"]) == with_unknown.probability("d", ["<unk>"])
    assert "f" not in with_unknown.vocabulary


def test_contexts_longer_than_the_order_and_starts():
    model = ModifiedKneserNey(3).fit(TEXT)
    for word in WORDS:
        assert model.probability(word, ["a", "b", "d", "d"]) == model.probability(word, ["d", "d"])
        assert model.probability(word, ["<s>", "b", "d", "d"]) == model.probability(word, ["d", "d"])
    assert model.probability("d", ["<s>", "d"]) != model.probability("d", ["d"])
    for word, context in (("<s>", []), ("a", ["b", "<s>"]), ("a", ["</s>"])):
        with pytest.raises(ValueError, match="only begins a context"):
            model.probability(word, context)


def test_where_discounts_cannot_be_estimated():
    model = ModifiedKneserNey(3).fit([["a", "b"]])
    assert model.fallbacks == [1, 2, 3]
    assert all(level.discounts == (0.5, 1.0, 1.5) for level in model.levels)
    # a, b, </s> once each: (1 - 1/2)/3 + 1/2 * 1/3, and half of the rest for each longer context
    assert model.probability("b") == pytest.approx(1 / 3, rel=1e-14)
    assert model.probability("b", ["a"]) == pytest.approx(1 / 2 + 1 / 2 * 1 / 3, rel=1e-14)
    assert model.probability("b", ["<s>", "a"]) == pytest.approx(1 / 2 + 1 / 2 * 2 / 3, rel=1e-14)
    found, estimated = kneser_ney.modified_discounts(np.array([4, 4, 4, 40]))  # D3 = 3 - 40/3
    assert found == (0.5, 1.0, 1.5)
    assert not estimated
    found, estimated = kneser_ney.modified_discounts(np.array([3, 3, 6, 0]))  # D2 = 0
    assert not estimated
    partly = ModifiedKneserNey(4).fit(TEXT)  # its quadruples: n1 = 7, n2 = 1, n3 = n4 = 0
    assert partly.fallbacks == [4]


def test_bad_use_is_refused_by_name():
    with pytest.raises(ValueError, match="order = 0"):
        ModifiedKneserNey(0)
    with pytest.raises(RuntimeError, match="fit"):
        ModifiedKneserNey(2).probability("a")
    with pytest.raises(ValueError, match="sentences: there are none"):
        ModifiedKneserNey(2).fit([])
    with pytest.raises(TypeError, match="sentence 1 is a str"):
        ModifiedKneserNey(2).fit([["a"], "a b"])
    with pytest.raises(ValueError, match="sentence 0 has <s> or </s>"):
        ModifiedKneserNey(2).fit([["a", "</s>", "b"]])
    model = ModifiedKneserNey(2).fit(TEXT)
    with pytest.raises(ValueError, match="sentences: there are none"):
        model.perplexity([])
    with pytest.raises(ValueError, match="1 to 2 words"):
        model.count(("a", "b", "c"))
    with pytest.raises(ValueError, match="0 to 1 words"):
        model.weight(("a", "b"))


def by_definition(text, order, extra):
    """The same model in plain recursion over exact fractions: p(word, context)."""
    grams = [Counter() for _ in range(order + 1)]
    for sentence in text:
        marked = ("<s>", *sentence, "</s>")
        for end in range(2, len(marked) + 1):
            for k in range(1, min(order, end) + 1):
                grams[k][marked[end - k : end]] += 1
    counts = [None] * (order + 1)
    discounts = [None] * (order + 1)
    for k in range(1, order + 1):
        lefts = Counter(gram[1:] for gram in grams[k + 1]) if k < order else grams[k]
        counts[k] = {gram: n if gram[0] == "<s>" else lefts[gram] for gram, n in grams[k].items()}
        n = Counter(counts[k].values())
        discounts[k] = [F(1, 2), F(1), F(3, 2)]
        if n[1] and n[2] and n[3]:
            y = F(n[1], n[1] + 2 * n[2])
            found = [j - (j + 1) * y * F(n[j + 1], n[j]) for j in (1, 2, 3)]
            if min(found) > 0:
                discounts[k] = found
    size = len({"</s>", *extra}.union(*text))

    def p(word, context):
        k = len(context) + 1
        shorter = p(word, context[1:]) if context else F(1, size)
        after = {gram[-1]: n for gram, n in counts[k].items() if gram[:-1] == context}
        if not after:
            return shorter
        own = {w: discounts[k][min(n, 3) - 1] for w, n in after.items()}
        return (after.get(word, 0) - own.get(word, 0) + sum(own.values()) * shorter) / sum(after.values())

    return p


sentences = st.lists(st.lists(st.sampled_from("abcd"), max_size=6), min_size=1, max_size=12)


@settings(max_examples=60, deadline=None)
@given(text=sentences, order=st.integers(1, 5), held_out=sentences, extra=st.sampled_from(["abcd", "abcdef"]))
def test_any_text_is_scored_by_definition_and_sums_to_one(text, order, held_out, extra):
    model = ModifiedKneserNey(order, extra).fit(text)
    p = by_definition(text, order, extra)
    expected, contexts = [], {("e",) * (order - 1) if "e" in extra else (), ("<s>",)[: order - 1]}
    for sentence in held_out:
        marked = ("<s>", *sentence, "</s>")
        for end in range(1, len(marked)):
            context = marked[max(end - order + 1, 0) : end]
            contexts |= {context, context[1:]}
            expected.append(math.log(p(marked[end], context)))
    assert model.log_probabilities(held_out) == pytest.approx(expected, rel=1e-10)
    for context in contexts:
        distribution = [model.probability(word, context) for word in model.vocabulary]
        assert min(distribution) > 0
        assert sum(distribution) == pytest.approx(1.0, rel=1e-12)


def test_a_longer_text_is_scored_alike_word_by_word():
    rng = np.random.default_rng(4)
    text = [[f"w{z}" for z in rng.zipf(1.6, rng.integers(1, 20)) if z < 5000] for _ in range(2000)]
    train, held_out = text[:1980], text[1980:]
    model = ModifiedKneserNey(4, vocabulary={word for sentence in held_out for word in sentence}).fit(train)
    assert model.fallbacks == []
    one_by_one = []
    for sentence in held_out:
        marked = ["<s>", *sentence, "</s>"]
        one_by_one += [model.probability(marked[end], marked[:end]) for end in range(1, len(marked))]
        total = sum(model.probability(word, marked[:-1]) for word in model.vocabulary)
        assert total == pytest.approx(1.0, rel=1e-12)
    assert np.allclose(np.log(one_by_one), model.log_probabilities(held_out), rtol=1e-13)


def test_the_script_reads_plain_and_gzipped_text(tmp_path):
    train, test = tmp_path / "train.txt.gz", tmp_path / "test.txt"
    with gzip.open(train, "wt", encoding="utf-8") as out:
        out.writelines(" ".join(sentence) + "\n" for sentence in TEXT)
    test.write_text("d d\na\n", encoding="utf-8")

    def run(*arguments):
        command = [sys.executable, str(SCRIPT), *map(str, arguments)]
        return subprocess.run(command, capture_output=True, text=True, check=False)

    done = run(train, test, "--order", "3")
    assert done.returncode == 0, done.stderr
    rows = {line.split()[0]: line.split()[1:3] for line in done.stdout.splitlines()[-2:]}
    for order in (2, 3):
        perplexity = float(math.prod(HELD_OUT_TOKENS[order])) ** (-1 / 5)
        assert rows[str(order)] == ["5", f"{perplexity:.2f}"]
    test.write_text("d e\n", encoding="utf-8")
    assert "test: 'e' is outside the vocabulary" in run(train, test).stderr
    test.write_text("", encoding="utf-8")
    assert "test: the file has no line" in run(train, test).stderr
