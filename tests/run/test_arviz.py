"""What ArviZ makes of a trace: its summary, its pictures, leave-one-out cross-validation."""

import itertools
import math

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

import hdpkit as hk
from hdpkit import errors, moves


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


def chains(sweeps, record):
    scheduler = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge().until(8)])
    return hk.ChainTrace([scheduler.run(franchise(), sweeps, rng=seed, record=record) for seed in (0, 1)])


def test_draws_and_rates_have_their_names():
    pair = {"pair": lambda f: np.array([f.n_dishes, f.n_tables])}
    trace = chains(30, {**pair, "sizes": lambda f: f.dish_counts.sum(axis=1)})
    data = trace.to_arviz(after=10)
    assert data.posterior["n_dishes"].dims == ("chain", "draw")
    assert np.array_equal(data.posterior["n_tables_root"].values, trace["n_tables/root"][:, 10:])
    assert data.posterior["draw"].values.tolist() == list(range(11, 31))
    assert data.posterior["pair"].shape == (2, 20, 2)
    assert "sizes" not in data.posterior  # as many as there are dishes
    assert np.array_equal(data.sample_stats["log_joint"].values, trace["log_joint"][:, 10:])
    assert (data.sample_stats["acceptance_TableGibbs"].values == 1.0).all()
    assert np.isnan(trace.to_arviz().sample_stats["acceptance_SplitMerge"].values[:, 8:]).all()
    assert "n_tables.root" in trace.to_arviz(separator=".").posterior
    table = trace.summary(after=10)
    assert {"r_hat", "ess_bulk", "mean"} <= set(table.columns)
    assert "discount/root" not in table.index
    assert table.loc["n_tables", "mean"] == pytest.approx(trace["n_tables"][:, 10:].mean(), abs=1e-2)
    assert trace.chains[1].summary(var_names=["n_dishes", "discount/root"]).shape[0] == 2
    with pytest.raises(errors.DataError):
        trace.to_arviz(after=30)


@pytest.mark.filterwarnings("ignore")  # of Pareto's k, and of Matplotlib's own future
def test_summary_and_pictures_and_loo_take_the_export(arviz):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg")
    data = chains(110, {KEY: hk.GroupLogLikelihood(after=10, every=5, particles=4)}).to_arviz()
    found = arviz.loo(data, pointwise=True)
    assert found.n_data_points == 4
    assert found.n_samples == 40
    elpd = float(found.elpd if hasattr(found, "elpd") else found.elpd_loo)
    assert 4 * 2.5 * math.log(1 / 3) * 2 < elpd < 0.0
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
