"""The page in a browser: nothing is fetched or fails, no mouse is needed, texts of the corpus stay texts."""

import functools

import numpy as np
import pytest
from browser import axe_violations, messages, open_page, requests, sized, themed, wait_for
from report_cases import HOSTILE

import hdpkit as hk
from hdpkit import canvas, plots
from hdpkit.errors import printable
from hdpkit.kinds.signatures.channels import plain_channels
from hdpkit.kinds.signatures.pictures import spectrum
from hdpkit.kinds.topics import Topics
from hdpkit.pages.page import _vega
from hdpkit.pages.sections.topics import _intervals, scatter, trend
from hdpkit.signatures import (
    KnownSignatures,
    extract_signatures,
    plot_activity,
    plot_cosines,
    plot_exposures,
)  # fmt: skip


@pytest.fixture
def shown(driver, page):
    """The page as it is when it has just been opened."""
    return open_page(driver, page)


@pytest.fixture
def cohort(driver, cohort_page):
    """The page of a cohort as it is when it has just been opened."""
    driver.get(cohort_page.as_uri())
    driver.execute_script("localStorage.clear()")  # another test may have chosen light or dark
    return open_page(driver, cohort_page)


def press(driver, *keys):
    from selenium.webdriver import ActionChains
    from selenium.webdriver.common.keys import Keys

    for key in keys:
        ActionChains(driver).send_keys(getattr(Keys, key, key)).perform()


def focused(driver):
    return driver.switch_to.active_element


def test_nothing_is_fetched_and_nothing_fails(shown, page):
    assert messages(shown) == []
    assert requests(shown) == [page.as_uri()]
    assert shown.execute_script("return performance.getEntriesByType('resource').length") == 0


def test_texts_of_the_corpus_stay_texts(shown):
    assert shown.execute_script("return window.hacked === undefined")
    assert shown.execute_script("return document.scripts.length") == 3
    # All that the script can show: every topic, every page of documents, every result of a search.
    for number in shown.execute_script("return page.data.topics.map((topic) => topic.number)"):
        shown.execute_script(f"showTopic({number}, false); showDocument({number});")
    for text in HOSTILE:
        shown.execute_script("byId('query').value = arguments[0]; search();", printable(text)[:12])
        assert not shown.execute_script("return byId('results').hidden")
    inert = (
        "return document.querySelectorAll('main img, main svg[onload], main b, #results img, #results svg')"
    )
    assert shown.execute_script(inert) == []
    assert shown.execute_script("return window.hacked === undefined")
    assert shown.execute_script("return document.scripts.length") == 3
    assert messages(shown) == []


def test_every_chart_is_drawn(shown):
    empty = (
        "return [...document.querySelectorAll('.canvas')].filter((one) => !one.querySelector('svg')).length"
    )
    assert shown.execute_script(empty) == 0
    marks = "return document.querySelectorAll('[data-chart=map] path').length"
    assert shown.execute_script(marks) >= shown.execute_script("return page.data.topics.length")


def test_words_on_the_map_do_not_overlap(shown):
    boxes = """
        return [...document.querySelectorAll('[data-chart=map] g.mark-text.role-mark text')]
          .filter((one) => one.style.visibility !== 'hidden' && one.textContent)
          .map((one) => one.getBoundingClientRect())
          .map((box) => [box.left, box.right, box.top, box.bottom]);"""
    n = shown.execute_script("return page.data.topics.length")
    for width in (1300, 400):
        with sized(shown, width):
            shown.execute_async_script("requestAnimationFrame(() => setTimeout(arguments[0], 300))")
            shown.execute_script(f"showTopic(page.data.topics[{n - 1}].number, false)")
            shown.execute_async_script("setTimeout(arguments[0], 300)")
            found = shown.execute_script(boxes)
            assert 0 < len(found) <= n
            for i, (left, right, top, bottom) in enumerate(found):
                for other in found[:i]:
                    apart = right < other[0] or other[1] < left or bottom < other[2] or other[3] < top
                    assert apart, (width, found)


NAMES = [
    *("__proto__", "constructor", "toString", "hasOwnProperty", "valueOf", "length", "prototype"),
    *("a.b", "a[0]", "it's", '"q"', "\\u0041", "undefined", "null", "NaN", "0", "datum.share", "</text>"),
]
NOUNS = Topics.nouns
ROWS = {"share": 0.05, "weight": 0.1, "cosine": 0.1, "lower": 0.01, "low": 0.01, "upper": 0.2, "high": 0.2}


def named_mixture():
    """Components of numbers in groups with such names."""
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.5), concentration=1.0)
    data = hk.Groups.from_labels([float(i) for i in range(len(NAMES))], {"kind": NAMES})
    franchise = hk.Franchise(hk.Restaurant(root, each="kind"), data)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 2, rng=0)
    return hk.summaries.components([franchise.sample()])


def named_cohort():
    """Signatures of a cohort in which samples, types and channels have such names."""
    n = len(NAMES)
    counts = np.ones((n, n), dtype=int)
    corpus = hk.Corpus.from_counts(counts, vocabulary=NAMES, names=NAMES, groups={"kind": NAMES})
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 2, rng=0, init=hk.init.Random(1))
    found = extract_signatures([franchise.sample()], corpus)
    known = KnownSignatures(tuple(NAMES), tuple(corpus.vocabulary), np.full((n, n), 1 / n))
    return found, known


@functools.cache
def charts_of_names():
    """Each kind of chart, with such names wherever a chart has names."""
    pairs = [(one, other) for one in NAMES for other in NAMES]
    rows = [{**ROWS, "occurrence": 0.5, "sweep": 1, "value": 1.0, "x": i, "y": i, "up": 3, "number": i,
             "named": True, "colour": "#123456",
             **dict.fromkeys(("topic", "term", "label", "short", "group"), name)}
            for i, name in enumerate(NAMES)]  # fmt: skip
    n = len(NAMES)
    heat = [{"topic": a, "label": b, "share": 0.1} for a, b in pairs]
    linkage = np.array([[i if i == 0 else n + i - 1, i + 1, 1.0 + i, i + 2] for i in range(n - 1)])
    found, known = named_cohort()
    channels = plain_channels(found.data.vocabulary)
    return {
        "bars": canvas.bars(rows, "term", "weight", "weight"),
        "intervals": _intervals(rows, NOUNS),
        "lines": plots.perplexity({name: ([1.0, 2.0], [1.0, 2.0]) for name in NAMES}),
        "scatter": scatter(rows, NAMES, NOUNS),
        "trend": trend([{**row, "period": row["label"]} for row in rows], 0.2, True, "#123456"),
        "tree": plots.dendrogram(linkage, labels=NAMES),
        "groups": plots.group_weights(named_mixture()),
        "channels": spectrum(np.full(n, 1 / n), None, channels),
        "boxes": plot_activity(found, 0),
        "samples": plot_exposures(found),
        "levels": plot_exposures(found, by="level"),
        "cosines": plot_cosines(known),
        "heat": canvas.heat(heat, ("topic", "topic"), ("label", "kind"), ("share", "share", ".0%"), n),
        "together": plots.posterior_similarity(np.eye(n), labels=NAMES),
    }


KINDS = (
    *("bars", "intervals", "lines", "scatter", "trend", "tree", "groups"),
    *("channels", "boxes", "samples", "levels", "cosines", "heat", "together"),
)


@pytest.mark.parametrize("kind", KINDS)
def test_charts_show_names_of_any_kind(driver, kind, tmp_path):
    pytest.importorskip("vl_convert")
    place = tmp_path / "chart.html"
    place.write_text(
        f"<body><div id=c style='width:800px'></div><script>{_vega()}</script>", encoding="utf-8"
    )
    messages(driver)
    driver.get(place.as_uri())
    found = driver.execute_async_script(
        "const [specification, done] = arguments, place = document.getElementById('c');"
        "const texts = () => [...place.querySelectorAll('svg text')].map((one) => one.textContent);"
        "window.hdpkitVegaEmbed(place, specification, {mode: 'vega-lite', renderer: 'svg', ast: true})"
        ".then(() => done(texts()), (error) => done([String(error)]));",
        canvas.specification(charts_of_names()[kind]),
    )
    shown = {f"{name} (1)" for name in NAMES} if kind in ("boxes", "levels") else set(NAMES)
    assert shown <= {text.lstrip("\u2060") for text in found}
    assert messages(driver) == []


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing(shown, theme):
    with themed(shown, theme):
        shown.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
        shown.execute_script("byId('query').value = 'plain'; search();")
        assert axe_violations(shown) == {}


def test_a_topic_shows_its_interval_over_the_samples(shown):
    found = "page.data.common.findIndex((one) => one !== null)"
    number = shown.execute_script(f"return page.data.topics[{found}].number")
    shown.execute_script(f"showTopic({number}, false)")
    text = shown.execute_script("return byId('topic-common').textContent")
    assert "interval of 90% from" in text
    row = "[...document.querySelectorAll('#topic-terms tr:first-child td')]"
    cells = shown.execute_script(f"return {row}.map((one) => one.textContent)")
    assert len(cells) == 5
    assert all(cell.endswith("%") for cell in cells[2:])
    shown.execute_script("page.data.common[0] = null; showTopic(1, false)")
    none = shown.execute_script("return byId('topic-common').textContent")
    assert none.startswith("No other kept state")


def test_search_by_keyboard(shown):
    press(shown, "/")
    assert focused(shown).get_attribute("id") == "query"
    press(shown, "plain3")
    status = wait_for(shown, "byId('search-status').textContent")
    assert "1 term" in status
    press(shown, "ARROW_DOWN")
    while focused(shown).get_attribute("data-term") is None:  # topics come first
        press(shown, "ARROW_DOWN")
    assert focused(shown).get_attribute("data-term") == "plain3"
    wanted = focused(shown).get_attribute("hash").removeprefix("#topic-")
    press(shown, "ENTER")
    wait_for(shown, f"page.topic === {wanted}")
    assert focused(shown).get_attribute("id") == "topic-heading"
    assert shown.execute_script("return byId('results').hidden")
    press(shown, "/", "zzzz")
    assert wait_for(shown, "byId('search-status').textContent") == "Nothing found"
    press(shown, "ESCAPE")
    assert shown.execute_script("return byId('results').hidden")


def test_documents_are_found_and_lead_to_topics(shown):
    shown.execute_script("location.hash = 'document-33'")
    wait_for(shown, "document.querySelector('#document-table tr.chosen')")
    row = shown.execute_script("return document.querySelector('#document-table tr.chosen').innerText")
    assert row.split("\t")[0].strip().endswith(" 32")
    shown.execute_script("document.querySelector('#document-table tr.chosen a').click()")
    wait_for(shown, "location.hash.startsWith('#topic-')")
    field = shown.find_element("id", "document-filter")
    field.send_keys("__proto__")
    assert wait_for(shown, "byId('documents-status').textContent").endswith("documents")
    assert shown.execute_script("return document.querySelectorAll('#document-table tbody tr').length") == 3


def test_tab_reaches_what_there_is_and_focus_is_seen(shown):
    shown.execute_script("document.activeElement.blur(); scrollTo(0, 0)")
    press(shown, "TAB")
    assert focused(shown).get_attribute("class") == "skip"
    seen = []
    for _ in range(12):
        press(shown, "TAB")
        outline = "return getComputedStyle(document.activeElement).outlineStyle"
        assert shown.execute_script(outline) != "none"
        seen.append(focused(shown).get_attribute("id") or focused(shown).tag_name)
    assert {"query", "theme", "a"} <= set(seen)


def test_dark_and_light_by_the_button(shown):
    ground = "return getComputedStyle(document.body).backgroundColor"
    before = shown.execute_script(ground)
    shown.find_element("id", "theme").click()
    assert shown.execute_script(ground) != before
    assert shown.find_element("id", "theme").get_attribute("aria-pressed") == "true"
    shown.find_element("id", "theme").click()
    assert shown.execute_script(ground) == before


@pytest.mark.parametrize("width", [320, 700, 1000, 1300])
def test_numbers_of_tiles_stay_on_one_line(shown, width):
    script = """
        const [one] = document.querySelectorAll('.tiles dd');
        one.textContent = '1';
        const line = one.clientHeight;
        return [...document.querySelectorAll('.tiles dd')].filter((each) => {
          each.textContent = '6,956,442,111';
          return each.clientHeight > line || each.scrollWidth > each.clientWidth;
        }).length;"""
    with sized(shown, width):
        assert shown.execute_script(script) == 0
        assert shown.execute_script("return document.documentElement.scrollWidth") <= width


def test_a_cohort_is_searched_and_its_samples_lead_to_signatures(cohort):
    press(cohort, "/", "sbs96b")
    assert wait_for(cohort, "byId('search-status').textContent").startswith("1 signature,")
    press(cohort, "ARROW_DOWN", "ENTER")
    wait_for(cohort, "location.hash === '#topic-2'")
    row = "document.querySelector('#document-table tbody tr')"
    assert cohort.execute_script(f"return {row}.querySelector('a').textContent").startswith("SBS96")
    cohort.execute_script("location.hash = 'document-24'")
    wait_for(cohort, "document.querySelector('#document-table tr.chosen')")


@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_in_a_cohort(cohort, theme):
    with themed(cohort, theme):
        cohort.execute_script("for (const one of document.querySelectorAll('details')) one.open = true;")
        cohort.execute_script("byId('query').value = 'sbs'; search();")
        assert axe_violations(cohort) == {}


@pytest.mark.parametrize("width", [320, 400, 1400])
def test_a_cohort_does_not_scroll_sideways(cohort, width):
    with sized(cohort, width, 900):
        assert cohort.execute_script("return document.documentElement.scrollWidth") <= width
