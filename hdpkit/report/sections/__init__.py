"""The sections of the page, in its order."""

from hdpkit.report.section import Section
from hdpkit.report.sections.convergence import read_convergence
from hdpkit.report.sections.documents import read_documents
from hdpkit.report.sections.groups import read_groups
from hdpkit.report.sections.labels import read_labels
from hdpkit.report.sections.overview import read_overview
from hdpkit.report.sections.reproduce import read_reproduce
from hdpkit.report.sections.samples import read_samples
from hdpkit.report.sections.signatures import read_signatures_section
from hdpkit.report.sections.topic_map import read_map
from hdpkit.report.sections.topics import read_topics

__all__ = ["SECTIONS"]

SECTIONS = (
    Section(key="overview", title="Overview", template="overview.html", read=read_overview),
    Section(key="signatures", title="Signatures", template="signatures.html", read=read_signatures_section),
    Section(key="topics", title="{{ nouns.topics | capitalize }}", template="topics.html", read=read_topics),
    Section(
        key="samples",
        title="{{ nouns.topics | capitalize }} over states",
        template="samples.html",
        read=read_samples,
    ),
    Section(key="map", title="Map of {{ nouns.topics }}", template="map.html", read=read_map),
    Section(key="groups", title="Groups of {{ nouns.topics }}", template="groups.html", read=read_groups),
    Section(key="labels", title="Shares by label", template="labels.html", read=read_labels),
    Section(
        key="documents",
        title="{{ nouns.documents | capitalize }}",
        template="documents.html",
        read=read_documents,
    ),
    Section(key="convergence", title="Convergence", template="convergence.html", read=read_convergence),
    Section(key="reproduce", title="How to reproduce this", template="reproduce.html", read=read_reproduce),
)
"""The default sections of `write_report`."""
