"""Commands of kinds that need nothing of their own: ``hdpkit mixture`` and ``hdpkit hmm``."""

import click

from hdpkit.cli.kind import command_of
from hdpkit.kinds.catalog import kind_named

mixture = command_of(kind_named("mixture"))


@click.group()
def hmm() -> None:
    """Hidden Markov models: states of sequences, with a number of states that is inferred.

    \b
    Examples:
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit hmm fit words.csv --column word --sequence line --emission words --out run
    """


hmm.add_command(command_of(kind_named("hmm"), "fit"))
