"""Eta at the ends of the range of the fused sweep of topic models, and beyond its single precision."""

import numpy as np
import pytest
from fused_cases import corpus, franchise_over, lockstep, total_variation
from test_fused_sites import VARIATION

import hdpkit as hk
from hdpkit.random import RandomStream

BEYOND = {
    "a term of nearly no weight": np.append(np.full(39, 0.5), 1e-50),  # the law would be off by 0.97
    "smallest": 1e-100,
    "sum too large": 1e12,  # 0.13
    "largest": 1e100,  # nothing could be drawn
    "both": np.geomspace(1e-100, 1e100, 40),
}
ENDS = {"small": np.append(np.full(39, 0.5), 1e-28), "large": 2.5e5}


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("name", BEYOND)
def test_beyond_its_range_the_generic_sweep_runs(name, store):
    data = corpus(8, 20, 40)
    franchise = franchise_over(data, store, eta=BEYOND[name], root=(2.0, 0.2), sweeps=0)
    assert franchise.kernel("reseat") == "generic"
    assert franchise.kernel("resample_dish") == "fused"
    franchise.reseat(0, franchise.topology.n_customers, RandomStream((1, 1)))
    franchise.audit()


def test_the_kernel_follows_eta():
    measure = hk.DirichletMultinomial(hk.Gamma(2.0, 4.0))
    document = hk.Restaurant(hk.Restaurant(measure), each="document")
    franchise = hk.Franchise(document, corpus(8, 20, 40), store="histogram")
    for eta, kernel in ((0.5, "fused"), (1e12, "generic"), (0.1, "fused"), (1e-40, "generic")):
        franchise.set_base_parameters(eta=eta)
        assert franchise.kernel("reseat") == kernel


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize("name", ENDS)
def test_floats_are_doubles_at_the_ends(name, store):
    documents = [[0, 1, 2, 3, 4, 5, 6, 1, 2, 39], [0, 1, 2, 3, 4, 5, 6, 1, 2, 3]]  # 39 comes once
    data = hk.Corpus.from_documents(documents, n_terms=40)
    franchise = franchise_over(data, store, eta=ENDS[name], root=(1.0, 0.1), below=(1.0, 0.1))
    assert franchise.kernel("reseat") == "fused"
    for exact, rounded in zip(*lockstep(franchise), strict=True):
        assert total_variation(exact.law, rounded.law) <= VARIATION
