"""The sections of the package; a kind of model has the keys of those of its page (`Kind.sections`)."""

from __future__ import annotations

from hdpkit.kinds.kind import Kind
from hdpkit.pages.section import Section
from hdpkit.pages.sections.points import (
    read_components,
    read_mixture,
    read_states,
    read_together,
    read_transitions,
    read_weights,
)
from hdpkit.pages.sections.run import read_convergence, read_reproduce
from hdpkit.pages.sections.signatures import (
    read_cohort,
    read_cohort_samples,
    read_exposures,
    read_signatures_section,
)
from hdpkit.pages.sections.topics import (
    read_documents,
    read_groups,
    read_labels,
    read_map,
    read_overview,
    read_samples,
    read_topics,
    read_trends,
)

__all__ = ["SECTIONS"]


SECTIONS = (
    Section(key="overview", title="Overview", template="overview.html", read=read_overview),
    Section(key="cohort", title="Overview", template="cohort.html", read=read_cohort),
    Section(key="mixture", title="Overview", template="mixture.html", read=read_mixture),
    Section(key="states", title="States over time", template="states.html", read=read_states),
    Section(key="transitions", title="Transitions", template="transitions.html", read=read_transitions),
    Section(
        key="components",
        title="{{ nouns.topics | capitalize }}",
        template="components.html",
        read=read_components,
    ),
    Section(key="weights", title="Weights by group", template="weights.html", read=read_weights),
    Section(
        key="together",
        title="{{ nouns.tokens | capitalize }} together",
        template="together.html",
        read=read_together,
    ),
    Section(key="signatures", title="Signatures", template="signatures.html", read=read_signatures_section),
    Section(key="exposures", title="Exposures", template="exposures.html", read=read_exposures),
    Section(
        key="groups",
        title="Groups of {{ nouns.topics }}",
        template="groups.html",
        read=read_groups,
    ),
    Section(
        key="topics",
        title="{{ nouns.topics | capitalize }}",
        template="topics.html",
        read=read_topics,
    ),
    Section(
        key="samples",
        title="{{ nouns.topics | capitalize }} over states",
        template="samples.html",
        read=read_samples,
    ),
    Section(key="map", title="Map of {{ nouns.topics }}", template="map.html", read=read_map),
    Section(key="trends", title="Over time", template="trends.html", read=read_trends),
    Section(key="labels", title="Shares by label", template="labels.html", read=read_labels),
    Section(
        key="documents",
        title="{{ nouns.documents | capitalize }}",
        template="documents.html",
        read=read_documents,
    ),
    Section(key="cohort-samples", title="Samples", template="documents.html", read=read_cohort_samples),
    Section(key="convergence", title="Convergence", template="convergence.html", read=read_convergence),
    Section(key="reproduce", title="How to reproduce this", template="reproduce.html", read=read_reproduce),
)
"""The sections of the package."""
_BY_KEY = {section.key: section for section in SECTIONS}


def sections_of(kind: Kind) -> list[Section]:
    """The sections of the page of a kind, in its order."""
    return [_BY_KEY.get(one, one) for one in kind.sections]
