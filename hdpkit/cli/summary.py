"""Display of a run: its topics as a table, CSV or JSON, and its facts in a line."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table
from rich.text import Text

from hdpkit.cli.output import json_text, say
from hdpkit.data import Corpus
from hdpkit.errors import DataError, printable
from hdpkit.formats.delimited import table_of_rows
from hdpkit.franchise import Franchise
from hdpkit.io.run_topics import RunTopics
from hdpkit.io.topics import TopicSummary, summarise_topics
from hdpkit.schedule import Run
from hdpkit.signatures import Signatures
from hdpkit.signatures.nouns import TOPICS, Nouns
from hdpkit.signatures.settings import Settings

__all__ = [
    "PRESENT",
    "SHOWN",
    "WORTH_A_ROW",
    "echo_signatures",
    "echo_table",
    "franchise_facts",
    "franchise_topics",
    "plural",
    "run_summaries",
    "topics_csv",
    "topics_json",
    "topics_table",
]

PRESENT = 0.05
"""A topic counts as present in a document if it has at least this share of the document's tokens."""
WORTH_A_ROW = 0.001
"""Topics below this share of the tokens are only counted, unless all are requested."""
SHOWN = 30
"""Number of topics listed by default."""
WIDTH_OF_A_FILE = 132
"""Width of the table in columns if there is no terminal."""


def franchise_topics(franchise: Franchise, n_terms: int) -> list[TopicSummary]:
    """Topics of a franchise over a corpus, the largest first.

    Raises a DataError if its data aren't a corpus.
    """
    corpus = franchise.data
    if not isinstance(corpus, Corpus):
        raise DataError(
            "data", type(corpus).__name__, "a Corpus, whose dishes are topics",
            "See hk.open_run(folder).franchise().dish_parameters().",
        )  # fmt: skip
    sample = franchise.sample()  # consists of counts, so its size doesn't depend on the number of tokens
    by_document = sample.label == "document" and sample.n_groups == corpus.n_documents
    return summarise_topics(
        franchise.dish_counts if sample.counts is None else sample.counts,
        () if by_document else franchise.dishes,
        () if by_document else corpus.document,
        corpus.vocabulary,
        n_documents=corpus.n_documents,
        n_terms=n_terms,
        at_least=PRESENT,
        selected_terms=(franchise.selected_terms() if franchise.measure.supports("selected_terms") else None),
        document_counts=sample.group_counts if by_document else None,
    )


def run_summaries(topics: RunTopics, run: Run, n_terms: int) -> list[TopicSummary]:
    """Topics of several chains, in the same form as those of one chain.

    Parameters
    ----------
    topics : RunTopics
    run : Run
        A run over a corpus.
    n_terms : int
        Number of top terms per topic.
    """
    corpus = run.data
    assert isinstance(corpus, Corpus)
    filled = corpus.document_lengths > 0
    present = (topics.groups[filled, :-1] >= PRESENT).mean(axis=0)
    return [
        TopicSummary(
            k,
            tuple(str(corpus.term(int(v))) for v in topics.top_terms(k, n_terms)),
            round(float(topics.shares[k]) * corpus.n_tokens),
            float(topics.shares[k]),
            float(present[k]),
            occurrence=None if topics.occurrence is None else float(topics.occurrence[k]),
        )
        for k in range(topics.n_topics)
    ]


def topics_table(
    topics: Sequence[TopicSummary], nouns: Nouns = TOPICS, *, at_least: float = PRESENT
) -> Table:
    """A table with a row for each topic; if topics select terms, with their number and the sparsity.

    Parameters
    ----------
    topics : sequence of TopicSummary
        Topics in the order of the rows.
    nouns : Nouns
        What topics, tokens, documents and terms are called.
    at_least : float
        The smallest share of a document's tokens with which a topic counted as present, for the header.
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
    table.add_column("", justify="right", style="dim")
    table.add_column(f"top {nouns.terms}", overflow="fold")
    table.add_column(f"share of\n{nouns.tokens}", justify="right", no_wrap=True)
    table.add_column(f"{nouns.documents}\n≥ {at_least:.0%} of it", justify="right", no_wrap=True)
    sparse = any(topic.sparsity is not None for topic in topics)
    if sparse:
        table.add_column(nouns.terms, justify="right", no_wrap=True)
        table.add_column("sparsity", justify="right", no_wrap=True)
    aligned = any(topic.occurrence is not None for topic in topics)
    if aligned:
        table.add_column(
            "in states" if nouns.document == "sample" else "in samples", justify="right", no_wrap=True
        )
    for rank, topic in enumerate(topics, start=1):
        # As text, so that a term like "[bold]" isn't markup, and escape sequences don't reach the terminal.
        words = Text(" ".join(printable(term) for term in topic.terms))
        selection = [f"{topic.distinct_terms:,}", f"{topic.sparsity:.2%}"] if sparse else []
        selection += [f"{topic.occurrence:.0%}"] if aligned else []
        table.add_row(str(rank), words, f"{topic.token_share:.2%}", f"{topic.document_share:.2%}", *selection)
    return table


def echo_table(topics: Sequence[TopicSummary], shown: Sequence[TopicSummary], nouns: Nouns = TOPICS) -> None:
    """Print the table of the topics that are shown, and a line about the others."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)
    console.print(topics_table(shown, nouns))
    rest = topics[len(shown) :]
    if rest:
        share = sum(topic.token_share for topic in rest)
        say(f"and {len(rest)} smaller {nouns.topics}, {share:.1%} of the {nouns.tokens} together\n")


def franchise_facts(franchise: Franchise, seed: int | None) -> dict[str, Any]:
    """Number of topics, hyperparameters, score, sweep and seed, by name."""
    values: dict[str, Any] = {"n_topics": franchise.n_dishes}
    for declaration in franchise.declarations:
        theta = franchise.concentration(declaration.name)
        values[f"concentration/{declaration.name}"] = theta if isinstance(theta, float) else theta.tolist()
    for name, value in franchise.measure.parameters.items():
        values[f"base/{name}"] = value.tolist() if hasattr(value, "tolist") else value
    return values | {"log_likelihood": franchise.log_likelihood(), "sweep": franchise.sweep, "seed": seed}


def _selection(topic: TopicSummary) -> dict[str, Any]:
    """Additional columns of a topic that selects terms, or that is aligned over samples."""
    if topic.occurrence is not None:
        return {"occurrence": topic.occurrence}
    if topic.sparsity is None:
        return {}
    return {"distinct_terms": topic.distinct_terms, "sparsity": topic.sparsity}


def topics_csv(topics: Sequence[TopicSummary]) -> str:
    """A line per topic: rank, tokens, both shares, and its terms separated by blanks.

    If topics select terms, the number of distinct terms and the sparsity come before the terms.

    Texts are escaped (`hdpkit.formats.delimited.escaped`).
    """
    of_selection = list(_selection(topics[0])) if topics else []
    rows: list[list[Any]] = [["topic", "tokens", "token_share", "document_share", *of_selection, "terms"]]
    for rank, topic in enumerate(topics, start=1):
        shares = [topic.tokens, topic.token_share, topic.document_share]
        rows.append([rank, *shares, *_selection(topic).values(), " ".join(topic.terms)])
    return table_of_rows(rows)


def topics_json(topics: Sequence[TopicSummary], facts: dict[str, Any]) -> str:
    """The facts, and under ``topics`` a list of objects with the columns of the table."""
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
    return json_text({**facts, "topics": listed}, indent=1) + "\n"


def plural(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _shortened(decomposition: str, most: int = 3) -> str:
    parts = decomposition.split(" + ")
    return " + ".join(parts[:most]) + (" + ..." if len(parts) > most else "")


def echo_signatures(found: Signatures, settings: Settings) -> None:
    """Print signatures as a table, and a line about component "0".

    Parameters
    ----------
    found : Signatures
    settings : Settings
    """
    table = Table(box=SIMPLE_HEAD, pad_edge=False, show_edge=False)
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
    console = Console() if sys.stdout.isatty() else Console(width=WIDTH_OF_A_FILE)
    console.print(table)
    median = float(sorted(found.cosine.tolist())[len(found.cosine) // 2])
    held = found.components
    chains = plural(len(held.chain_numbers), "chain")
    say(
        f"{len(found)} signatures of {len(held.samples)} states of {chains} ({held.sweeps}); "
        f"{held.rest:.1%} of the mutations are in none (component 0); cosine of reconstructed spectra: "
        f"median {median:.3f}"
    )
    if found.totals is not None:
        n = int((found.totals > found.corpus.document_lengths).sum())
        say(f"exposures are of all mutations of a sample; of {plural(n, 'sample')} some were not drawn")
