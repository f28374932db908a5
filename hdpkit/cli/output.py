"""All output of the command line: text that is safe for a terminal; topics, signatures and facts of a run.

Progress bars and tables are drawn by rich; texts that go into them pass `printable` first.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any, TextIO

import attrs
import click
import numpy as np
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hdpkit.data.files.delimited import table_of_rows
from hdpkit.data.files.tables import rows_of
from hdpkit.data.files.topics import TopicSummary, summarise_topics
from hdpkit.errors import printable
from hdpkit.franchise.sample import parameter_key
from hdpkit.kinds.kind import Nouns
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.extraction import Signatures
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.posterior.run_topics import GroupedTopics, RunTopics
from hdpkit.posterior.verdicts import Diagnosis
from hdpkit.run.runs import Run
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


PRESENT = 0.05
"""A topic counts as present in a document if it has at least this share of the document's tokens."""
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


def state_topics(state: ChainState, n_terms: int) -> list[TopicSummary]:
    """Topics of a state over a corpus, the largest first; a DataError if its data aren't a corpus."""
    corpus, franchise = state.check_corpus(), state.franchise
    counts = state.sample.counts
    return summarise_topics(
        franchise.dish_counts if counts is None else counts,
        (),
        (),
        corpus.vocabulary,
        n_documents=corpus.n_documents,
        n_terms=n_terms,
        at_least=PRESENT,
        selected_terms=(franchise.selected_terms() if franchise.measure.supports("selected_terms") else None),
        document_counts=(block.counts for block in state.documents()),
        topic_counts=state.sample.topic_counts,
    )


def run_summaries(topics: RunTopics, run: Run, n_terms: int) -> list[TopicSummary]:
    """Topics of several chains, in the same form as those of one chain."""
    corpus = run.data
    present, filled = np.zeros(topics.n_topics), 0
    for block in topics.documents():
        there = block.lengths > 0
        present += (block.shares[there, :-1] >= PRESENT).sum(axis=0)
        filled += int(there.sum())
    return [
        TopicSummary(
            k,
            tuple(map(str, topics.words(terms))),
            round(float(topics.shares[k]) * corpus.n_tokens),
            float(topics.shares[k]),
            float(present[k] / max(filled, 1)),
            occurrence=None if topics.occurrence is None else float(topics.occurrence[k]),
        )
        for k, terms, _ in topics.top_by_topic(n_terms)
    ]


def plain_table() -> Table:
    """A table as all commands print it, without columns."""
    return Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)


def table_console() -> Console:
    """Where tables are printed: standard output, with a fixed width if it is no terminal."""
    return Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)


@attrs.frozen
class GroupSummary:
    """A group of similar topics; groups and topics are numbered from 1."""

    group: int
    terms: tuple[str, ...]
    token_share: float
    topics: tuple[int, ...]
    label: str = ""


def _group_summaries(grouped: GroupedTopics, n_terms: int) -> list[GroupSummary]:
    """The groups of topics of a run, the largest first."""
    words, shares, labels = grouped.topics.words, grouped.shares.tolist(), grouped.labels
    members = grouped.members
    return [
        GroupSummary(
            g + 1,
            tuple(map(str, words(terms))),
            shares[g],
            tuple(members[g]),
            labels[g],
        )
        for g, terms in enumerate(grouped.top_terms(n_terms))
    ]


def in_groups(
    topics: RunTopics, found: list[TopicSummary], n_terms: int
) -> tuple[list[TopicSummary], list[GroupSummary]]:
    """The summaries of topics with the numbers of their groups, and the groups; none for few topics."""
    grouped = topics.in_groups()
    if grouped is None:
        return found, []
    found = [attrs.evolve(one, group=g + 1) for one, g in zip(found, grouped.group.tolist(), strict=True)]
    return found, _group_summaries(grouped, min(n_terms, _IN_A_GROUP))


def groups_table(groups: Sequence[GroupSummary], nouns: Nouns) -> Table:
    """A table with a row for each group, which names its largest topics."""
    table = plain_table()
    table.add_column("group", justify="right", style="dim")
    table.add_column(f"top {nouns.terms}", overflow="fold")
    table.add_column(f"share of\n{nouns.tokens}", justify="right", no_wrap=True)
    table.add_column(f"its {nouns.topics}", overflow="fold")
    for group in groups:
        rest = len(group.topics) - _NAMED
        more = f" and {rest} more" if rest > 0 else ""
        table.add_row(
            str(group.group),
            _labelled(group.label, group.terms),
            f"{group.token_share:.2%}",
            ", ".join(map(str, group.topics[:_NAMED])) + more,
        )
    return table


def _labelled(label: str | None, terms: Sequence[str]) -> Text:
    """The label, if there is one, and the terms."""
    # As text, so that a term like "[bold]" isn't markup, and escape sequences don't reach the terminal.
    words = " ".join(printable(term) for term in terms)
    return Text.assemble((f"{printable(label)}: ", "bold"), words) if label else Text(words)


def topics_table(topics: Sequence[TopicSummary], nouns: Nouns, *, at_least: float = PRESENT) -> Table:
    """A table with a row for each topic; if topics select terms, with their number and the sparsity."""
    table = plain_table()
    table.add_column("", justify="right", style="dim")
    table.add_column(f"top {nouns.terms}", overflow="fold")
    table.add_column(f"share of\n{nouns.tokens}", justify="right", no_wrap=True)
    table.add_column(f"{nouns.documents}\n≥ {at_least:.0%} of it", justify="right", no_wrap=True)
    sparse = any(topic.sparsity is not None for topic in topics)
    if sparse:
        table.add_column(nouns.terms, justify="right", no_wrap=True)
        table.add_column("sparsity", justify="right", no_wrap=True)
    grouped = any(topic.group is not None for topic in topics)
    if grouped:
        table.add_column("group", justify="right", no_wrap=True)
    aligned = any(topic.occurrence is not None for topic in topics)
    if aligned:
        table.add_column(
            "in states" if nouns.document == "sample" else "in samples", justify="right", no_wrap=True
        )
    for rank, topic in enumerate(topics, start=1):
        words = _labelled(topic.label, topic.terms)
        selection = [f"{topic.distinct_terms:,}", f"{max(topic.sparsity or 0.0, 0.0):.2%}"] if sparse else []
        selection += [str(topic.group)] if grouped else []
        selection += [f"{topic.occurrence:.0%}"] if aligned else []
        table.add_row(str(rank), words, f"{topic.token_share:.2%}", f"{topic.document_share:.2%}", *selection)
    return table


def listed(topics: Sequence[TopicSummary], most: int | None = None) -> Sequence[TopicSummary]:
    """The topics of a table: the first ones, and without a number those that are worth a row."""
    worth = sum(topic.token_share >= WORTH_A_ROW for topic in topics)
    return topics[: min(SHOWN, max(worth, 1)) if most is None else most]


def echo_table(
    topics: Sequence[TopicSummary],
    shown: Sequence[TopicSummary],
    nouns: Nouns,
    groups: Sequence[GroupSummary] = (),
) -> None:
    """Print the groups if there are many topics, the topics that are shown, and a line about the others."""
    console = table_console()
    if groups and len(topics) > MANY:
        console.print(groups_table(groups, nouns))
        say("")
    console.print(topics_table(shown, nouns))
    rest = topics[len(shown) :]
    if rest:
        share = sum(topic.token_share for topic in rest)
        say(f"and {len(rest)} smaller {nouns.dishes}, {share:.1%} of the {nouns.tokens} together\n")


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
    """Number of topics, hyperparameters, score, sweep and seed, by name."""
    franchise = state.franchise
    values: dict[str, Any] = {"n_topics": franchise.n_dishes}
    for shared in franchise.hyperparameters.sharers:
        theta = franchise.concentration(shared.name)
        values[f"concentration/{shared.name}"] = theta if isinstance(theta, float) else theta.tolist()
    for name, value in franchise.measure.parameters.items():
        values[parameter_key(name)] = value.tolist() if hasattr(value, "tolist") else value
    return values | {"log_likelihood": franchise.log_likelihood(), "sweep": franchise.sweep, "seed": seed}


def _selection(topic: TopicSummary) -> dict[str, Any]:
    """Further columns of a topic: its label, its group, and whether it selects terms or is aligned."""
    found: dict[str, Any] = {} if topic.label is None else {"label": topic.label}
    found |= {} if topic.group is None else {"group": topic.group}
    if topic.occurrence is not None:
        return found | {"occurrence": topic.occurrence}
    if topic.sparsity is None:
        return found
    return found | {"distinct_terms": topic.distinct_terms, "sparsity": topic.sparsity}


def topics_csv(topics: Sequence[TopicSummary]) -> str:
    """A line per topic: its number, tokens, both shares, and its terms separated by blanks.

    Before the terms: its group and, if topics select terms, the number of distinct terms and the sparsity.

    Texts are escaped (`hdpkit.data.files.delimited.escaped`).
    """
    of_selection = list(_selection(topics[0])) if topics else []
    rows: list[list[Any]] = [["topic", "tokens", "token_share", "document_share", *of_selection, "terms"]]
    for rank, topic in enumerate(topics, start=1):
        shares = [topic.tokens, topic.token_share, topic.document_share]
        rows.append([rank, *shares, *_selection(topic).values(), " ".join(topic.terms)])
    return table_of_rows(rows)


def topics_json(
    topics: Sequence[TopicSummary], facts: dict[str, Any], groups: Sequence[GroupSummary] = ()
) -> str:
    """The facts, and under ``groups`` and ``topics`` lists of objects with the columns of the tables."""
    listed = [
        {
            "topic": rank,
            "tokens": topic.tokens,
            "token_share": topic.token_share,
            "document_share": topic.document_share,
            **_selection(topic),
            "terms": list(topic.terms),
        }
        for rank, topic in enumerate(topics, start=1)
    ]
    grouped = {"groups": [attrs.asdict(group) for group in groups]} if groups else {}
    return json_text({**facts, **grouped, "topics": listed}, indent=1) + "\n"


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
        top = (-found.matrix[k]).argsort(kind="stable")[:4]
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
