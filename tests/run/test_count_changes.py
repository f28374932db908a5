"""Changes of counts as bytes: round trips, sums, and errors about damage."""

import numpy as np
import pytest
from hdpkit._count_changes import add_up_sparse, read_sparse, write_sparse
from hypothesis import given
from hypothesis import strategies as st

from hdpkit.errors import DataError

CHANGES = st.dictionaries(st.integers(0, 2**40), st.integers(-(2**31), 2**31).filter(bool), max_size=30)


def written(changes):
    places = np.array(sorted(changes), dtype=np.int64)
    return write_sparse(places, np.array([changes[place] for place in places.tolist()], dtype=np.int64))


def as_dict(sparse):
    places, changes = read_sparse(sparse)
    return dict(zip(places.tolist(), changes.tolist(), strict=True))


@given(CHANGES)
def test_what_is_written_is_read(changes):
    assert as_dict(written(changes)) == changes


@given(CHANGES, CHANGES)
def test_sums_are_sums_in_any_order(one, other):
    total = {place: one.get(place, 0) + other.get(place, 0) for place in {*one, *other}}
    total = {place: change for place, change in total.items() if change}
    assert as_dict(add_up_sparse(written(one), written(other))) == total
    assert add_up_sparse(written(one), written(other)) == add_up_sparse(written(other), written(one))


def test_a_change_takes_two_bytes_where_changes_are_dense_and_small():
    changes = np.where(np.arange(1000) % 3, 1, -2)
    assert len(write_sparse(np.arange(1000) * 7, changes)) == 2000


@pytest.mark.parametrize(
    "sparse", [b"\x80", b"\x01", b"\x00\x02", b"\x01\x00", b"\xff" * 11, b"\x01\x02\x80"]
)
def test_other_bytes_are_refused(sparse):
    with pytest.raises(DataError, match="unchanged since they were written"):
        read_sparse(sparse)
    with pytest.raises(DataError, match="unchanged since they were written"):
        add_up_sparse(b"", sparse)
