"""The choice of the code that runs a verb: a table keyed by verb, store, measure and depth.

Rows are tried in order of speed; the first whose condition holds runs the verb, unless a kernel is forced.
Each fused sweep is a row.
"""

from __future__ import annotations

from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any, Protocol

import attrs

import hdpkit._compiled.fused_sweeps.fused_blocks as fused_blocks
import hdpkit._compiled.fused_sweeps.fused_cells as fused_cells
import hdpkit._compiled.fused_sweeps.fused_observed as fused_observed
import hdpkit._compiled.fused_sweeps.fused_slices as fused_slices
import hdpkit._compiled.fused_sweeps.fused_topics as fused_topics
import hdpkit._compiled.generic_sweeps.groups as compiled_groups
import hdpkit._compiled.generic_sweeps.indicators as indicators
import hdpkit._compiled.generic_sweeps.sweeps as sweeps
import hdpkit._compiled.generic_sweeps.units as units
import hdpkit._compiled.stores.seating_out as compiled_seating_out
import hdpkit._compiled.walk.table_counts as compiled_table_counts
from hdpkit._compiled.measures.atomic import AtomicBank
from hdpkit._compiled.measures.beta_bernoulli import BetaBernoulliBank
from hdpkit._compiled.measures.dirichlet_multinomial import DirichletMultinomialBank
from hdpkit._compiled.measures.dish_smoothing import DishSmoothingBank
from hdpkit._compiled.measures.gamma_poisson import GammaPoissonBank
from hdpkit._compiled.measures.measure import CapsuleBank
from hdpkit._compiled.measures.normal_gamma import NormalGammaBank
from hdpkit._compiled.measures.normal_inverse_wishart import NormalInverseWishartBank
from hdpkit._compiled.measures.sparse_dirichlet_multinomial import SparseDirichletMultinomialBank
from hdpkit._compiled.stores.counts import CountsStore
from hdpkit._compiled.stores.explicit import ExplicitStore
from hdpkit._compiled.stores.histogram import HistogramStore
from hdpkit.errors import KernelError
from hdpkit.franchise.reference import counts_walk, groups, slices, table_counts
from hdpkit.franchise.reference import sweeps as reference
from hdpkit.stores import Detail, detail_of
from hdpkit.stores.reference import seating_out

__all__ = ["KERNELS", "VERBS", "available_kernels", "choose_kernel", "is_compiled"]

VERBS = {
    # verb: whether it needs seats
    "enter": False,
    "enter_given": False,
    "reseat": False,
    "slice_sweep": False,
    "cell_sweep": False,
    "topics_part": False,
    "slice_part": False,
    "settle_parts": False,
    "leave": False,
    "draw_sizes": False,
    "draw_tables": False,
    "draw_tables_by_dish": False,
    "seat_out": False,
    "index_units": True,
    "unit_dishes": True,
    "redish": True,
    "scan_units": True,
    "add_units": True,
    "move_units": True,
    "reseat_groups": True,
}
KERNELS = ("auto", "fused", "generic", "reference")


# Compiled code supports exactly these classes: it calls C functions, not methods overridden in a subclass.
COMPILED_STORES = frozenset({CountsStore, HistogramStore, ExplicitStore})
COUNTING_BANKS = frozenset(
    {
        BetaBernoulliBank,
        DirichletMultinomialBank,
        GammaPoissonBank,
        NormalGammaBank,
        NormalInverseWishartBank,
        SparseDirichletMultinomialBank,
        DishSmoothingBank,
    }
)
COMPILED_BANKS = COUNTING_BANKS | {AtomicBank, CapsuleBank}


def is_compiled(store: type) -> bool:
    """Whether compiled code supports a store: exactly a compiled class, not a subclass."""
    return store in COMPILED_STORES


class Numbers(Protocol):
    """Numbers of the hyperparameters for the condition of a kernel: O(restaurants), so they are used last."""

    def ends(self) -> list[tuple[float, float]]:
        """Return the largest concentration and the largest discount of each declaration, the root's first."""

    def least(self) -> float:
        """Return the smallest concentration + discount of a restaurant below the root."""

    def longest(self) -> int:
        """Return the number of data customers of the largest restaurant."""


@attrs.frozen
class Row:
    """One kernel: its name, its verbs, and the conditions for its use.

    Parameters
    ----------
    stores, banks : set of types, optional
        Exactly these, no subclasses; None: any.
    depths : range, optional
        Numbers of levels; None: any.
    roots : set of str, optional
        Distributions from which the root's children draw, keys of `hdpkit.franchise.roots.ROOTS`; None: any.
    detail : Detail, optional
        Detail of the store; None: any.
    """

    name: str
    verbs: Any
    stores: frozenset[type] | None = None
    banks: frozenset[type] | None = None
    depths: range | None = None
    roots: frozenset[str] | None = None
    #: Whether its arithmetic is accurate at the present hyperparameters.
    within: Callable[[Any, Numbers], bool] = lambda bank, numbers: True
    detail: Detail | None = None

    def serves(self, store: type, bank: Any, depth: int, root: str) -> bool:
        """Whether the kernel supports this store, bank, number of levels and root."""
        return (
            (self.stores is None or store in self.stores)
            and (self.banks is None or type(bank) in self.banks)
            and (self.depths is None or depth in self.depths)
            and (self.roots is None or root in self.roots)
            and self.detail in (None, detail_of(store))
        )


def _namespace(*modules: ModuleType) -> SimpleNamespace:
    """A namespace with the verbs of all modules."""
    return SimpleNamespace(
        **{verb: getattr(m, verb) for verb in VERBS for m in modules[::-1] if hasattr(m, verb)}
    )


TWO = range(2, 3)
TWO_OR_MORE = range(2, 2**31)
MORE = range(3, 2**31)
#: Levels and roots of franchises whose state has numbers of tables, over counts.
COUNTED_TABLES = ((None, frozenset({"restaurant"})), (MORE, frozenset({"weights", "fixed"})))

TABLE = [
    Row(
        "fused",
        SimpleNamespace(reseat=fused_topics.reseat),
        frozenset(fused_topics.STORES),
        frozenset({DirichletMultinomialBank}),
        TWO,
        frozenset({"restaurant"}),
        lambda bank, numbers: bank.in_floats(numbers.ends(), numbers.longest()),
    ),
    Row(
        "fused",
        SimpleNamespace(reseat=fused_topics.reseat),
        frozenset(fused_topics.STORES),
        frozenset({SparseDirichletMultinomialBank}),
        TWO,
        frozenset({"restaurant"}),
        lambda bank, numbers: bank.in_floats(numbers.ends(), numbers.least()),
    ),
    Row(
        "fused",
        SimpleNamespace(reseat=fused_topics.reseat),
        frozenset(fused_topics.STORES_UNDER_WEIGHTS),
        frozenset({DirichletMultinomialBank}),
        TWO,
        frozenset({"weights", "fixed"}),
        # For any weights, because they change within the verb.
        lambda bank, numbers: bank.in_floats_given_weights(numbers.ends()),
    ),
    Row(
        "fused",
        SimpleNamespace(
            index_units=fused_blocks.index_units,
            unit_dishes=fused_blocks.unit_dishes,
            redish=fused_blocks.redish,
            scan_units=fused_blocks.scan_units,
        ),
        COMPILED_STORES,
        frozenset({DirichletMultinomialBank}),
        TWO,
        frozenset({"restaurant"}),
        lambda bank, numbers: not bank.has_fixed,
    ),
    Row(  # split-merge integrates out weights; with fixed weights it uses the generic code
        "fused",
        SimpleNamespace(
            index_units=fused_blocks.index_units,
            unit_dishes=fused_blocks.unit_dishes,
            redish=fused_blocks.redish,
        ),
        COMPILED_STORES,
        frozenset({DirichletMultinomialBank}),
        TWO,
        frozenset({"weights", "fixed"}),
        lambda bank, numbers: not bank.has_fixed,
    ),
    *(
        Row(
            name,
            SimpleNamespace(
                slice_sweep=fused_slices.slice_sweep,
                cell_sweep=fused_cells.cell_sweep,
                topics_part=fused_slices.topics_part,
                slice_part=fused_slices.slice_part,
                settle_parts=fused_slices.settle_parts,
            ),
            frozenset({CountsStore}),
            frozenset({DirichletMultinomialBank}),
            TWO_OR_MORE,
            frozenset({"weights", "fixed"}),
        )
        for name in ("fused", "generic")
    ),
    Row(
        "fused",
        SimpleNamespace(reseat=fused_observed.reseat),
        frozenset(fused_observed.STORES),
        frozenset({AtomicBank}),
    ),
    *(
        Row(  # tables are part of the state, as counts only
            "generic",
            SimpleNamespace(reseat=indicators.reseat),
            frozenset({CountsStore}),
            COMPILED_BANKS,
            depths,
            roots,
        )
        for depths, roots in COUNTED_TABLES
    ),
    Row(
        "generic",
        _namespace(sweeps, units, compiled_groups, compiled_seating_out, compiled_table_counts),
        COMPILED_STORES,
        COMPILED_BANKS,
    ),
    *(
        Row(
            "reference",
            SimpleNamespace(reseat=counts_walk.reseat),
            depths=depths,
            roots=roots,
            detail=Detail.COUNTS,
        )
        for depths, roots in COUNTED_TABLES
    ),
    Row("reference", _namespace(slices), depths=TWO),
    Row("reference", _namespace(reference, groups, seating_out, table_counts)),
]


def available_kernels(store: type, bank: Any, depth: int, root: str = "restaurant") -> list[str]:
    """Names of the kernels that can be forced for a store, a bank and a depth, the fastest first."""
    return list(dict.fromkeys(row.name for row in TABLE if row.serves(store, bank, depth, root)))


def choose_kernel(
    verb: str, forced: str, store: type, bank: Any, depth: int, numbers: Numbers, root: str = "restaurant"
) -> tuple[str, Callable[..., Any]]:
    """Name and function of the kernel for a verb.

    If "fused" is forced, the next fastest code is used for verbs without a fused sweep, and if the present
    hyperparameters are outside the range of its arithmetic.

    Raises
    ------
    KernelError
        If there is no such kernel for this store, measure and depth.
    """
    serving = [row for row in TABLE if row.serves(store, bank, depth, root)]
    if forced not in ("auto", "fused"):
        serving = [row for row in serving if row.name == forced]
    if forced != "fused" or any(row.name == forced for row in serving):
        for row in serving:
            if hasattr(row.verbs, verb) and row.within(bank, numbers):
                return row.name, getattr(row.verbs, verb)
    raise KernelError(
        "kernel", forced,
        f"one that implements {verb!r} over {store.__name__} and {type(bank).__name__} with {depth} levels",
        "Use a compiled store and measure, or another move."
        if forced == "auto" else "Use kernel='auto', or a compiled store and measure.",
    )  # fmt: skip
