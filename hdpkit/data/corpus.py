"""Documents of words."""

from __future__ import annotations

import os
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import choice, flag, instance, whole_number
from hdpkit.checks import path as path_of
from hdpkit.data.cells import Cells, Tokens
from hdpkit.data.documents import Documents
from hdpkit.data.joining import check_joinable, joined_groups, joined_names, joined_tokens
from hdpkit.data.labels import encode_all
from hdpkit.data.matrices import frame_names, read_matrix
from hdpkit.data.shard_documents import mapped_shard
from hdpkit.data.tokens import read_documents
from hdpkit.errors import DataError, short_repr
from hdpkit.formats.arrays import FolderWriter, check_writable, open_folder
from hdpkit.formats.counts import ID_LIMIT, Counts, check_total
from hdpkit.formats.ldac import read_ldac, read_vocabulary
from hdpkit.formats.limits import Limits, limited
from hdpkit.formats.names import check_names
from hdpkit.formats.shard_files import shard_at
from hdpkit.formats.uci import read_uci

__all__ = ["Corpus", "reopen"]

_BLOCK = 1 << 18  # tokens written at once


@attrs.frozen(eq=False, repr=False, kw_only=True)
class Corpus(Documents):
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

        Raises
        ------
        DataError
            If there is no document or no token, a token isn't an id or a word of the vocabulary (document and
            position are named), or vocabulary, names or groups don't fit.
        ParameterError
            If `n_terms` isn't a positive int.
        """
        words = _check_vocabulary(vocabulary)
        bound = _check_n_terms(n_terms, words)
        terms, lengths, built = read_documents(docs, bound, words, _readable(names))
        if built is not words:
            bound = _check_n_terms(n_terms, built)
        if bound is None:
            bound = int(terms.max()) + 1 if len(terms) else 1
        terms.setflags(write=False)
        return cls._build(Tokens(terms), lengths, bound, built, names, groups)

    @classmethod
    def from_counts(cls, X: Any, vocabulary: Any = None, names: Any = None, groups: Any = None) -> Corpus:
        """Build from a matrix of counts.

        Parameters
        ----------
        X : array-like, scipy.sparse or data frame, shape (n_documents, n_terms)
            Nonnegative integers, of an integer, float or bool type; duplicate entries of a sparse matrix add
            up. Tokens are in the order of rows, with terms ascending within a row.
        vocabulary, names, groups
            As in `from_documents`. By default the columns and the index of a data frame (pandas, polars);
            columns and rows that are only numbered from 0 have no names.

        Raises
        ------
        DataError
            If a count is negative, fractional, NaN or infinite (the message names document and term), there
            are no tokens or at least 2^31, or vocabulary, names or groups don't fit.
        """
        vocabulary = frame_names(X, "columns") if vocabulary is None else vocabulary
        names = frame_names(X, "index") if names is None else names
        words = _check_vocabulary(vocabulary)
        counts = read_matrix(X, _readable(names))
        if words is not None and len(words) != counts.n_terms:
            raise DataError(
                "vocabulary",
                f"{len(words)} terms",
                f"{counts.n_terms} terms, one per column of the counts",
                "Give one word per column.",
            )
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

        Raises
        ------
        DataError
            With the line number (from 1), if the file is malformed; if it can't be read; otherwise as
            `from_documents`.
        ParameterError
            If `n_terms` isn't a positive int, or `path` isn't a path.
        """
        limits = _check_limits(limits)
        words = _read_words(path, vocabulary, limits)
        bound = _check_n_terms(n_terms, words)
        if bound is not None:  # given by the caller, not by the file
            limits = attrs.evolve(limits, max_terms=max(bound, limits.max_terms))
        blocks = limited(_place_of(path), read_ldac(path, bound), limits)
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

        Parameters
        ----------
        path : path
            The file: three lines with the numbers of documents, terms and entries, then lines ``document
            term count``, ids from 1, sorted by document.
        vocabulary, names, groups, limits
            As in `from_ldac`.

        Raises
        ------
        DataError
            As `from_ldac`.
        """
        limits = _check_limits(limits)
        words = _read_words(path, vocabulary, limits)
        blocks = limited(_place_of(path), read_uci(path, None if words is None else len(words)), limits)
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

    def plus(self, more: Corpus) -> Corpus:
        """Return these documents followed by others over the same terms.

        Parameters
        ----------
        more : Corpus
            With the same vocabulary. If one of the two doesn't have a label, it is missing for its
            documents. Names are kept if both have names.

        Raises
        ------
        DataError
            If its terms differ, or a name is duplicated.
        """
        instance("more", more, Corpus, "a Corpus", remedy="hk.Corpus.from_counts(X, vocabulary=...).")
        check_joinable(self, more)
        return self._build(
            joined_tokens(self, more), np.concatenate([self.document_lengths, more.document_lengths]),
            self.n_terms, self.vocabulary, joined_names(self, more), joined_groups(self, more),
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
        """Convert a file of counts to a folder of arrays, block by block, and `open` it.

        Neither the file nor its tokens need to fit into memory. The conversion needs some tens of
        megabytes, and memory for the names of documents and terms.

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

        Raises
        ------
        DataError, ParameterError, StorageError
            As the method for the format, and as `save`; files written so far are removed.
        """
        choice("format", format, ("ldac", "uci"), remedy="Read others into memory, and save().")
        limits = _check_limits(limits)
        words = _read_words(path, vocabulary, limits)
        read = read_ldac if format == "ldac" else read_uci
        most = 1
        with FolderWriter(_folder(folder)) as writer:
            blocks = read(path, None if words is None else len(words))
            for counts in limited(_place_of(path), blocks, limits):
                writer.add(counts)
                most = max(most, counts.n_terms)
            n = writer.n_documents
            if writer.n_tokens == 0:
                raise _empty(f"{n} documents without a token")
            checked = None if names is None else check_names("names", names, n, "document")
            by_document = encode_all("groups", groups, n, "document", taken=["document"])
            writer.finish(most, words, checked, by_document)
        return cls.open(folder, verify=False)

    def save(self, folder: str | os.PathLike[str]) -> None:
        """Write the corpus to a folder from which `open` maps it into memory.

        Parameters
        ----------
        folder : path
            New or empty.

        Raises
        ------
        ParameterError
            If the folder isn't empty.
        DataError
            If a label's value isn't a string, number or bool, or a string has a lone surrogate, which UTF-8
            can't encode.
        StorageError
            If it can't be written.
        """
        labels = {name: codes for name, codes in self._labels.items() if name != "document"}
        check_writable(self.vocabulary, self.names, labels)
        with FolderWriter(_folder(folder)) as writer:
            for first in range(0, self.n_tokens, _BLOCK):
                last = min(first + _BLOCK, self.n_tokens)
                writer.append(self.values[first:last], self.codes_between("document", first, last))
            writer.ended(self.document_lengths)
            writer.finish(self.n_terms, self.vocabulary, self.names, labels)

    @classmethod
    def open(cls, folder: str | os.PathLike[str], verify: bool = True) -> Corpus:
        """Open a corpus that `save` or `convert` wrote: its tokens are mapped into memory, not read.

        The operating system reads the parts that a sweep uses, and drops them when memory is short. The files
        must not be changed or shortened while they are mapped; runs check this (see docs/memory.md).

        Parameters
        ----------
        folder : path
            A folder of `save` or `convert`, or the folder of one shard, below the manifest of its corpus (see
            `ShardedCorpus`).
        verify : bool
            Whether to read all files once and compare checksums; sizes and types are always compared.

        Raises
        ------
        DataError
            If a file is missing, damaged, or inconsistent with the others; the message names it.
        """
        given = _folder(folder)
        shard = shard_at(given)
        if shard is not None:
            return mapped_shard(cls, *shard, flag("verify", verify))
        place = Path(os.path.realpath(given))
        found = open_folder(place, flag("verify", verify))
        found.terms.setflags(write=False)
        return cls._checked(
            Tokens(found.terms), found.lengths, found.n_terms, found.vocabulary, found.names, found.labels,
            numbers=found.numbers, origin=(place, found.digest), files=found.files,
        )  # fmt: skip

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


def _place_of(path: str | os.PathLike[str]) -> str:
    return f"file {os.fspath(path)}"


def _check_limits(limits: Any) -> Limits:
    if limits is None:
        return Limits()
    checked: Limits = instance("limits", limits, Limits, "an hk.Limits, or None", remedy="Leave it out.")
    return checked


def _read_words(path: Any, vocabulary: Any, limits: Limits) -> tuple[str, ...] | None:
    """The vocabulary, read from its file if necessary; ``path`` is the file of counts."""
    path_of("path", path, remedy="Give a str or a pathlib.Path.")
    from_file = isinstance(vocabulary, str | os.PathLike)
    words = read_vocabulary(vocabulary, limits) if from_file else _check_vocabulary(vocabulary)
    if words == ():
        raise DataError("vocabulary", "0 terms", "at least one term", "Leave it out, or give the words.")
    return words


def _folder(folder: Any) -> Path:
    return path_of("folder", folder, remedy="Name a folder, for instance Path('corpus').")


def reopen(folder: Path, digest: str, verify: bool = False) -> Corpus:
    """Open a folder again.

    Raises a DataError if it doesn't exist, or contains another corpus.
    """
    corpus = Corpus.open(folder, verify)
    if corpus.origin != (folder, digest):
        raise DataError(
            f"folder {folder}", "another corpus", f"the corpus with digest {digest[:12]}...", "Restore it."
        )
    return corpus


def _check_n_terms(n_terms: Any, vocabulary: tuple[str, ...] | None) -> int | None:
    """Return the number of terms, given or that of the vocabulary; None if neither is given."""
    if n_terms is None:
        return None if vocabulary is None else len(vocabulary)
    n_terms = whole_number("n_terms", n_terms, 1, ID_LIMIT, remedy="Give the number of terms.")
    if vocabulary is not None and len(vocabulary) != n_terms:
        raise DataError(
            "vocabulary",
            f"{len(vocabulary)} terms",
            f"{n_terms} terms (n_terms)",
            "Leave n_terms out or correct it.",
        )
    return n_terms
