"""N-grams in run folders: they are read back unchanged, or a typed error reports damage."""

import numpy as np
import pytest
from data_files import read_data, write_data
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hdpkit as hk
from hdpkit.errors import CorruptRunError
from hdpkit.run.data_file import tree_of_data

TOKENS = st.sampled_from(["a", "ä", "\ud800", 7, -1.5, ("x", 1), True, np.datetime64("2020-01-01", "D"), ""])
SENTENCES = st.lists(st.lists(TOKENS, max_size=5), max_size=5)


def round_trip(data, folder):
    write_data(folder / "data.npz", tree_of_data(data))
    return read_data(folder / "data.npz")


def check_same(back, data):
    assert type(back) is hk.NGrams
    for name in ("order", "start", "end", "fixed_vocabulary", "vocabulary", "context_symbols"):
        assert getattr(back, name) == getattr(data, name)
    assert [type(word) for word in back.vocabulary] == [type(word) for word in data.vocabulary]
    for array, expected in ((back.values, data.values), (back.offsets, data.offsets)):
        assert array.dtype == expected.dtype
        assert np.array_equal(array, expected)
        assert not array.flags.writeable
    assert np.array_equal(back.contexts(), data.contexts())
    assert [back.keys(name) for name in back.label_names] == [data.keys(name) for name in data.label_names]


@given(SENTENCES, st.integers(1, 12), st.sampled_from(["<s>", None, ("start",)]), st.booleans())
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_sentences_come_back(tmp_path, sentences, order, start, fixed):
    words = list(dict.fromkeys(token for sentence in sentences for token in sentence))
    data = hk.NGrams.from_sentences(
        [*sentences, []], order=order, start=start, vocabulary=[*words, "</s>"] if fixed else None
    )
    back = round_trip(data, tmp_path)
    check_same(back, data)
    check_same(back.plus(sentences), data.plus(sentences))
    simulated = data.with_values(np.arange(len(data)) % data.n_terms)
    back = round_trip(simulated, tmp_path)
    check_same(back, simulated)
    check_same(back.plus(sentences), simulated.plus(sentences))


@pytest.fixture(params=["sentences", "pairs"])
def packed(request):
    if request.param == "pairs":
        data = hk.NGrams.from_pairs(["a", "b"], [(), ("a", "c")])
    else:
        data = hk.NGrams.from_sentences([["a", "b"], []], order=3).with_values([1, 1, 0, 0])
    return tree_of_data(data)


def test_what_was_forged_is_not_believed(packed, tmp_path):
    tree = packed
    arrays = [key for key, value in tree.items() if isinstance(value, np.ndarray)]
    assert len(arrays) >= 2
    forged = [{k: v for k, v in tree.items() if k != key} for key in tree]
    forged += [{**tree, "order": value} for value in (0, -1, "3", None, 2.0)]
    forged += [{**tree, "vocabulary": value} for value in (5, None, [], ["a"], [["a"], "b", "c"], ["a"] * 9)]
    forged += [{**tree, "context_symbols": value} for value in (5, None, [], ["x"] * 9)]
    for key in arrays:
        array = tree[key]
        forged += [{**tree, key: value} for value in (5, "x", [], np.zeros(0), [[]], array[:-1])]
        forged += [{**tree, key: value} for value in (array + 100, array - 100, array.astype(float))]
    for number, other in enumerate(forged):
        file = tmp_path / f"data-{number}.npz"
        write_data(file, other)
        with pytest.raises(CorruptRunError, match="what hdpkit wrote"):
            read_data(file)
