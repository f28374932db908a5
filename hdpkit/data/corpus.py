"""Documents of words: `Corpus`, with its tokens stored one by one or as cells of a matrix of counts."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Self

import attrs
import numpy as np
import numpy.typing as npt
import scipy

from hdpkit.arrays import Int32s, Int64s
from hdpkit.checks import DAMAGED, Codes, check_names, choice, fitting, flag, instance, whole_number
from hdpkit.checks import path as path_of
from hdpkit.data.encode import check_ids, read_documents
from hdpkit.data.files.count_files import read_ldac, read_uci, read_vocabulary
from hdpkit.data.files.counts import (
    CHUNK,
    ID_LIMIT,
    CellSpool,
    Counts,
    Limits,
    add_counts,
    check_total,
    limited,
)
from hdpkit.data.files.shards import (
    Manifest,
    MappedFiles,
    MappedShard,
    Piece,
    ShardsContent,
    array_on_disk,
    folder_aside,
    is_shard,
    open_shard,
    shard_at,
    storing_shards,
    write_content,
    write_shards,
)
from hdpkit.data.groups import GroupedData, encode_all, label_values
from hdpkit.data.matrices import as_numbers, frame_names, read_matrix
from hdpkit.errors import DataError, printable, short_repr
from hdpkit.files import storage_errors


@attrs.frozen(eq=False)
class Cells:
    """Counts of the terms in each document. Read-only."""

    begin: Int64s  # first cell of each document, and the end
    term: Int32s  # ascend within a document
    count: Int32s  # positive
    n_customers: int  # sum of the counts

    @classmethod
    def of(cls, begin: Int64s, term: Int32s, count: Int32s) -> Cells:
        """Make the arrays read-only and return them as cells."""
        for array in (begin, term, count):
            array.setflags(write=False)
        return cls(begin, term, count, int(count.sum(dtype=np.int64)))

    @classmethod
    def of_counts(cls, counts: Counts) -> Cells:
        """Return the cells of counts."""
        matrix = counts.matrix()
        begin, term = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int32)
        return cls.of(begin, term, matrix.data.astype(np.int32))

    @property
    def lengths(self) -> Int64s:
        """Number of customers of each document: int64, shape (n_documents,)."""
        lengths: Int64s = np.zeros(len(self.begin) - 1, np.int64)
        for first in range(0, len(self.count), CHUNK):
            add_counts(lengths, self.begin, first, self.count[first : first + CHUNK])
        return lengths

    def tokens(self) -> Int32s:
        """Term of each customer, in the order of the cells: int32, shape (n_customers,)."""
        return np.repeat(self.term, self.count)

    def documents(self) -> Int32s:
        """Document of each cell: int32, shape (n_cells,)."""
        return np.repeat(np.arange(len(self.begin) - 1, dtype=np.int32), np.diff(self.begin))


class Tokens:
    """Term of each customer of a corpus: an array, or cells from which it is computed when needed."""

    __slots__ = ("_cells", "_terms")

    def __init__(self, terms: Int32s | None = None, cells: Cells | None = None) -> None:
        self._terms = terms
        self._cells = cells

    @property
    def cells(self) -> Cells | None:
        """The cells, if the corpus was made from counts; otherwise None."""
        return self._cells

    def terms(self) -> Int32s:
        """Term of each customer; computed from the cells at the first access, and kept."""
        terms = self._terms
        if terms is None:
            assert self._cells is not None
            terms = self._cells.tokens()
            terms.setflags(write=False)
            self._terms = terms  # two threads may both compute it, with equal results
        return terms

    def __getstate__(self) -> tuple[Int32s | None, Cells | None]:
        return (self._terms if self._cells is None else None), self._cells

    def __setstate__(self, state: tuple[Int32s | None, Cells | None]) -> None:
        with fitting("pickle of a corpus", "its terms or its cells", remedy=DAMAGED):
            self._terms, self._cells = state
            if not isinstance(self._terms, np.ndarray) and not isinstance(self._cells, Cells):
                raise TypeError("terms")


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Corpus(GroupedData):
    """Documents of words: customers are tokens, groups are documents.

    Built by `Corpus.from_documents`, `Corpus.from_counts`, `Corpus.from_ldac` or `Corpus.from_uci`, or
    mapped into memory by `Corpus.open`. The tokens of a document are consecutive, and documents are in the
    given order. All arrays are read-only.

    Attributes
    ----------
    values, terms : ndarray of int32, shape (n_tokens,)
        Id of each token's term, 0..n_terms - 1.
    document : ndarray of int64, shape (n_tokens,)
        Document of each token, 0..n_documents - 1. Like all codes of labels it is computed at each access;
        only one code per document is stored.
    n_terms, n_documents, n_tokens, n_customers : int
        Sizes; a customer is a token.
    vocabulary : tuple of str or None
        Word of each term.
    names : tuple of str or None
        Name of each document.
    document_lengths : ndarray of int64, shape (n_documents,)
        Number of tokens of each document, which may be 0.
    labels : dict
        Label name -> (codes, keys), one code per token. It always contains "document", whose keys are the
        names of all documents, or 0..n_documents - 1.
    """

    _tokens: Tokens
    n_terms: int
    vocabulary: tuple[str, ...] | None
    names: tuple[str, ...] | None
    document_lengths: npt.NDArray[np.int64]
    _offsets: npt.NDArray[np.int64]
    _numbers: npt.NDArray[np.int32] | None = None
    _files: MappedFiles | None = None
    _origin: tuple[Path, str] | None = None  # folder and digest of a corpus that is mapped into memory

    @classmethod
    def from_documents(
        cls,
        docs: Any,
        n_terms: int | None = None,
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
    ) -> Corpus:
        """Build from documents as lists of tokens.

        Raises a DataError if there is no document or no token, a token isn't an id or a word of the
        vocabulary (document and position are named), or vocabulary, names or groups don't fit; a
        ParameterError if `n_terms` isn't a positive int.

        Parameters
        ----------
        docs : sequence of sequences
            Tokens of each document, all term ids (whole numbers from 0) or all strings.
        n_terms : int, optional
            Number of terms; by default the length of the vocabulary or, without one, the largest id + 1.
        vocabulary : sequence of str, optional
            Word of each term. Without it, the vocabulary of documents of strings is in order of first
            appearance.
        names : sequence of str, optional
            Name of each document.
        groups : dict, optional
            Further labels: name -> one value per document; None, NaN, NaT or pandas.NA if it is missing.
        """
        words = _check_vocabulary(vocabulary)
        bound = number_of_terms(n_terms, words)
        terms, lengths, built = read_documents(docs, bound, words, _readable(names))
        if built is not words:
            bound = number_of_terms(n_terms, built)
        if bound is None:
            bound = int(terms.max()) + 1 if len(terms) else 1
        terms.setflags(write=False)
        return cls._build(Tokens(terms), lengths, bound, built, names, groups)

    @classmethod
    def from_counts(cls, X: Any, vocabulary: Any = None, names: Any = None, groups: Any = None) -> Corpus:
        """Build from a matrix of counts.

        Raises a DataError if a count is negative, fractional, NaN or infinite (the message names document and
        term), there are no tokens or at least 2^31, or vocabulary, names or groups don't fit.

        Parameters
        ----------
        X : array-like, scipy.sparse or data frame, shape (n_documents, n_terms)
            Nonnegative integers, of an integer, float or bool type; duplicate entries of a sparse matrix add
            up. Tokens are in the order of rows, with terms ascending within a row.
        vocabulary, names, groups
            As in `from_documents`. By default the columns and the index of a data frame (pandas, polars);
            columns and rows that are only numbered from 0 have no names.
        """
        vocabulary = frame_names(X, "columns") if vocabulary is None else vocabulary
        names = frame_names(X, "index") if names is None else names
        words = _check_vocabulary(vocabulary)
        counts = read_matrix(X, _readable(names))
        check_width(words, counts.n_terms, ", one per column of the counts", "Give one word per column.")
        if counts.n_documents == 0:
            raise _empty("no documents")
        if not counts.count.any():  # also if there are no columns
            raise _empty(f"{counts.n_documents} documents without a token")
        if counts.n_terms > ID_LIMIT:
            raise DataError("counts", f"{counts.n_terms} terms", f"at most {ID_LIMIT} terms", "Drop columns.")
        cells = Cells.of_counts(counts)
        return cls._build(Tokens(cells=cells), cells.lengths, counts.n_terms, words, names, groups)

    @classmethod
    def from_ldac(
        cls,
        path: str | os.PathLike[str],
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
        n_terms: int | None = None,
        limits: Limits | None = None,
    ) -> Corpus:
        """Build from an LDA-C file, plain or gzip: one document per line, ``N id:count id:count ...``.

        Raises a DataError if the file is malformed, with the line number (from 1), or can't be read, and
        otherwise as `from_documents`; a ParameterError if `n_terms` isn't a positive int, or `path` isn't a
        path.

        Parameters
        ----------
        path : path
            The file. Ids count from 0, in any order; pairs that repeat an id add up. Tokens are in the order
            of `from_counts`.
        vocabulary : sequence of str or path, optional
            Word of each term, or the path of a file (UTF-8, plain or gzip) with a term per line.
        names, groups
            As in `from_documents`.
        n_terms : int, optional
            Number of terms; by default the length of the vocabulary or, without one, the largest id + 1.
        limits : Limits, optional
            The largest corpus that is accepted from the file; by default ``hk.Limits()``.
        """
        words, blocks = _counts_in(read_ldac, path, vocabulary, limits, n_terms)
        return cls._from_blocks(blocks, words, names, groups)

    @classmethod
    def from_uci(
        cls,
        path: str | os.PathLike[str],
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
        limits: Limits | None = None,
    ) -> Corpus:
        """Build from a bag-of-words file of the UCI repository (``docword.*.txt``), plain or gzip.

        Raises a DataError as `from_ldac`.

        Parameters
        ----------
        path : path
            The file: three lines with the numbers of documents, terms and entries, then lines ``document
            term count``, ids from 1, sorted by document.
        vocabulary, names, groups, limits
            As in `from_ldac`.
        """
        words, blocks = _counts_in(read_uci, path, vocabulary, limits)
        return cls._from_blocks(blocks, words, names, groups)

    @classmethod
    def _from_blocks(
        cls, blocks: Iterable[Counts], words: tuple[str, ...] | None, names: Any, groups: Any
    ) -> Corpus:
        pieces, most, total = [], 1, 0
        for counts in blocks:
            total += counts.n_tokens
            check_total(total)
            pieces.append(Cells.of_counts(counts))
            most = max(most, counts.n_terms)
        begin = np.zeros(sum(len(piece.begin) - 1 for piece in pieces) + 1, np.int64)
        np.cumsum(np.concatenate([np.diff(piece.begin) for piece in pieces]), out=begin[1:])
        columns = [np.concatenate([getattr(piece, name) for piece in pieces]) for name in ("term", "count")]
        cells = Cells.of(begin, *columns)
        return cls._build(Tokens(cells=cells), cells.lengths, most, words, names, groups)

    def __len__(self) -> int:
        return int(self._offsets[-1])

    @property
    def values(self) -> npt.NDArray[np.int32]:
        """Id of each token's term, shape (n_tokens,); computed at the first access if made from counts."""
        return self._tokens.terms()

    @property
    def cells(self) -> Cells | None:
        """Counts of the terms in each document, if the corpus was made from counts; otherwise None."""
        return self._tokens.cells

    @property
    def origin(self) -> tuple[Path, str] | None:
        """Folder from which tokens are mapped and the SHA-256 of its header; None if they are in memory."""
        return self._origin

    def empty_row(self, n: int) -> npt.NDArray[np.int32]:
        """An int32 array for one number a customer: in memory, or in a file if the tokens are mapped."""
        if self._origin is None:
            return super().empty_row(n)
        with storage_errors(
            "state", tempfile.gettempdir(), f"a place with room for {4 * n:,} bytes",
            "Set TMPDIR to a folder on another disk.",
        ):  # fmt: skip
            return np.asarray(array_on_disk(n))

    def check_unchanged(self) -> None:
        """Raise a ChangedDataError if the mapped files of the corpus were changed or truncated.

        It is called when a franchise is built, and in a run before and after each move and several times per
        second.
        """
        if self._files is not None:
            self._files.check()

    @property
    def terms(self) -> npt.NDArray[np.int32]:
        """Id of each token's term, shape (n_tokens,)."""
        return self.values

    @property
    def document(self) -> npt.NDArray[np.int64]:
        """Document of each token, shape (n_tokens,)."""
        return self.codes("document")

    @property
    def document_labels(self) -> dict[str, Codes]:
        """Labels with one code per document: name -> (codes, keys), codes of shape (n_documents,)."""
        return dict(self._labels)

    def numbers(self, name: str) -> npt.NDArray[np.int32] | None:
        """Return the codes of label `name` plus one as an int32 array, if these are stored; otherwise None.

        If only this label defines restaurants, they are also the numbers of the restaurants.
        """
        self._label(name)
        return self._numbers if name == "document" else None

    def codes_between(self, name: str, first: int, last: int) -> npt.NDArray[np.int64]:
        """Return the codes of label `name` for customers first .. last - 1; only these are computed."""
        codes = self._label(name)[0]
        first, last = self._range(first, last)
        begin = int(np.searchsorted(self._offsets, first, side="right")) - 1
        end = int(np.searchsorted(self._offsets, last, side="left"))
        ends = np.clip(self._offsets[begin : end + 1], first, last)
        found = np.repeat(codes[begin:end], np.diff(ends))
        found.setflags(write=False)
        return found

    @property
    def n_documents(self) -> int:
        """Number of documents, including empty ones."""
        return len(self.document_lengths)

    @property
    def n_tokens(self) -> int:
        """Number of tokens."""
        return len(self)

    def term(self, v: int) -> str | int:
        """Return the word of term `v`, or `v` itself if there is no vocabulary."""
        v = _check_index("term", v, self.n_terms)
        return v if self.vocabulary is None else self.vocabulary[v]

    def document_of(self, customer: int) -> str | int:
        """Return the name of a customer's document, or its index if documents have no names."""
        i = _check_index("customer", customer, len(self))
        d = int(np.searchsorted(self._offsets, i, side="right")) - 1
        return d if self.names is None else self.names[d]

    def document_customers(self, d: int) -> slice:
        """Return the customers of document `d` (an index), which are consecutive."""
        d = _check_index("document", d, self.n_documents)
        return slice(int(self._offsets[d]), int(self._offsets[d + 1]))

    def to_counts(self) -> scipy.sparse.csr_array:
        """Return the counts of terms, shape (n_documents, n_terms), int64, indices sorted."""
        if self.cells is not None:
            cells, shape = self.cells, (self.n_documents, self.n_terms)
            known = (cells.count.astype(np.int64), cells.term.copy(), cells.begin.astype(np.int32))
            return scipy.sparse.csr_array(known, shape=shape)
        ones = np.ones(len(self), np.int64)
        # Copies, since duplicates are summed in place. The ends of fewer than 2^31 tokens fit 32 bits; with
        # 64 bits SciPy would convert the terms to 64 bits too.
        matrix = scipy.sparse.csr_array(
            (ones, self.values.copy(), self._offsets.astype(np.int32)), shape=(self.n_documents, self.n_terms)
        )
        matrix.sum_duplicates()
        return matrix

    def with_values(self, values: Any) -> Self:
        """Return the same documents with other terms (used to simulate data) and the same vocabulary.

        Raises a DataError if the number isn't n_tokens or an id isn't a whole number from 0 to n_terms - 1.

        Parameters
        ----------
        values : array-like of int, shape (n_tokens,)
            Term ids.
        """
        array = as_numbers(values, (len(self),), "term", "token")
        terms = check_ids(array, self.n_terms, self.document_lengths, self.names)
        terms.setflags(write=False)
        return attrs.evolve(self, tokens=Tokens(terms), origin=None, files=None)

    def with_cells(self, cells: Cells) -> Self:
        """Return the same documents with other counts of terms, whose sums by document are the same.

        Raises a DataError if the sums differ.
        """
        if not np.array_equal(cells.lengths, self.document_lengths):
            raise DataError(
                "cells", cells.n_customers, f"{len(self)} tokens, each document as many as before",
                "Pass counts of these documents.",
            )  # fmt: skip
        return attrs.evolve(self, tokens=Tokens(cells=cells), origin=None, files=None)

    def plus(self, more: Corpus) -> Corpus:
        """Return these documents followed by others over the same terms.

        Raises a DataError if its terms differ, or a name is duplicated.

        Parameters
        ----------
        more : Corpus
            With the same vocabulary. If one of the two doesn't have a label, it is missing for its
            documents. Names are kept if both have names.
        """
        instance("more", more, Corpus, "a Corpus", remedy="hk.Corpus.from_counts(X, vocabulary=...).")
        _check_joinable(self, more)
        return self._build(
            _joined_tokens(self, more), np.concatenate([self.document_lengths, more.document_lengths]),
            self.n_terms, self.vocabulary, _joined_names(self, more), _joined_groups(self, more),
        )  # fmt: skip

    # ------------------------------------------------------------------ on disk

    @classmethod
    def convert(
        cls,
        path: str | os.PathLike[str],
        folder: str | os.PathLike[str],
        format: str = "ldac",
        vocabulary: Any = None,
        names: Any = None,
        groups: Any = None,
        limits: Limits | None = None,
    ) -> Corpus:
        """Convert a file of counts to a folder of one shard, block by block, and `open` it.

        Neither the file nor its tokens need to fit into memory. The conversion needs some tens of megabytes,
        and memory for the names of documents and terms; on disk twice the size of the folder. Raises a
        DataError, ParameterError or StorageError as the method for the format, and as `save`; files written
        so far are removed.

        Parameters
        ----------
        path : path
            The file, plain or gzip.
        folder : path
            The folder for the corpus; new or empty.
        format : str
            "ldac" (see `from_ldac`) or "uci" (see `from_uci`).
        vocabulary, names, groups, limits
            As in `from_ldac`.
        """
        choice("format", format, ("ldac", "uci"), remedy="Read others into memory, and save().")
        read = read_ldac if format == "ldac" else read_uci
        words, blocks = _counts_in(read, path, vocabulary, limits)
        place = _folder(folder)
        write_blocks(lambda _: blocks, place, 1, lambda: (words, names, groups), tokens=True)
        return cls.open(place, verify=False)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the corpus to a new or empty folder, from which `open` maps it into memory.

        Raises a ParameterError if the folder isn't empty; a DataError if a label's value isn't a string,
        number or bool, or a string has a lone surrogate, which UTF-8 can't encode; a StorageError if it can't
        be written.
        """
        write_content(content_of(self, tokens=True), _folder(folder), 1)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], verify: bool = True) -> Corpus:
        """Open a corpus that `save` or `convert` wrote: its tokens are mapped into memory, not read.

        The operating system reads the parts that a sweep uses, and drops them when memory is short. The files
        must not be changed or shortened while they are mapped; runs check this (see docs/large_corpora.md).
        Raises a DataError if a file is missing, damaged, or inconsistent with the others; the message names
        it.

        Parameters
        ----------
        folder : path
            A folder of `save` or `convert`, or the folder of one of several shards, below the manifest of its
            corpus (see `ShardedCorpus`).
        verify : bool
            Whether to compare checksums; sizes, types and ranges are always compared.
        """
        given = _folder(folder)
        shard = shard_at(given) or (Manifest._read(Path(os.path.realpath(given))), 0)
        n_shards = len(shard[0].shards)
        if n_shards > 1 and not is_shard(given):
            raise DataError(
                f"folder {given}", f"{n_shards} shards", "one shard",
                "ShardedCorpus.open(folder) opens them; Corpus.open(folder / 'shard-0000') one of them.",
            )  # fmt: skip
        return cls._of_shard(*shard, flag("verify", verify))

    def __reduce_ex__(self, protocol: Any) -> Any:
        # Another process maps the folder again.
        return super().__reduce_ex__(protocol) if self._origin is None else (reopen, self._origin)

    @classmethod
    def _build(
        cls,
        tokens: Tokens,
        lengths: npt.NDArray[np.int64],
        n_terms: int,
        vocabulary: tuple[str, ...] | None,
        names: Any,
        groups: Any,
    ) -> Corpus:
        """Build from checked tokens and lengths of documents, and unchecked names and groups."""
        n = len(lengths)
        if n == 0:
            raise _empty("no documents")
        if not lengths.any():
            raise _empty(f"{n} documents without a token")
        checked = None if names is None else check_names("names", names, n, "document")
        by_document = encode_all("groups", groups, n, "document", taken=["document"])
        return cls._checked(tokens, lengths, n_terms, vocabulary, checked, by_document)

    @classmethod
    def _of_shard(cls, manifest: Manifest, number: int, verify: bool = True) -> Self:
        """Return the documents of a shard; errors as in `open_shard`."""
        shard = open_shard(manifest, number, verify)
        tokens = tokens_of_shard(shard, manifest.shards[number].n_tokens)
        return cls._checked(
            tokens, shard.arrays["lengths"], manifest.n_terms, manifest.vocabulary, shard.names, shard.labels,
            numbers=shard.arrays.get("document"), origin=(manifest._path(number), manifest.digest),
            files=shard.files,
        )  # fmt: skip

    @classmethod
    def _checked(
        cls,
        tokens: Tokens,
        lengths: npt.NDArray[np.int64],
        n_terms: int,
        vocabulary: tuple[str, ...] | None,
        checked: tuple[str, ...] | None,
        by_document: dict[str, Codes],
        **on_disk: Any,
    ) -> Self:
        """Build from checked parts; labels have one code per document, and don't include "document"."""
        n = len(lengths)
        own: dict[str, Codes] = {"document": (np.arange(n, dtype=np.int64), checked or range(n))}
        offsets = np.zeros(n + 1, np.int64)
        np.cumsum(lengths, out=offsets[1:])
        for array in (lengths, offsets, own["document"][0]):
            array.setflags(write=False)
        return cls(
            tokens=tokens,
            labels=own | by_document,
            n_terms=n_terms,
            vocabulary=vocabulary,
            names=checked,
            document_lengths=lengths,
            offsets=offsets,
            **on_disk,
        )

    def __repr__(self) -> str:
        others = {name: keys for name, (_, keys) in self._labels.items() if name != "document"}
        more = [printable(f"{name} ({len(keys)})") for name, keys in others.items()]
        labels = f", labels: {', '.join(more)}" if more else ""
        return (
            f"<Corpus: {self.n_documents} documents, {self.n_terms} terms"
            f"{'' if self.vocabulary is None else ' (named)'}, {self.n_tokens} tokens{labels}>"
        )


def _empty(what: str) -> DataError:
    return DataError(
        "corpus", what, "at least one document and one token: it is empty", "Check how it was read."
    )


def _readable(names: Any) -> tuple[str, ...] | None:
    """Return names of documents for errors about tokens; whether they are valid is checked later."""
    return (
        tuple(name if isinstance(name, str) else short_repr(name) for name in names)
        if isinstance(names, list | tuple)
        else None
    )


def _check_vocabulary(vocabulary: Any) -> tuple[str, ...] | None:
    return None if vocabulary is None else check_names("vocabulary", vocabulary, None, "term")


def _counts_in(
    read: Callable[[Any, int | None], Iterator[Counts]],
    path: Any,
    vocabulary: Any,
    limits: Any,
    n_terms: Any = None,
) -> tuple[tuple[str, ...] | None, Iterator[Counts]]:
    """The vocabulary, read from its file if necessary, and the counts in a file in blocks."""
    kinds = (Limits, type(None))
    limits = instance("limits", limits, kinds, "an hk.Limits, or None", remedy="Leave it out.") or Limits()
    path_of("path", path, remedy="Give a str or a pathlib.Path.")
    from_file = isinstance(vocabulary, str | os.PathLike)
    words = read_vocabulary(vocabulary, limits) if from_file else _check_vocabulary(vocabulary)
    if words == ():
        raise DataError("vocabulary", "0 terms", "at least one term", "Leave it out, or give the words.")
    bound = number_of_terms(n_terms, words)
    if bound is not None:  # given by the caller, not by the file
        limits = attrs.evolve(limits, max_terms=max(bound, limits.max_terms))
    return words, limited(f"file {os.fspath(path)}", read(path, bound), limits)


def _folder(folder: Any) -> Path:
    return path_of("folder", folder, remedy="Name a folder, for instance Path('corpus').")


def reopen(folder: Path, digest: str, verify: bool = False) -> Corpus:
    """Open a folder again."""
    corpus = Corpus.open(folder, verify)
    if corpus.origin != (folder, digest):
        raise DataError(
            f"folder {folder}", "another corpus", f"the corpus with digest {digest[:12]}...", "Restore it."
        )
    return corpus


def number_of_terms(n_terms: Any, vocabulary: tuple[str, ...] | None) -> int | None:
    """Return the number of terms, given or that of the vocabulary; None if neither is given."""
    if n_terms is None:
        return None if vocabulary is None else len(vocabulary)
    n_terms = whole_number("n_terms", n_terms, 1, ID_LIMIT, remedy="Give the number of terms.")
    check_width(vocabulary, n_terms, " (n_terms)", "Leave n_terms out or correct it.")
    return n_terms


def check_width(words: Sequence[str] | None, n_terms: int, of: str, remedy: str) -> None:
    """Raise a DataError unless a vocabulary, if there is one, has a word for each term of this."""
    if words is not None and len(words) != n_terms:
        raise DataError("vocabulary", f"{len(words)} terms", f"{n_terms} terms{of}", remedy)


def tokens_of_shard(shard: MappedShard, n_tokens: int) -> Tokens:
    """Return the tokens of a shard."""
    arrays = shard.arrays
    if "terms" in arrays:
        return Tokens(arrays["terms"])
    return Tokens(cells=Cells(arrays["begin"], arrays["term"], arrays["count"], n_tokens))


def content_of(corpus: Corpus, *, tokens: bool = False) -> ShardsContent:
    """Return the content of a corpus, for reading in pieces; of one made from counts tokens, if asked."""
    cells = None if tokens else corpus.cells
    columns: tuple[Any, ...] = (corpus.values,) if cells is None else (cells.term, cells.count)
    return ShardsContent(
        lengths=corpus.document_lengths, cells=None if cells is None else np.diff(cells.begin),
        read=partial(pieces_of, columns), n_terms=corpus.n_terms,
        vocabulary=corpus.vocabulary, names=corpus.names,
        labels={name: codes for name, codes in corpus.document_labels.items() if name != "document"},
    )  # fmt: skip


def pieces_of(columns: tuple[Any, ...], first: int, last: int) -> Iterator[Piece]:
    """Rows first .. last - 1 of columns, in pieces."""
    for begin in range(first, last, CHUNK):
        yield tuple(column[begin : min(begin + CHUNK, last)] for column in columns)


Described = tuple[Any, Any, Any]
"""Vocabulary, names and groups of a corpus, in the form accepted by `Corpus.from_counts`."""


def write_blocks(
    blocks: Callable[[Path], Iterable[Counts]],
    folder: Path,
    shards: int,
    described: Callable[[], Described],
    *,
    tokens: bool = False,
) -> None:
    """Write blocks of documents as they arrive; as tokens only if there is one shard."""
    refusals = partial(storing_shards, folder)
    with folder_aside(folder) as aside, CellSpool(aside / "spool", refusals) as spool:
        spool.fill(blocks(aside))
        vocabulary, names, groups = described()
        lengths = spool.lengths
        content = ShardsContent(
            lengths=lengths, cells=None if tokens else spool.cells,
            read=(lambda first, last: spool.tokens()) if tokens else spool.read, n_terms=spool.n_terms,
            vocabulary=vocabulary,
            names=None if names is None else check_names("names", names, len(lengths), "document"),
            labels=encode_all("groups", groups, len(lengths), "document", taken=["document"]),
        )  # fmt: skip
        with refusals():
            write_shards(aside, content, shards)


def piece_of(corpus: Corpus, first: int, last: int) -> Corpus:
    """Return documents first .. last - 1 as a separate corpus, without names and labels."""
    begin = int(corpus.document_lengths[:first].sum())
    lengths = corpus.document_lengths[first:last].copy()
    terms = corpus.values[begin : begin + int(lengths.sum())].copy()
    terms.setflags(write=False)
    return Corpus._build(Tokens(terms), lengths, corpus.n_terms, corpus.vocabulary, None, None)


def joined_pieces(pieces: Iterable[Corpus]) -> Corpus:
    """The documents of all pieces as one corpus, without names and labels; a single piece unchanged."""
    several = iter(pieces)
    first = last = next(several)
    terms: list[Any] = []
    lengths: list[Any] = []
    for last in several:
        if not terms:
            terms, lengths = [first.values], [first.document_lengths]
        terms.append(last.values)
        lengths.append(last.document_lengths)
    if not terms:
        return first
    del first
    joined = np.concatenate(terms)
    terms.clear()
    joined.setflags(write=False)
    return Corpus._build(Tokens(joined), np.concatenate(lengths), last.n_terms, last.vocabulary, None, None)


def _check_index(parameter: str, value: Any, n: int) -> int:
    return whole_number(parameter, value, 0, n - 1, remedy="Indices start at 0.")


def _check_joinable(before: Any, more: Any) -> None:
    """Raise a DataError if the two corpora number terms differently."""
    if more.n_terms != before.n_terms or (
        more.vocabulary is not None and before.vocabulary is not None and more.vocabulary != before.vocabulary
    ):
        raise DataError(
            "more", more, f"documents over the current vocabulary, {before.n_terms} terms",
            "Build them with vocabulary=corpus.vocabulary, or n_terms=corpus.n_terms.",
        )  # fmt: skip


def _joined_tokens(before: Any, more: Any) -> Tokens:
    """Tokens of the first corpus followed by those of the second; cells remain cells."""
    one, other = before.cells, more.cells
    if one is None or other is None:
        terms = np.concatenate([before.values, more.values])
        terms.setflags(write=False)
        return Tokens(terms)
    begin = np.concatenate([one.begin, other.begin[1:] + one.begin[-1]])
    columns = [np.concatenate([getattr(cells, name) for cells in (one, other)]) for name in ("term", "count")]
    return Tokens(cells=Cells.of(begin, *columns))


def _joined_names(before: Any, more: Any) -> list[str] | None:
    """Names of all documents; None if one of the corpora has none."""
    if before.names is None or more.names is None:
        return None
    return [*before.names, *more.names]


def _joined_groups(before: Any, more: Any) -> dict[str, list[Any]]:
    """Labels of all documents: one value each, None if a corpus lacks the label."""
    names = dict.fromkeys(name for data in (before, more) for name in data.label_names if name != "document")
    return {
        name: [
            value
            for data in (before, more)
            for value in label_values(data.document_labels, name, data.n_documents)
        ]
        for name in names
    }
