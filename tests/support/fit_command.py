"""The command line, called by tests; most runs begin with the same words."""

import json
import re

import numpy as np
from click.testing import CliRunner

from hdpkit.cli.main import main

FIT = ("fit", "--for", "prediction")  # one chain of a number of sweeps, without bursts


def hdpkit(*words, **given):
    return CliRunner().invoke(main, [str(word) for word in words], **given)


def done(*words, **given):
    result = hdpkit(*words, **given)
    assert result.exit_code == 0, result.output
    return result


def ldac_of(counts):
    """A corpus of these counts in the format of lda-c."""
    pairs = [[f"{v}:{n}" for v, n in enumerate(row) if n] for row in np.asarray(counts).tolist()]
    return "".join(" ".join([str(len(row)), *row]) + "\n" for row in pairs)


def write_ldac(path, counts):
    path.write_text(ldac_of(counts))
    return path


def data_of(page):
    """The data in the file of a page."""
    text = page.read_text(encoding="utf-8")
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', text)[1])


def call(*words, code=0, **given):
    """What a command with this exit code says."""
    result = hdpkit(*words, **given)
    assert result.exit_code == code, (words, result.output)
    return result.output
