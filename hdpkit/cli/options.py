"""Options of commands: their groups in help, the Python signatures that they mirror, and their values.

Values are read from the command line or from a settings file: numbers, paths, priors, starts, moves.
"""

from __future__ import annotations

import difflib
import inspect
import os
import re
import tomllib
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import attrs
import click

from hdpkit.checks import LARGEST, LARGEST_SEED, MOST_CHAINS
from hdpkit.data import Limits
from hdpkit.data.files.labels import PERIODS
from hdpkit.data.files.text_files import open_regular
from hdpkit.errors import DataError, HdpkitError, ParameterError, short_repr
from hdpkit.franchise.starts import Factors, Random, TermClusters
from hdpkit.kinds.values import prior_of
from hdpkit.moves import Move
from hdpkit.moves.registry import moves
from hdpkit.run.runs import Scheduler

ARGUMENTS = "hdpkit.arguments"
"""Key of the context's ``meta`` for the arguments after the name of the program."""

_CONFIG_BYTES = 2**20

_TRUST = {
    "allow": lambda value: True,  # its modules are imported
    "backend": lambda value: "://" in str(value),  # the scheduler at this address sends code
}
"""Options that trust somebody, and which of their values do: not accepted from a file."""


class Whole(click.IntRange):
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


class _Place(click.Path):
    """A path. An empty string isn't one, although `pathlib` treats it as the current folder."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        if value == "":
            self.fail("an empty string is not a path.", param, ctx)
        return super().convert(value, param, ctx)


positive = Whole(1)
not_negative = Whole(0)
chains_type = Whole(1, MOST_CHAINS)
above_zero = click.FloatRange(0, min_open=True)


@attrs.frozen
class ShownTopics:
    """How many topics are shown: the largest, or what is left when similar ones are merged."""

    most: int | None = None
    about: int | None = None


class _Topics(click.ParamType):
    """A number of topics, N, or about:N."""

    name = "N|about:N"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the text."""
        if isinstance(value, ShownTopics):
            return value
        head, colon, number = str(value).rpartition(":")
        if head != ("about" if colon else ""):
            self.fail(f"{short_repr(value)} is neither a number nor about:N, such as about:30.", param, ctx)
        found = positive.convert(number, param, ctx)
        return ShownTopics(about=found) if colon else ShownTopics(most=found)


topics_type = _Topics()

path_type = _Place(path_type=Path)
text_type = _Place(allow_dash=True)
"""A file, or "-" for standard input."""


class Parsed(click.ParamType):
    """An option parsed by a function of its text, whose ParameterError is shown to the user."""

    def __init__(self, name: str, parse: Callable[[str], Any]) -> None:
        self.name = name
        self._parse = parse

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Parse a text; any other value has been parsed already."""
        return self._parse(value) if isinstance(value, str) else value


Decorator = Callable[[Callable[..., Any]], Callable[..., Any]]


_ALL = "hdpkit.all_options"


def _help_all(ctx: click.Context, param: click.Parameter, value: bool) -> None:
    if value:
        ctx.meta[_ALL] = True
        from hdpkit.cli.output import say  # it needs more than options do

        say(ctx.get_help())
        ctx.exit()


class Command(click.Command):
    """A command with groups of options; if some are ``first``, --help shows these, and --help-all all."""

    def __init__(self, *args: Any, first: tuple[str, ...] = (), **more: Any) -> None:
        super().__init__(*args, **more)
        self.first = first
        if first:
            self.params.append(
                click.Option(
                    ["--help-all"], is_flag=True, is_eager=True, expose_value=False, callback=_help_all,
                    help="Show all options.",
                )
            )  # fmt: skip

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the options of each group under its title."""
        groups: dict[str, list[tuple[str, str]]] = {"Options": []}
        place = {name: i for i, name in enumerate(self.first)}
        params = sorted(self.get_params(ctx), key=lambda param: place.get(str(param.name), len(place)))
        for param in params:
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                title = "Options" if param.name in place else getattr(param, "group", "Options")
                groups.setdefault(title, []).append(record)
        short = self.first and not ctx.meta.get(_ALL)
        for title, records in groups.items():
            if records and (title == "Options" or not short):
                with formatter.section(title):
                    formatter.write_dl(records)


def group(title: str, *options: Decorator) -> Decorator:
    """Add options, in this order; in help they are under a title."""

    def add(command: Callable[..., Any]) -> Callable[..., Any]:
        known = list(getattr(command, "__click_params__", ()))
        for option in reversed(options):
            command = option(command)
        for param in command.__click_params__:  # type: ignore[attr-defined]
            if param not in known and not hasattr(param, "group"):
                param.group = title
        return command

    return add


def option_of(thing: Any, parameter: str, type: Any = None, *, unset: bool = False, **more: Any) -> Decorator:
    """An option with name, default and description of a parameter; with ``unset`` None unless given."""
    name = more.pop("name", parameter).replace("_", "-")
    default = inspect.signature(thing).parameters[parameter].default
    told = more.pop("help", None) or _described(thing, parameter)
    flag = isinstance(default, bool) and type is None
    if default not in (None, inspect.Parameter.empty):
        if not unset:
            more = {"default": default, "show_default": not flag} | more
        elif not flag and "default" not in told:
            told += f"  [default: {default}]"
    if flag:
        more = {"is_flag": True} | more
    names = f"--{name}/--no-{name}" if flag and default else f"--{name}"
    return click.option(names, type=type, help=told, **({"default": None} if unset else {}), **more)


def options_of(thing: Any, unset: bool = False, **types: Any) -> list[Decorator]:
    """An option for each of these parameters: the type of its value, or its metavar."""
    return [
        option_of(
            thing, name, unset=unset, **({"metavar": type} if isinstance(type, str) else {"type": type})
        )
        for name, type in types.items()
    ]


def _described(thing: Any, parameter: str) -> str:
    """The first sentence about a parameter in the documentation of a class or function, as plain text."""
    section = (inspect.getdoc(thing) or "").partition("Parameters\n----------\n")[2]
    for entry in re.split(r"\n(?=\S)", section):
        names, _, text = entry.partition("\n")
        if parameter in names.partition(" : ")[0].split(", "):
            sentence = re.split(r"(?<=\.)\s", " ".join(text.split()), maxsplit=1)[0]
            plain = re.sub(r"\s\[\w+\]|`|^Whether to ", "", sentence)
            return plain[:1].upper() + plain[1:]
    return ""


seed_option = click.option(
    "--seed", type=Whole(0, LARGEST_SEED), default=0, show_default=True, help="Seed of all random numbers."
)
quiet_option = click.option("--quiet", is_flag=True, help="Show no progress.")


def _parse_duration(text: str) -> float:
    from hdpkit.posterior.rounds import seconds_of  # other runs don't need it

    return seconds_of("at-most", text)


until_options = group(
    "Options",
    click.option(
        "--until", type=click.Choice(["readable", "quotable"]),
        help="Run in rounds until this verdict is green: first a tenth of the sweeps, then as many as "
        "before. With at least two chains.  [hdpkit fit: readable, without --sweeps]",
    ),
    click.option(
        "--at-most", type=Parsed("TIME", _parse_duration),
        help="With --until: the longest time, such as 90s, 10min or 1h.  [default: all sweeps]",
    ),
)  # fmt: skip
periods_option = click.option(
    "--by", type=click.Choice(PERIODS),
    help="Length of the periods of shares over time.  [default: by the dates]",
)  # fmt: skip
raw_option = click.option(
    "--raw", is_flag=True,
    help="CSV, TSV files: don't escape texts that a spreadsheet would evaluate, or control characters.",
)  # fmt: skip
checkpoint_sweeps_option = click.option(
    "--checkpoint-sweeps", type=positive, help="Save the state after this many sweeps."
)
checkpoint_seconds_option = click.option(
    "--checkpoint-seconds", type=above_zero,
    help="Save the state after this many seconds.  [default: 60, without the option above]",
)  # fmt: skip
_NUMBERS = ("max_terms", "max_documents", "max_tokens")
limit_options = group(
    "Largest corpus",
    *options_of(Limits, unset=True, **dict.fromkeys(_NUMBERS, click.IntRange(1, 2**31 - 1))),
)
"""Adds the options for the largest corpus accepted; `given_limits` reads them."""


def given_limits(options: dict[str, Any]) -> Limits:
    """The limits given by the options of `limit_options`, which are removed from ``options``."""
    given = {name: options.pop(name) for name in _NUMBERS}
    return Limits(**{name: value for name, value in given.items() if value is not None})


def read_config(path: str | os.PathLike[str], command: click.Command, ctx: click.Context) -> dict[str, Any]:
    """Read options from a TOML file."""
    file = f"file {os.fspath(path)}"
    with open_regular(path) as opened:
        raw = opened.read(_CONFIG_BYTES + 1)
    if len(raw) > _CONFIG_BYTES:
        most, remedy = f"{_CONFIG_BYTES} bytes", "Check that it is a file of options."
        raise DataError(file, f"more than {most}", f"at most {most} long", remedy)
    try:
        content = tomllib.loads(raw.decode("utf-8-sig"))
    except (ValueError, OverflowError, RecursionError) as error:  # not TOML, or not UTF-8
        raise DataError(file, "damaged", f"TOML in UTF-8 ({error})", "Correct it.") from error
    known = {
        param.opts[0].lstrip("-").replace("-", "_"): param
        for param in command.params
        if param.name not in ("config", "help")
    }
    options: dict[str, Any] = {}
    for key, value in content.items():
        name = key.replace("-", "_")
        where = f"{os.fspath(path)}, {key}"
        if name not in known:
            names = [other.replace("_", "-") for other in known]
            raise ParameterError(where, value, "an option", closest(key.replace("_", "-"), names))
        param, folder = known[name], Path(path).parent
        if param.name in options:
            raise ParameterError(where, value, "given once", "Remove one of the two.")
        if name in _TRUST and _TRUST[name](value):
            raise ParameterError(
                where, value, "left out: what code may run is said on the command line only",
                f"Add --{key.replace('_', '-')} to the command, if you trust it.",
            )  # fmt: skip
        if param.multiple:
            each = value if isinstance(value, list) else [value]
            options[str(param.name)] = [_text(where, item, param, folder, ctx) for item in each]
        else:
            options[str(param.name)] = _text(where, value, param, folder, ctx)
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
            where, value, "a number below 1.8e308", "The option's help says which."
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


TIME_TABLES = ("until", "after", "every", "repeat")
"""Keys of a move that are methods of all moves, not arguments of the constructor."""

out_option = click.option(
    "--out", required=True, type=path_type, metavar="RUN", help="Folder for the run; must be new or empty."
)


def run_options(
    sweeps: int | None = 500, chains: int | None = 1, shown: tuple[str, str] | None = None
) -> Decorator:
    """Options of every command that samples into a run folder, with these or ``shown`` defaults."""
    of_sweeps, of_chains = (True, True) if shown is None else shown
    return group(
        "Options",
        option_of(Scheduler.run, "sweeps", positive, default=sweeps, show_default=of_sweeps),
        until_options,
        seed_option,
        option_of(Scheduler.run, "chains", chains_type, default=chains, show_default=of_chains),
        config_option,
        quiet_option,
    )


def kept_options(samples: int) -> Decorator:
    """What a run keeps beside its trace."""
    return group(
        "What is kept",
        click.option(
            "--samples", type=not_negative, default=samples, show_default=True,
            help="States to keep of each chain for summaries, from the second half of its sweeps.",
        ),
        option_of(Scheduler.run, "thin", positive),
        checkpoint_sweeps_option,
        checkpoint_seconds_option,
    )  # fmt: skip


def moves_option(default: str) -> Decorator:
    """``--moves``."""
    return click.option(
        "--moves", type=Parsed("MOVE[:KEY=VALUE]...,...", parse_moves),
        help=f"Moves of a sweep.  [default: {default}]",
    )  # fmt: skip


def init_option(*more: str) -> Decorator:
    """``--init``, with starts beside those that all data have."""
    names = "|".join(("auto", "sequential", "one", "random:K", *more))
    return option_of(Scheduler.run, "init", Parsed(names, parse_init), help="The start of a chain.")


def closest(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name most similar to an unknown one, or with all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known names: {', '.join(names)}."


_OUTSIDE_BRACKETS = re.compile(r",(?![^()]*\))")  # a comma before the next "(" or the end


def parse_levels(name: str, text: str) -> Any:
    """Read hyperparameters: one for all levels, or one for each level, separated by commas."""
    parts = _OUTSIDE_BRACKETS.split(text)
    values = [_level(name, part) for part in parts]
    return values[0] if len(values) == 1 else values


def _level(name: str, text: str) -> Any:
    try:
        found = prior_of(text)
    except HdpkitError as error:
        raise ParameterError(
            name, text, f"such that {error.parameter} is {error.allowed}", error.remedy
        ) from error
    if found is None:
        raise ParameterError(
            name, text, "a number, beta(a,b), gamma(shape,rate), shifted(PRIOR) or each(PRIOR)",
            "One for all levels, or one for each, separated by commas, the unigrams' first.",
        )  # fmt: skip
    return found


def parse_init(text: str) -> str | Random | TermClusters | Factors:
    """Read a start: ``auto``, ``sequential``, ``one``, ``random:K``, ``clusters:K`` or ``factors:K``."""
    name, _, count = text.strip().partition(":")
    if name in ("auto", "sequential", "one") and not count:
        return name
    kinds = {"random": Random, "clusters": TermClusters, "factors": Factors}
    if name in kinds and re.fullmatch(r"[0-9]{1,18}", count):
        made: Random | TermClusters | Factors = kinds[name](int(count))
        return made
    raise ParameterError(
        "init", text, "auto, sequential, one, random:K, clusters:K or factors:K", "For instance clusters:100."
    )


def parse_moves(text: str) -> list[Move]:
    """Read moves: names with arguments and time tables, for instance ``table-gibbs,split-merge:until=50``."""
    return [_move(part.strip()) for part in text.split(",")]


def _move(text: str) -> Move:
    name, *settings = (part.strip() for part in text.split(":"))
    if name not in moves:
        raise ParameterError("moves", name, "the name of a move", closest(name, moves))
    kind = moves[name].thing
    known = list(inspect.signature(kind).parameters)
    arguments: dict[str, Any] = {}
    times: list[tuple[str, int]] = []
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not value:
            raise ParameterError(f"moves, {name}", setting, "key=value", "For instance split-merge:until=50.")
        if key in TIME_TABLES:
            if not re.fullmatch(r"[0-9]{1,18}", value):
                raise ParameterError(
                    f"moves, {name}", setting, "a whole number", "Sweeps are numbered from 1."
                )
            times.append((key, int(value)))
        elif key not in known:
            raise ParameterError(
                f"moves, {name}", key, "an argument of the move or a time table",
                closest(key, [*known, *TIME_TABLES]),
            )  # fmt: skip
        elif key in arguments:
            raise ParameterError(f"moves, {name}", setting, "given once", "Remove one of the two.")
        else:
            arguments[key] = _value(value)
    try:
        move = kind(**arguments)
    except HdpkitError:
        raise
    except Exception as error:  # a registered move of a user may raise any error
        raise ParameterError(
            f"moves, {name}", arguments, f"arguments that it takes ({type(error).__name__}: {error})",
            "See the documentation of the move.",
        ) from error  # fmt: skip
    for key, number in times:
        move = getattr(move, key)(number)
    return move


def _value(text: str) -> Any:
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
