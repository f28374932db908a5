"""Texts as counts: the results of scikit-learn, with options as plain data."""

import contextlib
import copy
import json
import pickle
import sys
import unicodedata

import numpy as np
import pytest
from sklearn.feature_extraction.text import CountVectorizer

from hdpkit.allowed import NotAllowed
from hdpkit.data.files.corpora import text_blocks
from hdpkit.data.files.text_options import TextCounter, TextOptions
from hdpkit.errors import (
    DataError,
    HdpkitError,
    ParameterError,
    ReturnValueError,
    RunError,
    StateError,
    StorageError,
    UnspacedTextWarning,
)

TEXTS = [
    "The ship sails; the SHIP of salt, 42 times.",
    "Salt and bread and wine: l'été à la mer",
    "the sea, the sea! Bread and salt.",
    "",
]


def by_commas(text):
    return text.split(",")


CASES = {
    "default": ({}, {}),
    "case and accents": (
        {"lowercase": False, "strip_accents": "unicode"},
        {"lowercase": False, "strip_accents": "unicode"},
    ),
    "left out": (
        {"min_documents": 2, "max_document_share": 0.6, "max_terms": 3, "stop_words": "english"},
        {"min_df": 2, "max_df": 0.6, "max_features": 3, "stop_words": "english"},
    ),
    "pairs": ({"ngrams": (1, 2), "stop_words": ["the"]}, {"ngram_range": (1, 2), "stop_words": ["the"]}),
    "pattern": ({"token_pattern": r"\b(\w)\w+"}, {"token_pattern": r"\b(\w)\w+"}),
    "tokenizer": ({"tokenizer": by_commas}, {"tokenizer": by_commas, "token_pattern": None}),
}


@pytest.mark.parametrize("case", CASES)
def test_counts_are_those_of_count_vectorizer_also_after_a_file(case, tmp_path):
    options, theirs = CASES[case]
    vectorizer = CountVectorizer(**{"token_pattern": r"[^\W\d_]{2,}", **theirs})
    expected = vectorizer.fit_transform(TEXTS)
    counter = TextCounter(TextOptions(**options))
    counts = counter.fit_count(iter(TEXTS))
    assert counts.dtype == np.int64
    assert counts.format == "csr"
    assert counter.vocabulary == tuple(vectorizer.get_feature_names_out())
    assert (counts != expected).nnz == 0
    new = ["bread, wine and unheard of salt", ""]
    counter.save(tmp_path / "counter.json")
    again = TextCounter.load(tmp_path / "counter.json", allow=[by_commas])
    assert again.options == counter.options
    for same in (counter, again, copy.deepcopy(counter), pickle.loads(pickle.dumps(counter))):
        assert (same.count(new) != vectorizer.transform(new)).nnz == 0
        assert same.fit_count(new).shape == (2, len(counter.vocabulary))  # the vocabulary stays
    assert counter.words(TEXTS[0]) == list(vectorizer.build_analyzer()(TEXTS[0]))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("हिन्दी में लिखा हुआ पाठ", "हिन्दी में लिखा हुआ पाठ"),
        ("தமிழ் மொழி, ১২", "தமிழ் மொழி"),
        ("বাংলা ভাষা।", "বাংলা ভাষা"),
        ("ภาษาไทย ไม่มี", "ภาษาไทย ไม่มี"),
        ("اللُّغَةُ العَرَبِيَّةُ، و", "اللُّغَةُ العَرَبِيَّةُ"),
        ("שָׁלוֹם עוֹלָם, צה״ל צ״ל", "שָׁלוֹם עוֹלָם צה״ל צ״ל"),
        ("می\u200cخواهم کتاب\u200cها\u200c", "می\u200cخواهم کتاب\u200cها"),
        ("ന്\u200dറെ", "ന്\u200dറെ"),
        ("col·lecció l'homme d’été don't", "col·lecció homme été don't"),
        ("Wo\u0308rter tie\u0302\u0301ng Vie\u0323\u0302t", "wörter tiếng việt"),
        ("ein Zu\u00adsatz", "ein zusatz"),
        ("한국어 문장 x1 a_b 👍🏽 ok", "한국어 문장 ok"),
    ],
)
def test_words_are_letters_with_their_marks_and_joiners(text, words):
    assert TextCounter().words(text) == unicodedata.normalize("NFC", words).split()


RUNNING = {
    "english": "We've said they'll meet and you're late. We don't know whether the government's plan will "
    "pass, it isn't certain, and the opposition doesn’t want it to be discussed before this week is over. ",
    "german": "Die Regierung hat am Dienstag den neuen Haushalt vorgestellt. Es ist nicht sicher, ob das "
    "Parlament dem Plan zustimmt, und die Opposition will in dieser Woche darüber beraten. ",
    "french": "Le gouvernement a présenté mardi le nouveau budget. Il n'est pas certain que l'Assemblée "
    "adopte ce plan, et l'opposition veut qu'il soit débattu cette semaine. ",
    "spanish": "El gobierno presentó el martes el nuevo presupuesto. No es seguro que el parlamento apruebe "
    "el plan y la oposición quiere debatirlo durante esta semana. ",
    "russian": "Правительство во вторник представило новый бюджет. Неизвестно, одобрит ли парламент этот "
    "план, и оппозиция хочет обсудить его на этой неделе. ",
}
FUNCTIONAL = {
    *("we", "ve", "ll", "re", "don", "don't", "isn't", "isn", "doesn’t", "the", "they", "die", "und", "das"),
    *("le", "il", "qu", "que", "et", "el", "no", "la", "во", "на", "его"),
}


@pytest.mark.parametrize(("language", "lowercase"), [(name, len(name) % 2 == 0) for name in RUNNING])
def test_function_words_of_the_language_of_the_texts_are_left_out(language, lowercase, tmp_path):
    options = TextOptions(lowercase=lowercase)
    counter = TextCounter(options).fit([RUNNING[language]] * 10)
    assert counter.function_words == (language, len(counter.options.stop_words))
    assert not FUNCTIONAL & {term.lower() for term in counter.vocabulary}
    assert {"plan", "government", "Plan", "план"} & set(counter.vocabulary)
    again = TextCounter.from_data(counter.as_data())
    assert again.options == counter.options
    sharded = TextCounter(options)
    list(text_blocks(iter([RUNNING[language]] * 10), sharded, tmp_path / "spool", contextlib.nullcontext))
    assert sharded.vocabulary == counter.vocabulary
    kept = TextCounter(TextOptions(stop_words="none")).fit([RUNNING[language]] * 10)
    assert FUNCTIONAL & set(kept.vocabulary)
    assert not {"ve", "ll", "don"} & set(kept.vocabulary)


def test_english_needs_no_list_of_other_languages(monkeypatch):
    monkeypatch.setitem(sys.modules, "stop_words", None)
    english = TextCounter().fit([RUNNING["english"]] * 10)
    assert english.function_words[0] == "english"
    assert TextCounter().fit([RUNNING["german"]] * 10).function_words is None
    listed = TextCounter(TextOptions(stop_words="english")).fit([RUNNING["english"]])
    assert listed.vocabulary == english.vocabulary


def test_a_tokenizer_by_name_needs_leave(tmp_path, monkeypatch):
    (tmp_path / "words_of_mine.py").write_text("def split(text):\n    return text.split('/')\n")
    monkeypatch.syspath_prepend(tmp_path)
    options = TextOptions(tokenizer="words_of_mine:split")
    with pytest.raises(NotAllowed):
        TextCounter(options)
    assert "words_of_mine" not in sys.modules
    counter = TextCounter(options, allow=["words_of_mine"]).fit(["a/b", "b/c"])
    monkeypatch.delitem(sys.modules, "words_of_mine")
    assert counter.vocabulary == ("a", "b", "c")
    assert counter.as_data()["options"]["tokenizer"] == "words_of_mine:split"
    with pytest.raises(NotAllowed):
        TextCounter.from_data({**TextCounter().as_data(), "options": {
            **TextOptions().as_data(), "tokenizer": "os:system"}})  # fmt: skip


def test_a_vocabulary_that_is_given():
    counter = TextCounter(TextOptions(stop_words="english"), vocabulary=("salt", "absent", "the"))
    assert counter.count(TEXTS).toarray().tolist() == [[1, 0, 0], [1, 0, 0], [1, 0, 0], [0, 0, 0]]
    assert TextCounter(TextOptions(ngrams=(2, 2)), vocabulary=["the sea"]).count(TEXTS).sum() == 2
    wrong = [], ["salt", "salt"], ["salt", 3], "salt", ["Salt"], ["two words"], ["x"], ["e\u0301te\u0301"]
    for terms in wrong:
        with pytest.raises(HdpkitError, match="vocabulary"):
            TextCounter(vocabulary=terms)
    with pytest.raises(ParameterError, match="max_terms"):
        TextCounter(TextOptions(max_terms=3), vocabulary=["salt"])


def test_what_is_no_text():
    for texts in ("a single text", None, 3, [b"bytes"], ["text", 3]):
        with pytest.raises(DataError, match="text"):
            TextCounter().fit_count(texts)
    with pytest.raises(DataError, match="words"):
        TextCounter().fit_count(["1 2 3"])
    with pytest.raises(StateError, match="fit"):
        TextCounter().count(["salt"])

    def own_error(text):
        raise ValueError("the user's own")

    with pytest.raises(ValueError, match="the user's own") as caught:
        TextCounter(TextOptions(tokenizer=own_error)).fit(TEXTS)
    assert not isinstance(caught.value, HdpkitError)


def test_files_that_are_something_else(tmp_path):
    place = tmp_path / "counter.json"
    good = TextCounter(TextOptions(ngrams=(1, 2))).fit(TEXTS).as_data()
    bad = [
        None, [], {}, {**good, "version": 2}, {**good, "more": 1}, {**good, "options": {}},
        {**good, "options": {**good["options"], "min_documents": 0}},
        {**good, "options": {**good["options"], "token_pattern": "("}},
        {**good, "vocabulary": "salt"}, {**good, "vocabulary": []}, {**good, "vocabulary": [1]},
    ]  # fmt: skip
    for data in bad:
        place.write_text(json.dumps(data))
        with pytest.raises(HdpkitError):
            TextCounter.load(place)
    for content in (b"", b"\xff", b"[" * 100_000):
        place.write_bytes(content)
        with pytest.raises(DataError, match="JSON"):
            TextCounter.load(place)
    with pytest.raises(StorageError):
        TextCounter.load(tmp_path / "absent")
    with pytest.raises(StorageError):
        TextCounter().save(tmp_path / "absent" / "counter.json")


class Pairs:
    """An object whose method is a segmenter, as jieba has one."""

    def cut(self, text):
        return [text[i : i + 2] for i in range(0, len(text), 2)]


pairs = Pairs().cut


def in_twos(text):
    return [text[i : i + 2] for i in range(0, len(text), 2)]


def as_generator(text):
    yield from in_twos(text)


def a_number(text):
    return 5


def numbers(text):
    return [1, 2]


def whole(text):
    return text


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("name", ["in_twos", "as_generator", "pairs"])
def test_a_segmenter_finds_the_words_of_texts_without_spaces(name, tmp_path):
    text = "天气公园，。天气我"  # punctuation, and a letter alone, are no words
    options = TextOptions(segmenter=f"{__name__}:{name}")
    with pytest.raises(NotAllowed, match=r"--allow"):
        TextCounter(options)
    counter = TextCounter(options, allow=[__name__]).fit([text])
    assert counter.vocabulary == ("公园", "天气")
    counter.save(tmp_path / "counter.json")
    with pytest.raises(NotAllowed):
        TextCounter.load(tmp_path / "counter.json")
    again = TextCounter.load(tmp_path / "counter.json", allow=[__name__])
    for other in (again, pickle.loads(pickle.dumps(counter))):
        assert other.count(["公园天气天气"]).toarray().tolist() == [[1, 2]]
    assert TextCounter(TextOptions(segmenter=globals()[name])).fit([text]).vocabulary == counter.vocabulary


@pytest.mark.parametrize("segmenter", [a_number, numbers, whole])
def test_what_a_segmenter_returns_is_checked(segmenter):
    with pytest.raises(ReturnValueError, match=r"segmenter.*a list of strings"):
        TextCounter(TextOptions(segmenter=segmenter)).fit(["天气公园"])


def test_segmenters_that_are_none():
    for value in (5, "", "module", ":name", []):
        with pytest.raises(ParameterError, match="segmenter"):
            TextOptions(segmenter=value)
    for name in ("absent_module:cut", f"{__name__}:absent", f"{__name__}:Pairs", f"{__name__}:pickle.loads"):
        with pytest.raises(RunError):
            TextCounter(TextOptions(segmenter=name), allow=["absent_module", __name__])
    with pytest.raises(ParameterError, match="segmenter"):
        TextCounter(TextOptions(segmenter=pairs)).as_data()  # its name isn't where it is


def test_function_words_with_vowel_signs_are_left_out():
    said = "كانَ مِنْ قَدْ ثُمَّ هذا هذِهِ لَمْ في على كِتاب مَدْرَسَة"
    counter = TextCounter(TextOptions())
    counter.fit_count([said] * 20)
    assert counter.function_words[0] == "arabic"
    assert {"كِتاب", "مَدْرَسَة"} <= set(counter.vocabulary)
    assert not {"كانَ", "مِنْ", "قَدْ", "في"} & set(counter.vocabulary)


UNSPACED = [
    "这是一个没有空格的句子。今天的天气非常好，我们去公园散步吧。",
    "これは空白のない文章です。今日はとても良い天気ですね。",
    "วันนี้อากาศดีมากเราไปเดินเล่นที่สวนสาธารณะกันเถอะ",
]


@pytest.mark.parametrize("text", UNSPACED)
def test_texts_without_spaces_are_said_to_need_a_segmenter(text, tmp_path):
    with pytest.warns(UnspacedTextWarning, match="segmenter= of TextOptions, or --segmenter"):
        TextCounter().fit([text])
    with pytest.warns(UnspacedTextWarning):
        list(text_blocks([text], TextCounter(), tmp_path / "spool", contextlib.nullcontext))
