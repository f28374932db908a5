"""``hdpkit labels``: the file in which labels of a run's topics are edited."""

from __future__ import annotations

import os
from pathlib import Path

import attrs
import click

from hdpkit.cli.folders import allow_option
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.runs import open_corpus_run, run_argument
from hdpkit.errors import RunError
from hdpkit.kinds.catalog import kind_of_run
from hdpkit.kinds.listing import plural
from hdpkit.posterior.components import Components
from hdpkit.posterior.finding import components
from hdpkit.posterior.topic_labels import (
    LABELS,
    LabelRow,
    MatchedLabels,
    label_rows,
    match_labels,
    read_topic_labels,
    write_topic_labels,
)


@click.command()
@run_argument
@allow_option
def labels(run: Path, allow: tuple[str, ...]) -> None:
    """Write the file RUN/labels.csv, in which you give labels to topics and groups.

    Fill in its column "label" with a text editor or a spreadsheet. The commands topics, report and export,
    and TopicModel.load in Python, then show your labels. Rows of topics are below the rows of their groups.

    A label belongs to a topic, not to its number: the column "weights" has the topic's most probable terms
    (numbers of terms, and their probabilities), by which the label finds its topic after hdpkit resume. Where
    the file exists, it is written again with the current numbers and your labels. Labels without a topic that
    is similar enough (a cosine of 0.8) are printed, and kept at its end with the number 0.

    \b
    Examples:
      hdpkit labels run
      hdpkit labels run && hdpkit topics run
    """
    there = open_corpus_run(run, allow)
    model = kind_of_run(there)
    nouns, file = model.nouns, run / LABELS
    if not model.of_documents:
        raise RunError(
            f"run {run}", f"of {nouns.dishes}", "a run of topics",
            f"{nouns.topics.capitalize()} are known by their parameters: hdpkit topics RUN.",
        )  # fmt: skip
    before = read_topic_labels(file, there.data.n_terms) if os.path.lexists(file) else []
    topics = components(there)
    rows, matched = _rows(topics, before)
    write_topic_labels(file, rows)
    for kind, found in zip((nouns.topic, "group"), matched, strict=True):
        for row, number, cosine in found.moved:
            say(f"{row.name} is now {kind} {number} (cosine {cosine:.2f})")
        for row, cosine in found.lost:
            say(
                f"Warning: no {kind} is similar enough to that of {row.name}: largest cosine {cosine:.2f}",
                err=True,
            )
    n = sum(bool(row.label) for row in rows if row.topic != 0 and row.group != 0)
    say(f"{plural(n, 'label')} of {len(topics)} {nouns.dishes} of {topics.source}: {shown_path(file)}")


def _rows(topics: Components, before: list[LabelRow]) -> tuple[list[LabelRow], list[MatchedLabels]]:
    """The rows of the file, each group above its topics, and what became of the labels it had."""
    ids, weights = topics.heaviest()
    of_topics = match_labels([row for row in before if row.topic is not None], ids, weights, topics.n_terms)
    matched = [of_topics]
    grouped = topics.usual_groups
    groups = [0] * len(topics) if grouped is None else (grouped.of + 1).tolist()
    own = label_rows(ids, weights, topics.words, topics.shares, of_topics.labels, groups)
    of_groups: list[LabelRow] = []
    if grouped is None:
        own = [attrs.evolve(row, group=None) for row in own]
        lost = [row for row in before if row.topic is None and row.label]
        matched.append(MatchedLabels((), [], [(row, 0.0) for row in lost]))
    else:
        heaviest = grouped.heaviest()
        found = match_labels([row for row in before if row.topic is None], *heaviest, topics.n_terms)
        matched.append(found)
        of_groups = label_rows(*heaviest, topics.words, grouped.shares, found.labels, ())
    rows = sorted([*of_groups, *own], key=lambda row: (row.group or 0, row.topic or 0))
    for row, _ in of_topics.lost:
        rows.append(attrs.evolve(row, group=None, topic=0))
    for row, _ in matched[1].lost:
        rows.append(attrs.evolve(row, group=0))
    return rows, matched
