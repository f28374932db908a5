"""A folder of text files as counts of words; scikit-learn counts them."""

from __future__ import annotations

import os
import re
import stat
import unicodedata
from pathlib import Path
from typing import Any

import attrs

from hdpkit.errors import DataError, MissingExtraError, ParameterError

__all__ = ["TextCounts", "TextOptions", "read_text_folder"]

_WORD = r"[^\W\d_]{2,}"
"""A word: two letters or more, of any script."""


def _min_documents(instance: Any, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int) or value < 1:
        raise ParameterError("min_documents", value, "a whole number >= 1", "1 keeps every word.")


def _share(instance: Any, attribute: Any, value: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 1:
        raise ParameterError("max_document_share", value, "above 0 and at most 1", "1 keeps every word.")


def _stop_words(instance: Any, attribute: Any, value: Any) -> None:
    if value not in ("none", "english"):
        raise ParameterError("stop_words", value, '"none" or "english"', "Other lists: --vocabulary.")


@attrs.frozen(kw_only=True)
class TextOptions:
    """Which words of a text are counted. Words are runs of two letters or more, in lower case.

    Parameters
    ----------
    min_documents : int
        Leave out words of fewer documents.
    max_document_share : float
        Leave out words of more than this share of the documents.
    stop_words : str
        "none", or "english": leave out scikit-learn's list of English function words.
    """

    min_documents: int = attrs.field(default=1, validator=_min_documents)
    max_document_share: float = attrs.field(default=1.0, validator=_share)
    stop_words: str = attrs.field(default="none", validator=_stop_words)


@attrs.frozen(eq=False)
class TextCounts:
    """What `read_text_folder` counted.

    Attributes
    ----------
    counts : scipy.sparse matrix, shape (n_documents, n_terms)
    vocabulary, names : list of str
        Terms by column, documents by row.
    """

    counts: Any
    vocabulary: list[str]
    names: list[str]


def read_text_folder(folder: Path, options: TextOptions, vocabulary: tuple[str, ...] | None) -> TextCounts:
    """Count the words of the text files in a folder.

    Parameters
    ----------
    folder : Path
        Its files ``*.txt`` are read, at any depth, in the order of their paths.
    options : TextOptions
    vocabulary : tuple of str or None
        Count these words only. `options` may then leave out nothing by number of documents.

    Returns
    -------
    TextCounts
        Documents bear the files' paths below the folder; those without a word stay, empty.

    Raises
    ------
    DataError
        If there is no text file, a file isn't UTF-8, no word is left, or a term of the vocabulary can't be
        a word.
    ParameterError
        If words are to be left out of a vocabulary by number of documents.
    MissingExtraError
        If scikit-learn isn't installed.
    """
    count_vectorizer = _count_vectorizer()
    if vocabulary is not None:
        _check_vocabulary(vocabulary, options)
    files = _text_files(folder)
    counter = count_vectorizer(
        lowercase=True,
        token_pattern=_WORD,
        stop_words="english" if options.stop_words == "english" else None,
        min_df=options.min_documents,
        max_df=float(options.max_document_share),
        vocabulary=None if vocabulary is None else list(vocabulary),
    )
    try:
        counts = counter.fit_transform(_read(path) for path in files)
    except ValueError as error:
        if isinstance(error, DataError):
            raise
        raise DataError(
            "words", None, f"some that are left to count ({error})",
            "Leave out fewer: a smaller min_documents, a larger max_document_share, other stop words.",
        ) from error  # fmt: skip
    names = [_name(path.relative_to(folder)) for path in files]
    return TextCounts(counts, list(counter.get_feature_names_out()), names)


def _count_vectorizer() -> Any:
    try:
        from sklearn.feature_extraction.text import CountVectorizer
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", None, "installed, to read text",
            "It is an extra: pip install 'hdpkit[text]'. LDA-C and Matrix Market files need none.",
        ) from error  # fmt: skip
    return CountVectorizer


def _check_vocabulary(vocabulary: tuple[str, ...], options: TextOptions) -> None:
    if options.min_documents != 1 or options.max_document_share != 1:
        raise ParameterError(
            "vocabulary", f"{len(vocabulary)} terms", "left out where numbers of documents choose",
            "Leave out min_documents and max_document_share, or the vocabulary.",
        )  # fmt: skip
    for number, term in enumerate(vocabulary, start=1):
        if term != unicodedata.normalize("NFC", term).lower() or re.fullmatch(_WORD, term) is None:
            raise DataError(
                f"vocabulary, line {number}", term, "two letters or more, in lower case",
                "Write it so, or remove it: as it is it would never be found.",
            )  # fmt: skip


def _text_files(folder: Path) -> list[Path]:
    def refuse(error: OSError) -> None:
        raise error

    found = [
        Path(root, name)
        for root, _, names in os.walk(folder, onerror=refuse)
        for name in names
        if name.endswith(".txt")
    ]
    if not found:
        raise DataError(
            f"corpus {folder}", "a folder without text files", "a folder with files *.txt", "Check the path."
        )
    return sorted(found, key=lambda path: path.parts)


def _read(path: Path) -> str:
    if not stat.S_ISREG(path.stat().st_mode):  # a pipe would keep us waiting
        raise DataError(f"file {path}", "no regular file", "a text file", "Remove or rename it.")
    content = path.read_bytes()
    try:
        # Composed letters: a letter and its accent as two characters would be no word.
        return unicodedata.normalize("NFC", content.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        raise DataError(
            f"file {path}, byte {error.start}", content[error.start : error.end],
            "valid UTF-8", "Convert the file to UTF-8.",
        ) from error  # fmt: skip


def _name(path: Path) -> str:
    """A path as text, also where its bytes are none."""
    return os.fsencode(path.as_posix()).decode("utf-8", "backslashreplace")
