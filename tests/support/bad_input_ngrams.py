"""The rows of n-grams in the table of bad input (see `bad_input_rows`)."""

import numpy as np
from bad_values import HUGE, INF, NAN, NO_SEQUENCE, Row, Told, optional, plain, whole

import hdpkit as hk
from hdpkit.data.encode import NO_SYMBOL

MASKED = np.ma.MaskedArray(["a", "b"], [True, False])
SENTENCES = [
    *NO_SEQUENCE, Told(np.array(5), "array(5)"), ["ab"], [["a"], b"ab"], [["a"], None], [["a"], 5],
    [["a"], {"a": 1}], [["a"], {"a"}], [["a", None]], [["a", NAN]], [["a", ["b"]]], [["a", "<s>"]],
    [["</s>"]], [["z"]], Told([MASKED], "masked"), Told([[], np.array([["a"]])], "an array of shape (1, 1)"),
]  # fmt: skip
NO_VOCABULARY = [
    5, "ab", {"a": 1}, {"a", "b"}, ["a", "b", "</s>", "a"], ["a", None], ["a", NAN], ["a", ["b"]],
    Told(["a", "b"], "without '</s>'"), Told(["a", "b", "<s>", "</s>"], "with '<s>'"),
    Told(np.array([["a", "b"]]), "array of shape (1, 2)"),
]  # fmt: skip
WORDS = [
    *NO_SEQUENCE, [None, "b"], [NAN, "b"], [["a"], "b"], Told(["a"], "2 contexts"), Told(MASKED, "None"),
    ["a", "z"],
]  # fmt: skip
CONTEXTS = [
    *NO_SEQUENCE, Told([()], "1 contexts"), [(), None], [(), NAN], [(), (None,)], [(), (["a"],)],
    [(), {"a": 1}], Told(np.zeros((2, 1, 1)), "array of shape (2, 1, 1)"),
]  # fmt: skip


def sentences():
    return hk.NGrams.from_sentences([["a", "b"], []], order=3, vocabulary=["a", "b", "</s>"])


def pairs():
    return hk.NGrams.from_pairs(["a", "b"], [(), ("a",)], vocabulary=["a", "b"])


NGRAMS = {
    "NGrams.from_sentences": Row(
        plain(hk.NGrams.from_sentences, sentences=[["a", "b"], []], order=3, vocabulary=["a", "b", "</s>"]),
        {
            "sentences": [*SENTENCES, Told([], "0 sentences")],
            "order": whole(1, 1000),
            "start": [
                ["<s>"], {}, NAN, Told("</s>", "different from the symbol of the end"), Told("a", "with 'a'"),
            ],
            "end": [
                ["</s>"], {}, NAN, Told("<s>", "different from the symbol of the end"),
                Told("z", "without 'z'"),
            ],
            "vocabulary": NO_VOCABULARY,
        },
    ),
    "NGrams.from_pairs": Row(
        plain(hk.NGrams.from_pairs, words=["a", "b"], contexts=[(), ("a",)], order=3, vocabulary=["a", "b"]),
        {
            "words": WORDS,
            "contexts": CONTEXTS,
            "order": optional(whole(1, 1000)),
            "vocabulary": [
                value for value in NO_VOCABULARY if not isinstance(value, Told) or "shape" in value.told
            ],
        },
    ),
    "NGrams.word_id": Row(plain(sentences().word_id, word="a"), {"word": [["a"], {}, {"a"}]}),
    "NGrams.symbol_ids": Row(
        plain(sentences().symbol_ids, context=("a", "b")),
        {"context": [None, 5, "ab", {"a": 1}, {"a"}, (["a"],), ({},)]},
    ),
    "NGrams.context_of": Row(
        plain(sentences().context_of, ids=[0, -1, NO_SYMBOL]),
        {
            "ids": [
                None, 5, "ab", {}, [[0], [1, 2]], [0.0], [NAN], [INF], [True], [3], [-2], [HUGE],
                [0, NO_SYMBOL, 0], [NO_SYMBOL + 1],
            ]
        },
    ),
    "NGrams.contexts": Row(
        plain(sentences().contexts, first=1, last=2), {"first": whole(0, 4), "last": optional(whole(1, 4))}
    ),
    "NGrams.plus": Row(
        plain(sentences().plus, sentences=[["b"]]),
        {"sentences": SENTENCES},
    ),
    "NGrams.plus_pairs": Row(
        plain(pairs().plus_pairs, words=["a", "b"], contexts=[(), ("a",)]),
        {"words": WORDS, "contexts": CONTEXTS},
    ),
    "NGrams.without": Row(
        plain(sentences().without, first=0, last=1),
        {"first": [*whole(0, 2), Told(2, "1")], "last": [*whole(0, 2), Told(2, "2 sentences left out")]},
    ),
    "NGrams.with_order": Row(plain(sentences().with_order, order=2), {"order": whole(1, 1000)}),
    "NGrams.with_values": Row(
        plain(sentences().with_values, values=[0, 1, 2, 2]),
        {
            "values": [
                *[
                    Told(value, "array of shape")
                    for value in (None, 5, "text", [], {}, [0, 1], [[0, 1]], ["a"] * 4, [[0], [1, 2]])
                ],
                [0, 1, 2, 3],
                [0, 1, 2, -1],
                [0, 1, 2, 0.5],
                [0, 1, 2, NAN],
                [0, 1, 2, INF],
                Told([0, 1, 2, HUGE], "object array"),
                Told([True] * 4, "bool array"),
            ]
        },
    ),
}  # fmt: skip
