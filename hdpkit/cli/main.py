"""The command ``hdpkit`` and what its subcommands share."""

from __future__ import annotations

from typing import Any

import click

import hdpkit
from hdpkit.cli.demo import demo
from hdpkit.errors import HdpkitError

__all__ = ["FriendlyGroup", "main"]


class _Mistake(click.ClickException):
    exit_code = 2


class FriendlyGroup(click.Group):
    """A group whose subcommands end with one message, not with a traceback, when the input is at fault."""

    def invoke(self, ctx: click.Context) -> Any:
        """Run; an error of the package becomes a message and exit code 2."""
        try:
            return super().invoke(ctx)
        except HdpkitError as error:
            raise _Mistake(str(error)) from error


@click.group(cls=FriendlyGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(hdpkit.__version__, prog_name="hdpkit")
def main() -> None:
    """Inference with hierarchical Dirichlet and Pitman-Yor processes."""


main.add_command(demo)
