"""The page without a browser: its content, and that texts of the corpus are inert."""

import json
import re
from html.parser import HTMLParser

import numpy as np
import pytest
from fit_command import FIT, call, data_of
from forged_runs import forge_about
from report_cases import HOSTILE

import hdpkit as hk
from hdpkit import errors, moves
from hdpkit.pages.page import as_json
from hdpkit.report import SECTIONS, Content, Section, write_report


class Page(HTMLParser):
    """Elements with their attributes, and texts by the element that they are in."""

    def __init__(self, text):
        super().__init__()
        self.elements, self.open, self.texts = [], [], {}
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attributes):
        self.elements.append((tag, dict(attributes)))
        self.open.append(tag)

    def handle_endtag(self, tag):
        while self.open and self.open.pop() != tag:
            pass

    def handle_data(self, data):
        self.texts.setdefault(self.open[-1] if self.open else "", []).append(data)

    def data(self):
        return json.loads(self.texts["script"][0])


@pytest.fixture(scope="module")
def read(page):
    return Page(page.read_text(encoding="utf-8"))


OURS = """html head meta title link style body a header div h1 h2 h3 h4 bdi form label input p button nav
    ol ul li main noscript section strong dl dt dd span table thead tbody tr th td article fieldset
    legend figure figcaption details summary pre footer script br"""


def check_inert(read):
    """No text of the data is markup of its page."""
    assert {tag for tag, _ in read.elements} <= set(OURS.split())
    assert sum(tag == "script" for tag, _ in read.elements) == 3  # data, the library, the page's own
    for _, attributes in read.elements:
        assert not any(name.startswith("on") for name in attributes)
        assert not str(attributes.get("href", "#")).lower().startswith("javascript")


@pytest.mark.quick
def test_texts_of_the_corpus_are_never_markup(read):
    check_inert(read)


def test_nothing_is_fetched(page, read):
    for tag, attributes in read.elements:
        assert not attributes.get("src"), tag
        assert str(attributes.get("href", "#")).startswith(("#", "data:,"))
    (policy,) = [a["content"] for t, a in read.elements if a.get("http-equiv") == "Content-Security-Policy"]
    assert policy.startswith("default-src 'none'")
    assert policy.count("'sha256-") == 2
    assert "unsafe-eval" not in policy
    assert page.stat().st_size < 1.2e6


@pytest.mark.quick
def test_the_data_are_the_runs(run, read):
    data, found = read.data(), hk.summaries.components(run)
    shown = [(topic["number"], topic["tokens"]) for topic in data["topics"]]
    tokens = (found.shares * run.data.n_tokens).round().astype(int).tolist()
    assert shown == list(enumerate(tokens, start=1))
    for topic, row in zip(data["topics"], found.rows, strict=True):
        assert data["words"][topic["terms"][0][0]] == errors.printable(run.data.vocabulary[row.argmax()])
    # A document's shares are its tokens over its length, averaged over the states.
    name, length, topic, share, *_ = data["documents"][0]
    assert length == 30
    counted = np.mean([
        sample.group_counts.toarray()[0] @ (found.which(sample) == topic - 1) for sample in found.samples
    ])  # fmt: skip
    assert share == pytest.approx(counted / 30, abs=0.01)
    assert HOSTILE[0] in name


def test_json_is_inert_in_a_script():
    text = as_json({"a": HOSTILE, "n": np.float64(1.5), "k": np.arange(2)})
    assert not re.search("[<>&\u2028\u2029]", text)
    assert json.loads(text) == {"a": HOSTILE, "n": 1.5, "k": [0, 1]}


@pytest.mark.quick
def test_charts_are_valid(read):
    altair = pytest.importorskip("altair")
    charts = read.data()["charts"]
    assert {
        "map",
        "groups-tree",
        "labels-0",
        "trends-0",
        "trace-0",
        "move-times",
        "topic-terms",
        "samples-shares",
    } <= set(charts)
    for specification in charts.values():
        altair.Chart.from_dict(specification, validate=True)


def tiny(**options):
    corpus = hk.Corpus.from_documents([["a", "b"], ["c", "c"]], **options)
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    return hk.Franchise(hk.Restaurant(root, each="document"), corpus)


@pytest.fixture(scope="module")
def small():
    franchise = tiny()
    trace = hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=0, init="one")
    return franchise, trace


def test_a_franchise_of_one_topic_has_a_page(small, tmp_path):
    franchise, trace = small
    read = Page(write_report(franchise, tmp_path / "a.html").read_text(encoding="utf-8"))
    assert "trace-0" not in read.data()["charts"]
    read = Page(write_report(franchise, tmp_path / "a.html", trace=trace).read_text(encoding="utf-8"))
    assert "trace-0" in read.data()["charts"]


def test_sections_of_ones_own(small, tmp_path):
    def read(material):
        chart = {"data": {"values": [{"a": 1}]}, "mark": "bar", "encoding": {}}
        return Content(
            values={"n": material.n_topics, "word": "<b>"}, charts={"own-bars": chart}, data={"own": [1]}
        )

    text = "<p>{{ n }} topics, {{ word }}</p>{{ chart('own-bars', 'Bars', 'Bars of nothing') }}"
    own = Section(key="own", title="Signatures", template=text, read=read)
    none = Section(key="none", title="Left out", template="left out", read=lambda material: None)
    page = write_report(small[0], tmp_path / "a.html", sections=[SECTIONS[0], own, none])
    html = page.read_text(encoding="utf-8")
    assert "topics, &lt;b&gt;</p>" in html
    assert 'href="#own">Signatures' in html
    assert Page(html).data()["own"] == [1]
    assert "Left out" not in html
    twice = Section(key="twice", title="Again", template=text, read=read)
    with pytest.raises(errors.ParameterError, match="names of charts"):
        write_report(small[0], tmp_path / "a.html", sections=[own, twice])
    wrong = Section(key="wrong", title="Wrong", template="{{ nobody }}", read=read)
    with pytest.raises(errors.ParameterError, match="nobody"):
        write_report(small[0], tmp_path / "a.html", sections=[wrong])


def test_the_command_writes_the_page_and_says_where(run):
    page = run.folder / "report.html"
    assert page.as_uri() in call("report", run.folder, "--topics", 2, "--chain", 0)
    assert len(data_of(page)["topics"]) == 2
    call("verify", run.folder)
    call("report", run.folder / "nothing", code=2)


def test_the_page_says_the_command_that_the_run_has_kept(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "a <b>.txt").write_text("salt bread wine\nship sail salt\nbread wine salt\n" * 4)
    given = ["fit", "a <b>.txt", "--out", "run", "--sweeps", "6", "--min-documents", "1", "--quiet"]
    call(*given)
    assert hk.open_run("run").about["command"] == given
    html = write_report("run", tmp_path / "a.html").read_text(encoding="utf-8")
    assert "hdpkit fit &#39;a &lt;b&gt;.txt&#39; --out run --sweeps 6 --min-documents 1 --quiet</pre>" in html
    call("verify", "run")
    file = tmp_path / "run" / "run.json"
    text = file.read_text()
    file.write_text(text.replace("--quiet", "--loud"))
    with pytest.raises(errors.CorruptRunError, match=r"run\.json"):
        hk.open_run("run")
    call("verify", "run", code=1)
    for forged in (5, "fit", [5], {}, None):
        file.write_text(text)
        forge_about(tmp_path / "run", lambda about, forged=forged: about.update(command=forged))
        with pytest.raises(errors.CorruptRunError, match=r"run\.json"):
            write_report("run", tmp_path / "b.html")
        call("verify", "run", code=1)
    call(*FIT, "a <b>.txt", "--out", "new", "--min-documents", 99, code=2)
    assert not (tmp_path / "new").exists()


def test_bad_input_is_refused_before_anything_is_written(small, run, tmp_path):
    franchise, trace = small
    good = {"run": franchise, "path": tmp_path / "a.html"}
    numbers = [0, -1, 2.5, "5", None, True]
    for name, values in {
        "run": [None, 5, hk.Franchise, {}, tiny()],
        "path": [None, 5, "", "a\0b", tmp_path, tmp_path / "no" / "a.html"],
        "trace": [5, "trace", {}],
        "chain": [-1, 1, "0", 1.0, True],
        "title": ["", 5, b"a"],
        "command": ["", 5],
        "topics": numbers,
        "terms": numbers,
        "documents": numbers,
        "sections": [None, 5, "overview", [5], [SECTIONS[0], SECTIONS[0]]],
    }.items():
        for value in values:
            with pytest.raises(errors.HdpkitError) as caught:
                write_report(**{**good, name: value})
            assert caught.value.parameter.startswith(name), (name, value)
    with pytest.raises(errors.ParameterError, match="has its own"):
        write_report(run, tmp_path / "a.html", trace=trace)
    with pytest.raises(errors.ParameterError, match="one of"):
        write_report(run, tmp_path / "a.html", chain=2)
    for wrong in ({"key": "A"}, {"title": ""}, {"template": 5}, {"read": 5}):
        with pytest.raises(errors.ParameterError):
            Section(**{"key": "a", "title": "A", "template": "a", "read": len, **wrong})
    assert not list(tmp_path.iterdir())
