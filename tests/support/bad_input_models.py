"""The rows of n-grams and of the language model in the table of bad input."""

import atexit
import io
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from bad_input_runs import NO_ALLOW, NO_CHECKPOINT, NO_FOLDER
from bad_values import (
    HUGE,
    INF,
    NAN,
    NO_FLAG,
    NO_FUNCTION,
    NO_INTERRUPT,
    NO_MOVES,
    NO_SEQUENCE,
    Row,
    Told,
    optional,
    plain,
    whole,
)

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


TEXT = [["a", "b"], ["b", "a"]]
NO_TEXT = [
    None, 5, {"a": 1}, {"a"}, list, Told("/nowhere/at/all", "No such file"), ["ab"], [["a"], None],
    [["a", None]], [["a", ["b"]]], [["a", "<s>"]], [["</s>"]],
]  # fmt: skip
TAKEN = Told(Path(__file__).parent, "it holds")
KEPT = {"folder": [*(value for value in NO_FOLDER if value is not None), TAKEN], "checkpoint": NO_CHECKPOINT}
PLAN = {"sweeps": whole(1), "burn_in": whole(0, 2), "samples": whole(1, 2), "progress": NO_FUNCTION,
        "on_interrupt": NO_INTERRUPT}  # fmt: skip
NO_CONTEXT = [None, 5, "ab", {"a": 1}, {"a"}, (["a"],), ({},)]
LEVELS = [[], [0.5], [0.5, 0.5, 0.5, 0.5], "ab", {0.5}, {0: 0.5}, NAN, INF, True, object()]


@cache
def fitted():
    """A model whose methods change nothing that a row looks at."""
    return hk.NGramModel(3, discounts=0.5).fit(TEXT, sweeps=2, burn_in=1, samples=1, rng=0)


def folder():
    """A model in a folder that goes when Python does."""
    made = Path(tempfile.mkdtemp())
    atexit.register(shutil.rmtree, made, ignore_errors=True)
    model = hk.NGramModel(1, discounts=0.5)
    model.fit(TEXT, sweeps=1, burn_in=0, samples=1, rng=0, folder=made / "run")
    return made / "run"


def method(name, **good):
    return lambda franchise: (getattr(fitted(), name), good)


def fresh(name, **good):
    """Of a model that the call changes."""
    return lambda franchise: (
        getattr(hk.NGramModel(3, discounts=0.5).fit(TEXT, sweeps=2, burn_in=1, samples=1, rng=0), name),
        good,
    )


MODELS = {
    "NGramModel": Row(
        plain(hk.NGramModel, order=3, discounts=0.5, vocabulary=["a", "b"], unknown="b"),
        {
            "order": whole(1, 100),
            "discounts": [*LEVELS, -0.1, 1.0, hk.Gamma(1, 1), [0.5, 0.5, "1"]],
            "concentrations": [*LEVELS, -0.5, -1, hk.Beta, [1.0, 1.0, -1.0]],
            "base": [5, "uniform", hk.Uniform, hk.DirichletMultinomial(0.5)],
            "store": [None, 5, "nobody", ["histogram"]],
            "start": [
                ["<s>"], {}, NAN, Told("</s>", "different from the symbol of the end"), Told("a", "with 'a'"),
            ],
            "end": [["</s>"], {}, NAN, Told("<s>", "different from the symbol of the end")],
            "unknown": [["<unk>"], {}, "<s>", "</s>"],
            "vocabulary": [v for v in NO_VOCABULARY if not isinstance(v, Told) or "'</s>'" not in v.told],
            "kernel": [None, 5, "fast", ["auto"]],
        },
    ),
    "NGramModel.fit": Row(
        fresh("fit", text=TEXT, sweeps=3, burn_in=1, samples=2, rng=0),
        {
            "text": [*NO_TEXT, Told([], "the text is empty"), Told(io.BytesIO(b"a \xff"), "valid utf-8")],
            **PLAN,
            **KEPT,
            "moves": [value for value in NO_MOVES if value is not None],
        },
    ),
    "NGramModel.open": Row(
        lambda franchise: (hk.NGramModel.open, {"folder": folder(), "allow": ()}),
        {"folder": [*NO_FOLDER, "/nowhere"], "allow": NO_ALLOW},
    ),
    "NGramModel.sweep": Row(
        fresh("sweep", sweeps=2, samples=2),
        {"sweeps": whole(1), "samples": optional(whole(1, 2)), "keep": NO_FLAG},
    ),
    "NGramModel.resume": Row(fresh("resume"), {}),
    "NGramModel.add": Row(
        fresh("add", text=TEXT, sweeps=3, burn_in=1, samples=2),
        {"text": NO_TEXT, **PLAN, **KEPT},
    ),
    "NGramModel.remove": Row(
        fresh("remove", first=0, last=1),
        {"first": [*whole(0, 2), Told(2, "1")], "last": [*whole(0, 2), Told(2, "2 sentences left out")]},
    ),
    "NGramModel.restaurant": Row(
        method("restaurant", context=("a",)),
        {"context": [("never",), ("a", "b", "a"), None, 5, "ab", (["a"],)]},
    ),
    "NGramModel.probability": Row(
        method("probability", word="a", context=("b",)),
        {"word": ["never", None, 5, NAN, ["a"], {}], "context": NO_CONTEXT},
    ),
    "NGramModel.distribution": Row(method("distribution", context=("b",)), {"context": NO_CONTEXT}),
    "NGramModel.remainder": Row(method("remainder", context=("b",)), {"context": NO_CONTEXT}),
    "NGramModel.log_probability": Row(
        method("log_probability", sentence=["a"]),
        {
            "sentence": [
                None, 5, "ab", {"a"}, ["never"], ["a", None], [["a"]], ["<s>"],
                Told(np.zeros((1, 1)), "an array of shape (1, 1)"),
            ]
        },
    ),
    "NGramModel.score": Row(
        method("score", text=TEXT),
        {"text": NO_TEXT},
    ),
    "NGramModel.perplexity": Row(
        method("perplexity", text=TEXT),
        {"text": [*NO_TEXT, [["never"]], Told([], "no token")]},
    ),
    "NGramModel.export_arpa": Row(
        lambda franchise: (fitted().export_arpa, {"path": folder() / "model.arpa"}),
        {"path": [*NO_FOLDER, Told("/nowhere/at/all", "No such file")]},
    ),
    "NGramModel.sample": Row(
        method("sample", n=1, rng=0, context=("a",), max_length=3),
        {"n": whole(0), "context": [5, "ab", {"a"}, {"a": 1}, [["a"]], ({},)], "max_length": whole(1)},
    ),
}  # fmt: skip
