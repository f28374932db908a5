"""Topics in groups, so that hundreds of topics can be read as about twenty."""

from __future__ import annotations

from typing import Any

import scipy

from hdpkit.canvas import colour
from hdpkit.pages.plots.partitions import tree
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content
from hdpkit.posterior.grouping import ComponentGroups


def read_groups(report: ReportData) -> Content | None:
    """Groups with their topics and shares, and a tree of the groups; None for fewer than four topics."""
    if report.groups is None:
        return None
    groups = [_group(report, g) for g in range(len(report.groups))]
    return Content(
        values={"groups": groups, "n_topics": len(report.listed)},
        charts={"groups-tree": _tree(report.groups, report.group_names(4), groups)},
        data={"groups": (report.group + 1).tolist()},
    )


def _group(report: ReportData, g: int) -> dict[str, Any]:
    assert report.groups is not None
    of = report.groups.of
    return {
        "number": g + 1,
        "label": report.group_labels[g],
        "terms": report.group_words[g],
        "share": float(report.groups.shares[g]),
        "topics": [one for one in report.listed if of[one["number"] - 1] == g],
    }


def _tree(grouped: ComponentGroups, names: list[str], groups: list[dict[str, Any]]) -> Any:
    """The top of the tree, down to the groups."""
    n, linkage = len(groups), grouped.tree.linkage
    drawn = scipy.cluster.hierarchy.dendrogram(linkage, p=n, truncate_mode="lastp", no_plot=True)
    leaves = [int(grouped.of[_a_leaf(linkage, node)]) for node in drawn["leaves"]]
    labels = [f"{g + 1}  {names[g]}  ({groups[g]['share']:.0%})" for g in leaves]
    return tree(
        drawn, labels, float(linkage[-1, 2]), "height of the merge (Ward)", [colour(g + 1) for g in leaves]
    )


def _a_leaf(linkage: Any, node: int) -> int:
    """A topic below a node of the tree."""
    n = len(linkage) + 1
    while node >= n:
        node = int(linkage[node - n, 0])
    return node
