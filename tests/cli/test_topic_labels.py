"""Labels of topics in a file that people edit: every output shows them, and they follow their topics."""

import csv
import json

import numpy as np
import pytest
from fit_command import data_of, done, hdpkit

import hdpkit as hk
from hdpkit import errors
from hdpkit.kinds.topic_model import TopicModel
from hdpkit.posterior.topic_labels import LABELS, read_topic_labels

WORDS = [
    *(f"family{f}_{v}" for f in range(3) for v in range(4)),
    *(f"topic{k}_{v}" for k in range(12) for v in range(8)),
]


def run_of(folder, lengths):
    """A run of twelve topics in three families, whose documents have these lengths."""
    rng = np.random.default_rng(1)
    documents = []
    for d in range(60):
        words = [*(f"family{d % 3}_{v}" for v in range(4)), *(f"topic{d % 12}_{v}" for v in range(8))]
        documents.append(rng.choice(words, lengths[d % 12]).tolist())
    root = hk.Restaurant(hk.DirichletMultinomial(0.1), concentration=hk.Gamma(1.0, 1.0))
    corpus = hk.Corpus.from_documents(documents, vocabulary=WORDS)
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    start = np.repeat(np.arange(60) % 12, corpus.document_lengths)
    scheduler = hk.Scheduler([hk.moves.TableGibbs()])
    scheduler.run(franchise, 4, rng=0, init=start, samples=2, folder=folder)
    return folder


@pytest.fixture
def folder(tmp_path):
    return run_of(tmp_path / "run", [30 + 5 * k for k in range(12)])


def edit(folder, change, delimiter=",", encoding="utf-8"):
    file = folder / LABELS
    with open(file, encoding="utf-8", newline="") as given:
        rows = list(csv.reader(given))
    header = rows[0]
    for row in rows[1:]:
        change(dict(zip(header, row, strict=True)), row, header.index("label"))
    with open(file, "w", encoding=encoding, newline="") as made:
        csv.writer(made, delimiter=delimiter).writerows(rows)


def name(topic=None, group=None, label="Salt, bread"):
    def change(row, cells, place):
        if (topic and row["topic"] == str(topic)) or (
            group and (row["group"], row["topic"]) == (str(group), "")
        ):
            cells[place] = label

    return change


def test_every_output_shows_the_labels(folder, tmp_path):
    assert done("labels", folder).output.startswith("0 labels of ")
    edit(folder, name(topic=2))
    edit(folder, name(group=1, label="<b>Family</b>"), ";", "utf-16")
    assert "Salt, bread: " in done("topics", folder).output
    held = json.loads(done("topics", folder, "--format", "json").output)
    assert held["topics"][1]["label"] == "Salt, bread"
    assert held["groups"][0]["label"] == "<b>Family</b>"
    listed = list(csv.DictReader(done("topics", folder, "--format", "csv").output.splitlines()))
    assert [row["label"] for row in listed] == [topic["label"] for topic in held["topics"]]
    done("export", folder, "--to", "csv", "--out", tmp_path / "tables")
    found = {}
    for file in (tmp_path / "tables").iterdir():
        found[file.stem] = list(csv.DictReader(file.read_text(encoding="utf-8").splitlines()))
        assert all(row["label"] for row in found[file.stem])
    # Without a label that somebody gave, it is the three most typical words.
    titles = hk.summaries.components(hk.open_run(folder)).titles
    assert [row["label"] for row in found["topics"]] == titles
    assert titles[1] == "Salt, bread"
    for row, title in zip(found["topics"], titles, strict=True):
        assert title == "Salt, bread" or set(title.split()) <= set(row["terms"].split())
    assert found["groups"][0]["label"] == "<b>Family</b>"
    assert {row["label"] for row in found["terms"]} == {row["label"] for row in found["topics"]}
    for row in found["documents"]:
        shares = [float(row[f"topic_{k}"]) for k in range(1, len(titles) + 1)]
        assert shares[int(row["topic"]) - 1] == max(shares)
    done("export", folder, "--to", "json", "--out", tmp_path / "all.json")
    assert json.loads((tmp_path / "all.json").read_text())["topics"][1]["label"] == "Salt, bread"
    verified = done("verify", folder).output
    assert "labels.csv: can be read" in verified
    assert "2 labels" in verified
    pytest.importorskip("vl_convert")
    done("report", folder)
    page = (folder / "report.html").read_text(encoding="utf-8")
    assert "<bdi>&lt;b&gt;Family&lt;/b&gt;</bdi>" in page
    assert data_of(folder / "report.html")["topics"][1]["label"] == "Salt, bread"


def test_labels_follow_their_topics_when_numbers_change(folder):
    """Here another run, in which topics have the reverse order; `hdpkit resume` also changes their sizes."""
    done("labels", folder)
    before = hk.summaries.components(folder)
    for number in (1, 2, 3):
        edit(folder, name(topic=number, label=f"label of {number}"))
    again = run_of(folder.with_name("again"), [85 - 5 * k for k in range(12)])
    (again / LABELS).write_bytes((folder / LABELS).read_bytes())
    after = hk.summaries.components(again)
    found = {label: k for k, label in enumerate(after.labels) if label}
    assert sorted(found) == ["label of 1", "label of 2", "label of 3"]
    for label, k in found.items():
        old = before.rows[int(label[-1]) - 1]
        assert set(np.argsort(-after.rows[k])[:8]) & set(np.argsort(-old)[:8])
        assert k > 5
    output = done("labels", again).output
    assert "'label of 1' (topic 1) is now topic " in output
    rows = read_topic_labels(again / LABELS, after.n_terms)
    assert {row.label: row.topic for row in rows if row.topic and row.label} == {
        label: k + 1 for label, k in found.items()
    }


def test_labels_without_a_topic_are_told_and_kept(folder):
    done("labels", folder)
    edit(folder, name(topic=3, label="lost"))

    def replace(row, cells, place):
        if cells[place] == "lost":
            cells[-1] = "0:0.4 13:0.3 29:0.3"  # nothing like any topic

    edit(folder, replace)
    with pytest.warns(errors.TopicLabelsWarning, match="'lost' \\(topic 3\\)"):
        assert not any(hk.summaries.components(folder).labels)
    assert "Warning: no topic is similar enough" in done("topics", folder).stderr
    assert "'lost' (topic 3): largest cosine" in done("labels", folder).stderr
    rows = read_topic_labels(folder / LABELS, 200)
    assert [(row.topic, row.label) for row in rows][-1] == (0, "lost")
    assert "a former topic" in done("labels", folder).stderr  # it stays until somebody removes it


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("a,b\n1,2\n", "a column 'topic'"),
        ("topic,label,weights\none,x,0:1\n", "a number from 1"),
        ("topic,label,weights\n1,x,zero\n", "TERM:WEIGHT"),
        ("topic,label,weights\n1,x,99999:1\n", "another run"),
    ],
)
def test_a_damaged_file_is_named_with_the_line(folder, text, told):
    (folder / LABELS).write_text(text)
    result = hdpkit("topics", folder)
    assert result.exit_code == 2
    assert told in result.stderr
    assert LABELS in result.stderr
    verified = hdpkit("verify", folder)
    assert verified.exit_code == 1
    assert "FAILED  labels.csv" in verified.output
    with pytest.raises(errors.DataError):
        read_topic_labels(folder / LABELS, 100)


def test_a_model_reads_and_keeps_the_labels(tmp_path):
    texts = ["bread salt wine", "ship sail salt", "bread wine wine", "sail ship ship"] * 5
    model = TopicModel(purpose="prediction", sweeps=5, random_state=0, samples=2).fit(texts)
    assert len(model.labels_) == model.n_components_
    assert set(model.labels_[0].split()) <= set(model.terms_)
    model.save(tmp_path / "model")
    done("labels", tmp_path / "model")
    edit(tmp_path / "model", name(topic=1, label="First"))
    loaded = TopicModel.load(tmp_path / "model")
    assert loaded.labels_ == ("First", *model.labels_[1:])
    loaded.save(tmp_path / "copy")
    assert TopicModel.load(tmp_path / "copy").labels_[0] == "First"
    with pytest.raises(AttributeError, match="labels_"):
        TopicModel().labels_  # noqa: B018
