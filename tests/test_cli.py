"""The command line."""

import re

from click.testing import CliRunner

import hdpkit
from hdpkit.cli.main import main


def test_version():
    result = CliRunner().invoke(main, ["--version"])
    assert result.exit_code == 0
    assert hdpkit.__version__ in result.output


def test_demo_fits_the_installed_documentation_and_prints_topics():
    result = CliRunner().invoke(
        main, ["demo", "--sweeps", "3", "--seed", "5", "--store", "explicit", "--topics", "4"]
    )
    assert result.exit_code == 0, result.output
    assert "seed = 5" in result.output
    assert re.search(
        r"K = \d+ topics, alpha = [\d.]+, gamma = [\d.]+, log likelihood = -[\d,.]+", result.output
    )
    shares = [float(share) for share in re.findall(r"(\d+\.\d+)%\s+\d+\.\d+%", result.output)]
    assert shares == sorted(shares, reverse=True)
    assert len(shares) == 4


def test_bad_options_are_refused():
    for arguments in (["--sweeps", "0"], ["--store", "pickle"], ["--seed", "-1"]):
        assert CliRunner().invoke(main, ["demo", *arguments]).exit_code == 2
