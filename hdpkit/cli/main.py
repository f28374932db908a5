"""The command ``hdpkit``, and code common to its subcommands."""

from __future__ import annotations

import contextlib
import errno
import sys
import warnings
from collections.abc import Iterator
from importlib import import_module
from typing import Any

import click

import hdpkit
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

COMMANDS = {
    "check": "Find out why chains of RUN disagree: the model doesn't fit the data, or the sampler is too "
    "slow.",
    "convert": "Write a corpus to a folder from which hdpkit fit maps it into memory instead of reading it.",
    "demo": "Find topics in the documentation of your installed NumPy.",
    "effects": "Print how the shares of the topics of a run depend on covariates, such as a date or a "
    "section.",
    "export": "Write the topics and document shares of a run, or its trace, for other programs.",
    "fit": "Find the topics of a corpus and save the run in a folder.",
    "hmm": "Hidden Markov models: states of sequences, with a number of states that is inferred.",
    "infer": "Find the shares of the topics of a run in new documents, or the components of new points.",
    "labels": "Write the file RUN/labels.csv, in which you give labels to topics and groups.",
    "lm": "Language models: train them on a text, score texts, draw sentences, export to other tools.",
    "match": "Match the topics of two runs: which are in both, which only RUN1 has, which are new in RUN2.",
    "mixture": "Find the components of points in a table and save the run in a folder.",
    "report": "Write a report of a run: topics, documents, groups, a map, traces, and how to reproduce it.",
    "resume": "Continue a run, or the training of a language model, from its newest checkpoint.",
    "signatures": "Find mutational signatures in a matrix of counts and save the run in a folder.",
    "topics": "Print the topics of a run at its newest checkpoint, signatures of a cohort, or components "
    "of numbers.",
    "verify": "Check a run or a language model: checksums of every file, the states, the trace, the samples.",
}  # fmt: skip
"""The first sentence of the help of each command. Only the one that runs is imported."""

FILES = {
    "convert": "corpus",
    "demo": "fit",
    "hmm": "kinds",
    "mixture": "kinds",
    "resume": "runs",
    "topics": "runs",
    "verify": "verification",
}
"""Where in this folder a command is, if not in a module of its name."""

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
    """A group whose commands report errors as one message, and by the exit codes in the help."""

    def make_context(self, *args: Any, **options: Any) -> click.Context:
        """Read the arguments; text that messages quote from them is made safe to print."""
        given = list(args[1] if len(args) > 1 else options["args"])
        with _safe_messages():
            context = super().make_context(*args, **options)
        from hdpkit.cli.options import ARGUMENTS  # not for the help, which is shown before

        context.meta.setdefault(ARGUMENTS, given)
        return context

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of this name, imported now; "module:Class" is that of a kind of model of one's own."""
        if ":" in cmd_name:
            from hdpkit.cli.kind import command_of
            from hdpkit.kinds.catalog import kind_at

            return command_of(kind_at(cmd_name))
        if cmd_name not in COMMANDS:
            return None
        module = import_module(f"hdpkit.cli.{FILES.get(cmd_name, cmd_name)}")
        command: click.Command = getattr(module, cmd_name)
        return command

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the list of commands, of which none is imported."""
        click.Group(commands=self.commands).format_commands(ctx, formatter)

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
            from hdpkit.cli.folders import memory_message

            raise click.ClickException(printable(memory_message(error))) from error
        except OSError as error:
            # Errors of files are errors of the package, so this is standard output. (Click handles closed
            # pipes.)
            if error.errno not in (errno.ENOSPC, errno.EDQUOT, errno.EIO):
                raise
            raise click.ClickException(f"standard output: {error.strerror}") from error
        except KeyboardInterrupt:
            from hdpkit.cli.folders import INTERRUPTED
            from hdpkit.cli.output import say

            say("Interrupted.", err=True)
            raise click.exceptions.Exit(INTERRUPTED) from None


def _show_warning(message: Warning | str, category: type[Warning], *where: Any, **more: Any) -> None:
    from hdpkit.cli.output import say

    say(f"Warning: {printable(str(message))}", err=True)


@click.group(
    cls=FriendlyGroup,
    commands={name: click.Command(name, help=told) for name, told in COMMANDS.items()},
    context_settings={"help_option_names": ["-h", "--help"]},
)
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
      hdpkit effects run --formula "date + section"
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
