"""The command ``hdpkit``, and code common to its subcommands."""

from __future__ import annotations

import contextlib
import errno
import sys
import warnings
from collections.abc import Iterator
from typing import Any

import click

import hdpkit
from hdpkit.cli.check import check
from hdpkit.cli.convert import convert
from hdpkit.cli.demo import demo
from hdpkit.cli.export import export
from hdpkit.cli.fit import fit
from hdpkit.cli.folders import INTERRUPTED, memory_message
from hdpkit.cli.infer import infer
from hdpkit.cli.kind import command_of
from hdpkit.cli.labels import labels
from hdpkit.cli.lm import lm
from hdpkit.cli.match import match
from hdpkit.cli.options import ARGUMENTS
from hdpkit.cli.output import say
from hdpkit.cli.report import report
from hdpkit.cli.runs import resume, topics, verify
from hdpkit.cli.signatures import signatures
from hdpkit.errors import (
    ChainError,
    CorruptRunError,
    HdpkitError,
    InterruptedRunWarning,
    LockedRunError,
    StateError,
    StorageError,
    printable,
)
from hdpkit.kinds.catalog import kind_at, kind_named

_FAILURES = (ChainError, CorruptRunError, LockedRunError, StateError, StorageError)
"""Errors that aren't caused by the input."""


class _Mistake(click.ClickException):
    exit_code = 2


@contextlib.contextmanager
def _safe_messages() -> Iterator[None]:
    try:
        yield
    except click.ClickException as error:
        error.message = printable(error.message, keep="\n")  # type: ignore[misc]
        raise


class FriendlyGroup(click.Group):
    """A group whose subcommands report errors as one message, without a traceback.

    Exit code 2 means an error in the input, 1 a failed run or too little memory, and 130 an interruption by
    Ctrl-C.
    """

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the arguments; text that messages quote from them is made safe to print."""
        given = list(args[1] if len(args) > 1 else options["args"])
        with _safe_messages():
            context = super().make_context(*args, **options)
        context.meta.setdefault(ARGUMENTS, given)
        return context

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name; "module:Class" is that of a kind of model of one's own."""
        if ":" in cmd_name and ctx.parent is None:
            return command_of(kind_at(cmd_name))
        return super().get_command(ctx, cmd_name)

    def invoke(self, ctx: click.Context) -> Any:
        """Run the command; errors of the package become a message and an exit code."""
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):  # characters that a terminal can't show are escaped
                stream.reconfigure(errors="backslashreplace")
        try:
            with _safe_messages(), warnings.catch_warnings():
                warnings.showwarning = _show_warning
                warnings.simplefilter("ignore", InterruptedRunWarning)  # commands print this themselves
                return super().invoke(ctx)
        except _FAILURES as error:
            raise click.ClickException(str(error)) from error
        except HdpkitError as error:
            raise _Mistake(str(error)) from error
        except MemoryError as error:
            raise click.ClickException(printable(memory_message(error))) from error
        except OSError as error:
            # Errors of files are errors of the package, so this is standard output. (Click handles closed
            # pipes.)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise
            raise click.ClickException(f"standard output: {error.strerror}") from error
        except KeyboardInterrupt:
            say("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    say(f"Warning: {printable(str(message))}", err=True)


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(hdpkit.__version__, prog_name="hdpkit")
def main() -> None:
    """Topics by hierarchical Dirichlet processes, language models by hierarchical Pitman-Yor processes.

    \b
    Examples:
      hdpkit demo
      hdpkit fit reports/ --out run
      hdpkit topics run
      hdpkit labels run
      hdpkit infer run new-reports/ --out shares.csv
      hdpkit export run --to csv --out tables
      hdpkit resume run --sweeps 200
      hdpkit verify run
      hdpkit report run
      hdpkit match run other-run
      hdpkit check run
      hdpkit signatures cohort.SBS96.all --levels types.csv --out run
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit mixture points.csv --columns height,width --group site --out run
      hdpkit lm train text.txt --into model
      hdpkit lm score model other.txt

    Exit codes: 0 success, 1 a run or a check failed, 2 an error in the input, 130 Ctrl-C.
    """


mixture = command_of(kind_named("mixture"))


@main.group()
def hmm() -> None:
    """Hidden Markov models: states of sequences, with a number of states that is inferred.

    \b
    Examples:
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit hmm fit words.csv --column word --sequence line --emission words --out run
    """


hmm.add_command(command_of(kind_named("hmm"), "fit"))

for command in (
    demo,
    fit,
    topics,
    labels,
    report,
    infer,
    export,
    resume,
    verify,
    match,
    check,
    signatures,
    convert,
    lm,
    mixture,
):
    main.add_command(command)
