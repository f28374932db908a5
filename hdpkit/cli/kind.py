"""Commands of kinds of models: options from their settings, and runs in folders."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import click

from hdpkit.cli.corpus import given_table, say_table, table_options
from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.options import (
    Command,
    Decorator,
    Parsed,
    Whole,
    group,
    init_option,
    kept_options,
    moves_option,
    option_of,
    out_option,
    path_type,
    positive,
    run_options,
)
from hdpkit.cli.output import say, shown_path, tell
from hdpkit.cli.runs import carry_out, check_until, in_rounds
from hdpkit.data.files.text_files import reading
from hdpkit.errors import ParameterError
from hdpkit.kinds import values
from hdpkit.kinds.kind import Kind, Setting
from hdpkit.run.collect import Checkpoint
from hdpkit.run.runs import Scheduler

_LINES = 10  # components in the table that ends a run


def _option(setting: Setting) -> Decorator:
    """The option of a setting; its value is None, or empty, unless it is given."""
    name, taken, more = setting.in_commands, setting.values, dict[str, Any]()
    if isinstance(taken, values.Flag):
        more |= {"is_flag": True, "default": None}
        name = name if setting.default is False else f"{name}/--no-{name}"
    elif isinstance(taken, values.Names):
        more |= {"multiple": True, "metavar": taken.metavar}
    elif hasattr(taken, "words"):
        more["type"] = click.Choice(list(taken.words))
    elif isinstance(taken, values.Whole):
        more |= {"type": Whole(taken.low, taken.high), "metavar": "K"}
    elif isinstance(taken, values.Name):
        more["metavar"] = taken.metavar
    else:
        more["type"] = Parsed(taken.metavar or "VALUE", lambda text: taken.parse(setting.in_commands, text))
    return click.option(f"--{name}", setting.name, help=setting.help, **more)


def kind_options(kind: type[Kind], of_reading: bool = False) -> Decorator:
    """The options of a kind: those that say what is read, or those of the model under their titles."""
    chosen = [one for one in kind.settings() if one.of != "estimators" and one.reads == of_reading]
    return group(
        "Options", *(_option(one) if of_reading else group(one.under, _option(one)) for one in chosen)
    )


def made(kind: type[Kind], options: Mapping[str, Any]) -> Kind:
    """The kind that options declare; errors name them as they are given."""
    given = {
        one.name: options[one.name] for one in kind.settings() if options.get(one.name) not in (None, ())
    }
    model: Kind = named(kind, lambda: kind(**given))
    named(kind, model.check)
    return model


def named(kind: type[Kind], make: Callable[[], Any]) -> Any:
    """What a function returns; its errors name settings as options."""
    try:
        return make()
    except ParameterError as error:
        spoken = {one.name: one.in_commands for one in kind.settings()}
        if error.parameter not in spoken:
            raise
        raise ParameterError(spoken[error.parameter], error.value, error.allowed, error.remedy) from error


def command_of(kind: type[Kind], name: str | None = None) -> click.Command:
    """The command that finds the components of data in a table, and saves the run in a folder."""
    usual, argument = dict(kind.sampling), kind.argument

    def run(**options: Any) -> None:
        check_until(options)
        check_new_folder(options["out"])
        path: Path = options.pop(argument)
        model, quiet = made(kind, options), options["quiet"]
        tell(quiet, f"reading {shown_path(path)}")
        with reading(path):
            table = given_table(path, options)
            model, data = named(kind, lambda: model.prepared(model.read(table)))
        if not quiet:
            say_table([table.names[i] for i in table.chosen], table.delimiter, len(table.names))
            say(model.said(data), err=True)
        run_kind(model, data, options)

    run.__doc__ = kind.__doc__
    run.__name__ = name or kind.name
    options = group(
        "Options",
        click.argument(argument, type=path_type),
        out_option,
        kind_options(kind, of_reading=True),
        table_options,
        run_options(chains=usual.get("chains", 1)),
        kind_options(kind),
        group(
            "Sampler", moves_option(kind.schedule), init_option(), option_of(Scheduler, "threads", positive)
        ),
        kept_options(samples=usual.get("samples", 20)),
    )  # fmt: skip
    return click.command(cls=Command)(options(run))


def run_kind(
    model: Kind, data: Any, options: Mapping[str, Any], about: Mapping[str, Any] | None = None,
    n_terms: int = _LINES,
) -> None:  # fmt: skip
    """Run a model over data into a new folder, and print what was found."""
    folder, quiet = options["out"], options["quiet"]
    franchise = named(type(model), lambda: model.franchise(data))
    restaurant = franchise.declarations[-1]
    model.warn(restaurant, data, options["sweeps"])
    scheduler = Scheduler(options["moves"] or model.moves(restaurant), threads=options["threads"])
    init = model.start(options["init"], scheduler.moves)

    def run(progress: Any, **given: Any) -> Any:
        usual: dict[str, Any] = {"sweeps": options["sweeps"], "samples": options["samples"] or None}
        usual["chains"] = options["chains"] if options["chains"] > 1 else None
        checkpoint = Checkpoint(options.get("checkpoint_sweeps"), options["checkpoint_seconds"])
        return scheduler.run(
            franchise, rng=options["seed"], init=init, thin=options.get("thin", 1), progress=progress,
            folder=folder, checkpoint=checkpoint, **(usual | given),
        )  # fmt: skip

    with held_for_a_run(folder, {"model": model.as_data(), **(about or {})}):
        unit = model.nouns.tokens
        module = type(model).__module__
        allow = () if module.startswith("hdpkit.") else (module,)  # it is imported already
        carry_out(in_rounds(dict(options), folder, run, allow), folder, n_terms, quiet, allow, unit=unit)
