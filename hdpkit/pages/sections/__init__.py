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

_TITLES = {
    "overview": ("Overview", read_overview),
    "cohort": ("Overview", read_cohort),
    "mixture": ("Overview", read_mixture),
    "states": ("States over time", read_states),
    "transitions": ("Transitions", read_transitions),
    "components": ("{{ nouns.topics | capitalize }}", read_components),
    "weights": ("Weights by group", read_weights),
    "together": ("{{ nouns.tokens | capitalize }} together", read_together),
    "signatures": ("Signatures", read_signatures_section),
    "exposures": ("Exposures", read_exposures),
    "groups": ("Groups of {{ nouns.topics }}", read_groups),
    "topics": ("{{ nouns.topics | capitalize }}", read_topics),
    "samples": ("{{ nouns.topics | capitalize }} over states", read_samples),
    "map": ("Map of {{ nouns.topics }}", read_map),
    "trends": ("Over time", read_trends),
    "labels": ("Shares by label", read_labels),
    "documents": ("{{ nouns.documents | capitalize }}", read_documents),
    "cohort-samples": ("Samples", read_cohort_samples),
    "convergence": ("Convergence", read_convergence),
    "reproduce": ("How to reproduce this", read_reproduce),
}
_SHARED = {"cohort-samples": "documents"}  # a template of another section

SECTIONS = tuple(
    Section(key=key, title=title, template=f"{_SHARED.get(key, key)}.html", read=read)
    for key, (title, read) in _TITLES.items()
)
"""The sections of the package."""
_BY_KEY = {section.key: section for section in SECTIONS}


def sections_of(kind: Kind) -> list[Section]:
    """The sections of the page of a kind, in its order."""
    return [_BY_KEY.get(one, one) for one in kind.sections]
