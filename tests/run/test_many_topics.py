"""The warning about too many topics for a corpus."""

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.run.interrupt import too_many_topics

N_TOKENS = 2_500  # 51 topics are too many, 50 are not
MANY = np.arange(N_TOKENS) % 51
KEPT = [moves.Concentration()]  # dishes stay as they start


def corpus(n_tokens=N_TOKENS):
    terms = np.random.default_rng(0).integers(0, 40, size=n_tokens)
    return hk.Corpus.from_documents(terms.reshape(-1, 50).tolist(), n_terms=40)


def topic_model(eta=0.5, data=None, kind=hk.DirichletMultinomial):
    root = hk.Restaurant(kind(eta), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, each="document"), corpus() if data is None else data)


@pytest.mark.parametrize(
    ("n_topics", "n_tokens", "many"),
    [(50, 2_500, False), (51, 2_500, True), (1_325, 920_000, True), (44, 1_999, False), (1_999, 1_999, False),
     (45, 2_000, True), (590, 348_884, False), (591, 348_884, True), (0, 2_000, False)],
)  # fmt: skip
def test_the_criterion(n_topics, n_tokens, many):
    assert too_many_topics(n_topics, n_tokens) is many


def test_a_run_warns_once_of_too_many_topics():
    with pytest.warns(errors.ManyTopicsWarning, match=r"^51 topics for 2,500 tokens, 49 tokens each") as told:
        hk.Scheduler(KEPT).run(topic_model(), sweeps=3, rng=0, init=MANY)
    (warning,) = [warning for warning in told if warning.category is errors.ManyTopicsWarning]
    assert warning.filename == __file__
    assert "A larger eta" in str(warning.message)
