"""What ArviZ makes of a trace: its summary, its pictures, leave-one-out cross-validation."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import hdpkit as hk
from hdpkit import moves


@pytest.fixture(scope="module", autouse=True)
def arviz():
    """Imported by the worker that runs these tests, not by all that collect them: it takes seconds."""
    return pytest.importorskip("arviz")


DOCUMENTS = [[0, 0, 1], [2, 2], [0, 1], [1, 2]]
KEY = "log_likelihood/document"


def franchise(documents=DOCUMENTS, **options):
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    corpus = hk.Corpus.from_documents(documents, n_terms=3)
    return hk.Franchise(hk.Restaurant(root, concentration=0.8, each="document"), corpus, **options)


@pytest.fixture(scope="module")
def trace():
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs()])
    record = {KEY: hk.GroupLogLikelihood(after=10, every=5, particles=4)}
    return hk.ChainTrace([scheduler.run(franchise(), 110, rng=seed, record=record) for seed in (0, 1)])


@pytest.mark.filterwarnings("ignore")  # of Pareto's k, and of Matplotlib's own future
def test_summary_and_pictures_and_loo_take_the_export(trace, arviz):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    data = trace.to_arviz()
    found = arviz.loo(data, pointwise=True)
    assert found.n_data_points == 4
    assert found.n_samples == 40
    elpd = float(found.elpd if hasattr(found, "elpd") else found.elpd_loo)
    assert 4 * 2.5 * math.log(1 / 3) * 2 < elpd < 0.0
    assert {"n_dishes", "log_joint"} <= set(trace.summary().index)
    assert "n_dishes" in arviz.summary(data).index
    arviz.plot_trace(data, var_names=["n_dishes"])
    matplotlib.pyplot.close("all")


def test_leaving_one_out_gives_the_predictive_probability():
    """1 / E[1 / p(y_i | phi, beta)] over the posterior is p(y_i | the others): here by enumeration."""
    documents, eta, alpha, k = [[0, 0], [0, 1], [1, 1]], 2.0, 3.0, 2
    corpus = hk.Corpus.from_documents(documents, n_terms=2)
    root = hk.Restaurant(hk.DirichletMultinomial(eta))
    state = hk.Franchise(
        hk.Restaurant(root, concentration=alpha, each="document"), corpus, root=hk.FixedWeights(k)
    )

    def evidence(chosen):
        logs = []
        words = np.concatenate([documents[i] for i in chosen])
        group = np.repeat(np.arange(len(chosen)), 2)
        for z in itertools.product(range(k), repeat=len(words)):
            n, m = np.zeros((len(chosen), k)), np.zeros((k, 2))
            np.add.at(n, (group, z), 1)
            np.add.at(m, (z, words), 1)
            log = np.sum(gammaln(n + alpha / k) - gammaln(alpha / k))
            log += len(chosen) * (gammaln(alpha) - gammaln(alpha + 2))
            log += np.sum(gammaln(m + eta) - gammaln(eta))
            logs.append(log + np.sum(gammaln(2 * eta) - gammaln(2 * eta + m.sum(axis=1))))
        return logsumexp(logs)

    record = {KEY: hk.GroupLogLikelihood(particles=50, every=3)}
    trace = hk.Scheduler([moves.TableGibbs()]).run(state, sweeps=1200, rng=0, record=record)
    found = math.log(400) - logsumexp(-trace[KEY][2::3], axis=0)
    for i in range(3):
        rest = [j for j in range(3) if j != i]
        assert found[i] == pytest.approx(evidence(range(3)) - evidence(rest), abs=0.08)
