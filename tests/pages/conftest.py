"""One run, and one page of it, for all tests of pages."""

import pytest
from browser import browser
from report_cases import cohort_run, hostile_run

import hdpkit.report


@pytest.fixture(scope="session")
def run(tmp_path_factory):
    return hostile_run(tmp_path_factory.mktemp("report") / "<b>run</b>")


@pytest.fixture(scope="session")
def page(run, tmp_path_factory):
    pytest.importorskip("vl_convert")
    path = tmp_path_factory.mktemp("pages") / "page.html"
    return hdpkit.report.write_report(run, path, command="hdpkit fit <corpus> --out run")


@pytest.fixture(scope="session")
def cohort_page(tmp_path_factory):
    pytest.importorskip("vl_convert")
    folder = tmp_path_factory.mktemp("cohort")
    return hdpkit.report.write_report(cohort_run(folder / "run"), folder / "page.html")


@pytest.fixture(scope="module")
def driver(tmp_path_factory):
    with browser(tmp_path_factory.mktemp("profile")) as driver:
        driver.set_script_timeout(60)
        yield driver
