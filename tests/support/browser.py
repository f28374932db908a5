"""Chromium without a window, driven by Selenium, or the reason why there is none."""

import contextlib
import json
import os
import shutil
import time
from importlib import resources

import pytest

_FLAGS = [
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--disable-default-apps",
    "--disable-dev-shm-usage", "--window-size=1300,900",
]  # fmt: skip


@contextlib.contextmanager
def browser(profile):
    """A browser with a profile of its own, an empty folder. Where there is none the test is skipped."""
    selenium = pytest.importorskip("selenium.webdriver", reason="pages are tested with Selenium")
    chromium = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
    chromedriver = shutil.which("chromedriver")
    if chromium is None or chromedriver is None:
        pytest.skip("no Chromium: apt-get install chromium chromium-driver")
    options = selenium.ChromeOptions()
    options.binary_location = chromium
    for flag in [*_FLAGS, f"--user-data-dir={profile}"]:
        options.add_argument(flag)
    options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
    service = selenium.ChromeService(chromedriver, env={**os.environ, "HOME": str(profile)})
    driver = selenium.Chrome(options=options, service=service)
    try:
        yield driver
    finally:
        driver.quit()


def wait_for(driver, script, seconds=20.0):
    """Wait until a script returns something; returns it."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if found := driver.execute_script(f"return {script}"):
            return found
        time.sleep(0.05)
    raise AssertionError(f"not in {seconds} s: {script}")


def messages(driver):
    """What the page wrote on the console since the last call."""
    return [entry["message"] for entry in driver.get_log("browser")]


def requests(driver):
    """Addresses that pages asked for since the last call, but those of the browser's own pages."""
    found = []
    for entry in driver.get_log("performance"):
        message = json.loads(entry["message"])["message"]
        if message["method"] in ("Network.requestWillBeSent", "Network.webSocketCreated"):
            address = message["params"].get("request", message["params"])["url"]
            if not address.startswith(("chrome:", "chrome-untrusted:", "data:", "about:")):
                found.append(address)
    return found


def open_page(driver, page):
    """Open the file of a page anew, and wait for its script; messages and requests before are left out."""
    messages(driver)
    requests(driver)
    driver.get("about:blank")
    driver.get(page.as_uri())
    wait_for(driver, "document.documentElement.dataset.ready")
    return driver


@contextlib.contextmanager
def themed(driver, theme):
    """A page for somebody who asks for a "light" or "dark" one."""
    emulated = {"features": [{"name": "prefers-color-scheme", "value": theme}]}
    driver.execute_cdp_cmd("Emulation.setEmulatedMedia", emulated)
    try:
        wait_for(driver, f"charts.dark === {str(theme == 'dark').lower()}")
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": []})


@contextlib.contextmanager
def sized(driver, width, height=700):
    """A page on a screen of this size in pixels."""
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    try:
        yield
    finally:
        driver.execute_cdp_cmd("Emulation.clearDeviceMetricsOverride", {})


def axe_violations(driver):
    """What axe finds wrong: rule -> what it wants, and the first elements that break it."""
    pytest.importorskip("selenium_axe_python")
    source = resources.files("selenium_axe_python") / "axe-core" / "axe.min.js"
    driver.execute_script(source.read_text(encoding="utf-8"))
    result = driver.execute_async_script(
        "const done = arguments[0];"
        "const options = {resultTypes: ['violations']};"
        "axe.run(document, options).then(done, (error) => done({error: String(error)}));"
    )
    assert "violations" in result, result
    return {
        rule["id"]: [rule["help"], *(node["html"][:200] for node in rule["nodes"][:3])]
        for rule in result["violations"]
    }
