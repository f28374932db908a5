"""A corpus in shards: ranges of consecutive documents, in memory or in folders that are mapped separately.

A shard is an ordinary `Corpus`. Code that uses a document's number adds the shard's ``first_document``.
"""

from __future__ import annotations

import hashlib
import itertools
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.checks import Codes, check_names, flag, instance, whole_number
from hdpkit.checks import path as path_of
from hdpkit.data.corpus import (
    Cells,
    Corpus,
    Tokens,
    check_width,
    content_of,
    piece_of,
    pieces_of,
    tokens_of_shard,
    write_blocks,
)
from hdpkit.data.files.counts import ID_LIMIT, Counts
from hdpkit.data.files.shards import (
    Manifest,
    Piece,
    ShardInfo,
    ShardsContent,
    check_shards,
    open_shard,
    write_content,
)
from hdpkit.data.matrices import read_matrix
from hdpkit.errors import DataError, printable


@attrs.frozen(eq=False)
class CutCorpus:
    """A corpus in memory as shards: see `cut`."""

    corpus: Corpus
    shards: tuple[ShardInfo, ...]

    @property
    def n_terms(self) -> int:
        """Number of terms."""
        return self.corpus.n_terms

    @property
    def n_documents(self) -> int:
        """Number of documents of all shards."""
        return self.corpus.n_documents

    @property
    def n_tokens(self) -> int:
        """Number of tokens of all shards."""
        return self.corpus.n_tokens

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """Word of each term."""
        return self.corpus.vocabulary

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels, including "document"."""
        return tuple(self.corpus.label_names)

    @property
    def digest(self) -> str:
        """A checksum of the tokens and of the boundaries of shards."""
        found = hashlib.sha256(np.ascontiguousarray(self.corpus.values).tobytes())
        found.update(np.ascontiguousarray(self.corpus.document_lengths).tobytes())
        found.update(repr([piece.first_document for piece in self.shards]).encode())
        return found.hexdigest()

    def shard(self, i: int) -> Corpus:
        """Documents of shard i."""
        i = whole_number("i", i, 0, len(self.shards) - 1, remedy="Shards are numbered from 0.")
        piece = self.shards[i]
        return piece_of(self.corpus, piece.first_document, piece.first_document + piece.n_documents)


def cut(corpus: Corpus, n_shards: int) -> CutCorpus:
    """Divide a corpus into shards of consecutive documents with about equal numbers of tokens.

    Raises a ParameterError if there are fewer documents with tokens.

    Parameters
    ----------
    corpus : Corpus
        A corpus in memory; for larger corpora, convert files with ``hdpkit convert --shards``.
    n_shards : int
        At most the number of documents with tokens.
    """
    instance("corpus", corpus, Corpus, "a Corpus", remedy="hk.Corpus.from_documents(...).")
    there = np.flatnonzero(corpus.document_lengths)
    whole_number("n_shards", n_shards, 1, len(there), remedy="A shard has at least one document with tokens.")
    ends = np.cumsum(corpus.document_lengths)
    # The document with tokens at which each shard begins, so that no shard is without tokens.
    at = np.searchsorted(ends[there], np.arange(1, n_shards) * int(ends[-1]) / n_shards)
    for i in range(n_shards - 1):
        at[i] = min(max(int(at[i]), int(at[i - 1]) + 1 if i else 1), len(there) - (n_shards - 1 - i))
    return cut_at(corpus, [0, *there[at].tolist()])


def cut_at(corpus: Corpus, firsts: Sequence[int]) -> CutCorpus:
    """Divide a corpus into shards that begin at these documents, the first of which is 0."""
    offsets = np.concatenate([[0], np.cumsum(corpus.document_lengths)])
    shards = (
        ShardInfo(
            number=i, first_document=a, n_documents=b - a, first_token=int(offsets[a]),
            n_tokens=int(offsets[b] - offsets[a]),
        )
        for i, (a, b) in enumerate(itertools.pairwise([*firsts, corpus.n_documents]))
    )  # fmt: skip
    return CutCorpus(corpus, tuple(shards))


def shards_joined(manifest: Manifest) -> Corpus:
    """Return the documents of all shards, in memory; errors as in `open_shard`."""
    content = content_of_shards(manifest)
    pieces = list(content.read(0, manifest.n_tokens if manifest.n_cells is None else manifest.n_cells))
    columns = [np.concatenate(column) for column in zip(*pieces, strict=True)]
    if content.cells is None:
        columns[0].setflags(write=False)
        tokens = Tokens(columns[0])
    else:
        tokens = Tokens(cells=Cells.of(np.append(0, np.cumsum(content.cells)), *columns))
    names = None if content.names is None else tuple(content.names)
    return Corpus._checked(
        tokens, content.lengths, manifest.n_terms, manifest.vocabulary, names, dict(content.labels)
    )


def content_of_shards(manifest: Manifest) -> ShardsContent:
    """Return the content of all shards, for reading in pieces; errors as in `open_shard`."""
    shards = [open_shard(manifest, number) for number in range(len(manifest.shards))]
    tokens = [tokens_of_shard(one, info.n_tokens) for one, info in zip(shards, manifest.shards, strict=True)]
    if manifest.kind == "cells":
        cells = [one.cells for one in tokens if one.cells is not None]
        columns: list[tuple[Any, ...]] = [(one.term, one.count) for one in cells]
        own: Any = np.concatenate([np.diff(one.begin) for one in cells])
    else:
        columns = [(one.terms(),) for one in tokens]
        own = None
    ends = np.cumsum([0] + [len(column[0]) for column in columns])

    def read(first: int, last: int) -> Iterator[Piece]:
        for begin, end, arrays in zip(ends[:-1], ends[1:], columns, strict=True):
            yield from pieces_of(arrays, max(first - int(begin), 0), min(last, int(end)) - int(begin))

    labels: dict[str, Codes] = {}
    for name, keys in manifest._labels.items():
        codes = np.concatenate([shard.labels[name][0] for shard in shards])
        codes.setflags(write=False)
        labels[name] = (codes, keys)
    return ShardsContent(
        lengths=np.concatenate([one.arrays["lengths"] for one in shards]), cells=own, read=read,
        n_terms=manifest.n_terms,
        vocabulary=manifest.vocabulary, labels=labels,
        names=[name for shard in shards for name in shard.names or ()] if manifest._named else None,
    )  # fmt: skip


def in_shards(data: Any) -> bool:
    """Whether data are in shards: a `ShardedCorpus`, or what is like one (`hdpkit.shards`)."""
    return hasattr(data, "shards")


def n_customers(data: Any) -> int:
    """Number of customers of data, in shards or not."""
    return int(data.n_tokens) if in_shards(data) else len(data)


@attrs.frozen(eq=False, repr=False)
class ShardedCorpus(Manifest):
    """A corpus as shards on disk: ranges of consecutive documents that are read one by one.

    Opened by `ShardedCorpus.open`, written by `ShardedCorpus.write`, `ShardedCorpus.from_counts` or
    ``hdpkit convert --shards``. Opening reads only the manifest; shards are read on request, and those not
    requested may be absent from this machine.

    Attributes
    ----------
    folder : Path
    digest : str
        SHA-256 (hex) of the manifest, which contains those of all files of all shards.
    kind : str
        "cells" for a corpus of counts, otherwise "tokens".
    shards : tuple
        For each shard its ``number``, ``first_document``, ``n_documents``, ``first_token``, ``n_tokens`` and
        ``n_cells``.
    n_shards, n_documents, n_tokens, n_terms : int
        Sizes of the entire corpus, which may have more than 2^31 tokens.
    n_cells : int or None
        Number of pairs of a document and a term that occurs in it; None for tokens.
    vocabulary : tuple of str or None
        Word of each term.
    label_names : tuple of str
        Names of the labels, including "document".
    """

    # ------------------------------------------------------------------ reading

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> ShardedCorpus:
        """Open a corpus in shards. Only its manifest is read.

        Raises a DataError if the manifest is missing, damaged, or of another version; the message names the
        file.
        """
        return cls._read(Path(os.path.realpath(_folder(folder))))

    @property
    def n_shards(self) -> int:
        """Number of shards."""
        return len(self.shards)

    @property
    def label_names(self) -> tuple[str, ...]:
        """Names of the labels."""
        return ("document", *self._labels)

    def is_present(self, number: int) -> bool:
        """Whether the folder of a shard (its number, from 0) is on this machine."""
        return self._path(self._number(number)).is_dir()

    def shard(self, number: int, verify: bool = True) -> Corpus:
        """Return the documents of a shard, mapped into memory; the operating system reads what is used.

        They are numbered from 0: document d is document ``shards[number].first_document + d`` of the entire
        corpus. Terms and the keys of labels are those of the entire corpus. Raises a ShardError if a file is
        missing, truncated or damaged; the message names shard and file.

        Parameters
        ----------
        number : int
            Of the shard, from 0.
        verify : bool
            Whether to compare the SHA-256 of each file. Sizes and ranges of all numbers are always checked.
            For this the files are read in pieces, so a shard may be larger than memory.
        """
        return Corpus._of_shard(self, self._number(number), flag("verify", verify))

    def verify(self, number: int) -> None:
        """Check all files of a shard: sizes, ranges of numbers, SHA-256. Number and errors as in `shard`."""
        open_shard(self, self._number(number))

    def corpus(self) -> Corpus:
        """Return all documents as one corpus in memory, equal to that from which the shards were made.

        Raises a ShardError as for `shard`; all shards must be present.
        """
        return shards_joined(self)

    def _number(self, number: Any) -> int:
        return whole_number("number", number, 0, self.n_shards - 1, remedy="Shards are numbered from 0.")

    def __reduce__(self) -> Any:
        # Another process opens the manifest again.
        return reopen_shards, (self.folder, self.digest)

    def __repr__(self) -> str:
        labels = [name for name in self.label_names if name != "document"]
        more = printable(f", labels: {', '.join(labels)}") if labels else ""
        named = "" if self.vocabulary is None else " (named)"
        return (
            f"<ShardedCorpus: {self.n_shards} shards of {self.kind}, {self.n_documents} documents, "
            f"{self.n_terms} terms{named}, {self.n_tokens} tokens{more}>"
        )

    # ------------------------------------------------------------------ writing

    @classmethod
    def write(cls, corpus: Corpus, folder: str | os.PathLike[str], shards: int) -> ShardedCorpus:
        """Write a corpus in shards of consecutive documents, with about equal numbers of cells (or tokens).

        Raises a ParameterError if there are too many shards, or the folder isn't empty; a DataError if a
        label's value isn't a string, number or bool, or a string can't be encoded in UTF-8; a StorageError if
        it can't be written, for instance because the disk is full; nothing is left behind then.

        Parameters
        ----------
        corpus : Corpus
            A corpus that is mapped into memory is copied in pieces.
        folder : path
            New or empty.
        shards : int
            Number of shards, at most that of the documents that have tokens.
        """
        instance("corpus", corpus, Corpus, "a Corpus", remedy="hk.Corpus.from_counts(X, vocabulary=...).")
        place, n = _folder(folder), check_shards(shards)
        write_content(content_of(corpus), place, n)
        return cls.open(place)

    @classmethod
    def from_counts(
        cls,
        blocks: Iterable[Any],
        folder: str | os.PathLike[str],
        shards: int,
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
    ) -> ShardedCorpus:
        """Write counts from blocks, which are never all in memory at once.

        Raises a ParameterError or StorageError as for `write`; a DataError as for `Corpus.from_counts`; the
        message names the block, from 0.

        Parameters
        ----------
        blocks : iterable of array-like or scipy.sparse, shape (some documents, n_terms)
            Counts as for `Corpus.from_counts`; iterated over once.
        folder : path
            New or empty. While it is written, twice its size is needed on disk.
        shards : int
            Number of shards, at most that of the documents that have tokens.
        vocabulary, names, groups
            Those of the entire corpus, as in `Corpus.from_documents`.
        """
        place, n = _folder(folder), check_shards(shards)
        words = None if vocabulary is None else check_names("vocabulary", vocabulary, None, "term")
        write_blocks(lambda _: _counts_of(blocks, words), place, n, lambda: (words, names, groups))
        return cls.open(place)


def _counts_of(blocks: Iterable[Any], words: tuple[str, ...] | None) -> Iterator[Counts]:
    """Checked counts of blocks."""
    n_terms = 0
    for number, block in enumerate(_iterated(blocks)):
        try:
            counts = read_matrix(block, None)
        except DataError as error:
            raise DataError(
                f"blocks, block {number}, {error.parameter}", error.value, error.allowed, error.remedy
            ) from error
        check_width(words, counts.n_terms, ", one per column", "Give one word per column of each block.")
        n_terms = n_terms or counts.n_terms
        if not counts.n_terms == n_terms <= ID_LIMIT:
            raise DataError(
                f"blocks, block {number}", f"{counts.n_terms} terms",
                f"{min(n_terms, ID_LIMIT)} terms, as many as the first block, at most {ID_LIMIT}",
                "Give all blocks the same columns.",
            )  # fmt: skip
        yield counts


def _iterated(blocks: Any) -> Iterator[Any]:
    if (
        isinstance(blocks, str | bytes | Mapping)
        or scipy.sparse.issparse(blocks)
        or not isinstance(blocks, Iterable)
        or isinstance(blocks, type)
        or getattr(blocks, "closed", False) is True
    ):
        raise DataError(
            "blocks",
            blocks,
            "an iterable of matrices, documents x terms",
            "Put a single one into a list: [X].",
        )
    return iter(blocks)


def _folder(folder: Any) -> Path:
    return path_of("folder", folder, remedy="Name a folder, for instance Path('shards').")


def reopen_shards(folder: Path, digest: str) -> ShardedCorpus:
    """Open a corpus in shards that another process has open."""
    sharded = ShardedCorpus.open(folder)
    if sharded.digest != digest:
        raise DataError(
            f"folder {folder}", "another corpus", f"the corpus with digest {digest[:12]}...", "Restore it."
        )
    return sharded
