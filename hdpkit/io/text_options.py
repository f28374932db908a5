"""Options for counting the words of texts."""

from __future__ import annotations

import re
from typing import Any

import attrs

from hdpkit.checks import as_float, choice, flag, items, text, validator, whole_number
from hdpkit.errors import ParameterError

__all__ = ["WORD", "TextOptions", "name_of_function"]

WORD = r"[^\W\d_]{2,}"
"""Pattern of a word: two or more letters of any script."""


def _share(instance: Any, attribute: Any, value: Any) -> None:
    number = as_float(value)
    if not 0 < number <= 1:
        raise ParameterError("max_document_share", value, "above 0 and at most 1", "1 keeps every word.")


def _stop_words(value: Any) -> Any:
    allowed = '"none", "english", or a list of words'
    if isinstance(value, str):
        if value not in ("none", "english"):
            raise ParameterError("stop_words", value, allowed, "For another language, give its words.")
        return value
    words = items("stop_words", value, allowed, remedy='stop_words=["der", "die", "das"].')
    for word in words:
        if not isinstance(word, str):
            raise ParameterError("stop_words", word, allowed, "Every word is a string.")
    return tuple(str(word) for word in words)


def _pattern(instance: Any, attribute: Any, value: Any) -> None:
    remedy = r"Write (?:...) for a group; r'\S+' matches everything between spaces."
    try:
        n_groups = re.compile(text("token_pattern", value, remedy=remedy)).groups
    except (re.error, RecursionError, OverflowError) as error:
        raise ParameterError("token_pattern", value, f"a regular expression ({error})", remedy) from None
    if n_groups > 1:
        raise ParameterError("token_pattern", value, "with at most one group that captures", remedy)


def _ngrams(value: Any) -> tuple[int, int]:
    allowed = "two whole numbers, 1 <= first <= last"
    pair = items("ngrams", value, allowed, remedy="(1, 2): words and pairs of words.")
    if len(pair) != 2:
        raise ParameterError("ngrams", value, allowed, "(1, 2): words and pairs of words.")
    first = whole_number("ngrams", pair[0], 1, 100)
    return first, whole_number("ngrams", pair[1], first, 100)


def _accents(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        choice("strip_accents", value, ("unicode", "ascii"), remedy="None keeps accents.")


def _max_terms(instance: Any, attribute: Any, value: Any) -> None:
    if value is not None:
        whole_number("max_terms", value, 1, remedy="None keeps every word.")


def _tokenizer(value: Any) -> Any:
    if value is None or callable(value):
        return value
    allowed = 'a function, or its name as "module:function"'
    name = text("tokenizer", value, remedy="Pass a function that takes a text.")
    if not all(name.partition(":")):
        raise ParameterError("tokenizer", value, allowed, 'Such as "my_module:split".')
    return value


@attrs.frozen(kw_only=True)
class TextOptions:
    r"""Options for counting the words of texts. By default words have at least two letters and are in lower
    case.

    The options are those of CountVectorizer in scikit-learn, whose names are in brackets.

    Parameters
    ----------
    min_documents : int
        Leave out words that occur in fewer documents [min_df].
    max_document_share : float
        Leave out words that occur in more than this share of the documents [max_df].
    max_terms : int, optional
        Keep only this many words, the most frequent ones [max_features].
    stop_words : str or list of str
        "none"; "english": leave out scikit-learn's list of English function words; or the words to leave
        out, in the form that they have after conversion to lower case and removal of accents.
    lowercase : bool
        Whether to convert the text to lower case.
    strip_accents : {"unicode", "ascii"}, optional
        Remove accents by the rules with these names in scikit-learn.
    token_pattern : str
        Regular expression for a word; if it has one group, the word is the group.
    ngrams : tuple of two ints
        Smallest and largest number of consecutive words to count: (1, 2) counts words and pairs of words
        [ngram_range].
    tokenizer : function or str, optional
        Takes a text and returns a list of words; replaces `token_pattern`. Files store a function by its
        name, "module:function".
    """

    min_documents: int = attrs.field(
        default=1, validator=validator(whole_number, 1, remedy="1 keeps every word.")
    )
    max_document_share: float = attrs.field(default=1.0, validator=_share)
    max_terms: int | None = attrs.field(default=None, validator=_max_terms)
    stop_words: str | tuple[str, ...] = attrs.field(default="none", converter=_stop_words)
    lowercase: bool = attrs.field(default=True, validator=validator(flag))
    strip_accents: str | None = attrs.field(default=None, validator=_accents)
    token_pattern: str = attrs.field(default=WORD, validator=_pattern)
    ngrams: tuple[int, int] = attrs.field(default=(1, 1), converter=_ngrams)
    tokenizer: Any = attrs.field(default=None, converter=_tokenizer)

    def as_data(self) -> dict[str, Any]:
        """Return the options as JSON-compatible data: strings, numbers, lists; the tokenizer by its name.

        Raises
        ------
        ParameterError
            If the tokenizer isn't a function defined in a module, and so can't be found by name.
        """
        held = attrs.asdict(self)
        held["stop_words"] = self.stop_words if isinstance(self.stop_words, str) else list(self.stop_words)
        held["ngrams"] = list(self.ngrams)
        held["tokenizer"] = name_of_function(self.tokenizer)
        return held


def name_of_function(tokenizer: Any) -> str | None:
    """Return the name "module:function" of a tokenizer given as a function; other values unchanged.

    Raises
    ------
    ParameterError
        If no module defines a function with that name.
    """
    if tokenizer is None or isinstance(tokenizer, str):
        return tokenizer
    module, name = getattr(tokenizer, "__module__", None), getattr(tokenizer, "__qualname__", "<")
    if not module or "<" in name or isinstance(tokenizer, type):
        raise ParameterError(
            "tokenizer", tokenizer, "a function with a name, to be saved",
            "Write it with def at the top of a module, and pass that function.",
        )  # fmt: skip
    return f"{module}:{name}"
