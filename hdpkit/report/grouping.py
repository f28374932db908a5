"""Groups of topics, found once for all sections."""

from __future__ import annotations

from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.report.layout import distances, groups_of, number_of_groups
from hdpkit.report.material import Material

__all__ = ["Grouping", "grouping_of"]


@attrs.frozen
class Grouping:
    """Distances (K, K), group of each topic (K,), number of groups, and the linkage of the topics."""

    apart: npt.NDArray[np.float64]
    group: npt.NDArray[np.int64]
    n_groups: int
    linkage: Any


def grouping_of(material: Material) -> Grouping:
    """The groups of a run's topics."""
    if "grouping" not in material.kept:
        apart = distances(material)
        group, linkage = groups_of(apart, material.shares, number_of_groups(material.n_topics))
        n = int(group.max(initial=-1)) + 1
        material.kept["grouping"] = Grouping(apart, group, n, linkage)
    grouping: Grouping = material.kept["grouping"]
    return grouping
