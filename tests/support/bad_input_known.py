"""The rows of known components and of held groups in the table of bad input."""

import numpy as np
from bad_values import HUGE, INF, NAN, NO_NAME, NO_SEQUENCE, Row, Told, method, optional, plain, whole

import hdpkit as hk

NO_GROUPS = [*NO_SEQUENCE, [-1], [3], ["nobody"], [0.5], [None], [[0]], [True], [0, 1, 2]]
NO_KNOWN = [
    5, "known", hk.Known, [[0.5, 0.25, 0.25]], hk.Known([[0.5, 0.5]], counts=4),
    hk.Known(np.full((1, 4), 0.25), frozen=True), Told(hk.KnownValues([[0.5]]), "DirichletMultinomial"),
]  # fmt: skip

KNOWN = {
    "Known": Row(
        plain(
            hk.Known, matrix=[[0.5, 0.5, 0.0], [0.2, 0.2, 0.6]], counts=[4, 5], frozen=False, names=["a", "b"]
        ),
        {
            "matrix": [
                None, 5, "a", [], [[]], [0.5, 0.5], [[0.5, 0.6, 0.0]], [[0.5, 0.4], [1.0]],
                [[1.5, -0.5, 0.0], [0.2, 0.2, 0.6]], [[NAN, 1.0, 0.0]], [["0.5", "x", "y"]], {},
                [[0.2, 0.2, 0.5], [0.2, 0.2, 0.6]],
            ],
            "counts": [
                None, 0, -1, NAN, INF, HUGE, "5", [], [5], [5, 5, 5], [5, 0], [5, NAN], [[5, 5]], 0.1,
                [5, 0.1],
            ],
            "frozen": [None, 1, 0, "yes", 1.0, [], [True], [1, 0], [[True, False]], {}],
            "names": ["ab", 5, ["a"], ["a", "a"], ["a", ""], ["a", 5], ["a", "b", "c"], {}, {"a", "b"}],
        },
    ),
    "KnownValues": Row(
        plain(hk.KnownValues, values=[[0.5, 0.1], [2.0]], names=["a", "b"]),
        {
            "values": [None, 5, "ab", [], [[]], [[0.5], []], [0.5], [[NAN], [1.0]], [["a"], [1.0]], {}],
            "names": ["ab", 5, ["a"], ["a", "a"], ["a", ""], ["a", 5], ["a", "b", "c"], {}, {"a", "b"}],
        },
    ),
    "Known.earlier": Row(
        plain(hk.Known([[0.5, 0.5]], counts=4).earlier, component=0), {"component": whole(0, 0)}
    ),
    "KnownValues.earlier": Row(
        plain(hk.KnownValues([[0.5]]).earlier, component=0), {"component": whole(0, 0)}
    ),
    "Franchise.hold": Row(
        method("hold")(groups=[0], level="document"), {"groups": NO_GROUPS, "level": optional(NO_NAME)}
    ),
    "Franchise.release": Row(
        method("release")(groups=[0], level="document"),
        {"groups": optional(NO_GROUPS[:-1]), "level": optional(NO_NAME)},
    ),
    "Franchise.held_groups": Row(method("held_groups")(level="document"), {"level": optional(NO_NAME)}),
}  # fmt: skip
