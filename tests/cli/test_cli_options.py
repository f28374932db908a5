"""Options on the command line and in a settings file."""

import re

import click
import pytest
from click.testing import CliRunner

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.fit import fit
from hdpkit.cli.lm import train
from hdpkit.cli.main import main
from hdpkit.cli.options import parse_init, parse_levels, parse_moves, read_config
from hdpkit.cli.signatures import signatures
from hdpkit.errors import DataError, HdpkitError, ParameterError


def test_moves_with_arguments_and_time_tables():
    one, two, three = parse_moves(
        "table-gibbs, split-merge:scans=2:until=50:repeat=3,"
        "base-measure-parameters:method=metropolis:width=0.5"
    )
    assert isinstance(one, moves.TableGibbs)
    assert two == moves.SplitMerge(scans=2).until(50).repeat(3)
    assert three == moves.BaseMeasureParameters("metropolis", 0.5)
    assert parse_moves("split-merge:scans=none") == [moves.SplitMerge()]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("table-gibs", "Did you mean 'table-gibbs'"),
        ("split-merge:scan=2", "Did you mean 'scans'"),
        ("split-merge:scans", "key=value"),
        ("split-merge:scans=1:scans=2", "given once"),
        ("split-merge:scans=-1", "scans"),
        ("split-merge:until=-5", "a whole number"),
        ("split-merge:every=0", "n = 0"),
    ],
)
def test_moves_that_make_no_sense(text, message):
    with pytest.raises(ParameterError, match=message):
        parse_moves(text)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("0.5", 0.5),
        ("-0.2", -0.2),
        ("Beta( 1, 2 )", hk.Beta(1, 2)),
        ("each(beta(1,2))", hk.Each(hk.Beta(1, 2))),
        ("each(shifted(gamma(1,1)))", hk.Each(hk.Shifted(hk.Gamma(1, 1)))),
        ("0.3, beta(1,1),each(gamma(2,3)),0", [0.3, hk.Beta(1, 1), hk.Each(hk.Gamma(2, 3)), 0.0]),
    ],
)
def test_hyperparameters_by_level(text, expected):
    assert parse_levels("discount", text) == expected


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "a number, beta"),
        ("nan", "a number, beta"),
        ("gamma(1)", "a number, beta"),
        ("__import__('os')", "a number, beta"),
        ("gamma(0,1)", "Gamma shape is a finite number above 0"),
        ("each(0.5)", "a prior"),
        ("shifted(each(gamma(1,1)))", "Each goes outside"),
    ],
)
def test_hyperparameters_that_make_no_sense(text, message):
    with pytest.raises(ParameterError, match=message) as caught:
        parse_levels("discount", text)
    assert caught.value.parameter == "discount"


def test_starts():
    assert parse_init("one") == "one"
    assert parse_init("random:7") == hk.init.Random(7)
    for text in ("", "two", "random", "random:", "random:0", "random:-1", "random:1.5", "one:2"):
        with pytest.raises(HdpkitError):
            parse_init(text)


def config(tmp_path, text):
    path = tmp_path / "study.toml"
    path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return read_config(path, fit, click.Context(fit))


def test_a_file_of_settings(tmp_path):
    found = config(
        tmp_path,
        'corpus = "data/a.dat"\nsweeps = 20\neta = "gamma(1, 1)"\nroot_concentration = 1.5\nquiet = true\n'
        'document-concentration = 2\nmoves = ["table-gibbs", "split-merge:until=5"]\nout = "/runs/1"\n',
    )
    assert found == {
        "corpus": str(tmp_path / "data/a.dat"),  # relative to the file
        "out": "/runs/1",
        "sweeps": "20",
        "eta": "gamma(1, 1)",
        "root_concentration": "1.5",
        "quiet": "True",
        "concentration": "2",
        "moves": "table-gibbs,split-merge:until=5",
    }


@pytest.mark.parametrize(
    ("text", "error", "message"),
    [
        ("sweps = 3", ParameterError, r"study\.toml, sweps = 3.*Did you mean 'sweeps'"),
        ('config = "other.toml"', ParameterError, "an option"),
        ("sweeps = -3", ParameterError, "study.toml, sweeps = -3"),
        ("sweeps = inf", ParameterError, "integer"),
        ('moves = ["table-gibs"]', ParameterError, "table-gibbs"),
        ("eta = -1", ParameterError, "eta"),
        ("eta = {shape = 1}", ParameterError, "a number, a string"),
        ("seed = 1979-05-27", ParameterError, "a number, a string"),
        ("checkpoint-sweeps = 1\ncheckpoint_sweeps = 2", ParameterError, "given once"),
        ('out = "a\\u0000b"', ParameterError, "NUL character"),
        ("sweeps = 1\nsweeps = 2", DataError, "TOML"),
        (b'out = "\xff"', DataError, "TOML in UTF-8"),
        (b"sweeps = " + b"[" * 20_000, HdpkitError, "study.toml"),
        (b"sweeps = " + b"9" * 5000, HdpkitError, "study.toml"),
        (b"eta = " + b"9" * 4000, HdpkitError, "study.toml"),
        (b"moves = [{a = 1}]", HdpkitError, "study.toml"),
        (b"a" * (2**20 + 1), HdpkitError, "study.toml"),
        (b"[" + b"a." * 5000 + b"a]\nb = 1", HdpkitError, "study.toml"),
    ],
)
def test_settings_that_make_no_sense(tmp_path, text, error, message):
    with pytest.raises(error, match=message):
        config(tmp_path, text)


@pytest.mark.parametrize("command", [fit, signatures, train])
def test_what_lends_trust_is_said_on_the_command_line_only(command, tmp_path):
    """A file that names modules to import, or a scheduler that sends code, would give itself trust."""
    path = tmp_path / "study.toml"
    names = {param.name for param in command.params}
    for text in ('allow = ["this"]', 'allow = "this"', "allow = []", 'backend = "tcp://far.away:8786"'):
        if text.partition(" ")[0] in names:
            path.write_text(text)
            with pytest.raises(ParameterError, match="on the command line only"):
                read_config(path, command, click.Context(command))
    if "backend" in names:
        path.write_text('backend = "local"')
        assert read_config(path, command, click.Context(command)) == {"backend": "local"}


def help_of(*names):
    """The titles of the groups of a command's options in help, each with the names of its options."""
    found, title = {}, None
    asked = "--help-all" if names == ("fit",) else "--help"  # whose --help has the common ones alone
    for line in CliRunner().invoke(main, [*names, asked], terminal_width=200).stdout.splitlines():
        if re.fullmatch(r"\S.*:", line):
            title = line[:-1]
            found[title] = []
        elif title is not None and line.startswith("  -"):
            found[title].append(re.search(r"--[\w-]+", line)[0])
    return found


@pytest.mark.parametrize("names", [("fit",), ("signatures",), ("convert",), ("infer",), ("lm", "train")])
def test_help_shows_every_option_in_a_group_the_common_ones_first(names):
    found = help_of(*names)
    titles = [title for title in found if found[title]]
    assert titles[0] == "Options"
    assert len(titles) > 1
    assert "--help" in found["Options"]
    command = main
    for name in names:
        command = command.get_command(click.Context(command), name)
    listed = [option for title in titles for option in found[title]]
    options = [param for param in command.params if isinstance(param, click.Option)]
    assert len(listed) == len(set(listed)) == len(options) + 1  # and --help
    for param in options:
        assert set(param.opts) & set(listed)
