"""The choice of the code that runs a verb, among registered kernels.

Each module of readable kernels (`hdpkit.steps`) registers its verbs and its kernels, and the
kernels of its compiled twins. A row says which franchises a kernel serves. Rows are tried in order of speed;
the first whose condition holds runs the verb, unless a kernel is forced.
"""

from __future__ import annotations

from collections.abc import Callable, Container, Sequence
from typing import Any, Protocol

import attrs

from hdpkit.checks import choice, function, instance, text
from hdpkit.errors import KernelError, RegistryError
from hdpkit.stores import Detail, detail_of


@attrs.frozen
class Verb:
    """What the choice of a kernel must know about a verb.

    Attributes
    ----------
    needs_tables : bool
        Whether it needs the table of every customer.
    draws_tables : bool
        Whether, over a store of counts, tables are drawn at its end.
    by_cell : bool
        Whether it runs over cells; any other needs customers (`Franchise.expand_cells`).
    """

    needs_tables: bool = False
    draws_tables: bool = False
    by_cell: bool = False


VERBS: dict[str, Verb] = {}
"""All verbs that run on kernels, by name."""

SPEEDS = ("fused", "generic", "reference")  # the fastest first
KERNELS = ("auto", *SPEEDS)


class Declaring:
    """The classes that declare something themselves, by a class attribute that subclasses don't inherit.

    Compiled code calls C functions, not methods that a subclass overrides.
    """

    def __init__(self, name: str, but_not: str = "") -> None:
        self.name = name
        self.but_not = but_not

    def __contains__(self, kind: object) -> bool:
        if not isinstance(kind, type):
            return False
        return bool(vars(kind).get(self.name)) and not vars(kind).get(self.but_not)


class AllBut:
    """All classes except these."""

    def __init__(self, *kinds: type) -> None:
        self.kinds = kinds

    def __contains__(self, kind: object) -> bool:
        return kind not in self.kinds


COMPILED_STORES = Declaring("COMPILED")
"""Stores that compiled code uses, of all kinds of franchises."""

COMPILED_BANKS = Declaring("COMPILED")
"""Banks that compiled code uses."""

BANKS_WITHOUT_TABLES = Declaring("COMPILED", but_not="SEATS_VALUES")
"""Those of them whose values sit at no tables: compiled proposals for groups draw none."""

COUNTING_BANKS = Declaring("COUNTING")
"""Banks that compute statistics in compiled code, instead of calling the measure."""


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
    stores, banks : set of types, or Declaring, optional
        Exactly these, no subclasses; None: any.
    depths : range, optional
        Numbers of levels; None: any.
    roots : set of str, optional
        Distributions from which the root's children draw, keys of `hdpkit.franchise.root.ROOTS`; None: any.
    detail : Detail, optional
        Detail of the store; None: any.
    trees : set of str
        Kinds of trees, the attribute ``kind`` of a topology: "fixed", "by state" or "chain".
    """

    name: str
    verbs: Any
    stores: Container[type] | None = None
    banks: Container[type] | None = None
    depths: range | None = None
    roots: frozenset[str] | None = None
    #: Whether its arithmetic is accurate at the current hyperparameters.
    within: Callable[[Any, Numbers], bool] = lambda bank, numbers: True
    detail: Detail | None = None
    trees: frozenset[str] = frozenset({"fixed"})

    def serves(self, store: type, bank: Any, depth: int, root: str, tree: str = "fixed") -> bool:
        """Whether the kernel supports this store, bank, number of levels, root and kind of tree."""
        return (
            (self.stores is None or store in self.stores)
            and (self.banks is None or type(bank) in self.banks)
            and (self.depths is None or depth in self.depths)
            and (self.roots is None or root in self.roots)
            and self.detail in (None, detail_of(store))
            and tree in self.trees
        )

    @property
    def rank(self) -> tuple[int, int]:
        """Order in which rows are tried: by speed, then those with more conditions."""
        conditions = (self.stores, self.banks, self.depths, self.roots, self.detail)
        return SPEEDS.index(self.name), sum(one is None for one in conditions)


TWO = range(2, 3)
TWO_OR_MORE = range(2, 2**31)
MORE = range(3, 2**31)
CHAINS = frozenset({"chain"})
"""Hidden Markov models."""
BY_STATE = CHAINS | {"by state"}
ALL_TREES = BY_STATE | {"fixed"}
TABLE: list[Row] = []
"""All kernels, in the order in which they are tried."""


def register_verb(name: str, verb: Verb | None = None) -> None:
    """Add a verb; its kernels are added by `register_kernel`, and `Franchise.run_verb` runs it.

    Parameters
    ----------
    name : str
        An unused name.
    verb : Verb, optional
        By default one of customers, over any store.

    Raises
    ------
    ParameterError
        If it isn't a name and a `Verb`.
    RegistryError
        If there is a verb of this name.
    """
    text("name", name, remedy="Moves run the verb by this name.")
    verb = Verb() if verb is None else instance("verb", verb, Verb, "a Verb, or None", remedy="Leave it out.")
    if name in VERBS:
        raise RegistryError("name", name, "a verb name that is not taken", "Choose another name.")
    VERBS[name] = verb


def register_kernel(row: Row) -> Row:
    """Add a kernel, for franchises that haven't chosen yet.

    Kernels are tried in the order "fused", "generic", "reference", and among kernels of one name those with
    more conditions on stores, banks, depths, roots and detail first, then the last registered. The order in
    which modules are imported thus changes nothing where conditions differ.

    Parameters
    ----------
    row : Row
        Its ``verbs`` have a function for each verb that it serves: ``f(walk, *arguments, source)``, with the
        walk that `Franchise.walk` returns for ``row.name``.

    Raises
    ------
    ParameterError
        If it isn't a row, or has an unknown name or verb.
    """
    instance("row", row, Row, "a Row", remedy="Row(name, SimpleNamespace(reseat=my_function), stores=...).")
    choice("row.name", row.name, SPEEDS, remedy='"reference" for one written in Python.')
    for verb, run in vars(row.verbs).items():
        choice("row.verbs", verb, VERBS, remedy="Register the verb first: register_verb(name).")
        function("row.verbs", run, remedy="Give the function of each verb.")
    TABLE.insert(sum(other.rank < row.rank for other in TABLE), row)
    return row


def remove_kernel(row: Row) -> None:
    """Remove a kernel that `register_kernel` added."""
    instance("row", row, Row, "a Row", remedy="Pass what register_kernel returned.")
    if not any(row is other for other in TABLE):
        raise RegistryError("row", row.name, "a registered kernel", "Pass what register_kernel returned.")
    TABLE[:] = [other for other in TABLE if other is not row]


def remove_verb(name: str) -> None:
    """Remove a verb that `register_verb` added, once its kernels are removed."""
    choice("name", name, VERBS, remedy="These are the registered verbs.")
    if any(hasattr(row.verbs, name) for row in TABLE):
        raise RegistryError(
            "name", name, "a verb without kernels", "Remove its kernels first: remove_kernel(row)."
        )
    del VERBS[name]


def available_kernels(
    store: type, bank: Any, depth: int, root: str = "restaurant", tree: str = "fixed"
) -> list[str]:
    """Names of the kernels that can be forced for a store, a bank and a depth, the fastest first."""
    return list(dict.fromkeys(row.name for row in TABLE if row.serves(store, bank, depth, root, tree)))


def serving_rows(
    verb: str, forced: str, store: type, bank: Any, depth: int, root: str = "restaurant", tree: str = "fixed"
) -> list[Row]:
    """Rows with a kernel for a verb, in the order in which they are tried, or a KernelError.

    If "fused" is forced, the next fastest code is used for verbs without a fused sweep, and if the current
    hyperparameters are outside the range of its arithmetic. The rows depend on the type of the bank only.
    """
    where = store, bank, depth, root, tree
    if forced != "fused" or any(row.name == forced and row.serves(*where) for row in TABLE):
        named = SPEEDS if forced in ("auto", "fused") else (forced,)
        rows = [row for row in TABLE if hasattr(row.verbs, verb) and row.name in named and row.serves(*where)]
        if rows:
            return rows
    raise KernelError(
        "kernel", forced,
        f"one that implements {verb!r} over {store.__name__} and {type(bank).__name__} with {depth} levels, "
        f"homes {tree}",
        "Use a compiled store and measure, or another move."
        if forced == "auto" else "Use kernel='auto', or a compiled store and measure.",
    )  # fmt: skip


def choose_kernel(
    rows: Sequence[Row], verb: str, bank: Any, numbers: Numbers
) -> tuple[str, Callable[..., Any]]:
    """Name and function of the first row of a verb that is accurate at these numbers, or a KernelError."""
    for row in rows:
        if row.within(bank, numbers):
            return row.name, getattr(row.verbs, verb)
    raise KernelError(
        "kernel", rows[0].name, f"one that implements {verb!r} accurately at these hyperparameters",
        "Use kernel='auto'.",
    )  # fmt: skip
