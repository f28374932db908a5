"""Pages of mixtures of numbers: components in the plane, parameters, weights by group."""

import numpy as np
import pandas
import pytest
from browser import axe_violations, messages, open_page, requests, themed
from fit_command import call, data_of, done
from report_cases import HOSTILE
from test_report import Page, check_inert

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import printable
from hdpkit.report import write_report

pytest.importorskip("vl_convert")


def planted(n=240, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.integers(3, size=n)
    return np.array([[0.0, 0], [6, 0], [0, 6]])[truth] + rng.normal(0, 0.7, size=(n, 2)), truth


def run_of(X, folder=None, groups=None, measure=None, **options):
    given = hk.NormalInverseWishart.weakly_informative(X) if measure is None else measure
    root = hk.Restaurant(given, concentration=hk.Gamma(1.0, 1.0))
    top = root if groups is None else hk.Restaurant(root, each=next(iter(groups)))
    franchise = hk.Franchise(top, hk.Groups.from_labels(X, groups))
    steps = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    given = {"sweeps": 40, "rng": 0, "chains": 2, "samples": 8, **options}
    if given["chains"] == 1:
        del given["chains"]  # the franchise itself
    return franchise, hk.Scheduler(steps).run(franchise, folder=folder, **given)


@pytest.fixture(scope="module")
def grouped(tmp_path_factory):
    """A run over groups and dimensions whose names look like markup, and its page."""
    X, _ = planted()
    folder = tmp_path_factory.mktemp("mixture") / "<b>run</b>"
    kinds = [HOSTILE[i % len(HOSTILE)].replace("\ud800", "") for i in range(len(X))]
    run_of(pandas.DataFrame(X, columns=HOSTILE[:2]), folder, {"<i>kind<i>": kinds})
    page = tmp_path_factory.mktemp("pages") / "page.html"
    return hk.open_run(folder), write_report(folder, page)


@pytest.fixture(scope="module")
def read(grouped):
    return Page(grouped[1].read_text(encoding="utf-8"))


def sections_of(page):
    return [attributes["id"] for tag, attributes in page.elements if tag == "section"]


def test_a_page_has_components_weights_and_traces(grouped, read):
    assert sections_of(read) == ["mixture", "components", "weights", "together", "convergence", "reproduce"]
    charts = read.data()["charts"]
    assert {"components-plane", "weights", "trace-0"} <= set(charts)
    points = charts["components-plane"]["data"]["values"]
    assert len(points) == 240
    found = hk.summaries.components(grouped[0])
    found = found.selected(found.agreed())
    run = grouped[0]
    for point in points[::40]:
        np.testing.assert_allclose([point["x"], point["y"]], run.data.values[point["point"] - 1], rtol=1e-3)
    lines = charts["components-plane"]["layer"][1]["data"]["values"]
    assert len({line["component"] for line in lines}) == len(found)
    axis = charts["components-plane"]["layer"][0]["encoding"]["x"]["axis"]
    assert axis["title"] == printable(HOSTILE[0])
    text = grouped[1].read_text(encoding="utf-8")
    assert "240" in text
    assert "The number of components was not given but inferred" in text
    found = hk.summaries.components(grouped[0])
    assert f"{len(found.point_groups)} groups of {len(found)} components" in text


def test_who_is_together_in_the_order_of_the_partition(grouped, read):
    run = grouped[0]
    chart = read.data()["charts"]["together"]
    cells = chart["data"]["values"]
    places = {cell["row"]: cell["one"] for cell in cells}
    assert sorted(places) == list(range(120))
    chosen = np.array([places[i] for i in range(120)]) - 1
    dishes = np.array([one.dishes for one in run.samples])
    shares = hk.summaries.co_clustering(dishes, items=chosen)
    for cell in cells[::97]:
        assert cell["probability"] == pytest.approx(shares[cell["row"], cell["column"]], abs=0.05)
    labels = hk.summaries.point_partition(dishes).labels[chosen]
    assert (np.diff(labels) != 0).sum() == len(set(labels.tolist())) - 1  # one block for each component
    ends = [one["end"] for one in chart["layer"][1]["data"]["values"]]
    assert ends == (np.flatnonzero(np.diff(labels)) + 1).tolist()


def test_texts_of_the_data_are_never_markup(read):
    check_inert(read)


def test_axes_and_principal_components(tmp_path):
    rng = np.random.default_rng(0)
    X = np.column_stack([*planted()[0].T, rng.normal(size=240)])
    run_of(pandas.DataFrame(X, columns=["a", "b", "c"]), tmp_path / "run", chains=1, sweeps=10)
    report = ("report", tmp_path / "run")
    done(*report)

    def titles():
        chart = data_of(tmp_path / "run" / "report.html")["charts"]["components-plane"]
        return [chart["layer"][0]["encoding"][one]["axis"]["title"] for one in "xy"]

    assert titles()[0].startswith("first principal component")
    done(*report, "--axes", "c,0")
    assert titles() == ["c", "a"]
    assert "'a', 'b', 'c'" in call(*report, "--axes", "c,d", code=2)
    call(*report, "--axes", "c", code=2)


def test_single_numbers_counts_and_bits(tmp_path):
    rng = np.random.default_rng(0)
    cases = {
        "numbers": (np.append(rng.normal(0, 1, 60), rng.normal(9, 1, 60)), hk.NormalGamma(0, 0.01, 2, 1)),
        "counts": (rng.poisson([[1, 20]] * 60 + [[20, 1]] * 60), hk.GammaPoisson(1.0, 0.1)),
        "bits": (rng.random((120, 4)) < ([[0.1] * 4] * 60 + [[0.9] * 4] * 60), hk.BetaBernoulli(1.0, 1.0)),
    }
    for name, (X, measure) in cases.items():
        franchise, trace = run_of(X.astype(int) if name == "bits" else X, measure=measure, chains=1)
        text = write_report(franchise, tmp_path / f"{name}.html", trace=trace).read_text(encoding="utf-8")
        assert {"numbers": "sd", "counts": "rate[0]", "bits": "probability[3]"}[name] in text
        chart = Page(text).data()["charts"]["components-plane"]
        assert len(chart["data"]["values"]) == 120


@pytest.fixture
def shown(driver, grouped):
    return open_page(driver, grouped[1])


def test_every_chart_is_drawn_and_nothing_fails(shown, grouped):
    assert messages(shown) == []
    assert requests(shown) == [grouped[1].as_uri()]
    canvases = "[...document.querySelectorAll('.canvas')]"
    empty = f"return {canvases}.filter((one) => !one.querySelector('svg')).length"
    assert shown.execute_script(empty) == 0
    dots = "return document.querySelectorAll('[data-chart=components-plane] path').length"
    assert shown.execute_script(dots) > 240
    assert shown.execute_script("return window.hacked === undefined")
    # There is nothing to search for.
    assert not shown.find_element("css selector", "form.search").is_displayed()


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(shown, theme):
    with themed(shown, theme):
        shown.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
        assert axe_violations(shown) == {}
