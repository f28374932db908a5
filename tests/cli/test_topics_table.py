"""Topics as a table: top terms and shares."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from hdpkit.data.top_terms import largest
from hdpkit.kinds.listing import background_told
from hdpkit.kinds.topics import Topics


@given(st.lists(st.integers(0, 5), max_size=20), st.integers(0, 25))
def test_the_largest_entries_are_those_of_a_stable_sort(row, n):
    assert largest(np.array(row), n).tolist() == np.argsort(-np.array(row), kind="stable")[:n].tolist()


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
