"""Fold-in of a franchise's own data, and the reference for fold-in; see `new_groups` for the rest."""

import math

import numpy as np
import pytest
from evaluation_checks import three_levels, two_levels
from new_groups import DENSITY, SHARES, NewGroupLaw, law

import hdpkit as hk
from hdpkit.testing.exact import outcomes


def test_the_witness_counts_tables_where_there_is_one():
    theta, d, f, p = 0.7, 0.4, DENSITY[:2], SHARES[0]
    together = (1 - d) / (1 + theta) * sum(p * f[0] * f[1])
    apart = (theta + d) / (1 + theta) * (p @ f[0]) * (p @ f[1])
    assert NewGroupLaw(f, p, theta, d).evidence == pytest.approx(together + apart, rel=1e-12)
    assert math.fsum(law(theta, d).pi) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("made", [two_levels, three_levels])
@pytest.mark.parametrize("kernel", ["auto", "reference"])
@pytest.mark.parametrize("store", ["histogram", "explicit"])
def test_fold_in_of_a_training_document_gives_its_posterior(made, kernel, store):
    """A document of one word: table Gibbs of it, the rest given, against fold-in with the word taken out."""
    franchise = made(kernel=kernel, store=store)
    view, customer = franchise.restaurant("document", 2), 6
    view.unseat(7, rng=0)  # the document has one word now
    kept = franchise.freeze()

    def reseat(source):
        franchise.thaw(kept)
        franchise.reseat(customer, customer + 1, source)
        dishes = franchise.dishes
        others = np.flatnonzero(dishes[:customer] == dishes[customer])
        return int(others[0]) if len(others) else None  # dishes have other numbers in every branch

    gibbs, folded = {}, {}
    for other, p in outcomes(reseat):
        gibbs[other] = gibbs.get(other, 0.0) + p
    franchise.thaw(kept)
    view.unseat(customer, rng=1)
    first = {int(np.flatnonzero(franchise.dishes == k)[0]) for k in range(franchise.n_dishes)}
    named = {int(franchise.dishes[i]): i for i in first} | {franchise.n_dishes: None}
    labels = {"journal": ["B"]} if made is three_levels else None
    one = hk.Corpus.from_documents([[int(franchise.data.values[customer])]], n_terms=3, groups=labels)
    for dish, p in outcomes(lambda source: int(franchise.fold_in(one, 1, burn_in=0, rng=source).dishes[0])):
        folded[named[dish]] = folded.get(named[dish], 0.0) + p
    assert folded == pytest.approx(gibbs, abs=1e-12)
