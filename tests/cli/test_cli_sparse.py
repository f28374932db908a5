"""Kinds of topics on the command line, groups of topics, and topics merged by them."""

import csv
import json

import numpy as np
import pytest
from fit_command import FIT, call, data_of, done, hdpkit, write_ldac

import hdpkit as hk
from hdpkit.kinds.topics import default_moves
from hdpkit.moves import BaseMeasureParameters, DishGibbs, SelectorCounts, Smoothing, SplitMerge, TableGibbs
from hdpkit.report import write_report

ALWAYS = TableGibbs(), DishGibbs(), SplitMerge()


@pytest.fixture
def ldac(tmp_path):
    rng = np.random.default_rng(5)
    kinds = np.array([[6, 5, 4, 3, 0, 0, 0, 0], [0, 0, 0, 1, 4, 5, 4, 4]]) / 18
    return write_ldac(tmp_path / "corpus.dat", [rng.multinomial(25, kinds[d % 2]) for d in range(16)])


def fit(ldac, folder, *options):
    return hdpkit(*FIT, ldac, "--out", folder, "--sweeps", 6, "--quiet", "--init", "random:3", *options)


@pytest.mark.parametrize(
    ("options", "moved"),
    [
        ((), set()),
        (("--smoothing", "gamma(1,1)", "--selection", "beta(1, 2)"), {BaseMeasureParameters().name}),
        (("--proportions", "stored"), {SelectorCounts().name}),
        (("--selection", "0.3"), set()),
        (("--smoothing", "Each(gamma(1, 2))"), {Smoothing().name}),
    ],
)
def test_fit_topics_resume_and_verify(ldac, tmp_path, options, moved):
    folder = tmp_path / "run"
    result = fit(ldac, folder, "--sparse", *options)
    assert result.exit_code == 0, result.output
    assert "sparsity" in result.output
    run = hk.open_run(folder)
    measure = run.franchise().measure
    assert isinstance(measure, hk.SparseDirichletMultinomial)
    names = {move.name for move in default_moves(hk.Restaurant(hk.Restaurant(measure), each="document"))}
    always = {move.name for move in ALWAYS if measure.conjugate or move.name != "SplitMerge"}
    assert names == always | moved

    franchise = run.franchise()
    expected = 1.0 - franchise.selected_terms() / franchise.measure.n_terms
    listed = json.loads(call("topics", folder, "--format", "json"))["topics"]
    own = hk.summaries.components(run).which(franchise.sample())
    for k, sparsity in zip(own, expected, strict=True):
        if np.count_nonzero(own == k) == 1 and k >= 0:
            assert listed[k]["sparsity"] == pytest.approx(sparsity)
    assert hdpkit("resume", folder, "--sweeps", 2, "--quiet").exit_code == 0
    assert hdpkit("verify", folder).exit_code == 0


def test_a_run_whose_table_cannot_be_made_is_saved_and_says_how_to_get_it(ldac, tmp_path, monkeypatch):
    def failing(run, **options):
        raise MemoryError("Unable to allocate 7.45 GiB")

    folder = tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr("hdpkit.kinds.kind.components", failing)
        result = fit(ldac, folder)
        assert result.exit_code == 0
        assert "saved" in result.stderr
        assert "MemoryError: Unable to allocate 7.45 GiB" in result.stderr
        assert f"hdpkit topics {folder}" in result.stderr
        assert "hdpkit topics" in done("resume", folder, "--sweeps", 5, "--quiet").stderr
    assert hk.open_run(folder).trace.n_draws == 11
    assert "share of" in done("topics", folder).stdout


@pytest.fixture(scope="module")
def many(tmp_path_factory):
    """A run of two chains with two dozen topics in three families."""
    rng = np.random.default_rng(1)
    documents = []
    for d in range(120):
        family, topic = d % 3, d % 24
        words = [*(f"family{family}_{v}" for v in range(6)), *(f"topic{topic}_{v}" for v in range(6))]
        documents.append(rng.choice(words, 60).tolist())
    folder = tmp_path_factory.mktemp("many") / "run"
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), hk.Corpus.from_documents(documents))
    start = np.repeat(np.arange(120) % 24, 60)
    hk.Scheduler([hk.moves.TableGibbs()]).run(
        franchise, 6, rng=0, init=start, chains=2, samples=3, folder=folder
    )
    return folder


def test_topics_are_listed_in_groups_and_merged_on_request(many, tmp_path):
    held = json.loads(call("topics", many, "--format", "json"))
    assert held["n_topics"] > 20
    numbers = [topic["topic"] for topic in held["topics"]]
    assert numbers == list(range(1, held["n_topics"] + 1))
    assert sorted(k for group in held["groups"] for k in group["topics"]) == numbers
    of = {k: group["group"] for group in held["groups"] for k in group["topics"]}
    assert [topic["group"] for topic in held["topics"]] == [of[k] for k in numbers]
    shares = {topic["topic"]: topic["share"] for topic in held["topics"]}
    for group in held["groups"]:
        assert group["share"] == pytest.approx(sum(shares[k] for k in group["topics"]))
    table = call("topics", many)
    assert table.index("its topics") < table.index("documents")
    assert "group" not in call("topics", many, "--topics", "about:3")
    # The tree is the same in the terminal, in exports, and in Python.
    agreed = hk.summaries.components(many)
    tree = hk.summaries.group_topics(agreed.rows, agreed.shares)
    assert [topic["group"] for topic in held["topics"]] == (tree.cut() + 1).tolist()
    call("export", many, "--to", "csv", "--out", tmp_path / "tables")
    with open(tmp_path / "tables" / "topics.csv", encoding="utf-8") as file:
        assert [int(row["group"]) for row in csv.DictReader(file)] == (tree.cut() + 1).tolist()
    for chain in ((), ("--chain", 1)):
        merged = json.loads(call("topics", many, "--topics", "about:3", "--format", "json", *chain))
        assert merged["n_topics"] == len(merged["topics"]) == 3
        assert "a cut of the tree" in merged["of"]
        for topic in merged["topics"]:  # families are merged, and their words come first
            assert len({word.partition("_")[0] for word in topic["terms"][:6]}) == 1
        folder = tmp_path / f"merged{len(chain)}"
        call("export", many, "--to", "csv", "--out", folder, "--topics", "about:3", *chain)
        with open(folder / "topics.csv", encoding="utf-8") as file:
            rows = list(csv.DictReader(file))
        assert [float(row["share"]) for row in rows] == pytest.approx(
            [topic["share"] for topic in merged["topics"]], abs=0.02
        )
        assert "group" not in rows[0]
    few = call("topics", many, "--topics", "about:999", "--format", "json")
    assert json.loads(few)["n_topics"] == held["n_topics"]
    for wrong in ("about:0", "abut:3", "about:", "0", "x"):
        assert hdpkit("topics", many, "--topics", wrong).exit_code == 2
    assert "about:N" in hdpkit("export", many, "--to", "csv", "--out", tmp_path / "no", "--topics", 3).output


def test_pages_number_topics_as_the_terminal_does(many, tmp_path):
    pytest.importorskip("vl_convert")
    run = hk.open_run(many)
    agreed = hk.summaries.components(run)
    for about in (None, 3):
        page = write_report(run, tmp_path / "page.html", about=about)
        data = data_of(page)
        if about is None:
            expected = hk.summaries.components(run)
        else:
            expected = agreed.about(about)
            assert f"of its {len(agreed)} topics" in page.read_text(encoding="utf-8")
        first = dict(zip(range(1, len(expected) + 1), expected.rows.argmax(axis=1), strict=True))
        for topic in data["topics"]:
            top = data["words"][topic["terms"][0][0]]
            family = run.data.vocabulary[first[topic["number"]]].partition("_")[0]
            assert top.partition("_")[0].rstrip("0123456789") == family.rstrip("0123456789")
