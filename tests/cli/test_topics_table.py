"""Topics as a table: top terms and shares."""

import io

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from hdpkit.cli.output import echo_table, listed, topics_table
from hdpkit.data.files.topics import document_shares, summarise_topics, token_shares, top_terms
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.topics import Topics

VOCABULARY = ["axis", "fft", "norm", "spline"]
COUNTS = np.array([[0, 3, 0, 1], [5, 0, 5, 0], [0, 0, 0, 0]])


def test_top_terms_are_those_that_a_topic_has():
    assert top_terms(COUNTS, VOCABULARY) == [("fft", "spline"), ("axis", "norm"), ()]
    assert top_terms(COUNTS, VOCABULARY, n_terms=1) == [("fft",), ("axis",), ()]
    assert top_terms(COUNTS)[0] == ("1", "3")


def test_token_shares():
    np.testing.assert_allclose(token_shares(COUNTS), [4 / 14, 10 / 14, 0])
    assert token_shares(np.zeros((2, 3), dtype=int)).tolist() == [0, 0]


def test_document_shares_leave_guests_and_empty_documents_out():
    document = np.repeat([0, 2], [20, 21])  # document 1 is empty
    dishes = np.array([0] * 19 + [1] + [0] * 20 + [1])  # topic 1: 1 of 20 tokens, 1 of 21
    assert document_shares(dishes, document, 3, 3, 0.05).tolist() == [1.0, 0.5, 0.0]
    assert document_shares(dishes, document, 3, 3, 0.0).tolist() == [1.0, 1.0, 0.0]


@given(st.lists(st.tuples(st.integers(0, 4), st.integers(0, 5)), max_size=60), st.floats(0, 1))
def test_document_shares_agree_with_counting_one_by_one(pairs, at_least):
    dishes = np.array([dish for dish, _ in pairs], dtype=int)
    document = np.array([where for _, where in pairs], dtype=int)
    filled = [d for d in range(6) if (document == d).any()]
    expected = []
    for k in range(5):
        held = [((dishes[document == d] == k).sum(), (document == d).sum()) for d in filled]
        present = [tokens > 0 and tokens >= at_least * length for tokens, length in held]
        expected.append(sum(present) / max(len(filled), 1))
    np.testing.assert_allclose(document_shares(dishes, document, 5, 6, at_least), expected)


def test_topics_of_hardly_any_token_are_counted_and_not_listed(capsys):
    """A chain over shards ends with dishes of a few tokens: 147 rows of one term and 0.00 % helped nobody."""
    counts = np.vstack([COUNTS[:2] * 100_000, np.tile([[0, 0, 0, 1]], (147, 1))])
    found = summarise_topics(counts, (), (), VOCABULARY, document_counts=(), n_documents=0)
    assert [topic.dish for topic in listed(found)] == [1, 0]
    assert len(listed(found, 40)) == 40
    assert len(listed(found[2:])) == 1  # all are small: the largest is shown
    echo_table(found, listed(found), Topics.nouns)
    assert "and 147 smaller topics, 0.0% of the tokens together" in capsys.readouterr().out


def test_a_sparsity_rounded_below_zero_is_shown_as_zero():
    found = summarise_topics(COUNTS[:1], (), (), VOCABULARY, document_counts=(), n_documents=0,
                             selected_terms=[4 + 1e-9])  # fmt: skip
    table = io.StringIO()
    Console(file=table, width=120).print(topics_table(found, Topics.nouns))
    assert "-0.00%" not in table.getvalue()


def test_summary_is_sorted_by_size():
    dishes, document = np.repeat([0, 1], [4, 10]), np.repeat([0, 1], [7, 7])
    topics = summarise_topics(COUNTS, dishes, document, VOCABULARY, n_terms=1)
    assert [(topic.dish, topic.terms, topic.tokens) for topic in topics] == [
        (1, ("axis",), 10),
        (0, ("fft",), 4),
        (2, (), 0),
    ]
    assert [topic.document_share for topic in topics] == [1.0, 0.5, 0.0]
    assert sum(topic.token_share for topic in topics) == pytest.approx(1.0)


def test_nothing_at_all_is_legal():
    assert summarise_topics(np.zeros((0, 4), dtype=int), [], [], VOCABULARY) == []


@pytest.mark.parametrize("counts", [[1, 2], [[0.5, 1.0]], [[-1, 1]]])
def test_counts_must_be_counts(counts):
    with pytest.raises(DataError, match="dish_counts"):
        token_shares(counts)


def test_bad_arguments_are_named():
    with pytest.raises(DataError, match="vocabulary"):
        top_terms(COUNTS, ["one"])
    with pytest.raises(ParameterError, match="n_terms"):
        top_terms(COUNTS, VOCABULARY, n_terms=0)
    with pytest.raises(ParameterError, match="at_least"):
        document_shares([0], [0], 1, 1, at_least=5)
    with pytest.raises(DataError, match="dishes"):
        document_shares([0, 1], [0], 2, 1)


def test_the_table_shows_rank_terms_and_shares():
    dishes, document = np.repeat([0, 1], [4, 10]), np.repeat([0, 1], [7, 7])
    file = io.StringIO()
    found = summarise_topics(COUNTS, dishes, document, VOCABULARY)
    Console(file=file, width=100).print(topics_table(found, Topics.nouns))
    rows = [line.split() for line in file.getvalue().splitlines()]
    assert ["1", "axis", "norm", "71.43%", "100.00%"] in rows
    assert ["2", "fft", "spline", "28.57%", "50.00%"] in rows
    assert "≥ 5%" in file.getvalue()
