"""Words of texts: options for counting them, stop words, and a counter (scikit-learn's CountVectorizer)."""

from __future__ import annotations

import itertools
import json
import os
import unicodedata
import warnings
from array import array
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt
from attrs.validators import optional

from hdpkit.allowed import Allowed
from hdpkit.checks import as_float, choice, flag, instance, items, refuse, text, validator, whole_number
from hdpkit.checks import path as checked_path
from hdpkit.data.files.count_files import read_vocabulary
from hdpkit.data.files.text_files import reading
from hdpkit.errors import DataError, ParameterError, StateError, UnspacedTextWarning, importing_extra
from hdpkit.files import refusals, written_aside

_JOINED = r"(?:[\u200c\u200d\u00b7\u05f3\u05f4]+[\p{L}\p{M}]+)"
_ENDING = r"(?<=\p{L}['’])(?:ve|ll|re)(?![\p{L}\p{M}])"
WORD = rf"(?i:\p{{L}}++(?<=n)['’]t(?!\p{{L}})|(?!{_ENDING})\p{{L}}(?:[\p{{L}}\p{{M}}]+{_JOINED}*|{_JOINED}+))"
"""Pattern of a word: two or more letters of any script and their marks (accents, vowel signs).

Zero-width joiners, the middle dot (Catalan), geresh and gershayim (Hebrew) join letters, as in the word
boundaries of Unicode (UAX 29). Apostrophes and full stops don't, other than there: the English endings 've,
'll and 're aren't words, and "don't" is one.
"""

_NEGATED = """
ain aren can couldn daren didn doesn don hadn hasn haven isn mayn mightn mustn needn oughtn shan shouldn wasn
weren won wouldn
"""
_SAMPLE = 1000  # texts in which the language is looked for
_FEWEST = 100  # words, below which it isn't
_DIFFERENT = 5  # words of the list that must occur: "sea" alone is no Spanish
_FUNCTION_WORDS = 0.15  # share of them above which the language is claimed
_ENGLISH_ONLY = 0.25  # the same where no other list is there: Dutch and Italian have up to 0.2 of English

_UNSPACED = r"[\p{Han}\p{Hiragana}\p{Katakana}]{6}|[\p{Thai}\p{Lao}\p{Khmer}\p{Myanmar}]{16}"
_SIGNS = dict.fromkeys(
    [*range(0x591, 0x5BE), *range(0x5C1, 0x5C8), *range(0x64B, 0x660), 0x670]
)  # vowel signs of Hebrew and Arabic
_MANY = 0.3  # share of terms so long that they are sentences


def _share(instance: Any, attribute: Any, value: Any) -> None:
    number = as_float(value)
    if not 0 < number <= 1:
        raise ParameterError("max_document_share", value, "above 0 and at most 1", "1 keeps every word.")


def _stop_words(value: Any) -> Any:
    allowed = '"auto", "none", "english", or a list of words'
    if isinstance(value, str):
        if value not in ("auto", "none", "english"):
            raise ParameterError("stop_words", value, allowed, "For another language, give its words.")
        return value
    words = items("stop_words", value, allowed, remedy='stop_words=["der", "die", "das"].')
    for word in words:
        if not isinstance(word, str):
            raise ParameterError("stop_words", word, allowed, "Every word is a string.")
    return tuple(str(word) for word in words)


def _pattern(instance: Any, attribute: Any, value: Any) -> None:
    remedy = r"Write (?:...) for a group; r'\S+' matches everything between spaces."
    import regex

    try:
        n_groups = regex.compile(text("token_pattern", value, remedy=remedy)).groups
    except (regex.error, RecursionError, OverflowError) as error:
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


def _function(parameter: str, value: Any) -> Any:
    if value is None or callable(value):
        return value
    allowed = 'a function, or its name as "module:function"'
    name = text(parameter, value, remedy="Pass a function that takes a text.")
    if not all(name.partition(":")):
        raise ParameterError(parameter, value, allowed, 'Such as "my_module:split".')
    return value


def _tokenizer(value: Any) -> Any:
    return _function("tokenizer", value)


def _segmenter(value: Any) -> Any:
    return _function("segmenter", value)


@attrs.frozen
class Named:
    """A function that was found by a name, under which files keep it."""

    name: str
    function: Any = attrs.field(eq=False, repr=False)

    def __call__(self, text: str) -> Any:
        """What the function returns."""
        return self.function(text)

    def __reduce__(self) -> Any:
        return named, (self.name, [self.name.partition(":")[0]])


def named(name: str, allow: Iterable[Any]) -> Named:
    """The function of a name, if it is allowed."""
    return Named(name, Allowed(allow).called(name))


def _pieces(segmenter: Any, text: str) -> str:
    """A text with spaces between the words that a segmenter finds."""
    pieces = segmenter(text)
    found: list[Any] = (
        list(pieces) if isinstance(pieces, Iterable) and not isinstance(pieces, str | bytes) else [None]
    )
    if not all(isinstance(one, str) for one in found):
        raise refuse("segmenter", "__call__", pieces, "a list of strings", "Correct the function.")
    return " ".join(found)


@attrs.frozen(kw_only=True)
class TextOptions:
    r"""Options for counting the words of texts. By default words have at least two letters or a letter with a
    mark (`WORD`), and are in lower case.

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
        "auto": leave out the function words of the language whose list has most of the words of the first
        1,000 texts: at least 15 % (25 % if the package stop-words isn't installed, and English is the only
        list), and five different ones. Otherwise, and with fewer than 100 words, none is left out. "none";
        "english": leave out scikit-learn's list of English function words, and contractions such as "don't";
        or the words to leave out, in the form that they have after conversion to lower case and removal of
        accents.
    lowercase : bool
        Whether to convert the text to lower case.
    strip_accents : {"unicode", "ascii"}, optional
        Remove accents by the rules with these names in scikit-learn.
    token_pattern : str
        Regular expression for a word, by the package regex (``\p{L}``: a letter); if it has one group, the
        word is the group.
    ngrams : tuple of two ints
        Smallest and largest number of consecutive words to count: (1, 2) counts words and pairs of words
        [ngram_range].
    tokenizer : function or str, optional
        Takes a text and returns a list of words; replaces `token_pattern`. Files store a function by its
        name, "module:function".
    segmenter : function or str, optional
        Takes a text of a language without spaces between words, and returns its pieces, a list of strings:
        "jieba:lcut", "pythainlp:word_tokenize". They are put together with spaces between them before words
        are found, so that punctuation and single letters are left out as in other texts. A function, or its
        name.
    """

    min_documents: int = attrs.field(
        default=1, validator=validator(whole_number, 1, remedy="1 keeps every word.")
    )
    max_document_share: float = attrs.field(default=1.0, validator=_share)
    max_terms: int | None = attrs.field(
        default=None, validator=optional(validator(whole_number, 1, remedy="None keeps every word."))
    )
    stop_words: str | tuple[str, ...] = attrs.field(default="auto", converter=_stop_words)
    lowercase: bool = attrs.field(default=True, validator=validator(flag))
    strip_accents: str | None = attrs.field(
        default=None,
        validator=optional(validator(choice, ("unicode", "ascii"), remedy="None keeps accents.")),
    )
    token_pattern: str = attrs.field(default=WORD, validator=_pattern)
    ngrams: tuple[int, int] = attrs.field(default=(1, 1), converter=_ngrams)
    tokenizer: Any = attrs.field(default=None, converter=_tokenizer)
    segmenter: Any = attrs.field(default=None, converter=_segmenter)

    def as_data(self) -> dict[str, Any]:
        """Return the options as JSON-compatible data: strings, numbers, lists; functions by their names.

        Raises a ParameterError if the tokenizer or segmenter isn't a function defined in a module, and so
        can't be found by name.
        """
        held = attrs.asdict(self)
        held["stop_words"] = self.stop_words if isinstance(self.stop_words, str) else list(self.stop_words)
        held["ngrams"] = list(self.ngrams)
        for field in ("tokenizer", "segmenter"):
            held[field] = _name_of(field, getattr(self, field))
        if held["segmenter"] is None:  # versions that know none can then read the file
            del held["segmenter"]
        return held


def _name_of(parameter: str, function: Any) -> str | None:
    """Return the name "module:function" of a function; names and None unchanged."""
    if function is None or isinstance(function, str):
        return function
    if isinstance(function, Named):
        return function.name
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<")
    if not module or "<" in name or isinstance(function, type) or hasattr(function, "__self__"):
        raise ParameterError(
            parameter, function, "a function with a name, to be saved",
            "Write it with def at the top of a module, and pass that function.",
        )  # fmt: skip
    return f"{module}:{name}"


_FORMAT = "hdpkit text counter"
_VERSION = 1


class TextCounter:
    """Counts the words of texts, with options and, after fitting, a vocabulary.

    Texts are normalised to composed form (Unicode NFC); then the counts are those of scikit-learn's
    CountVectorizer with the same options. The vocabulary of the first `fit` or `fit_count` doesn't change:
    other words are not counted. Raises a NotAllowed if the tokenizer is given by name and not allowed; a
    DataError if a term of the vocabulary could never be found in a text, or is duplicated.

    Parameters
    ----------
    options : TextOptions, optional
    vocabulary : sequence of str, optional
        Count only these words, in this order. `options` must then have the defaults of
        ``min_documents``, ``max_document_share`` and ``max_terms``.
    allow : iterable of str, module or function
        Modules or functions from which a tokenizer or segmenter named in `options` may be imported. One that
        is given as a function needs no permission.
    """

    def __init__(
        self,
        options: TextOptions | None = None,
        *,
        vocabulary: Iterable[str] | None = None,
        allow: Iterable[Any] = (),
    ) -> None:
        given = instance(
            "options", TextOptions() if options is None else options, TextOptions, "hdpkit TextOptions",
            remedy="TextOptions(min_documents=2).",
        )  # fmt: skip
        allowed_imports = Allowed(allow)
        if isinstance(given.tokenizer, str):
            given = attrs.evolve(given, tokenizer=allowed_imports.function(given.tokenizer))
        if isinstance(given.segmenter, str):
            given = attrs.evolve(given, segmenter=named(given.segmenter, allow))
        self._options: TextOptions = given
        self._vocabulary: tuple[str, ...] | None = None
        self._counter: Any = None
        self._language: str | None = None
        if vocabulary is not None:
            self._take(vocabulary, chosen=True)

    @property
    def options(self) -> TextOptions:
        """The options: what counts as a word, and which words are left out. After the first texts
        `stop_words` are the words that "auto" found.
        """
        return self._options

    @property
    def function_words(self) -> tuple[str, int] | None:
        """The language found by ``stop_words="auto"``, and how many function words of it are left out."""
        return None if self._language is None else (self._language, len(self._options.stop_words))

    @property
    def vocabulary(self) -> tuple[str, ...] | None:
        """Terms by column of the counts; None before the first texts."""
        return self._vocabulary

    def fit(self, texts: Iterable[str]) -> TextCounter:
        """Find and keep the vocabulary of texts. Arguments and errors as in `fit_count`."""
        self.fit_count(texts)
        return self

    def fit_count(self, texts: Iterable[str]) -> Any:
        """Count the words of texts, and keep their vocabulary if there is none yet.

        Returns a scipy.sparse matrix of int64, CSR, shape (n_texts, n_terms). Raises a DataError if an
        element isn't a string, or no word is left; a MissingExtraError if scikit-learn isn't installed.

        Parameters
        ----------
        texts : iterable of str
            A list, a column of a data frame, a generator, ...; iterated over once.
        """
        if self._vocabulary is not None:
            return self.count(texts)
        texts = self._without_function_words(texts)
        counter = self._vectorizer(None)
        try:
            counts = counter.fit_transform(texts)
        except DataError:
            raise
        except ValueError as error:
            if not str(error).startswith(("empty vocabulary", "After pruning", "max_df corresponds")):
                raise  # raised by a tokenizer
            raise _none_left(str(error)) from error
        self._found(counter.get_feature_names_out())
        return counts

    def count(self, texts: Iterable[str]) -> Any:
        """Count the words of the vocabulary in texts. Arguments, results and errors as in `fit_count`.

        Raises a StateError if there is no vocabulary yet.
        """
        if self._vocabulary is None:
            raise StateError("vocabulary", None, "known", "Call fit or fit_count with texts first.")
        if self._counter is None:
            self._counter = self._vectorizer(self._vocabulary)
        return self._counter.transform(_strings(texts))

    def count_all(self, texts: Iterable[str]) -> tuple[Any, npt.NDArray[np.int64]]:
        """Count the words of the vocabulary, and all words, in texts. Arguments and errors as in `count`.

        Returns a scipy.sparse matrix of int64, CSR, shape (n_texts, n_terms), and an int64 array, shape
        (n_texts,): the number of words of each text, including words outside the vocabulary.
        """
        if self._vocabulary is None:
            raise StateError("vocabulary", None, "known", "Call fit or fit_count with texts first.")
        counter, lengths = self._vectorizer(self._vocabulary), array("q")
        analyze = counter.build_analyzer()

        def words_of(text: str) -> list[str]:
            words = analyze(text)
            lengths.append(len(words))
            return words

        counts = counter.set_params(analyzer=words_of).transform(_strings(texts))
        return counts, np.array(lengths, np.int64)

    def words(self, text: str) -> list[str]:
        """Return the words and n-grams of one text in order, before any are left out by frequency or by the
        vocabulary.
        """
        return list(map(str, self.analyzer()(text)))

    def analyzer(self) -> Callable[[str], list[str]]:
        """Return the function that `words` applies, for many texts."""
        analyze = self._vectorizer(None).build_analyzer()
        return lambda text: analyze(*_strings([text]))

    def _without_function_words(self, texts: Iterable[str]) -> Iterator[str]:
        """Set `stop_words` from the first texts if they are "auto", and return all texts in composed form."""
        rest = _strings(texts)
        if self._options.stop_words != "auto":
            return rest
        sample = list(itertools.islice(rest, _SAMPLE))
        self._options = attrs.evolve(self._options, stop_words="none")
        analyze = self._vectorizer(None).set_params(ngram_range=(1, 1)).build_analyzer()
        self._language, words = function_words(
            Counter(map(str.lower, itertools.chain(*map(analyze, sample))))
        )
        if not self._options.lowercase:
            words = words.union(map(str.upper, words), map(str.capitalize, words))
        self._options = with_stop_words(self._options, tuple(sorted(words)) or "none")
        return itertools.chain(sample, rest)

    def _choose(
        self,
        found: Mapping[str, int],
        n_texts: npt.NDArray[np.int64],
        n_words: npt.NDArray[np.int64],
        of_texts: int,
    ) -> npt.NDArray[np.int64]:
        """Keep the vocabulary that `fit_count` finds; return the id of each word, -1 if it is left out."""
        options = self._options
        words = sorted(found)
        order = np.array([found[word] for word in words], np.int64)
        least, most = int(options.min_documents), float(options.max_document_share) * of_texts
        if words and most < least:
            raise _none_left("max_df corresponds to < documents than min_df")
        kept = np.flatnonzero((n_texts[order] >= least) & (n_texts[order] <= most))
        if options.max_terms is not None and len(kept) > options.max_terms:
            # The same expression as in scikit-learn, since the order of equal counts depends on its sort.
            kept = np.sort(kept[(-n_words[order][kept]).argsort()[: options.max_terms]])
        if not len(kept):
            raise _none_left("After pruning, no terms remain" if words else "empty vocabulary")
        ids = np.full(len(words), -1, np.int64)
        ids[order[kept]] = np.arange(len(kept))
        self._found(words[place] for place in kept)
        return ids

    def _found(self, terms: Iterable[str]) -> None:
        """Keep the terms of texts, and warn if most seem to be sentences."""
        import regex

        self._vocabulary = tuple(map(str, terms))
        long = regex.compile(_UNSPACED)
        n = sum(long.search(term) is not None for term in self._vocabulary)
        own = self._options.tokenizer or self._options.segmenter
        if own is None and n > _MANY * len(self._vocabulary):
            warnings.warn(
                f"{n:,} of {len(self._vocabulary):,} terms are longer than words: the language of these "
                "texts seems to have no spaces between words, so that terms are parts of sentences. Give a "
                "function that splits a text at words, such as jieba:lcut: segmenter= of TextOptions, or "
                "--segmenter of a command",
                UnspacedTextWarning,
                stacklevel=3,
            )

    def as_data(self) -> dict[str, Any]:
        """Return options and vocabulary as JSON-compatible data, which `from_data` reads.

        Raises a ParameterError if the tokenizer has no name; see `TextOptions.as_data`.
        """
        vocabulary = None if self._vocabulary is None else list(self._vocabulary)
        return {
            "format": _FORMAT,
            "version": _VERSION,
            "options": self._options.as_data(),
            "vocabulary": vocabulary,
        }

    @classmethod
    def from_data(cls, data: Any, allow: Iterable[Any] = (), *, where: str = "text counter") -> TextCounter:
        """Return the counter described by the result of `as_data`.

        Raises a DataError if the data aren't valid; a NotAllowed if the data name a tokenizer that isn't
        allowed.

        Parameters
        ----------
        data : dict
        allow : iterable
            As for the class.
        where : str
            Where the data are from, for errors.
        """
        remedy = "It was damaged or changed; write it again."
        head = (data.get("format"), data.get("version")) if isinstance(data, dict) else None
        if head != (_FORMAT, _VERSION) or set(data) != {"format", "version", "options", "vocabulary"}:
            raise DataError(where, head, f"what hdpkit wrote: {_FORMAT!r}, version {_VERSION}", remedy)
        held, known = data["options"], [field.name for field in attrs.fields(TextOptions)]
        if isinstance(held, dict):
            held = {"segmenter": None, **held}  # as files have it only where there is one
        if not isinstance(held, dict) or set(held) != set(known):
            raise DataError(f"{where}, options", held, f"with the keys {known}", remedy)
        counter = cls(TextOptions(**held), allow=allow)
        if data["vocabulary"] is not None:
            if not isinstance(data["vocabulary"], list):
                raise DataError(f"{where}, vocabulary", data["vocabulary"], "a list of terms", remedy)
            counter._take(data["vocabulary"], chosen=False)
        return counter

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write options and vocabulary to a file, as JSON.

        Raises a StorageError if the file can't be written; a ParameterError if the tokenizer has no name.
        """
        text = json.dumps(self.as_data(), ensure_ascii=False, indent=1)
        place = checked_path("path", path, remedy="Name the file to write.")
        with refusals(place, "write a file"), written_aside(place) as file:
            file.write(text.encode("utf-8", "surrogatepass"))

    @classmethod
    def load(cls, path: str | os.PathLike[str], allow: Iterable[Any] = ()) -> TextCounter:
        """Read a counter from a file that `save` wrote. Nothing is imported that `allow` doesn't name.

        Raises a DataError if the file isn't one written by `save`; a StorageError if it can't be read.

        Parameters
        ----------
        path : path
        allow : iterable
            As for the class.
        """
        place = checked_path("path", path, remedy="Name a file that was saved.")
        with refusals(place, "read a file"):
            content = Path(place).read_bytes()
        try:
            data = json.loads(content.decode("utf-8", "surrogatepass"))
        except (ValueError, RecursionError) as error:
            raise DataError(
                f"file {place}", f"{type(error).__name__}: {error}", "JSON in UTF-8", "Write it again."
            ) from error
        return cls.from_data(data, allow, where=f"file {place}")

    def __getstate__(self) -> dict[str, Any]:
        return {**vars(self), "_counter": None}

    def __repr__(self) -> str:
        terms = "no vocabulary yet" if self._vocabulary is None else f"{len(self._vocabulary)} terms"
        return f"TextCounter({self._options}, {terms})"

    def _vectorizer(self, vocabulary: tuple[str, ...] | None) -> Any:
        way_out = " LDA-C and Matrix Market files need none."
        with importing_extra("scikit-learn", "text", ", to read text", way_out):
            from sklearn.feature_extraction.text import CountVectorizer
        import regex

        options = self._options
        stop_words: Any = options.stop_words
        if stop_words == "english" and options.tokenizer is None and options.token_pattern == WORD:
            stop_words = sorted(english_words())
        elif not isinstance(stop_words, str):
            stop_words = [unicodedata.normalize("NFC", word) for word in stop_words]
        fitting = vocabulary is None
        split, segment = options.tokenizer or regex.compile(options.token_pattern).findall, options.segmenter
        return CountVectorizer(
            lowercase=bool(options.lowercase),
            strip_accents=options.strip_accents,
            token_pattern=None,
            tokenizer=split if segment is None else lambda text: split(_pieces(segment, text)),
            stop_words=None if stop_words in ("auto", "none", []) else stop_words,
            ngram_range=options.ngrams,
            min_df=int(options.min_documents) if fitting else 1,
            max_df=float(options.max_document_share) if fitting else 1.0,
            max_features=options.max_terms if fitting else None,
            vocabulary=None if vocabulary is None else list(vocabulary),
            dtype=np.int64,
        )

    def _take(self, vocabulary: Iterable[str], chosen: bool) -> None:
        """Keep a vocabulary, either given by the user or found in texts."""
        remedy = "Give a list of strings."
        terms = items("vocabulary", vocabulary, "a sequence of terms", remedy=remedy)
        if not terms:
            raise DataError("vocabulary", "no terms", "at least one term", remedy)
        by_number = (self._options.min_documents, self._options.max_document_share, self._options.max_terms)
        if chosen and by_number != (1, 1, None):
            raise ParameterError(
                "vocabulary", f"{len(terms)} terms", "left out where numbers of documents choose",
                "Leave out min_documents, max_document_share and max_terms, or the vocabulary.",
            )  # fmt: skip
        seen: set[str] = set()
        for number, term in enumerate(terms, start=1):
            if not isinstance(term, str):
                raise DataError(f"vocabulary, line {number}", term, "a string", remedy)
            if term in seen:
                raise DataError(f"vocabulary, line {number}", term, "given once", "Remove one of the two.")
            seen.add(term)
        if chosen and self._options.tokenizer is None and self._options.segmenter is None:
            # Those of a user may depend on the context.
            self._check_words(terms)
        if self._options.stop_words == "auto":
            self._options = attrs.evolve(self._options, stop_words="none")
        self._vocabulary = tuple(str(term) for term in terms)
        self._counter = None

    def _check_words(self, terms: tuple[str, ...]) -> None:
        options = attrs.evolve(self._options, stop_words="none")
        analyze = TextCounter(options)._vectorizer(None).build_analyzer()
        for number, term in enumerate(terms, start=1):
            if term != unicodedata.normalize("NFC", term) or term not in analyze(term):
                raise DataError(
                    f"vocabulary, line {number}", term, "a word as these options count them",
                    "Write it in that form (by default two letters or more, in lower case), or remove it: in "
                    "this form it is never found.",
                )  # fmt: skip


def _none_left(why: str) -> DataError:
    return DataError(
        "words", None, f"at least one word to count ({why})",
        "Leave out fewer: a smaller min_documents, a larger max_document_share, other stop words. Single "
        "letters, numbers and signs are no words: with token_pattern=r'\\S+' of TextOptions, or with a "
        "--tokenizer of a command, they are.",
    )  # fmt: skip


def _strings(texts: Iterable[str]) -> Iterator[str]:
    """Texts one by one, checked, in composed form and without soft hyphens."""
    empty = getattr(texts, "closed", False) is True or getattr(texts, "ndim", 1) == 0
    if isinstance(texts, str | bytes | type) or not isinstance(texts, Iterable) or empty:
        raise DataError("texts", texts, "a list or a column of strings", "Put a single text into a list.")
    for number, one in enumerate(texts):
        if not isinstance(one, str):
            raise DataError(
                f"text {number}", one, "a string (counted from 0)",
                "Fill what is missing with '', decode bytes, or leave such rows out.",
            )  # fmt: skip
        # Composed form: as two characters, a letter and its accent would not match the pattern of a word.
        # Soft hyphens say where a word may be broken.
        yield unicodedata.normalize("NFC", one).replace("\u00ad", "")


def stop_words_of(languages: Sequence[str] = (), file: str | os.PathLike[str] | None = None) -> Any:
    """Return stop words in the form accepted by `TextOptions`."""
    names = items("languages", languages, "a sequence of languages", remedy='["german", "english"].')
    wanted = [text("languages", name, remedy='["german", "english"].').lower() for name in names]
    wanted = [name for name in wanted if name != "none"]
    if file is None and wanted in ([], ["english"], ["auto"]):
        return wanted[0] if wanted else "none"
    words: set[str] = set()
    if file is not None:
        with reading(checked_path("path", file)):
            words.update(read_vocabulary(file))
    for name in wanted:
        words.update(english_words() if name == "english" else _other(name))
    return tuple(sorted(words))


def with_stop_words(options: TextOptions, words: Any) -> TextOptions:
    """Return options that leave out these words, in the form that the options give to words."""
    own = options.tokenizer or options.segmenter
    if isinstance(words, str) or own is not None:  # a name is not imported just to split stop words
        return attrs.evolve(options, stop_words=words)
    plain = attrs.evolve(options, stop_words="none", ngrams=(1, 1))
    return attrs.evolve(options, stop_words=tuple(sorted(set(TextCounter(plain).words("\n".join(words))))))


def english_words() -> frozenset[str]:
    """English function words: scikit-learn's list, and contractions."""
    with importing_extra("scikit-learn", "text", ", to read text"):
        from sklearn.feature_extraction.text import ENGLISH_STOP_WORDS
    negated = {f"{word}{mark}t" for word in _NEGATED.split() for mark in "'’"}
    return ENGLISH_STOP_WORDS | negated


def function_words(found: Counter[str]) -> tuple[str | None, frozenset[str]]:
    """The language whose list of function words has most of the words found, and the list."""
    signed = {word: bare for word in found if (bare := word.translate(_SIGNS)) != word}
    found = Counter(found)
    for word, bare in signed.items():
        found[bare] += found.pop(word)
    lists = {"english": english_words()}
    try:
        import stop_words
    except ImportError:
        least = _ENGLISH_ONLY
    else:
        least = _FUNCTION_WORDS
        lists.update((name, _other(name)) for name in stop_words.AVAILABLE_LANGUAGES if name != "english")
    total = sum(found.values())
    share = {name: sum(found[word] for word in words) / max(total, 1) for name, words in lists.items()}
    best = max(share, key=share.__getitem__)
    clear = total >= _FEWEST and share[best] >= least and len(lists[best] & found.keys()) >= _DIFFERENT
    if not clear:
        return None, frozenset()
    return best, lists[best].union(word for word, bare in signed.items() if bare in lists[best])


def _other(language: str) -> frozenset[str]:
    purpose, way_out = f", for stop words of {language}", " Or give a file with a word per line."
    with importing_extra("stop-words", "text", purpose, way_out):
        import stop_words
    known = sorted(stop_words.AVAILABLE_LANGUAGES)
    if language not in known:
        raise ParameterError(
            "stop_words", language, f"one of none, {', '.join(known)}",
            "For another language, give a file with a word per line: --stop-words-file.",
        )  # fmt: skip
    return frozenset(word for word in stop_words.get_stop_words(language) if word.strip())
