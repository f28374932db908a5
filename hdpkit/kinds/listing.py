"""The words of the field of a kind, and what a terminal shows of the components of a run."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import PRESENT, document_shares


def plural(number: int, what: str) -> str:
    """A number with its noun."""
    return f"{number} {what}" if number == 1 else f"{number} {what}s"


def _plural_of(name: str) -> Any:
    return attrs.field(init=False, default=attrs.Factory(lambda nouns: f"{getattr(nouns, name)}s", True))


@attrs.frozen
class Nouns:
    """The nouns of a field. Each also has its plural: ``nouns.topics``."""

    title: str  # what a page about the run is titled
    topic: str  # what states and chains have in common
    dish: str  # a dish of one state
    token: str
    document: str
    term: str

    topics: str = _plural_of("topic")
    dishes: str = _plural_of("dish")
    tokens: str = _plural_of("token")
    documents: str = _plural_of("document")
    terms: str = _plural_of("term")

    def put_into(self, text: str) -> str:
        """A text in which ``{topics}`` is this noun, and so on."""
        return re.sub(r"\{(\w+)\}", lambda found: getattr(self, found[1]), text)

    def level(self, name: str) -> str:
        """The name of a level as it is shown: that of documents in the words of the field."""
        return self.document if name == "document" else name


WORTH_A_ROW = 0.001
"""Topics below this share of the tokens are only counted, unless all are requested."""
SHOWN = 30
"""Number of components listed by default."""
MANY = 20
"""With more topics than this, tables begin with the groups of similar ones."""
TERMS_OF_A_GROUP = 7  # at most
BACKGROUND = 0.5
"""A topic that a larger share of the documents has is background."""
_NAMED = 6  # topics that the row of a group names
UNSETTLED = "*"
"""Mark of a share on which the chains don't agree (`Components.settled`)."""
_PARAMETERS = 4
"""Parameters in the table, at most; CSV and JSON have all."""


@attrs.frozen
class Column:
    """A column: its title, a text for each row, and how it is set."""

    title: str
    cells: Sequence[str]
    words: bool = False  # to the left, and broken into lines; numbers are at the right
    folds: bool = False  # numbers that may be broken into lines
    faint: bool = False
    labels: Sequence[str] = ()  # that people gave, before the texts


@attrs.frozen
class Listing:
    """Tables, each a list of columns, and lines below them."""

    tables: Sequence[Sequence[Column]]
    lines: Sequence[str]


def _texts(found: Components, rows: Iterable[Any]) -> list[str]:
    return [" ".join(map(str, found.words(terms))) for terms in rows]


def shares_told(found: Components, n: int, digits: int) -> list[str]:
    """The first n shares; those on which chains differ have a mark."""
    marked = zip(found.shares[:n], found.unsettled[:n], strict=True)
    return [f"{share:.{digits}%}{UNSETTLED if one else ''}" for share, one in marked]


def unsettled_told(found: Components) -> list[str]:
    """What the mark means, if a share has it."""
    told = f"{UNSETTLED} the chains differ in this share: don't quote it, nor its interval"
    return [told] if found.unsettled.any() else []


def _groups(found: Components, nouns: Nouns) -> list[Column]:
    """A row for each group of similar topics, which names its largest topics."""
    groups = found.usual_groups
    assert groups is not None
    named = []
    for members in groups.members:
        rest = len(members) - _NAMED
        more = f" and {rest} more" if rest > 0 else ""
        named.append(", ".join(map(str, members[:_NAMED])) + more)
    terms = _texts(found, groups.top_terms(TERMS_OF_A_GROUP))
    return [
        Column("group", [str(g) for g in range(1, len(groups) + 1)], faint=True),
        Column(f"top {nouns.terms}", terms, words=True, labels=groups.labels),
        Column(f"share of\n{nouns.tokens}", [f"{share:.2%}" for share in groups.shares]),
        Column(f"its {nouns.topics}", named, words=True),
    ]


def listed(found: Components, most: int | None = None) -> int:
    """How many topics a table has: without a number those that are worth a row."""
    if most is not None:
        return min(most, len(found))
    worth = int((found.shares >= WORTH_A_ROW).sum())
    return min(SHOWN, max(worth, 1), len(found))


def background_told(found: Components, present: Floats, nouns: Nouns) -> str:
    """Which topics most documents have; "" if none has them, or all of them are such."""
    most = np.flatnonzero(present > BACKGROUND)
    if not 0 < len(most) < len(found):
        return ""
    names = ", ".join(str(k + 1) for k in most)
    which = f"{nouns.topic} {names} is" if len(most) == 1 else f"{nouns.topics} {names} are"
    return (
        f"{which} in more than half of the {nouns.documents}, with {found.shares[most].sum():.1%} of the "
        f"{nouns.tokens}: common {nouns.terms}, which hardly distinguish {nouns.documents}"
    )


def list_topics(found: Components, nouns: Nouns, n_terms: int, most: int | None = None) -> Listing:
    """Topics with their terms, where they select terms also with how many; many are in groups first."""
    n = listed(found, most)
    top = [terms for _, terms, _ in itertools.islice(found.top_terms(n_terms), n)]
    present = document_shares(found)
    columns = [
        Column("", [str(k) for k in range(1, n + 1)], faint=True),
        Column(f"top {nouns.terms}", _texts(found, top), words=True, labels=found.labels[:n]),
        Column(f"share of\n{nouns.tokens}", shares_told(found, n, 2)),
        Column(f"{nouns.documents}\n≥ {PRESENT:.0%} of it", [f"{one:.2%}" for one in present[:n]]),
    ]  # fmt: skip
    if found.selected_terms is not None:
        distinct, sparsity = found.selected_terms
        columns.append(Column(nouns.terms, [f"{one:,}" for one in distinct[:n]]))
        columns.append(Column("sparsity", [f"{one:.2%}" for one in sparsity[:n]]))
    grouped = found.usual_groups if len(found) > MANY else None
    if grouped is not None:
        columns.append(Column("group", [str(g + 1) for g in grouped.of[:n]]))
    if len(found.samples) > 1:
        title = "in states" if nouns.document == "sample" else "in samples"
        columns.append(Column(title, [f"{one:.0%}" for one in found.occurrence[:n]]))
    lines = unsettled_told(found)
    if told := background_told(found, present, nouns):
        lines.append(told)
    if n < len(found):
        share = found.shares[n:].sum()
        lines.append(
            f"and {len(found) - n} smaller {nouns.dishes}, {share:.1%} of the {nouns.tokens} together\n"
        )
    rest = f"{found.rest:.1%} of the {nouns.tokens} are in none of them"
    lines.append(f"K = {len(found)} {nouns.dishes} of {found.source}; {rest}")
    return Listing([*([] if grouped is None else [_groups(found, nouns)]), columns], lines)


def list_parameters(found: Components, nouns: Nouns, most: int | None = None) -> Listing:
    """Components of numbers with their parameters."""
    n = min(SHOWN if most is None else most, len(found))
    several, names = len(found.samples) > 1, list(found.parameters)[:_PARAMETERS]
    columns = [
        Column("", [str(k) for k in range(1, n + 1)], faint=True),
        Column(f"share of\n{nouns.tokens}", shares_told(found, n, 1), folds=True),
    ]
    if several:
        ends = zip(found.shares_lower[:n], found.shares_upper[:n], strict=True)
        columns.append(Column("interval", [f"{low:.1%} to {high:.1%}" for low, high in ends]))
        columns.append(Column("in samples", [f"{one:.0%}" for one in found.occurrence[:n]], folds=True))
    grouped = None if found.partition is None else found.point_groups
    if grouped is not None:
        columns.append(Column("of group", [str(g + 1) for g in grouped.of[:n]], folds=True))
    for name in names:
        means = found.parameters[name][:n, 0]
        title = name.replace("[", "\n").removesuffix("]")  # a parameter above the column it belongs to
        columns.append(Column(title, [f"{value:.4g}" for value in means], folds=True))
    lines = unsettled_told(found)
    if len(found) > n:
        lines.append(f"and {len(found) - n} smaller {nouns.topics}")
    if (left := len(found.parameters) - len(names)) > 0:
        lines.append(f"{left} more parameters: hdpkit topics RUN --format csv")
    rest = f"; {found.rest:.1%} of the {nouns.tokens} are in none of them" if several else ""
    groups = "" if grouped is None else f"{plural(len(grouped), 'group')} of "
    return Listing([columns], [*lines, f"{groups}{len(found)} {nouns.topics} of {found.source}{rest}"])
