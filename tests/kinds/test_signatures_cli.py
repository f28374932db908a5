"""hdpkit signatures, and report, resume and export for its run."""

import json
import re

import numpy as np
import pytest
from fit_command import data_of, done, hdpkit

import hdpkit as hk
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.report import write_report
from hdpkit.signatures import CHANNELS, extract_signatures, signature_tables
from hdpkit.stores import CellsStore

SBS96 = CHANNELS["SBS96"]
LAWS = np.random.default_rng(5).dirichlet(np.full(96, 0.08), size=2)


def signatures_of_run(run):
    """The signatures of a run, and how they are extracted."""
    kind = kind_of_run(run)
    return kind.signatures(run), kind


def load_settings(folder):
    return kind_of_run(hk.open_run(folder))


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """A matrix, labels and reference signatures of twelve samples."""
    folder = tmp_path_factory.mktemp("cohort")
    rng = np.random.default_rng(0)
    counts = np.stack([rng.multinomial(300, p @ LAWS) for p in rng.dirichlet([0.5, 0.5], size=12)])
    names = [f"T{i}" for i in range(12)]
    rows = ["\t".join(["MutationType", *names])]
    rows += ["\t".join([name, *map(str, counts[:, i])]) for i, name in enumerate(SBS96.names)]
    (folder / "cohort.SBS96.all").write_text("\n".join(rows))
    types = ["sample,type,batch"] + [
        f"{n},{'lung' if i < 6 else 'skin'},b{i % 2}" for i, n in enumerate(names)
    ]
    (folder / "types.csv").write_text("\n".join(types))
    rows = ["Type\tSBS1\tSBS2"] + [f"{n}\t{LAWS[0, i]}\t{LAWS[1, i]}" for i, n in enumerate(SBS96.names)]
    (folder / "known.txt").write_text("\n".join(rows))
    return folder


OTHER_FIELD = re.compile(
    r"\b((topic|token|document|term|word|customer)s?|dish(es)?|log joint)\b", re.IGNORECASE
)


SHORT = ("--sweeps", 12, "--samples", 4, "--init", "factors:3", "--quiet")


@pytest.fixture(scope="module")
def run(files):
    result = hdpkit(
        "signatures", files / "cohort.SBS96.all", "--levels", files / "types.csv", "--level-column", "type",
        "--flat", "--known", files / "known.txt", "--chains", 1, "--out", files / "run", *SHORT,
    )  # fmt: skip
    return files / "run", result


@pytest.mark.parametrize(("kind", "bursts"), [("prior", "--bursty"), ("frozen", "--no-bursty")])
def test_known_signatures_are_components(files, tmp_path, kind, bursts):
    result = hdpkit(
        "signatures", files / "cohort.SBS96.all", bursts, "--known", files / "known.txt", "--known-as",
        kind, "--names-from", 0.9, "--chains", 1, "--out", tmp_path / "run", *SHORT,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    run = hk.open_run(tmp_path / "run")
    franchise = run.franchise(0)
    assert isinstance(franchise.store, CellsStore)
    franchise.audit()
    known = franchise.known
    rows = franchise.topic_counts
    if bursts == "--bursty":
        assert rows.sum() == franchise.totals_in_dishes()[1].sum()  # without pseudo-counts
    assert franchise.dish_counts.sum() == run.data.n_tokens
    topics = franchise.dish_parameters()[: known.n_components]
    if kind == "frozen":
        assert np.array_equal(topics, known.matrix)
    else:
        eta = float(franchise.measure.measure.eta)
        wanted = eta + known.pseudo_counts + rows[: known.n_components]
        assert np.allclose(topics, wanted / wanted.sum(axis=1, keepdims=True), rtol=1e-10)
    found, _ = signatures_of_run(run)
    assert set(known.labels) & set(found.titles)
    assert found.exposures.sum(axis=1) == pytest.approx(run.data.document_lengths, rel=1e-6)
    done("resume", tmp_path / "run", "--sweeps", 2, "--quiet")
    done("verify", tmp_path / "run")


def test_the_run_is_resumed_exported_and_reported(run, tmp_path):
    folder, _ = run
    told = hdpkit("resume", folder, "--sweeps", 2, "--quiet")
    assert told.exit_code == 0
    assert "SBS96A" in told.output  # the table of signatures
    assert "states of 1 chain (sweeps " in told.output
    assert "sample concentration = " in told.output
    shown = hdpkit("topics", folder)
    assert "largest channels" in shown.output
    of_chain = hdpkit("topics", folder, "--chain", 0).output
    assert "top channels" in of_chain
    assert re.search(r"K = \d+ components", of_chain)
    told = told.output + shown.output + of_chain
    assert not OTHER_FIELD.search(told), OTHER_FIELD.search(told)
    assert hdpkit("verify", folder).exit_code == 0
    done("export", folder, "--to", "signatures", "--out", tmp_path / "out")
    assert (tmp_path / "out" / "signatures.tsv").read_text().startswith("MutationType\tSBS96A")
    assert "decomposition" in (tmp_path / "out" / "overview.csv").read_text()
    result = hdpkit("export", folder, "--to", "excel", "--out", tmp_path / "out.xlsx")
    assert result.exit_code == 0, result.output
    done("export", folder, "--to", "pdf", "--out", tmp_path / "out.pdf")
    assert (tmp_path / "out.pdf").read_bytes().startswith(b"%PDF")
    rows = hdpkit("topics", folder, "--format", "csv").output.splitlines()
    assert rows[0].startswith("signature,mutations,share,")
    assert rows[1].startswith("SBS96A,")
    held = json.loads(hdpkit("topics", folder, "--format", "json", "--topics", 1).output)
    assert [row["signature"] for row in held["signatures"]] == ["SBS96A"]
    assert held["n_signatures"] == len(rows) - 1


def test_channels_in_another_order_keep_their_names(tmp_path):
    order = np.random.default_rng(1).permutation(96)
    counts = np.random.default_rng(0).multinomial(400, LAWS[0], size=8)
    corpus = hk.Corpus.from_counts(counts[:, order], vocabulary=[SBS96.names[i] for i in order])
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 5, rng=0)
    charts = data_of(write_report(franchise, tmp_path / "page.html"))["charts"]
    rows = charts["signatures-0"]["data"]["values"]
    assert [row["channel"] for row in rows] == list(SBS96.names)
    assert np.argmax([row["share"] for row in rows]) == np.argmax(LAWS[0])
    found = extract_signatures([franchise.sample()], corpus)
    table = signature_tables(found)["signatures"]
    assert np.argmax(table["SBS96A"]) == table["MutationType"].index(SBS96.names[np.argmax(LAWS[0])])


def test_signatures_that_are_not_drawn_have_their_names_in_the_list_of_samples(run, tmp_path, monkeypatch):
    monkeypatch.setattr("hdpkit.pages.sections.signatures._MOST", 1)
    page = write_report(run[0], tmp_path / "page.html")
    data = data_of(page)
    shown = {number for row in data["documents"] for number in row[2::2]}
    assert len(shown) > 1
    assert shown <= {topic["number"] for topic in data["topics"]}
    assert all(f'id="topic-{number}"' in page.read_text() for number in shown)  # where their links lead


def test_the_start_is_chosen_by_held_out_mutations_and_told(files, tmp_path):
    short = ("--sweeps", 6, "--samples", 2, "--chains", 1)
    result = hdpkit("signatures", files / "cohort.SBS96.all", "--out", tmp_path / "run", *short)
    assert result.exit_code == 0, result.output
    assert "held-out score" in result.stderr
    choice = load_settings(tmp_path / "run").ranks
    assert f"the start has {choice}" in result.stderr
    assert choice.rank in choice.ranks
    assert hdpkit("verify", tmp_path / "run").exit_code == 0
    assert hdpkit("report", tmp_path / "run").exit_code == 0
    page = tmp_path / "run" / "report.html"
    assert str(choice) in page.read_text()
    data = data_of(page)
    for name in ("signatures-ranks", "signatures-stability"):
        assert sum(row["chosen"] for row in data["charts"][name]["data"]["values"]) == 1


def test_levels_stand_above_the_samples(files, tmp_path):
    result = hdpkit(
        "signatures", files / "cohort.SBS96.all", "--levels", files / "types.csv", "--level-column", "type",
        "--max-per-sample", 50, "--chains", 1, "--out", tmp_path / "run", *SHORT,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    franchise = hk.open_run(tmp_path / "run").franchise()
    assert [one.each for one in franchise.declarations] == [None, "type", "document"]
    assert isinstance(franchise.store, CellsStore)
    assert franchise.data.document_lengths.max() == 50
    assert "12 samples had more than 50 mutations" in result.output
    assert "of 12 samples some were not drawn" in result.output
    found, settings = signatures_of_run(hk.open_run(tmp_path / "run"))
    assert settings.totals == (300,) * 12
    np.testing.assert_allclose(found.group_totals, 300)
    assert "extrapolated" in write_report(tmp_path / "run", tmp_path / "page.html").read_text()


@pytest.mark.parametrize(("bursty", "levels"), [("--bursty", False), ("--no-bursty", True)])
def test_exposures_to_known_signatures_and_nothing_else(files, tmp_path, bursty, levels):
    """The made exposures are found, and no signature is new or compared."""
    types = ["--levels", files / "types.csv", "--level-column", "type"] if levels else []
    more = "\n".join(
        line + ("\tSBS3" if line.startswith("Type") else f"\t{1 / 96}")
        for line in (files / "known.txt").read_text().split("\n")
    )
    (tmp_path / "known.txt").write_text(more)
    result = hdpkit(
        "signatures", files / "cohort.SBS96.all", "--known", tmp_path / "known.txt", "--only-known", bursty,
        "--known-names", "SBS2,SBS1", "--chains", 1, "--out", tmp_path / "run", "--sweeps", 40, "--samples",
        10, *types,
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert "held-out score" not in result.output
    run = hk.open_run(tmp_path / "run")
    assert run.franchise().n_dishes == 2
    found, kind = signatures_of_run(run)
    assert sorted(found.titles) == ["SBS1", "SBS2"]
    assert found.rest == 0.0
    assert kind.compared is None
    counts = np.asarray(run.data.to_counts().toarray())
    laws = found.rows
    made = np.stack([np.linalg.lstsq(laws.T, row, rcond=None)[0] for row in counts])
    assert np.abs(found.exposures[:, :-1] - made).max() < 40
    assert hdpkit("report", tmp_path / "run").exit_code == 0
    assert hdpkit("resume", tmp_path / "run", "--sweeps", 2, "--quiet").exit_code == 0


@pytest.mark.parametrize(("varied", "warned"), [(200.0, True), (None, False)])
def test_advice_where_counts_vary_more_than_the_model_assumes(files, tmp_path, varied, warned):
    rng = np.random.default_rng(0)
    laws = rng.dirichlet([0.5, 0.5], size=30) @ LAWS
    spectra = laws if varied is None else [rng.dirichlet(varied * law + 1e-9) for law in laws]
    counts = np.stack([rng.multinomial(5000, law) for law in spectra])
    rows = ["\t".join(["MutationType", *(f"T{i}" for i in range(30))])]
    rows += ["\t".join([name, *map(str, counts[:, i])]) for i, name in enumerate(SBS96.names)]
    (tmp_path / "m.SBS96.all").write_text("\n".join(rows))
    result = hdpkit(
        "signatures", tmp_path / "m.SBS96.all", "--no-bursty", "--out", tmp_path / "run", "--sweeps", 4,
        "--samples", 2, "--chains", 1, "--quiet",
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    assert ("leave out --no-bursty" in " ".join(result.output.split())) == warned
