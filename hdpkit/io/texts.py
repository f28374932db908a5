"""Texts of any format as a corpus: readers yield documents one by one, and a counter counts their words."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.data import Corpus
from hdpkit.errors import DataError
from hdpkit.formats.delimited import read_delimited
from hdpkit.formats.json_lines import read_json_lines
from hdpkit.formats.limits import Limits
from hdpkit.formats.parquet import read_parquet
from hdpkit.formats.records import Document, Layout, ReadingNotes
from hdpkit.formats.text_folder import read_text_folder
from hdpkit.formats.text_lines import read_document_lines
from hdpkit.io.vectorizer import TextCounter

__all__ = ["TEXT_FORMATS", "Gathered", "ReadTexts", "read_documents_of", "read_texts"]

_READERS: dict[str, Callable[[Path, Layout, ReadingNotes], Iterator[Document]]] = {
    "csv": read_delimited,
    "tsv": lambda path, layout, notes: read_delimited(path, layout, notes, "\t"),
    "parquet": read_parquet,
    "jsonl": read_json_lines,
    "lines": read_document_lines,
    "text": read_text_folder,
}

TEXT_FORMATS = tuple(_READERS)
"""Formats of texts: tables, JSON lines, a document per line, folders of files."""


@attrs.frozen(eq=False, kw_only=True)
class ReadTexts:
    """Texts that were read.

    Attributes
    ----------
    corpus : Corpus
        Documents in their order, with the ids as names and the group columns as labels.
    notes : ReadingNotes
        Detected encodings, files that were left out, and similar notes.
    n_words : ndarray of int64, shape (n_documents,), or None
        Number of words of each document, including words outside the vocabulary; None unless requested.
    """

    corpus: Corpus
    notes: ReadingNotes
    n_words: npt.NDArray[np.int64] | None = None

    @property
    def n_unknown(self) -> int:
        """Number of tokens left out since their words aren't in the vocabulary; 0 unless requested."""
        return 0 if self.n_words is None else int(self.n_words.sum()) - self.corpus.n_tokens


def read_documents_of(
    path: Path, format: str, layout: Layout, notes: ReadingNotes | None = None
) -> Iterator[Document]:
    """Read documents one by one.

    Parameters
    ----------
    path : Path
    format : str
        One of `TEXT_FORMATS`.
    layout : Layout
    notes : ReadingNotes, optional

    Raises
    ------
    DataError
        Naming the file and the line; see the readers in ``hdpkit.formats``.
    """
    return _READERS[format](path, layout, ReadingNotes() if notes is None else notes)


def read_texts(
    path: Path,
    format: str,
    layout: Layout,
    counter: TextCounter,
    limits: Limits | None = None,
    *,
    count_unknown: bool = False,
    known_labels: dict[str, set[Any]] | None = None,
) -> ReadTexts:
    """Read texts and count their words.

    Parameters
    ----------
    path : Path
    format : str
        One of `TEXT_FORMATS`.
    layout : Layout
    counter : TextCounter
        A counter without a vocabulary takes that of these texts.
    limits : Limits, optional
    count_unknown : bool
        Whether to count words outside the vocabulary too; the counter must then have a vocabulary.
    known_labels : dict, optional
        Label name -> values: the corpus gets these labels; other values count as missing.

    Raises
    ------
    DataError
        If a document can't be read or its id is duplicated (the message names the file and the line), if no
        word is left, or if there are too many documents or terms.
    """
    gathered = Gathered(path, layout.id_column is not None or format == "text", limits or Limits())
    notes = ReadingNotes()
    texts = gathered.texts(read_documents_of(path, format, layout, notes))
    n_words = None
    if count_unknown:
        counts, n_words = counter.count_all(texts)
    else:
        counts = counter.fit_count(texts)
    gathered.limits.check(f"corpus {path}", n_terms=counts.shape[1])
    gathered.limits.check_tokens(f"corpus {path}", int(counts.sum()), counts.nnz)
    groups = gathered.groups(notes.groups, known_labels)
    corpus = Corpus.from_counts(counts, vocabulary=counter.vocabulary, names=gathered.names, groups=groups)
    return ReadTexts(corpus=corpus, notes=notes, n_words=n_words)


class Gathered:
    """Names and labels of documents, collected while their texts are read."""

    def __init__(self, path: Path, named: bool, limits: Limits) -> None:
        self._path = path
        self._places: dict[str, int | str] | None = {} if named else None
        self._labels: list[tuple[Any, ...]] = []
        self.limits = limits
        self.number = 0

    def texts(self, documents: Iterator[Document]) -> Iterator[str]:
        """Yield the texts of documents."""
        for document in documents:
            self.number += 1
            self.limits.check(f"corpus {self._path}", n_documents=self.number)
            if self._places is not None:
                name = str(document.name)
                before = self._places.setdefault(name, document.place)
                if len(self._places) < self.number:
                    raise DataError(
                        f"file {self._path}, line {document.place}, id", name,
                        f"different from all others (line {before} has this id)",
                        "Remove one of the two, or leave out --id-column.",
                    )  # fmt: skip
            self._labels.append(document.labels)
            yield document.text
        if self.number == 0:
            raise DataError(f"corpus {self._path}", "no documents", "at least one", "Check the path.")

    @property
    def names(self) -> list[str] | None:
        """Ids of the documents; None if they have none."""
        return None if self._places is None else list(self._places)

    def groups(
        self, columns: tuple[str, ...], known: dict[str, set[Any]] | None
    ) -> dict[str, list[Any]] | None:
        """Label name -> a value per document; for ``known`` labels, any other value counts as missing."""
        values = (
            dict(zip(columns, map(list, zip(*self._labels, strict=True)), strict=True)) if columns else {}
        )
        if known is None:
            return values or None
        none = [None] * self.number
        return {
            name: [value if value in labels else None for value in values.get(name, none)]
            for name, labels in known.items()
        }
