"""Output about a language model: its levels, its scores of a text, its sentences."""

from __future__ import annotations

import contextlib
import io
import itertools
import math
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, TextIO

from rich.console import Console

from hdpkit.cli.output import json_text, plain_table, say
from hdpkit.data.files.tables import escaped
from hdpkit.errors import StateError, StorageError, printable
from hdpkit.files import written_aside
from hdpkit.kinds.ngram import NGramModel
from hdpkit.kinds.predict import Scores

_WIDTH_OF_A_FILE = 100
_LN_10 = math.log(10.0)
_LINES_AT_ONCE = 1000

Row = dict[str, Any]


# ------------------------------------------------------------------ the model


def model_facts(model: NGramModel) -> str:
    """A line: order, words, training text, sweeps, samples, and the size of the folder."""
    data = model.data
    size = ""
    if model.folder is not None:
        size = f", {megabytes(model.folder)} on disk"
    return (
        f"order {model.order}, {data.n_terms:,} words, {data.n_sentences:,} sentences, {len(data):,} tokens, "
        f"sweep {model.franchise.sweep}, {len(model.samples)} samples{size}"
    )


def megabytes(folder: Path) -> str:
    """Size of all files of a folder in words: "1.3 MB"."""
    total = sum(file.lstat().st_size for file in folder.rglob("*") if file.is_file())
    return f"{total / 1e6:,.1f} MB"


def echo_levels(model: NGramModel) -> None:
    """Print a table with a row for each level: posterior means of its hyperparameters and tables."""
    try:
        columns = [model.discounts, model.concentrations, model.expected_tables]
    except StateError:  # it ended before the first sample
        return
    table = plain_table()
    for header in ("n-grams", "restaurants", "tables", "discount", "concentration"):
        table.add_column(header, justify="right", no_wrap=True)
    topology: Any = model.franchise.topology
    for level, (discount, concentration, tables) in enumerate(zip(*columns, strict=True)):
        n = len(topology.nodes(level))
        table.add_row(str(level + 1), f"{n:,}", f"{tables:,.0f}", f"{discount:.4f}", f"{concentration:.4g}")
    Console(width=_WIDTH_OF_A_FILE).print(table)


# ------------------------------------------------------------------ scores


def log10(nats: float) -> float:
    """Convert a natural logarithm to base 10."""
    return nats / _LN_10


def _number(value: float) -> float | None:
    """A number for JSON: NaN and infinity become null."""
    return value if math.isfinite(value) else None


def treatment(model: NGramModel) -> str:
    """How words outside a model's vocabulary are treated, in words."""
    unknown = model.settings.unknown
    if unknown is not None and model.data.word_id(unknown) >= 0:
        return f"scored as {unknown}"
    if model.remainder() > 0.0:
        return "scored by the base measure"
    return "left out"


def case_hint(model: NGramModel, scores: Scores) -> str | None:
    """A hint if unknown words would be known in lower case to a model of lower-case words."""
    words, n = set(model.vocabulary) - {model.settings.unknown}, 0
    if any(str(word) != str(word).lower() for word in words):
        return None
    for word in scores.word[scores.is_unknown]:
        n += str(word).lower() in words
    return f"{n:,} of the unknown words are known in lower case: see --lowercase" if n else None


def score_facts(scores: Scores, unknown: str) -> Row:
    """The scores of a text as data; ``unknown`` says how words outside the vocabulary were treated."""
    predicted = scores.log_probability[scores.is_predicted]
    return {
        "perplexity": _number(scores.perplexity),
        "log10_probability": _number(log10(float(predicted.sum()))) if len(predicted) else None,
        "sentences": scores.n_sentences,
        "tokens": scores.n_tokens,
        "unknown": scores.n_unknown,
        "unknown_are": unknown,
        "left_out": scores.n_unpredicted,
    }


def score_text(scores: Scores, unknown: str) -> str:
    """The scores of a text as text."""
    facts = score_facts(scores, unknown)
    what = f" ({unknown})" if scores.n_unknown else ""
    total = facts["log10_probability"]
    return "\n".join(
        [
            f"perplexity         {scores.perplexity:.6g}",
            f"log10 probability  {'-inf' if total is None and len(scores) else f'{total:.6f}'}",
            f"tokens             {scores.n_tokens:,}, of {scores.n_sentences:,} sentences",
            f"unknown words      {scores.n_unknown:,}{what}",
        ]
    )


def score_rows(scores: Scores) -> Iterator[Row]:
    """A row for each token; sentences and positions count from 1."""
    before, position = -1, 0
    for number, word, value, unknown in zip(
        scores.sentence.tolist(), scores.word, scores.log_probability.tolist(), scores.is_unknown.tolist(),
        strict=True,
    ):  # fmt: skip
        position = position + 1 if number == before else 1
        before = number
        yield {
            "sentence": number + 1,
            "position": position,
            "token": word,
            "log10_probability": log10(value),
            "unknown": int(unknown),
        }


def sentence_rows(scores: Scores) -> Iterator[Row]:
    """A row for each sentence; sentences count from 1."""
    for number, row in enumerate(scores.by_sentence(), start=1):
        yield {
            "sentence": number,
            "tokens": int(row["n_tokens"]),
            "unknown": int(row["n_unknown"]),
            "left_out": int(row["n_unpredicted"]),
            "log10_probability": log10(float(row["log_probability"])),
            "perplexity": float(row["perplexity"]),
        }


def write_rows(rows: Iterable[Row], out: TextIO | None, as_json: bool) -> None:
    """Write rows as tab-separated columns under a header, or as one JSON object per line."""
    lines = map(_as_json, rows) if as_json else _as_columns(rows)
    while some := list(itertools.islice(lines, _LINES_AT_ONCE)):  # each echo flushes
        say("\n".join(some), file=out)


def _as_json(row: Row) -> str:
    plain = {key: _number(value) if isinstance(value, float) else value for key, value in row.items()}
    return json_text(plain, default=str)


def _as_columns(rows: Iterable[Row]) -> Iterator[str]:
    for number, row in enumerate(rows):
        if number == 0:
            yield "\t".join(row)
        # Without quotes, which a tokenised text may contain: no cell has a tab or a line end after this.
        yield "\t".join(
            str(value) if isinstance(value, int | float) else escaped(str(value)) for value in row.values()
        )


@contextlib.contextmanager
def open_output(path: Path | None) -> Iterator[TextIO | None]:
    """Open a file that appears when it is complete; None means standard output, as for `click.echo`."""
    if path is None:
        yield None
        return
    try:
        with written_aside(path) as file:
            out = io.TextIOWrapper(file, encoding="utf-8", errors="backslashreplace", newline="\n")
            yield out
            out.flush()
            out.detach()
    except OSError as error:
        raise StorageError.of(
            error, "output", str(path), "a place where a file can be written", "Choose another place."
        ) from error


# ------------------------------------------------------------------ sentences


def word_text(word: str) -> str:
    """A word for output in a line; a word drawn by its spelling may contain any character."""
    return printable(word).replace(" ", "\\x20")
