"""Wang & Blei's synthetic study at a small size: its simulated data, its rule of "found", its table."""

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves

SCRIPT = Path(__file__).resolve().parents[2] / "examples" / "split_merge_study.py"


@pytest.fixture(scope="module")
def study():
    spec = importlib.util.spec_from_file_location("split_merge_study", SCRIPT)
    module = importlib.util.module_from_spec(spec)
    sys.modules["split_merge_study"] = module
    spec.loader.exec_module(module)
    yield module
    del sys.modules["split_merge_study"]


def test_topics_are_the_papers(study):
    for setting in (study.Setting(), *study.GRID.values()):
        topics = study.true_topics(setting)
        assert topics.shape == (5, 12)
        assert np.allclose(topics.sum(axis=1), 1.0)
        assert np.array_equal(topics[0, 2:], topics[1, 2:])
        assert np.array_equal(topics[0, :2], topics[1, 1::-1])
        assert not topics[2:, :2].any()
        if setting.high is None:  # terms 3 to 9 have the same highest probability
            assert np.allclose(topics[:2, 2:9], topics[:2].max())


def test_documents_have_at_most_two_topics(study):
    corpus, origins = study.draw_data(study.Setting(), 3)
    assert (corpus.n_documents, corpus.n_tokens, corpus.n_terms) == (100, 5000, 12)
    used = [len(set(origins[d * 50 : d * 50 + 50].tolist())) for d in range(100)]
    assert max(used) == 2
    assert 25 < used.count(1) < 80  # half of them by the law, and some pairs with a weight near 0
    again, _ = study.draw_data(study.Setting(), 3)
    assert np.array_equal(corpus.terms, again.terms)
    _, origins = study.draw_data(study.Setting(single=1.0), 3)
    assert all(len(set(origins[d * 50 : d * 50 + 50].tolist())) == 1 for d in range(100))


def test_found_is_what_it_is_said_to_be(study):
    topics = study.true_topics(study.Setting())
    counts = np.rint(1000 * topics).astype(int)
    assert study.is_like(counts, topics)
    assert study.is_like(np.vstack([counts, np.ones((1, 12), dtype=int)]), topics)
    assert not study.is_like(counts[:4], topics)
    assert not study.is_like(np.vstack([counts, counts[:1] // 4]), topics)  # a sixth dish holds 5 %
    blend = counts.copy()
    blend[:2] = counts[:2].sum(axis=0) // 2  # topics 1 and 2 are one: with these, each is like both
    assert study.is_like(blend, topics)
    blend[1] = counts[2]  # two dishes like topic 3, none for one of the twins
    assert not study.is_like(blend, topics)


def test_first_sweep_is_the_first_of_twenty(study):
    setting = study.Setting(n_documents=40, single=1.0)
    corpus, origins = study.draw_data(setting, 1)
    finder = study.Finder(study.true_topics(setting))
    trace = hk.Scheduler([moves.TableGibbs().after(1000)]).run(
        study.franchise_of(corpus), 50, rng=1, init=origins, callbacks=[finder]
    )
    assert finder.first == 1
    assert trace.n_draws == 20


def test_sign_test_is_exact(study):
    assert study.sign_test([1, 2, 3, 4, 9], [2, 3, 4, 5, 9]) == pytest.approx(2 / 2**4)
    assert study.sign_test([5], [5]) == 1.0


def test_table_and_pairs(study):
    small = study.Setting(n_documents=30, single=1.0)
    schedules = {"none": None, "groups": moves.ReseatGroups()}
    rows = list(study.compare(small, schedules, range(2), "one", 30))
    assert len(rows) == 2
    assert all(row.count("|") == study.HEAD.splitlines()[0].count("|") for row in rows)
    assert "%" in rows[1]
    one = study.run(small, 0, moves.ReseatGroups(), "one", 30, stop=False)
    assert one.trace.n_draws == 30
    assert one.tried == 30 * 30
    assert 0 < one.accepted < one.tried


def test_figures_are_drawn_or_name_what_they_need(study, tmp_path):
    def draw():
        return study.draw_figures(study.Setting(n_documents=10, n_words=10), 0, "one", 3, tmp_path)

    if importlib.util.find_spec("matplotlib") is None:
        with pytest.raises(SystemExit, match="matplotlib"):
            draw()
    else:
        assert draw().stat().st_size > 1000
