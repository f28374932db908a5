"""All output of the command line: text that is safe for a terminal; topics, signatures and facts of a run.

Progress bars and tables are drawn by rich; texts that go into them pass `printable` first.
"""

from __future__ import annotations

import itertools
import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hdpkit.data.files.delimited import table_of_rows
from hdpkit.data.files.tables import rows_of
from hdpkit.data.top_terms import largest
from hdpkit.errors import printable
from hdpkit.franchise.sample import parameter_key
from hdpkit.kinds.kind import Nouns
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.extraction import Signatures
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import PRESENT, document_shares
from hdpkit.posterior.grouping import ComponentGroups
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.states import ChainState

_LIGHTS = {"green": "bold green", "amber": "bold yellow", "red": "bold red", "grey": "bold"}


def say(text: str, *, err: bool = False, nl: bool = True, file: TextIO | None = None) -> None:
    """Print a text. Line ends and tabs are kept; other control characters are escaped."""
    click.echo(printable(text, keep="\n\t"), file=file, err=err, nl=nl)


def shown_path(path: Path | str) -> str:
    """A path for use within a line."""
    return printable(str(path))


def json_text(value: Any, *, indent: int | None = None, default: Any = None) -> str:
    """A value as JSON with escaped control characters."""
    # Such characters occur only in strings here, in which JSON allows \uXXXX for any character.
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent, default=default)
    if text.isprintable():
        return text
    return "".join(
        json.dumps(letter)[1:-1] if letter != "\n" and printable(letter) != letter else letter
        for letter in text
    )


WORTH_A_ROW = 0.001
"""Topics below this share of the tokens are only counted, unless all are requested."""
SHOWN = 30
"""Number of topics listed by default."""
MANY = 20
"""With more topics than this, tables begin with the groups of similar ones."""
_NAMED = 6  # topics that the row of a group names
_IN_A_GROUP = 7  # its terms, at most
NEAR = 4
"""Numbers of signatures printed on each side of the chosen one."""
WIDTH_OF_A_FILE = 132
"""Width of the table in columns if there is no terminal."""


def plain_table() -> Table:
    """A table as all commands print it, without columns."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def table_console() -> Console:
    """Where tables are printed: standard output, with a fixed width if it is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)


def groups_table(groups: ComponentGroups, nouns: Nouns) -> Table:
    """A table with a row for each group, which names its largest topics."""
    table = plain_table()
    table.add_column("group", justify="right", style="dim")
    table.add_column(f"top {nouns.terms}", overflow="fold")
    table.add_column(f"share of\n{nouns.tokens}", justify="right", no_wrap=True)
    table.add_column(f"its {nouns.topics}", overflow="fold")
    words = groups.components.words
    rows = zip(groups.labels, groups.top_terms(_IN_A_GROUP), groups.shares, groups.members, strict=True)
    for g, (label, terms, share, members) in enumerate(rows, start=1):
        rest = len(members) - _NAMED
        more = f" and {rest} more" if rest > 0 else ""
        named = ", ".join(map(str, members[:_NAMED])) + more
        table.add_row(str(g), _labelled(label, words(terms)), f"{share:.2%}", named)
    return table


def _labelled(label: str, terms: Sequence[Any]) -> Text:
    """The label, if there is one, and the terms."""
    # As text, so that a term like "[bold]" isn't markup, and escape sequences don't reach the terminal.
    words = " ".join(printable(str(term)) for term in terms)
    return Text.assemble((f"{printable(label)}: ", "bold"), words) if label else Text(words)


def topics_table(found: Components, n: int, n_terms: int, nouns: Nouns) -> Table:
    """A table with a row for each of the first n topics, also with what their selection of terms is."""
    table = plain_table()
    table.add_column("", justify="right", style="dim")
    table.add_column(f"top {nouns.terms}", overflow="fold")
    table.add_column(f"share of\n{nouns.tokens}", justify="right", no_wrap=True)
    table.add_column(f"{nouns.documents}\n≥ {PRESENT:.0%} of it", justify="right", no_wrap=True)
    sparse, grouped = found.selected_terms, found.usual_groups if len(found) > MANY else None
    if sparse is not None:
        table.add_column(nouns.terms, justify="right", no_wrap=True)
        table.add_column("sparsity", justify="right", no_wrap=True)
    if grouped is not None:
        table.add_column("group", justify="right", no_wrap=True)
    several, in_documents = len(found.samples) > 1, document_shares(found)
    if several:
        title = "in states" if nouns.document == "sample" else "in samples"
        table.add_column(title, justify="right", no_wrap=True)
    for k, terms, _ in itertools.islice(found.top_terms(n_terms), n):
        more = [] if sparse is None else [f"{sparse[0][k]:,}", f"{sparse[1][k]:.2%}"]
        more += [] if grouped is None else [str(grouped.of[k] + 1)]
        more += [f"{found.occurrence[k]:.0%}"] if several else []
        words = _labelled(found.labels[k], found.words(terms))
        table.add_row(str(k + 1), words, f"{found.shares[k]:.2%}", f"{in_documents[k]:.2%}", *more)
    return table


def listed(found: Components, most: int | None = None) -> int:
    """How many topics a table has: without a number those that are worth a row."""
    if most is not None:
        return min(most, len(found))
    worth = int((found.shares >= WORTH_A_ROW).sum())
    return min(SHOWN, max(worth, 1), len(found))


def echo_topics(found: Components, n: int, n_terms: int, nouns: Nouns) -> None:
    """Print the groups if there are many topics, the first n topics, and lines about the others."""
    console = table_console()
    if found.usual_groups is not None and len(found) > MANY:
        console.print(groups_table(found.usual_groups, nouns))
        say("")
    console.print(topics_table(found, n, n_terms, nouns))
    if n < len(found):
        share = found.shares[n:].sum()
        say(f"and {len(found) - n} smaller {nouns.dishes}, {share:.1%} of the {nouns.tokens} together\n")
    rest = f"{found.rest:.1%} of the {nouns.tokens} are in none of them"
    say(f"K = {len(found)} {nouns.dishes} of {found.source}; {rest}")


def echo_verdicts(found: Diagnosis | None) -> None:
    """Print both verdicts, each with its light, and what helps."""
    if found is None:
        return
    console = Console(soft_wrap=True)
    for question, verdict in found.verdicts:
        light = Text(f"[{verdict.light}]", style=_LIGHTS[verdict.light])
        console.print(Text.assemble(light, " ", printable(f"{question} {verdict.sentence}")))
    if found.advice:
        say(f"What helps: {found.advice}")


def state_facts(state: ChainState, seed: int | None) -> dict[str, Any]:
    """Hyperparameters, score, sweep and seed, by name."""
    franchise = state.franchise
    values: dict[str, Any] = {}
    for shared in franchise.hyperparameters.sharers:
        theta = franchise.concentration(shared.name)
        values[f"concentration/{shared.name}"] = theta if isinstance(theta, float) else theta.tolist()
    for name, value in franchise.measure.parameters.items():
        values[parameter_key(name)] = value.tolist() if hasattr(value, "tolist") else value
    return values | {"log_likelihood": franchise.log_likelihood(), "sweep": franchise.sweep, "seed": seed}


def table_json(found: Components, facts: dict[str, Any], n_terms: int, most: int | None) -> str:
    """The facts, and under ``groups`` and ``topics`` or ``components`` lists of rows as objects."""
    of_topics = found.samples[0].counts is not None and found.samples[0].dishes is None
    noun = "topic" if of_topics else "component"
    rows = rows_of({name: np.asarray(own).tolist() for name, own in found.table(n_terms).items()})[:most]
    told = {"of": found.source, f"n_{noun}s": len(found), f"share_of_no_{noun}": found.rest, **facts}
    if of_topics:
        for row, (_, terms, _) in zip(rows, found.top_terms(n_terms), strict=False):
            row["terms"] = list(map(str, found.words(terms)))
        if found.usual_groups is not None:
            groups = found.usual_groups
            table = {name: np.asarray(own).tolist() for name, own in groups.table(_IN_A_GROUP).items()}
            told["groups"] = rows_of(table | {"topics": groups.members})
    return json_text({**told, f"{noun}s": rows}, indent=1) + "\n"


def table_csv(found: Components, n_terms: int, most: int | None) -> str:
    """A line per component with the columns of `Components.table`; texts are escaped."""
    table = found.table(n_terms)
    return table_of_rows([list(table), *list(zip(*table.values(), strict=True))[:most]])


def plural(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _shortened(decomposition: str, most: int = 3) -> str:
    parts = decomposition.split(" + ")
    return " + ".join(parts[:most]) + (" + ..." if len(parts) > most else "")


def echo_ranks(choice: RankChoice) -> None:
    """Print the scores of numbers of signatures near the chosen one, and why it was chosen, to stderr."""
    table = plain_table()
    for title in ("signatures", "held-out score", "standard error", "stability"):
        table.add_column(title, justify="right", no_wrap=True)
    best = float(choice.ranks[choice.scores.argmax()])
    rows = zip(choice.ranks, choice.scores, choice.errors, choice.stability, strict=True)
    for rank, score, error, stable in rows:
        if choice.rank - NEAR <= rank <= max(choice.rank, best) + NEAR:
            told = "" if math.isnan(stable) else f"{stable:.2f}"
            mark = " *" if rank == choice.rank else "  "
            table.add_row(f"{rank}{mark}", f"{score:,.0f}", "" if rank == best else f"{error:,.0f}", told)
    Console(stderr=True).print(table)
    say(f"the start has {choice}", err=True)


def echo_signatures(found: Signatures, settings: Cohort) -> None:
    """Print signatures as a table, and a line about component "0"."""
    table = plain_table()
    table.add_column("")
    table.add_column("largest channels", overflow="fold")
    for title in ("share of\nmutations", "samples\nwith it", "in samples\nof chains", "chains"):
        table.add_column(title, justify="right", no_wrap=True)
    if settings.known is not None:
        table.add_column("most like", no_wrap=True)
        table.add_column("cosine", justify="right", no_wrap=True)
        table.add_column("as a sum", overflow="fold")
    rows = found.overview(settings.known)
    for k, name in enumerate(found.names):
        top = largest(found.matrix[k], 4)
        words = [printable(found.vocabulary[v]) for v in top]
        numbers = [f"{rows['share'][k]:.2%}", f"{int(rows['samples'][k]):,}", f"{rows['occurrence'][k]:.0%}"]
        cells: list[Any] = [
            Text(printable(name)),
            Text(" ".join(words)),
            *numbers,
            str(int(rows["chains"][k])),
        ]
        if settings.known is not None:
            sums = _shortened(rows["decomposition"][k])
            cells += [
                Text(printable(rows["best_match"][k])),
                f"{rows['cosine'][k]:.3f}",
                Text(printable(sums)),
            ]
        table.add_row(*cells)
    console = table_console()
    console.print(table)
    median = float(sorted(found.cosine.tolist())[len(found.cosine) // 2])
    held = found.components
    chains = plural(len(held.chain_numbers), "chain")
    say(
        f"{len(found)} signatures of {len(held.samples)} states of {chains} ({held.sweeps}); "
        f"{held.rest:.1%} of the mutations are in none (component 0); cosine of reconstructed spectra: "
        f"median {median:.3f}"
    )
    for name, remark in zip(found.names, found.remarks, strict=True):
        if remark:
            say(f"look at {printable(name)} again: {printable(remark)}")
    if found.totals is not None:
        n = int((found.totals > found.corpus.document_lengths).sum())
        say(f"exposures are of all mutations of a sample; of {plural(n, 'sample')} some were not drawn")


def signatures_csv(found: Signatures, settings: Cohort, n: int | None = None) -> str:
    """A line per signature with the columns of `Signatures.overview`."""
    table = found.overview(settings.known)
    return table_of_rows([list(table), *list(zip(*table.values(), strict=True))[:n]])


def signatures_json(found: Signatures, settings: Cohort, n: int | None = None) -> str:
    """The number of signatures, the share of the mutations in none, and under ``signatures`` the table."""
    table = {name: np.asarray(values).tolist() for name, values in found.overview(settings.known).items()}
    facts = {"n_signatures": len(found), "share_of_no_signature": found.components.rest}
    return json_text({**facts, "signatures": rows_of(table)[:n]}, indent=1) + "\n"
