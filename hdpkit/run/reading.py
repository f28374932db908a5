"""How the corpus of a run was read, kept in its folder so that new texts are counted in the same way."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import attrs

from hdpkit.checks import absolute_path, choice
from hdpkit.checks import path as path_of
from hdpkit.data import Corpus
from hdpkit.data.files.corpora import (
    FORMATS,
    TEXT_FORMATS,
    ReadCorpus,
    ReadingSettings,
    detect_format,
    open_shards,
    read_documents_of,
    read_texts,
)
from hdpkit.data.files.count_files import read_matrix_market
from hdpkit.data.files.counts import Limits
from hdpkit.data.files.text_files import Layout, reading
from hdpkit.errors import DataError, RunError
from hdpkit.files import reading as what_is_read
from hdpkit.run.run_folder import RUN, RunFolder


def load_reading(folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> ReadingSettings:
    """How the corpus of a run folder was read."""
    place = absolute_path("folder", folder, remedy="Give the folder of the run.")
    content, path = RunFolder.open(place).about.get("reading"), place / RUN
    if content is None:
        raise RunError(
            str(path), "nothing", "how the corpus was read",
            "hdpkit fit writes that. Count the new documents as the corpus was counted, and fold them in: "
            "hk.open_run(folder).franchise().fold_in(corpus).",
        )  # fmt: skip
    with what_is_read(path):
        return ReadingSettings.from_data(content, allow, where=str(path))


def read_like(
    run_folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    layout: Layout | None = None,
    allow: Iterable[Any] = (),
    limits: Limits | None = None,
) -> ReadCorpus:
    """Read new documents over a run's terms: texts in any format if its corpus was texts, else counts."""
    known = load_reading(run_folder, allow)
    data: Any = RunFolder.open(
        absolute_path("run_folder", run_folder, remedy="Give the folder of the run.")
    ).data()
    if not hasattr(data, "n_documents"):  # of a corpus, in shards or not
        raise RunError(
            str(run_folder), type(data).__name__, "a run over a corpus", "Use Franchise.fold_in in Python."
        )
    place = path_of("path", path)
    if format is None:
        found = detect_format(place)
        # A file whose name doesn't determine the format is read in the run's format.
        untold = ("lines",) if known.counter is None else ("ldac", "uci")
        format = known.format if found in untold and known.format != "shards" else found
    choice("format", format, FORMATS, remedy="Leave it out to have it detected.")
    if (format in TEXT_FORMATS) != (known.counter is not None):
        kinds = ("counts", "texts") if known.counter is None else ("texts", "counts")
        raise DataError(
            f"corpus {place}", f"{kinds[1]} ({format})", f"{kinds[0]}, as the run's corpus",
            "Give documents of the kind that the run was begun with.",
        )  # fmt: skip
    with reading(place):
        if known.counter is None:
            corpus = _counts_like(data, place, format, limits)
            settings = ReadingSettings(format=format)
            return ReadCorpus(corpus=corpus, settings=settings, n_words=corpus.document_lengths)
        layout = attrs.evolve(layout or known.layout or Layout(), optional_groups=True)
        labels = {name: set(data.key_view(name)) for name in data.label_names if name != "document"}
        settings = attrs.evolve(known, format=format, layout=layout)
        return read_texts(place, settings, limits, count_unknown=True, known_labels=labels)


def texts_like(
    run_folder: str | os.PathLike[str], path: str | os.PathLike[str], allow: Iterable[Any] = ()
) -> Iterator[str]:
    """The texts of a run's corpus, one by one, read again as the run read them; errors as in `read_like`."""
    known, place = load_reading(run_folder, allow), path_of("path", path)
    if known.layout is None:
        raise DataError(f"corpus {place}", "counts", "texts, as the run's corpus", "Leave out --texts.")
    with reading(place):
        yield from (document.text for document in read_documents_of(place, known.format, known.layout))


def _counts_like(data: Any, place: Path, format: str, limits: Limits | None) -> Corpus:
    """Counts over the terms of a corpus."""
    if format == "shards":
        return open_shards(place)
    if format == "matrix-market":
        counts = read_matrix_market(place, limits)
        if counts.n_terms != data.n_terms:
            raise DataError(
                f"corpus {place}", f"{counts.n_terms} columns", f"{data.n_terms} columns, the run's terms",
                "Give the same terms in the same order.",
            )  # fmt: skip
        return Corpus._from_blocks([counts], data.vocabulary, None, None)
    if format == "uci":
        found = Corpus.from_uci(place, limits=limits)
        if found.n_terms > data.n_terms:
            raise DataError(
                f"corpus {place}", f"{found.n_terms} terms", f"at most {data.n_terms}, as the run's terms",
                "Give the same terms in the same order.",
            )  # fmt: skip
        matrix = found.to_counts()
        matrix.resize((matrix.shape[0], data.n_terms))
        return Corpus.from_counts(matrix, vocabulary=data.vocabulary)
    return Corpus.from_ldac(place, vocabulary=data.vocabulary, n_terms=data.n_terms, limits=limits)
