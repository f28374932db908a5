"""Pictures of what each kind of model shows first: the end of the terminal's output, and its page.

    pip install selenium pillow
    python docs/first_screens.py [--out docs/figures] [--kinds topics ...]

Topics are those of the installed NumPy's documentation, signatures those of a simulated cohort
(``examples/signature_cohorts.py``, 80 samples), components those of scikit-learn's wine data by cultivar,
states those of a simulated series of three states. It needs Chromium and chromedriver. A picture
``first_KIND.png`` has the terminal above the first screen of the page (1,200 by 900 pixels); of topics there
are also two sections of the page.
"""

import argparse
import io
import os
import pty
import runpy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
from PIL import Image, ImageOps
from rich.console import Console
from rich.text import Text
from selenium import webdriver
from sklearn.datasets import load_wine

COLUMNS, ROWS = 110, 36
EXAMPLES = Path(__file__).resolve().parents[1] / "examples"


def of_topics(folder):
    return ["demo"]


def of_signatures(folder):
    cohorts = runpy.run_path(str(EXAMPLES / "signature_cohorts.py"))
    cohorts["write"](cohorts["make_cohort"](0, n_samples=80, most=10_000), folder / "cohort")
    return ["signatures", "cohort/cohort.SBS96.all"]


def of_points(folder):
    wine = load_wine()
    lines = [",".join(["cultivar", *wine.feature_names])]
    lines += [
        ",".join([f"cultivar {kind}", *map(str, row)])
        for kind, row in zip(wine.target, wine.data, strict=True)
    ]
    (folder / "wine.csv").write_text("\n".join(lines), encoding="utf-8")
    return ["mixture", "wine.csv", "--group", "cultivar"]


def of_states(folder):
    rng = np.random.default_rng(0)
    state, lines = 0, ["level"]
    for _ in range(1500):
        state = state if rng.random() < 0.97 else int(rng.integers(3))
        lines.append(f"{rng.normal([-2.0, 0.5, 3.0][state], [0.5, 0.8, 0.6][state]):.4f}")
    (folder / "series.csv").write_text("\n".join(lines), encoding="utf-8")
    return ["hmm", "fit", "series.csv"]


# name of the picture: key of the section of the page, and whether it is dark
SECTIONS = {"topics": {"report_samples": ("samples", False), "report_map": ("map", True)}}
KINDS = {"topics": of_topics, "signatures": of_signatures, "points": of_points, "states": of_states}


def in_terminal(arguments, folder):
    """What a command writes to a terminal in a folder."""
    main, side = pty.openpty()
    environment = {**os.environ, "TERM": "xterm-256color", "COLUMNS": str(COLUMNS), "LINES": "200"}
    program = "from hdpkit.cli.main import main; main(prog_name='hdpkit')"
    process = subprocess.Popen(
        [sys.executable, "-c", program, *arguments], stdout=side, stderr=subprocess.DEVNULL, stdin=side,
        env=environment, close_fds=True, cwd=folder,
    )  # fmt: skip
    os.close(side)
    parts = []
    while True:
        try:
            part = os.read(main, 65536)
        except OSError:  # the program has ended
            break
        if not part:
            break
        parts.append(part)
    process.wait()
    return b"".join(parts).decode("utf-8", "replace").replace("\r\n", "\n")


def picture(driver, address, size):
    driver.set_window_size(*size)
    driver.get(address)
    driver.implicitly_wait(2)
    return Image.open(io.BytesIO(driver.get_screenshot_as_png()))


def section(driver, key, dark):
    driver.set_window_size(1000, 1400)
    driver.execute_script("if (arguments[0]) document.getElementById('theme').click()", dark)
    element = driver.find_element("id", key)
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", element)
    time.sleep(1)  # charts are drawn when they come into view
    return Image.open(io.BytesIO(element.screenshot_as_png)).convert("RGB")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--out", type=Path, default=Path("docs/figures"))
    parser.add_argument("--kinds", nargs="+", choices=KINDS, default=list(KINDS))
    options = parser.parse_args()
    wanted = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--hide-scrollbars", "--force-device-scale-factor=1"):
        wanted.add_argument(argument)
    driver = webdriver.Chrome(options=wanted)
    for kind in options.kinds:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            arguments = KINDS[kind](folder)
            text = in_terminal([*arguments, "--out", "run"], folder)
            lines = text.rstrip("\n").split("\n")
            shown = [f"$ hdpkit {' '.join(arguments)}", *lines[-ROWS:]]
            console = Console(record=True, width=COLUMNS, file=io.StringIO(), force_terminal=True)
            console.print(Text.from_ansi("\n".join(shown)))
            console.save_html(str(folder / "terminal.html"))
            height = 40 + 24 * sum(1 + len(line) // COLUMNS for line in shown)
            above = picture(driver, (folder / "terminal.html").as_uri(), (1200, height))
            ends = ImageOps.invert(above.convert("L")).getbbox()
            above = above.crop((0, 0, 1200, ends[3] + 15))
            page = folder / "run" / "report.html"
            if not page.exists():
                in_terminal(["report", "run"], folder)
            below = picture(driver, page.as_uri(), (1200, 900))
            both = Image.new("RGB", (1200, above.height + below.height), "white")
            both.paste(above, (0, 0))
            both.paste(below, (0, above.height))
            both.quantize(128).save(options.out / f"first_{kind}.png", optimize=True)
            for picture_name, (key, dark) in SECTIONS.get(kind, {}).items():
                section(driver, key, dark).quantize(128).save(
                    options.out / f"{picture_name}.png", optimize=True
                )
    driver.quit()


if __name__ == "__main__":
    main()
