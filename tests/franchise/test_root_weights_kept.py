"""Weights of the root in saved states: copies, frozen states, run folders, chains, extremes; old names."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import StateError
from hdpkit.random import RandomStream
from hdpkit.testing.machines import same


def weighted(root="weights", concentration=hk.Gamma(2.0, 1.0), **options):  # noqa: B008 - immutable
    corpus = hk.Corpus.from_documents([[0, 0, 1, 2], [1, 2, 2], [2, 2, 0]], n_terms=3)
    base = hk.Restaurant(base=hk.DirichletMultinomial(0.5), concentration=concentration)
    document = hk.Restaurant(base=base, concentration=0.7, each="document")
    return hk.Franchise(document, corpus, root=root, **options)


def test_states_go_from_a_restaurant_to_weights_and_back():
    plain, franchise = weighted("restaurant"), weighted()
    hk.Scheduler([moves.TableGibbs()]).run(plain, sweeps=5, rng=1)
    franchise.thaw(plain.freeze(), RandomStream((1, 5)))
    franchise.audit()
    drawn = franchise.root_weights()
    expected = plain.root_weights()
    assert not np.allclose(drawn[0], expected[0])
    before = franchise.freeze()
    with pytest.raises(StateError, match="source"):
        franchise.thaw(plain.freeze())
    assert same(franchise.freeze(), before)
    plain.thaw(franchise.freeze())
    plain.audit()
