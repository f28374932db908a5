"""The rows of the language model in the table of bad input (see `bad_input_rows`)."""

import atexit
import io
import shutil
import tempfile
from functools import cache
from pathlib import Path

import numpy as np
from bad_input_folders import NO_ALLOW, NO_CHECKPOINT, NO_FOLDER
from bad_input_ngrams import NO_VOCABULARY
from bad_values import (
    INF,
    NAN,
    NO_FLAG,
    NO_FUNCTION,
    NO_INTERRUPT,
    NO_MOVES,
    Row,
    Told,
    optional,
    plain,
    whole,
)

import hdpkit as hk

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
