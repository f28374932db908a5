"""How the corpus of a run was read, kept in its folder so that new texts are counted in the same way."""

from __future__ import annotations

import os
from collections.abc import Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import absolute_path, choice
from hdpkit.data import Corpus, ShardedCorpus
from hdpkit.errors import DataError, RunError
from hdpkit.formats.blocks import reading
from hdpkit.formats.limits import Limits
from hdpkit.formats.matrix_market import read_matrix_market
from hdpkit.formats.records import Layout, ReadingNotes
from hdpkit.io.corpora import FORMATS, ReadCorpus, check_place, detect_format
from hdpkit.io.texts import TEXT_FORMATS, read_texts
from hdpkit.io.vectorizer import TextCounter
from hdpkit.record.files import reading as what_is_read
from hdpkit.record.run_folder import READING, RunFolder, kept

__all__ = ["NewDocuments", "Reading", "kept_reading", "load_reading", "read_like"]


@attrs.frozen(eq=False, kw_only=True)
class Reading:
    """How a corpus was read.

    Attributes
    ----------
    format : str
        One of `FORMATS`.
    layout : Layout or None
        Layout of the texts; None for counts.
    counter : TextCounter or None
        The counter of the texts, with its vocabulary; None for counts.
    """

    format: str
    layout: Layout | None = None
    counter: TextCounter | None = None

    @classmethod
    def of(cls, read: ReadCorpus) -> Reading:
        """Return how this corpus was read."""
        return cls(format=read.format, layout=read.layout, counter=read.counter)

    def as_data(self) -> dict[str, Any]:
        """Return the fields as JSON-compatible data, which `from_data` reads."""
        return {
            "format": self.format,
            "layout": None if self.layout is None else self.layout.as_data(),
            "counter": None if self.counter is None else self.counter.as_data(),
        }

    @classmethod
    def from_data(cls, data: Any, allow: Iterable[Any] = (), *, where: str = "reading") -> Reading:
        """Return the object described by the result of `as_data`.

        Parameters
        ----------
        data : dict
        allow : iterable
            Modules or functions from which a named tokenizer may be imported; as in `hk.open_run`.
        where : str
            Where the data are from, for errors.

        Raises
        ------
        DataError
            If the data aren't valid.
        NotAllowed
            If the tokenizer isn't allowed.
        """
        remedy = "It was damaged or changed; write it again."
        if not isinstance(data, dict) or set(data) != {"format", "layout", "counter"}:
            raise DataError(where, data, "format, layout and counter", remedy)
        format = choice(f"{where}, format", data["format"], FORMATS, remedy=remedy)
        layout, counter = data["layout"], data["counter"]
        if (layout is None or counter is None) == (format in TEXT_FORMATS):
            raise DataError(where, format, "with layout and counter where it is of texts", remedy)
        known = {field.name for field in attrs.fields(Layout)}
        if layout is not None and (not isinstance(layout, dict) or set(layout) != known):
            raise DataError(f"{where}, layout", layout, f"with the keys {sorted(known)}", remedy)
        return cls(
            format=format,
            layout=None if layout is None else Layout(**layout),
            counter=None if counter is None else TextCounter.from_data(counter, allow, where=where),
        )


@attrs.frozen(eq=False, kw_only=True)
class NewDocuments:
    """New documents, read in the same way as the corpus of a run.

    Attributes
    ----------
    corpus : Corpus
        The documents, over the terms of the run's corpus.
    n_words : ndarray of int64, shape (n_documents,)
        Number of words of each document, including words outside the run's vocabulary.
    notes : ReadingNotes
    """

    corpus: Corpus
    n_words: npt.NDArray[np.int64]
    notes: ReadingNotes

    @property
    def n_unknown(self) -> int:
        """Number of words that were left out since they aren't in the vocabulary."""
        return int(self.n_words.sum()) - self.corpus.n_tokens


def kept_reading(folder: str | os.PathLike[str], reading: Reading) -> AbstractContextManager[None]:
    """Keep `reading` in the folder of a run that begins inside the block; remove it if no run began.

    Parameters
    ----------
    folder : path
    reading : Reading

    Raises
    ------
    ParameterError
        If the tokenizer has no name.
    StorageError
        If the file can't be written.
    """
    place = absolute_path("folder", folder, remedy="Give the folder of the run.")
    return kept(place, READING, reading.as_data())


def load_reading(folder: str | os.PathLike[str], allow: Iterable[Any] = ()) -> Reading:
    """Read ``reading.json`` of a run folder.

    Parameters
    ----------
    folder : path
    allow : iterable
        Modules or functions from which a named tokenizer may be imported; as in `hk.open_run`.

    Raises
    ------
    RunError
        If the run has none; CorruptRunError or RunVersionError if it is damaged or from a newer hdpkit.
    NotAllowed
        If the tokenizer isn't allowed.
    """
    place = absolute_path("folder", folder, remedy="Give the folder of the run.")
    content, path = RunFolder.open(place).read(READING), place / READING
    if content is None:
        raise RunError(
            str(path), "not there", "the file that says how the corpus was read",
            "hdpkit fit writes it. Count the new documents as the corpus was counted, and fold them in: "
            "hk.open_run(folder).franchise().fold_in(corpus).",
        )  # fmt: skip
    with what_is_read(path):
        return Reading.from_data(content, allow, where=str(path))


def read_like(
    run_folder: str | os.PathLike[str],
    path: str | os.PathLike[str],
    *,
    format: str | None = None,
    layout: Layout | None = None,
    allow: Iterable[Any] = (),
    limits: Limits | None = None,
) -> NewDocuments:
    """Read new documents over a run's terms, in the same way as the corpus of the run.

    Parameters
    ----------
    run_folder : path
        Folder of a run begun by ``hdpkit fit``.
    path : path
        Texts if the run's corpus was texts (the format may differ), counts if it was counts.
    format : str, optional
        Format of the new documents; by default it is detected.
    layout : Layout, optional
        Layout of the texts; by default that of the run's corpus. Group columns may be missing; if one is
        missing, or its value doesn't occur in the run, the document lacks the label.
    allow : iterable
        Modules or functions from which your tokenizer may be imported; as in `hk.open_run`.
    limits : Limits, optional

    Returns
    -------
    NewDocuments

    Raises
    ------
    RunError
        If the run folder doesn't record how its corpus was read, or is damaged.
    DataError
        As for `read_corpus`; also if counts are given for a run over texts, or texts for a run over counts.
    """
    known = load_reading(run_folder, allow)
    data = RunFolder.open(
        absolute_path("run_folder", run_folder, remedy="Give the folder of the run.")
    ).data()
    if not isinstance(data, Corpus):
        raise RunError(
            str(run_folder), type(data).__name__, "a run over a corpus", "Use Franchise.fold_in in Python."
        )
    place = check_place(path)
    if format is None:
        found = detect_format(place)
        # A file whose name doesn't determine the format is read in the run's format.
        untold = ("lines",) if known.counter is None else ("ldac", "uci")
        format = known.format if found in untold else found
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
            return NewDocuments(corpus=corpus, n_words=corpus.document_lengths, notes=ReadingNotes())
        assert known.layout is not None
        layout = attrs.evolve(layout or known.layout, optional_groups=True)
        labels = {name: set(data.key_view(name)) for name in data.label_names if name != "document"}
        read = read_texts(
            place, format, layout, known.counter, limits, count_unknown=True, known_labels=labels
        )
    assert read.n_words is not None
    return NewDocuments(corpus=read.corpus, n_words=read.n_words, notes=read.notes)


def _counts_like(data: Corpus, place: Path, format: str, limits: Limits | None) -> Corpus:
    """Counts over the terms of a corpus."""
    if format == "arrays":
        return Corpus.open(place)
    if format == "shards":
        return ShardedCorpus.open(place).corpus()
    if format == "matrix-market":
        matrix = read_matrix_market(place, limits)
        if matrix.shape[1] != data.n_terms:
            raise DataError(
                f"corpus {place}", f"{matrix.shape[1]} columns", f"{data.n_terms} columns, the run's terms",
                "Give the same terms in the same order.",
            )  # fmt: skip
        return Corpus.from_counts(matrix, vocabulary=data.vocabulary)
    if format == "uci":
        found = Corpus.from_uci(place, limits=limits)
        if found.n_terms > data.n_terms:
            raise DataError(
                f"corpus {place}", f"{found.n_terms} terms", f"at most {data.n_terms}, as the run's terms",
                "Give the same terms in the same order.",
            )  # fmt: skip
        counts = found.to_counts()
        counts.resize((counts.shape[0], data.n_terms))
        return Corpus.from_counts(counts, vocabulary=data.vocabulary)
    return Corpus.from_ldac(place, vocabulary=data.vocabulary, n_terms=data.n_terms, limits=limits)
