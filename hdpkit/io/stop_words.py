"""Stop words: lists for languages and from files, in the form in which a text counter finds words."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from typing import Any

import attrs

from hdpkit.checks import items, text
from hdpkit.errors import MissingExtraError, ParameterError
from hdpkit.formats.blocks import reading
from hdpkit.formats.ldac import read_vocabulary
from hdpkit.io.corpora import check_place
from hdpkit.io.text_options import TextOptions
from hdpkit.io.vectorizer import TextCounter

__all__ = ["stop_words_of", "with_stop_words"]


def stop_words_of(languages: Sequence[str] = (), file: str | os.PathLike[str] | None = None) -> Any:
    """Return stop words in the form accepted by `TextOptions`.

    Parameters
    ----------
    languages : sequence of str
        "english" is scikit-learn's list of function words, "none" is no words; lists for about thirty other
        languages (German, Spanish, Russian, ...) are those of the package stop-words.
    file : path, optional
        Further stop words, one per line (UTF-8, plain or gzip).

    Returns
    -------
    str or tuple of str

    Raises
    ------
    ParameterError
        If there is no list for a language; the message names the available ones.
    MissingExtraError
        If a required package isn't installed.
    DataError
        If a line of the file isn't a word.
    """
    names = items("languages", languages, "a sequence of languages", remedy='["german", "english"].')
    wanted = [text("languages", name, remedy='["german", "english"].').lower() for name in names]
    wanted = [name for name in wanted if name != "none"]
    if file is None and wanted in ([], ["english"]):
        return wanted[0] if wanted else "none"
    words: set[str] = set()
    if file is not None:
        with reading(check_place(file)):
            words.update(read_vocabulary(file))
    for name in wanted:
        words.update(_english() if name == "english" else _other(name))
    return tuple(sorted(words))


def with_stop_words(options: TextOptions, words: Any) -> TextOptions:
    """Return options that leave out these words, after the options' treatment of case, accents and splitting.

    The default pattern splits a stop word with an apostrophe, such as "aujourd'hui", into two words.

    Parameters
    ----------
    options : TextOptions
    words : str or tuple of str
        As returned by `stop_words_of`.
    """
    if isinstance(words, str) or callable(options.tokenizer):
        return attrs.evolve(options, stop_words=words)
    if options.tokenizer is not None:  # may be a name, which is not imported just to split stop words
        return attrs.evolve(options, stop_words=words)
    plain = attrs.evolve(options, stop_words="none", ngrams=(1, 1))
    return attrs.evolve(options, stop_words=tuple(sorted(set(TextCounter(plain).words("\n".join(words))))))


def _english() -> Iterable[str]:
    try:
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    except ImportError as error:
        raise MissingExtraError(
            "scikit-learn", None, "installed, to read text", "It is an extra: pip install 'hdpkit[text]'."
        ) from error
    return ENGLISH_STOP_WORDS


def _other(language: str) -> Iterable[str]:
    try:
        import stop_words
    except ImportError as error:
        raise MissingExtraError(
            "stop-words", None, f"installed, for stop words of {language}",
            "It is an extra: pip install 'hdpkit[text]'. Or give a file with a word per line.",
        ) from error  # fmt: skip
    known = sorted(stop_words.AVAILABLE_LANGUAGES)
    if language not in known:
        raise ParameterError(
            "stop_words", language, f"one of none, {', '.join(known)}",
            "For another language, give a file with a word per line: --stop-words-file.",
        )  # fmt: skip
    return [word for word in stop_words.get_stop_words(language) if word.strip()]
