"""Words of most documents that lead many topics: the hint at the end of a fit and on the page."""

import numpy as np
import pytest
from click.testing import CliRunner
from fit_command import FIT

from hdpkit.cli.main import main
from hdpkit.posterior.repetition import boilerplate


def test_the_terms_topics_and_shares_are_counted():
    counts = np.zeros((6, 20), dtype=int)
    counts[:, 0] = 10  # leads all topics
    counts[:, 1] = 1  # common, but leads none
    for k in range(6):
        counts[k, 2 + 3 * k : 5 + 3 * k] = 8
    found = boilerplate(counts, [60, 45, *[10] * 18], 100, [f"w{v}" for v in range(20)])
    assert found.terms == ("w0", "w1")
    assert (found.share, found.n_topics, found.token_share) == (0.45, 6, 1.0)
    assert boilerplate(counts, [29] * 20, 100, None) is None  # no term is common
    assert boilerplate(counts[:4], [60] * 20, 100, None) is None  # few topics
    counts[:, 0] = 0
    assert boilerplate(counts, [60, 45, *[10] * 18], 100, None) is None  # they lead nothing


@pytest.mark.parametrize(
    ("common", "more", "lines_with"),
    [
        (["budget", "treaty"], [], ["--max-document-share 0.3."]),
        (["hereby", "whereas", "the", "of", "and"], [], []),  # function words are left out
        (
            ["hereby", "whereas", "the", "of", "and"],
            ["--stop-words", "none"],
            ["--max-document-share 0.3, and --stop-words english"],
        ),
        ([], [], []),
    ],
)
def test_the_end_of_a_fit_names_the_options_that_lift_it(tmp_path, common, more, lines_with):
    rng = np.random.default_rng(0)
    lines = []
    for d in range(96):
        words = [f"{chr(97 + d % 12)}word{v}".replace("0", "zero").replace("1", "one") for v in range(2)]
        own = rng.choice(words, 20).tolist()
        lines.append(" ".join([*own, *common * 8]))
    (tmp_path / "texts.txt").write_text("\n".join(lines))
    options = ["--min-documents", "1", "--sweeps", "10", "--eta", "0.01", "--quiet"]
    options += ["--init", "clusters:12", "--moves", "concentration", *more]
    arguments = [*FIT, str(tmp_path / "texts.txt"), "--out", str(tmp_path / "run"), *options]
    result = CliRunner().invoke(main, arguments)
    assert result.exit_code == 0, result.output
    last = result.output.splitlines()[-1]
    assert all(part in last for part in lines_with), result.output
    assert ("To leave them out" in result.output) is bool(lines_with)
