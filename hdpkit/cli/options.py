"""Types of options, and options from a file."""

from __future__ import annotations

import os
import stat
import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import click

from hdpkit.checks import LARGEST, LARGEST_SEED, MOST_CHAINS
from hdpkit.cli.parse import closest
from hdpkit.data import Limits
from hdpkit.errors import DataError, ParameterError, short_repr

__all__ = [
    "ARGUMENTS",
    "Parsed",
    "chains_type",
    "config_option",
    "given_limits",
    "limit_options",
    "not_negative",
    "path_type",
    "positive",
    "quiet_option",
    "raw_option",
    "read_config",
    "seed_option",
    "seed_type",
    "text_type",
]

ARGUMENTS = "hdpkit.arguments"
"""Key of the context's ``meta`` for the arguments after the name of the program."""

_CONFIG_BYTES = 2**20

_TRUST = {
    "allow": lambda value: True,  # its modules are imported
    "carrier": lambda value: "://" in str(value),  # the scheduler at this address sends code
}
"""Options that trust somebody, and which of their values do: not accepted from a file."""


class _Whole(click.IntRange):
    """A whole number from ``low`` to ``high``; help shows only ``low``, since the other is out of reach."""

    def __init__(self, low: int, high: int = LARGEST) -> None:
        super().__init__(min=low)
        self._high = high

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        number = super().convert(value, param, ctx)
        if number > self._high:
            self.fail(f"{short_repr(number)} is not in the range {self.min}<=x<={self._high}.", param, ctx)
        return number


positive = _Whole(1)
not_negative = _Whole(0)
chains_type = _Whole(1, MOST_CHAINS)
seed_type = _Whole(0, LARGEST_SEED)
seed_option = click.option(
    "--seed", type=seed_type, default=0, show_default=True, help="Seed of all random numbers."
)
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")
raw_option = click.option(
    "--raw", is_flag=True,
    help="CSV, TSV files: don't escape texts that a spreadsheet would evaluate, or control characters.",
)  # fmt: skip


class _Place(click.Path):
    """A path. An empty string isn't one, although `pathlib` treats it as the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        if value == "":
            self.fail("an empty string is not a path.", param, ctx)
        return super().convert(value, param, ctx)


path_type = _Place(path_type=Path)
text_type = _Place(allow_dash=True)
"""A file, or "-" for standard input."""


def limit_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options for the largest corpus accepted; `given_limits` reads them."""
    for what in ("tokens", "documents", "terms"):
        command = click.option(
            f"--max-{what}", type=click.IntRange(1, 2**31 - 1), help=f"Refuse a file with more {what}."
        )(command)
    return command


def given_limits(options: dict[str, Any]) -> Limits:
    """The limits given by the options of `limit_options`, which are removed from ``options``."""
    given = {name: options.pop(name) for name in ("max_terms", "max_documents", "max_tokens")}
    return Limits(**{name: value for name, value in given.items() if value is not None})


class Parsed(click.ParamType):
    """An option parsed by a function, whose ParameterError is shown to the user.

    Parameters
    ----------
    name : str
        Name of the type in help.
    parse : callable
        Takes the text, and returns the value.
    """

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text; any other value has been parsed already."""
        return self._parse(value) if isinstance(value, str) else value


def read_config(path: str | os.PathLike[str], command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Read options from a TOML file.

    Keys are the names of options and arguments, with ``-`` or ``_``. Values are numbers, strings, booleans,
    or lists, whose items are joined by commas or, for options that may be repeated, used one by one. Paths in
    the file are relative to its folder. Options that let code run are refused.

    Parameters
    ----------
    path : path
    command : click.Command
        The command with these options.
    ctx : click.Context

    Returns
    -------
    dict
        Parameter name -> text, as if written on the command line.

    Raises
    ------
    DataError
        If the file can't be read or isn't TOML.
    ParameterError
        If a key isn't known (the message suggests a similar one) or is duplicated, or its value isn't valid.
    """
    try:
        if not Path(path).is_dir() and not stat.S_ISREG(os.stat(path).st_mode):  # may never end
            raise DataError(
                f"file {os.fspath(path)}",
                "a pipe or a device",
                "a regular file",
                "Write the options to a file.",
            )
        with open(path, "rb") as file:
            raw = file.read(_CONFIG_BYTES + 1)
        if len(raw) > _CONFIG_BYTES:
            raise DataError(
                f"file {os.fspath(path)}",
                f"more than {_CONFIG_BYTES} bytes",
                f"at most {_CONFIG_BYTES} bytes long",
                "Check that it is a file of options.",
            )
        content = tomllib.loads(raw.decode("utf-8"))
    except OSError as error:
        raise DataError(
            f"file {os.fspath(path)}", error.strerror or str(error), "a file that can be read",
            "Check the path.",
        ) from error  # fmt: skip
    except DataError:
        raise
    except RecursionError as error:
        raise DataError(
            f"file {os.fspath(path)}", "too deeply nested", "options, one per line", "Correct it."
        ) from error
    except (ValueError, OverflowError) as error:  # not TOML, or not UTF-8
        raise DataError(
            f"file {os.fspath(path)}", "damaged", f"TOML in UTF-8 ({error})", "Correct it."
        ) from error
    known = {str(param.name): param for param in command.params if param.name not in ("config", "help")}
    options: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        where = f"{os.fspath(path)}, {key}"
        if name not in known:
            names = [other.replace("_", "-") for other in known]
            raise ParameterError(where, value, "an option", closest(key.replace("_", "-"), names))
        if name in options:
            raise ParameterError(where, value, "given once", "Remove one of the two.")
        if name in _TRUST and _TRUST[name](value):
            raise ParameterError(
                where, value, "left out: what code may run is said on the command line only",
                f"Add --{key.replace('_', '-')} to the command, if you trust it.",
            )  # fmt: skip
        param, folder = known[name], Path(path).parent
        if param.multiple:
            each = value if isinstance(value, list) else [value]
            options[name] = [_text(where, item, param, folder, ctx) for item in each]
        else:
            options[name] = _text(where, value, param, folder, ctx)
    return options


def _text(where: str, value: Any, param: click.Parameter, folder: Path, ctx: click.Context) -> str:
    if not isinstance(value, str | int | float | list):  # a table, a date
        raise ParameterError(where, value, "a number, a string, a boolean or a list", "Use such a value.")
    if isinstance(value, list) and not all(isinstance(item, str | int | float) for item in value):
        raise ParameterError(where, value, "a list of numbers, strings or booleans", "Use such a value.")
    try:
        shown = str(value)
    except ValueError as error:  # an int of thousands of digits
        raise ParameterError(where, value, "a number of at most 4,000 digits", "Correct it.") from error
    if "\0" in shown:
        raise ParameterError(where, value, "without NUL characters", "Remove it.")
    text = ",".join(str(item) for item in value) if isinstance(value, list) else str(value)
    if isinstance(param.type, click.Path) and text and not (param.type.allow_dash and text == "-"):
        text = os.path.join(folder, text)
    try:
        param.type.convert(text, param, ctx)
    except ParameterError as error:  # its message names the option, not the file
        raise ParameterError(where, value, error.allowed, error.remedy) from error
    except OverflowError as error:  # an int too large for a float
        raise ParameterError(
            where, value, "a number that fits into a double", "The option's help says which."
        ) from error
    except click.UsageError as error:
        raise ParameterError(
            where, value, f"a valid value: {error.message.rstrip('.')}", "The option's help says which."
        ) from error
    return text


def _load(ctx: click.Context, param: click.Parameter, value: Path | None) -> Path | None:
    if value is not None:
        ctx.default_map = {**(ctx.default_map or {}), **read_config(value, ctx.command, ctx)}
    return value


config_option = click.option(
    "--config",
    type=path_type,
    is_eager=True,  # before the options whose values it gives
    callback=_load,
    expose_value=False,
    metavar="FILE",
    help="TOML file with any of these options; those on the command line take precedence.",
)
