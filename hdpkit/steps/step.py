"""A step: one function of a seating and its dishes, and the kernels that run it.

The readable function comes first, declared by `step`; faster ones are attached to it by `Step.kernel`, each
with the franchises that it serves. Kernels are tried in order of speed; the first whose conditions hold runs
the step, unless a kernel is forced.
"""

from __future__ import annotations

from collections.abc import Callable, Container
from typing import Any

import attrs

from hdpkit.checks import choice, flag, function, instance, items
from hdpkit.errors import KernelError, ParameterError
from hdpkit.measures._measure import AdaptedBank, CompiledBank
from hdpkit.measures.bank import ObservedBank
from hdpkit.stores import Detail, detail_of

SPEEDS = ("fused", "generic", "reference")  # the fastest first
KERNELS = ("auto", *SPEEDS)


class Declaring:
    """The classes that declare something themselves, by a class attribute that subclasses don't inherit."""

    # Compiled code calls C functions, not methods that a subclass overrides.

    def __init__(self, name: str, but_not: str = "") -> None:
        self.name = name
        self.but_not = but_not

    def __contains__(self, kind: object) -> bool:
        if not isinstance(kind, type):
            return False
        return bool(vars(kind).get(self.name)) and not vars(kind).get(self.but_not)


class InPython:
    """Banks written in Python, other than those whose values sit at tables: compiled code adapts to them."""

    def __contains__(self, kind: object) -> bool:
        others = (CompiledBank, ObservedBank)  # the latter chooses customers, for a bank of either kind
        return isinstance(kind, type) and not issubclass(kind, others) and not hasattr(kind, "sit")


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

PYTHON_BANKS = InPython()

BANKS_WITHOUT_TABLES = Declaring("COMPILED", but_not="SEATS_VALUES")
"""Those of them whose values sit at no tables: compiled proposals for groups draw none."""

COUNTING_BANKS = Declaring("COUNTING")
"""Banks that compute statistics in compiled code, instead of calling the measure."""


TWO = range(2, 3)
TWO_OR_MORE = range(2, 2**31)
MORE = range(3, 2**31)
CHAINS = frozenset({"chain"})
"""Hidden Markov models."""
BY_STATE = CHAINS | {"by state"}
GRAPHS = frozenset({"graph"})
"""Restaurants of which some have several parents."""
FIXED = GRAPHS | {"fixed"}
ALL_TREES = BY_STATE | FIXED


@attrs.frozen(eq=False, slots=False)
class Kernel:
    """Code that runs a step, and the conditions for its use."""

    name: str
    run: Callable[..., Any]
    stores: Container[type] | None = None
    banks: Container[type] | None = None
    depths: range | None = None
    roots: frozenset[str] | None = None
    # of the bank and the `Hyperparameters`; used last, since numbers of these are O(restaurants)
    within: Callable[[Any, Any], bool] = lambda bank, numbers: True
    detail: Detail | None = None
    trees: frozenset[str] = frozenset({"fixed"})

    def serves(self, store: type, bank: Any, depth: int, root: str, tree: str = "fixed") -> bool:
        """Whether it supports this store, bank, number of levels, root and kind of tree."""
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
        """Order in which kernels are tried: by speed, then those with more conditions."""
        conditions = (self.stores, self.banks, self.depths, self.roots, self.detail)
        return SPEEDS.index(self.name), sum(one is None for one in conditions)


GIVEN = ("walk", "bank")
TAKES = (
    "customers", "free customers", "dishes of customers", "restaurants", "units", "free units", "places",
    "free places", "dish", "slot", "slots", "source",
)  # fmt: skip
"""Kinds of arguments of steps, which a franchise checks: see `hdpkit.franchise.steps`."""


class Step:
    """What `step` makes of a function. Called itself, it is the readable function."""

    def __init__(
        self,
        name: str,
        body: Callable[..., Any] | None = None,
        *,
        takes: tuple[str, ...] | None = None,
        given: tuple[str, ...] = GIVEN,
        needs_tables: bool = False,
        needs_counts: bool = False,
        draws_tables: bool = False,
        by_cell: bool = False,
        **serves: Any,
    ) -> None:
        self.name = name
        self.body = body
        self.takes = takes
        self.given = given
        self.needs_tables = needs_tables
        self.needs_counts = needs_counts
        self.draws_tables = draws_tables
        self.by_cell = by_cell
        self.kernels: list[Kernel] = []
        if body is not None:
            self.__doc__ = body.__doc__
            self.kernel("reference", body, **serves)

    def __call__(self, *arguments: Any) -> Any:
        """Run the readable function."""
        return self.body(*arguments)  # type: ignore[misc]

    def __repr__(self) -> str:
        return f"<step {self.name}>"

    def kernel(self, name: str, run: Callable[..., Any], **serves: Any) -> Kernel:
        """Attach code that runs the step, for franchises that haven't chosen yet; returns the `Kernel`.

        Kernels are tried in the order "fused", "generic", "reference", and among kernels of one name those
        with more conditions first, then the last attached.

        Parameters
        ----------
        name : "fused", "generic" or "reference"
            "reference" for code in Python. Its walk is that of `Franchise.walk` for this name.
        run : callable
            ``run(walk, *arguments, source)``, with the arguments of the step.
        **serves
            Conditions, any by default: ``stores`` and ``banks``, sets of types (no subclasses), ``depths``, a
            range of numbers of levels, ``roots`` ("restaurant", "weights", "fixed"), ``detail`` of the store;
            ``trees`` ("fixed" by default, "graph", "by state", "chain"); ``within(bank, numbers)``, whether
            its arithmetic is accurate at the current hyperparameters.
        """
        choice("name", name, SPEEDS, remedy='"reference" for one written in Python.')
        function("run", run, remedy="Give the function that runs the step.")
        for which in ("stores", "banks", "depths", "roots", "trees"):
            if serves.get(which) is not None:
                allowed = "a range" if which == "depths" else "a set"
                instance(which, serves[which], Container, allowed, remedy="Leave it out, if any will do.")
        made = Kernel(name, run, **serves)
        self.kernels.insert(sum(other.rank < made.rank for other in self.kernels), made)
        return made

    def compiled(self, run: Callable[..., Any], **serves: Any) -> None:
        """Attach generic compiled code, for banks in compiled code and, by an adapter, in Python."""
        at = self.given.index("bank")

        def adapted(*given: Any) -> Any:
            return run(*given[:at], AdaptedBank(given[at]), *given[at + 1 :])

        self.kernel("generic", run, **{"banks": COMPILED_BANKS, **serves})
        self.kernel("generic", adapted, **{**serves, "banks": PYTHON_BANKS})

    def serving(self, forced: str, store: type, bank: Any, depth: int, root: str, tree: str) -> list[Kernel]:
        """Kernels in the order in which they are tried, or a KernelError."""
        # If "fused" is forced, the next fastest code is used for steps without a fused kernel, and where the
        # hyperparameters are outside the range of its arithmetic.
        where = store, bank, depth, root, tree
        if forced != "fused" or forced in available_kernels(*where):
            named = SPEEDS if forced in ("auto", "fused") else (forced,)
            found = [one for one in self.kernels if one.name in named and one.serves(*where)]
            if found:
                return found
        raise KernelError(
            "kernel", forced,
            f"one that implements {self.name!r} over {store.__name__} and {type(bank).__name__} with {depth} "
            f"levels, homes {tree}",
            "Use a compiled store and measure, or another move."
            if forced == "auto" else "Use kernel='auto', or a compiled store and measure.",
        )  # fmt: skip


STEPS: dict[str, Step] = {}
"""The steps of the package by name: methods of `Franchise` run them, and check their arguments."""


def of_package(*steps: Step) -> None:
    """Record steps of the package."""
    STEPS.update((one.name, one) for one in steps)


def step(
    *,
    takes: tuple[str, ...] | None = None,
    given: tuple[str, ...] = GIVEN,
    needs_tables: bool = False,
    needs_counts: bool = False,
    draws_tables: bool = False,
    by_cell: bool = False,
    **serves: Any,
) -> Callable[[Callable[..., Any]], Step]:
    """Declare a step: ``@step(...)`` over its readable function, ``f(walk, bank, *arguments, source)``.

    `Franchise.run_step` runs it under the franchise's lock, on the fastest kernel that serves the franchise.
    Returns a decorator, which makes a `Step` of a function. Raises a ParameterError if a flag is neither True
    nor False, or a name in ``takes`` or ``given`` is unknown.

    Parameters
    ----------
    takes : tuple of str
        What the arguments are, in order: names among `TAKES`, each for one to three of them, "source" last.
        They are checked before the step runs; by default the source alone is.
    given : tuple of str
        What the function takes before them: "walk", the walk through the tree, and "bank", the statistics of
        dishes.
    needs_tables : bool
        Whether it needs the table of every customer.
    needs_counts : bool
        Whether it needs tables that are drawn given the customers (`Franchise.draws_tables`).
    draws_tables : bool
        Whether it draws tables at its end over a store of counts.
    by_cell : bool
        Whether it runs over cells; any other needs customers (`Franchise.expand_cells`).
    **serves
        Franchises that the readable function serves, as in `Step.kernel`; by default all with a fixed tree.
    """
    flags = {
        "needs_tables": needs_tables, "needs_counts": needs_counts, "draws_tables": draws_tables,
        "by_cell": by_cell,
    }  # fmt: skip
    for name, value in flags.items():
        flag(name, value)
    for what, names, allowed in (("takes", takes or (), TAKES), ("given", given, GIVEN)):
        for name in items(what, names, f"names among {allowed}", remedy="Leave it out for the default."):
            choice(what, name, allowed, remedy="Leave it out for the default.")
    if "source" in (takes or ())[:-1]:
        raise ParameterError(
            "takes", takes, "names with the source last", "It is the last argument of a step."
        )
    return lambda body: Step(body.__name__, body, takes=takes, given=given, **flags, **serves)


def available_kernels(
    store: type, bank: Any, depth: int, root: str = "restaurant", tree: str = "fixed"
) -> list[str]:
    """Names of the kernels that can be forced for a store, a bank and a depth, the fastest first."""
    where = store, bank, depth, root, tree
    found = {one.name for each in STEPS.values() for one in each.kernels if one.serves(*where)}
    return [name for name in SPEEDS if name in found]
