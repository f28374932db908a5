"""Folders of runs and models: whether they are free, what they contain, and how to continue them."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NoReturn

import click

from hdpkit.cli.options import ARGUMENTS
from hdpkit.cli.output import say
from hdpkit.errors import HdpkitError, RunError
from hdpkit.files import refusals
from hdpkit.kinds.language import Language
from hdpkit.kinds.ngram import NGramModel
from hdpkit.run.progress import ProgressBar
from hdpkit.run.run_folder import DATA, INIT, RunFolder, holding

INTERRUPTED = 130
"""Exit code after Ctrl-C, as in shells."""

WORKED_ON = "hdpkit.worked_on"
"""Key of a context's ``meta``: the folder of a command, and whether the command runs it."""

_LEFT_BY_RUNS = ("lock", DATA, INIT)

allow_option = click.option(
    "--allow",
    multiple=True,
    metavar="MODULE",
    help="Module with a move, measure or store of your own, which the run uses and you trust.",
)


def check_new_folder(folder: Path, name: str = "out") -> None:
    """Raise an error, before any input is read, unless a run can begin in the folder."""
    if (folder / "run.json").exists():
        raise RunError(
            f"{name} {folder}", "a folder that holds a run", "a new or an empty folder",
            f"Go on with that run: {resume_command(folder)}. Or choose another folder.",
        )  # fmt: skip
    found = None
    with refusals(folder, "look into a folder"):
        if folder.is_dir():
            names = sorted(path.name for path in folder.iterdir())
            others = [n for n in names if n not in _LEFT_BY_RUNS and not n.startswith("chain-")]
            found = f"holding {others[0]}" if others else None
        elif folder.exists():
            found = "a file"
    if found is not None:
        raise RunError(f"{name} {folder}", found, "a new or an empty folder", "Choose another folder.")


@contextmanager
def held_for_a_run(folder: Path, about: Mapping[str, Any]) -> Iterator[None]:
    """Hold the lock of a folder in which a run begins inside the block, which keeps this and the command."""
    arguments = click.get_current_context().meta.get(ARGUMENTS, ())
    with holding(folder, {**about, "command": [str(argument) for argument in arguments]}):
        check_new_folder(folder)  # another process may have been faster
        yield


def resume_command(folder: Path) -> str:
    """The command that continues a run."""
    return f"hdpkit resume {shlex.quote(str(folder))}"


def ran(
    run: Callable[[Any], Any],
    folder: Path,
    quiet: bool,
    bar: ProgressBar,
    begun: Callable[[], bool] = lambda: True,
) -> tuple[Any, bool]:
    """What a run returns, and whether it was interrupted; ``begun``: whether it can be continued."""
    click.get_current_context().meta[WORKED_ON] = (folder, True)
    try:
        with bar:
            trace = run(None if quiet else bar)
        return trace, bool(trace.interrupted)
    except KeyboardInterrupt:
        if not begun():
            raise
        return None, True
    except Exception as error:
        # A run had begun. An error in the command, the text or the folder would only occur again.
        again = not isinstance(error, HdpkitError) or getattr(error, "trace", None) is not None
        if again and begun() and not isinstance(error, MemoryError):  # its message says this, too
            say(go_on(folder), err=True)
        raise


def go_on(folder: Path) -> str:
    """How an interrupted run is continued."""
    return f"Go on with it: {resume_command(folder)}"


def end_interrupted(folder: Path) -> NoReturn:
    """End a command after Ctrl-C."""
    say(f"Interrupted. {go_on(folder)}", err=True)
    raise click.exceptions.Exit(INTERRUPTED)


def worked_on(context: click.Context, parameter: click.Parameter, run: Path) -> Path:
    """Callback of an argument that is a run: keeps it for `memory_message`."""
    context.meta[WORKED_ON] = (run, False)
    return run


def memory_message(error: MemoryError) -> str:
    """What a command says that had not enough memory: what is kept, and how to go on."""
    what = f" ({error})" if str(error) else ""
    folder, runs = click.get_current_context().meta.get(WORKED_ON, (None, False))
    if folder is None or not (folder / "run.json").is_file():
        kept = "No run was begun."
    elif runs:
        kept = (
            f"The run in {folder} is kept up to its last checkpoint. Go on with it: {resume_command(folder)}."
        )
    else:
        kept = f"The run in {folder} was not changed."
    remedy = "Close other programs, use a machine with more memory, or less input."
    return f"not enough memory{what}. {kept} {remedy}"


def is_language_model(folder: Path) -> bool:
    """Whether a folder contains a language model."""
    if not (folder / "run.json").is_file():
        return False
    model = RunFolder.open(folder).about.get("model", {})
    return isinstance(model, dict) and str(model.get("kind")) == Language.name


def open_language_model(folder: Path, allow: tuple[str, ...], *, ready: bool = True) -> NGramModel:
    """Open the folder of a language model; with ``ready`` it must have samples for predictions."""
    if not is_language_model(folder):
        raise RunError(
            f"folder {folder}", "no language model", "a folder with a language model",
            "Train one: hdpkit lm train TEXT --into FOLDER.",
        )  # fmt: skip
    model = NGramModel.open(folder, allow)
    if ready and not model.samples:
        raise RunError(
            f"folder {folder}", f"a model at sweep {model.franchise.sweep}", "trained up to its first sample",
            f"Go on with it: {resume_command(folder)}.",
        )  # fmt: skip
    return model
