"""Typical mistakes of new users: wrong data, wrong names, wrong order."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.base_measures import AtomicMeasure
from hdpkit.testing.cases import example_measures

SENTENCES = [["the", "lord", "said"], ["the", "lord", "went"]]


def words():
    return hk.Corpus.from_documents(SENTENCES)


DATA = {
    "words": words,
    "term ids": lambda: hk.Corpus.from_documents([[0, 1, 2], [1, 1]]),
    "n-grams": lambda: hk.NGrams.from_sentences(SENTENCES, order=2),
    "whole numbers": lambda: hk.Groups.from_labels([0, 1, 1, 2, 0]),
    "numbers": lambda: hk.Groups.from_labels([0.5, -1.2, 3.0, 2.2, 0.1]),
    "vectors": lambda: hk.Groups.from_labels(np.arange(10.0).reshape(5, 2) / 7),
    "counts": lambda: hk.Groups.from_labels([[3, 0], [1, 2], [0, 4]]),
    "bits": lambda: hk.Groups.from_labels([[1, 0], [1, 1], [0, 0]]),
    "strings": lambda: hk.Groups.from_labels(["the", "lord", "said"]),
    "objects": lambda: hk.Groups.from_labels([{"a": 1}, None, 3.0]),
    "bools": lambda: hk.Groups.from_labels([True, False, True]),
    "dates": lambda: hk.Groups.from_labels(np.array(["2020-01-01", "2020-01-02"], dtype="M8[D]")),
    "complex numbers": lambda: hk.Groups.from_labels([1j, 2j]),
}
WORDS = ("words", "term ids", "n-grams")


@pytest.mark.parametrize("kind", list(DATA))
@pytest.mark.parametrize(
    "measure", [m for m in example_measures() if type(m).__module__.startswith("hdpkit.")], ids=repr
)
def test_a_measure_runs_over_its_own_kind_of_data_or_says_which_it_takes(measure, kind):
    data = DATA[kind]()
    if isinstance(measure, hk.NonConjugate):
        return  # any likelihood is a user's
    of_words = isinstance(measure, AtomicMeasure) or "Dirichlet" in repr(measure)
    refused = None
    try:
        franchise = hk.Franchise(hk.Restaurant(measure), data)
    except (errors.DataError, errors.DeclarationError) as error:
        refused = error
    if refused is not None:
        assert refused.remedy
        assert not (of_words and kind in WORDS and getattr(measure, "n_terms", None) is None), refused
        return
    assert of_words or kind not in WORDS
    assert kind not in ("strings", "objects", "dates", "complex numbers")
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, audit_every=1)


def test_a_thousand_levels_in_a_folder_or_in_chains(tmp_path):
    restaurant = hk.Restaurant(hk.NormalGamma())
    for level in range(1000):
        restaurant = hk.Restaurant(restaurant, name=f"level {level}")
    franchise = hk.Franchise(restaurant, hk.Groups.from_labels([0.1, 0.2, 3.0]))
    scheduler = hk.Scheduler([moves.TableGibbs()])
    for where in ({"folder": tmp_path / "run"}, {"chains": 1}):
        with pytest.raises(errors.HdpkitError):
            scheduler.run(franchise, sweeps=1, rng=0, **where)
    assert not (tmp_path / "run").exists()


def test_mixtures_that_are_nested_too_deep():
    def nested(move):
        for _ in range(1000):
            move = hk.Mixture([(move.repeat(1), 1.0)])

    with pytest.raises(errors.ScheduleError, match="nested"):
        nested(moves.TableGibbs())
