"""Topics as a table: top terms and shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.output import echo_listing
from hdpkit.data.top_terms import largest, top_terms, typical
from hdpkit.kinds.listing import background_told, listed
from hdpkit.kinds.topics import Topics
from hdpkit.posterior.documents import document_shares

VOCABULARY = ["axis", "fft", "norm", "spline"]
COUNTS = np.array([[0, 3, 0, 1], [5, 0, 5, 0], [0, 0, 0, 0]])


def found(documents, dishes, vocabulary=None, n_terms=None):
    """The components of a state in which these tokens have these dishes."""
    corpus = hk.Corpus.from_documents(documents, vocabulary=vocabulary, n_terms=n_terms)
    root = hk.Restaurant(hk.DirichletMultinomial(1e-3), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    hk.Scheduler([moves.Concentration()]).run(franchise, 1, rng=0, init=np.asarray(dishes))
    return hk.summaries.components(franchise, similar=0.0)


def test_top_terms_are_those_that_a_topic_has():
    assert top_terms(COUNTS, VOCABULARY) == [("fft", "spline"), ("axis", "norm"), ()]
    assert top_terms(COUNTS, VOCABULARY, n_terms=1) == [("fft",), ("axis",), ()]
    assert top_terms(COUNTS)[0] == ("1", "3")


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 25))
def test_the_largest_entries_are_those_of_a_stable_sort(row, n):
    assert largest(np.array(row), n).tolist() == np.argsort(-np.array(row), kind="stable")[:n].tolist()


def test_shares_of_documents_leave_guests_and_empty_documents_out():
    dishes = [0] * 19 + [1] + [0] * 20 + [1]  # topic 1: 1 of 20 tokens, 1 of 21; document 1 is empty
    documents = [[0] * 19 + [1], [], [0] * 20 + [1]]
    assert document_shares(found(documents, dishes, n_terms=2)).tolist() == [1.0, 0.5]


def test_topics_of_hardly_any_token_are_counted_and_not_listed(capsys):
    """A chain over shards ends with dishes of a few tokens: 147 rows of one term and 0.00 % helped nobody."""
    n = 147
    documents = [[0] * 60_000 + [1] * 50_000 + [2] * n]
    topics = found(documents, np.repeat(np.arange(n + 2), [60_000, 50_000, *[1] * n]), n_terms=3)
    assert listed(topics) == 2
    assert listed(topics, 40) == 40
    assert listed(topics.selected(range(2, n + 2))) == 1  # all are small: the largest is shown
    echo_listing(Topics().listing(topics, 5))
    assert "and 147 smaller topics, 0.1% of the tokens together" in capsys.readouterr().out


class Three:
    """Three topics."""

    shares = np.array([0.5, 0.3, 0.2])

    def __len__(self):
        return 3


@pytest.mark.parametrize(
    ("present", "told"),
    [
        ([0.9, 0.5, 0.1], "topic 1 is in more than half of the documents, with 50.0% of the tokens"),
        ([0.9, 0.1, 0.6], "topics 1, 3 are in more than half of the documents, with 70.0% of the tokens"),
        ([0.5, 0.1, 0.1], ""),
        ([0.9, 0.9, 0.9], ""),  # there is nothing beside them
    ],
)
def test_topics_that_most_documents_have_are_background(present, told):
    said = background_told(Three(), np.array(present), Topics.nouns)
    assert said.split(":")[0] == told


def test_typical_terms_are_frequent_here_and_rarer_elsewhere():
    row, every = np.array([0.5, 0.3, 0.2, 0.0]), np.array([0.6, 0.1, 0.1, 0.2])
    assert typical(row, every, 3).tolist() == [1, 2, 0]
    assert typical(row, row, 2).tolist() == [0, 1]
