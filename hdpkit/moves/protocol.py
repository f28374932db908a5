"""The protocol of moves: Markov kernels that leave p(state | data) invariant; moves with a
time table; and conditions of moves."""

from __future__ import annotations

import abc
import math
import numbers
import operator
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any, Self

import attrs

from hdpkit.checks import (
    instance,
    items,
    one_of_kind,
    refuse,
    validator,
    whole_number,
)
from hdpkit.errors import KernelError, ScheduleError, StateError
from hdpkit.franchise.arguments import MOST_THREADS
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.numerics import exp
from hdpkit.random import ChoiceSource
from hdpkit.steps.step import BY_STATE, Step

SUPPORTED = "moves that this franchise supports"


@attrs.frozen(eq=False)
class Requirement:
    """A condition of a move. A schedule with the move is refused over franchises where it doesn't hold."""

    holds: Callable[[Franchise, Any], bool]  # of a state and the move
    remedy: str  # in which {move.name}, {state.measure} and the like are filled in; {measure} is its class
    option: str = "moves"  # the parameter of the move that is refused, or the move itself
    allowed: str = SUPPORTED

    def check(self, state: Franchise, move: Any) -> None:
        """Raise a ScheduleError unless it holds."""
        if not self.holds(state, move):
            value = move.name if self.option == "moves" else getattr(move, self.option)
            remedy = self.remedy.format(state=state, move=move, measure=type(state.measure).__name__)
            raise ScheduleError(self.option, value, self.allowed, remedy)


def kernel_of(state: Franchise, step: str) -> str | None:
    """Name of the code that runs a step over this franchise, if there is any."""
    try:
        return state.kernel(step)
    except KernelError:
        return None


def something_to_do(holds: Callable[[Franchise, Any], bool], remedy: str) -> Requirement:
    """Return a condition without which a move would change nothing."""
    return Requirement(holds, remedy, allowed="moves that have something to do")


LATENT_DISHES = something_to_do(
    lambda state, move: not state.measure.atomic,
    "Dishes are observed, each customer's is its value: use TableGibbs and DishGibbs.",
)
"""Dishes are not the data themselves: a customer's dish can change."""

MARGINALS = Requirement(
    lambda state, move: bool(state.measure.conjugate),
    "{measure} is not conjugate: use TableGibbs, DishGibbs and DishParameters.",
)
"""Parameters of dishes are integrated out."""

SEVERAL_RESTAURANTS = something_to_do(
    lambda state, move: state.topology.n_nodes > 1,
    "A franchise of one restaurant has no table whose dish could change, and no groups; leave {move.name} "
    "out.",
)

NO_ROOT_DISCOUNT = Requirement(
    lambda state, move: state.root.discount == 0.0,
    "With a discount of the root its remainder would be divided into too many dishes: use TableGibbs.",
)

DRAWN_PARAMETERS = Requirement(
    lambda state, move: state.measure.supports("draw_parameters"),
    "{measure} has no draw_parameters(): leave {move.name} out; TableGibbs needs none.",
)

NO_KEPT_PARAMETERS = Requirement(
    lambda state, move: not state.keeps_parameters,
    "Integrate out what dishes of {measure} keep, or use TableGibbs.",
)


def no_tables_of_values(option: str, without: str) -> Requirement:
    """Return the condition of an option with restricted scans: values must not sit at tables of their own."""
    return Requirement(
        lambda state, move: getattr(move, option) is None or not state.measure.seats_values,
        "The numbers of tables of {measure} are part of a proposal, and have no density after restricted "
        f"scans or under a dish of one unit: use {without}.",
        option,
        "None (sequential allocation of a uniform pair)",
    )


def accepts(log_ratio: float, rng: ChoiceSource) -> bool:
    """Accept with probability min(1, exp(log_ratio)); -inf never accepts."""
    if math.isnan(log_ratio) or log_ratio == math.inf:
        raise StateError("log_ratio", log_ratio, "a number or -inf", "Check how the move computes it.")
    if log_ratio == -math.inf:
        return False
    return log_ratio >= 0.0 or rng.bernoulli(exp(log_ratio))


_FROM_ONE = "Sweeps are numbered from 1."
_REQUIREMENTS = "For instance (moves.LATENT_DISHES, moves.MARGINALS)."

MODELS: dict[str, tuple[str, Callable[[Franchise], bool]]] = {
    "restaurant": ("whose root is a restaurant", lambda state: state.root.declared == "restaurant"),
    "weights": ('of root="weights"', lambda state: state.root.declared == "weights"),
    "fixed weights": (
        "of fixed weights of the root",
        lambda state: isinstance(state.root.declared, FixedWeights),
    ),
    "state homes": (
        "in which homes of customers depend on the state (hidden Markov models)",
        lambda state: state.topology.kind in BY_STATE,
    ),
    "known": ("with known components", lambda state: state.known is not None),
    "several parents": (
        "in which restaurants have several parents",
        lambda state: state.topology.kind == "graph",
    ),
    "held": ("with held groups", lambda state: len(state.held.nodes) > 0),
}
"""What a franchise can have that a move must be right for: names in `Move.serves`, with a test of each."""
EVERYWHERE = tuple(MODELS)
BLOCKS = ("restaurant", "weights", "fixed weights", "known", "held")  # no blocks if homes depend on the state


@attrs.frozen
class MoveInfo:
    """The result of a move: how many updates it tried, and how many were accepted.

    Gibbs updates are always accepted.

    Attributes
    ----------
    tried, accepted : int
    details : tuple of (str, MoveInfo)
        The same by kind of update; the trace then has a row for each kind instead of one for the move.
    """

    tried: int = 0
    accepted: int = 0
    details: tuple[tuple[str, MoveInfo], ...] = ()

    def __add__(self, other: MoveInfo) -> MoveInfo:
        if not other.details:
            return MoveInfo(self.tried + other.tried, self.accepted + other.accepted, self.details)
        details = dict(self.details)
        for kind, info in other.details:
            details[kind] = details.get(kind, MoveInfo()) + info
        return MoveInfo(self.tried + other.tried, self.accepted + other.accepted, tuple(details.items()))


def checked_info(move: Move, info: Any, method: str = "apply") -> MoveInfo:
    """Return the value returned by a method of a move if it is a valid MoveInfo; otherwise raise an error."""
    one_of_kind(move, method, info, MoveInfo, "a MoveInfo")
    if not (_is_whole(info.tried) and _is_whole(info.accepted) and 0 <= info.accepted <= info.tried):
        raise refuse(
            move, method, info, "a MoveInfo of whole numbers, 0 <= accepted <= tried",
            "Count the updates that were tried, and those that took effect.",
        )  # fmt: skip
    if info.details and not (
        isinstance(info.details, tuple)
        and all(isinstance(one, tuple) and tuple(map(type, one)) == (str, MoveInfo) for one in info.details)
    ):
        raise refuse(
            move, "apply", info.details, "a tuple of pairs of a name and a MoveInfo, as details",
            "For instance (('split', MoveInfo(1, 0)),).",
        )  # fmt: skip
    return info


def _is_whole(n: Any) -> bool:
    return type(n) is int or (isinstance(n, numbers.Integral) and not isinstance(n, bool))


class Move(abc.ABC):
    """Base class of all moves. A move must define `apply`.

    Attributes
    ----------
    exact : bool
        False for a move that leaves the posterior only approximately invariant; the trace records this.
    continuous : bool
        Whether the move draws continuous quantities: then Geweke's test tests it, not enumeration.
    needs_tables : bool
        Whether the move needs seats; over a store without seats these are drawn while the move runs.
    by_cell : bool
        Whether the move doesn't distinguish customers with the same document and term (`CountGibbs`). If no
        move of a run does, no array with an entry per customer is allocated.
    ensemble : bool
        Whether the move sees several franchises: see `others`.
    updates : tuple of str
        What the move changes: "seating", "concentration", ...
    serves : tuple of str
        Names of `MODELS`: the roots under which the move is right, and whether it is if homes depend on the
        state, with known components and with held groups. A schedule with it over other franchises is
        refused, and `hdpkit.testing.check_move` proves it over each of these. By default everything but held
        groups, as for a move that only calls exact steps (`reseat`); if `needs_tables` is set, only a root
        that is a restaurant, since ratios of priors depend on the model.
    calls : tuple of Step
        Steps that the move always calls. A schedule over a franchise for which one of them has no kernel is
        refused.
    requires : tuple of Requirement
        What else must hold. A schedule over another franchise is refused.
    over : "documents", "totals" or None
        What the move needs to run over a corpus in shards (``hdpkit.shards``), bit for bit as in one process.
        "documents": each document alone, given topics and root weights; derive from
        `hdpkit.moves.ByDocument`. "totals": what is common to all shards: the dishes with their counts and
        root weights, hyperparameters, `Franchise.log_likelihood`, `Franchise.counted_totals_of`; every worker
        runs `apply` with the same stream. None: the whole franchise; the move is refused over shards.
    """

    over: str | None = None
    exact: bool = True
    continuous: bool = False
    needs_tables: bool = False
    by_cell: bool = False
    ensemble: bool = False
    updates: tuple[str, ...] = ("seating",)
    calls: tuple[Step | str, ...] = ()
    requires: tuple[Requirement, ...] = ()

    @property
    def name(self) -> str:
        """Name in the trace."""
        return type(self).__name__

    @property
    def serves(self) -> tuple[str, ...]:
        """The models that the move serves, unless its class declares others."""
        return ("restaurant",) if self.needs_tables else EVERYWHERE[:-1]

    def __repr__(self) -> str:
        return f"{self.name}()"

    @abc.abstractmethod
    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run the move once, in place.

        Parameters
        ----------
        state : Franchise
        rng : ChoiceSource
            Draw discrete quantities from ``choose``, ``bernoulli``, ``index``, ``permutation``, ``binomial``;
            continuous ones from ``uniform``, ``normal``, ``gamma``, ``beta``, ``dirichlet``.
        steps : (int, int), optional
            Only steps first .. last - 1 of `n_steps`, so that a step can be tested alone.
        """

    def n_steps(self, state: Franchise) -> int:
        """Number of steps of which one application is the product; 1 if it can't be split."""
        return 1

    def check(self, state: Franchise) -> None:
        """Raise a ScheduleError if the move can't run over this franchise or would have nothing to do.

        By default the conditions in `requires` are tested, as they are before a check of your own.
        """
        several = items("requires", self.requires, "a tuple of requirements", remedy=_REQUIREMENTS)
        for requirement in several:
            instance("requires", requirement, Requirement, "a requirement", remedy=_REQUIREMENTS)
            requirement.check(state, self)

    def others(self, state: Franchise) -> Sequence[Franchise]:
        """Return the further franchises of an ensemble move, over the data of this one; by default none.

        The scheduler calls it before the first sweep. It starts each of them like the franchise of the run,
        and every other move updates each in every sweep, from streams of its own. The move makes them in the
        first call, and registers a part that freezes and thaws them. Trace, samples and final state are those
        of the run's franchise.
        """
        return ()

    def needs_lengths(self, restaurant: Restaurant) -> bool:
        """Whether a move over totals needs the number of tokens of every document in order.

        Then `Franchise.totals_of` returns them over shards too. There the number of tables of one document
        isn't known, only how many documents have each number, so nothing may depend on the two together.
        """
        return False

    def threaded(self, threads: int) -> Move:
        """Return the move with this number of threads; by default the move itself, which uses one.

        The chain must not depend on the number of threads.
        """
        return self

    # ------------------------------------------------------------------ schedules

    def until(self, sweep: int) -> Scheduled:
        """Run in sweeps 1 .. sweep."""
        return Scheduled(self, last=whole_number("sweep", sweep, remedy=_FROM_ONE))

    def after(self, sweep: int) -> Scheduled:
        """Run from sweep + 1 on."""
        return Scheduled(self, first=whole_number("sweep", sweep, remedy=_FROM_ONE) + 1)

    def every(self, n: int) -> Scheduled:
        """Run in sweeps n, 2n, ..."""
        return Scheduled(self, period=whole_number("n", n, 1, remedy=_FROM_ONE))

    def repeat(self, n: int) -> Scheduled:
        """Run n times in a sweep."""
        return Scheduled(
            self, times=whole_number("n", n, 1, remedy="Leave the move out if it is not to run.")
        )

    def runs_in(self, sweep: int) -> bool:
        """Whether the move runs in this sweep (counted from 1)."""
        return True


@attrs.frozen
class Threaded(Move):
    """A move that can use several threads."""

    threads: int = attrs.field(
        default=1, validator=validator(whole_number, 1, MOST_THREADS, remedy="One per processor is usual.")
    )

    def threaded(self, threads: int) -> Self:
        """Return this move with this number of threads, unless it already has more than one."""
        return attrs.evolve(self, threads=threads) if self.threads == 1 else self


_from_one = validator(whole_number, 1, remedy="Sweeps are numbered from 1.")
_from_zero = validator(whole_number, 0, remedy="Sweeps are numbered from 1.")


@attrs.frozen
class Scheduled(Move):
    """A move that runs ``times`` times in every sweep from first to last that is a multiple of ``period``.

    Returned by `Move.until`, `Move.after`, `Move.every` and `Move.repeat`. These may be chained; the result
    is a single time table of the move.
    """

    move: Move = attrs.field(
        validator=validator(
            instance, Move, "a move", remedy="Pass an instance: TableGibbs(), not TableGibbs."
        )
    )
    first: int = attrs.field(default=1, validator=_from_one)
    last: int | None = attrs.field(default=None, validator=attrs.validators.optional(_from_zero))
    period: int = attrs.field(default=1, validator=_from_one)
    times: int = attrs.field(default=1, validator=_from_one)

    def __attrs_post_init__(self) -> None:
        inner = self.move
        if not isinstance(inner, Scheduled):
            return
        ends = [end for end in (self.last, inner.last) if end is not None]
        merged = {
            "move": inner.move,
            "first": max(self.first, inner.first),
            "last": min(ends) if ends else None,
            "period": math.lcm(self.period, inner.period),
            "times": self.times * inner.times,
        }
        for name, value in merged.items():
            object.__setattr__(self, name, value)

    @property
    def always(self) -> bool:
        """Whether the move runs in every sweep."""
        return self.first == 1 and self.last is None and self.period == 1

    def runs_in(self, sweep: int) -> bool:
        """Whether the move runs in this sweep."""
        in_time = self.first <= sweep and (self.last is None or sweep <= self.last)
        return in_time and sweep % self.period == 0 and self.move.runs_in(sweep)

    def threaded(self, threads: int) -> Move:
        """Return the time table with the move on this number of threads."""
        return attrs.evolve(self, move=self.move.threaded(threads))

    def n_steps(self, state: Franchise) -> int:
        """Steps of the move if it runs once per sweep, otherwise 1."""
        return self.move.n_steps(state) if self.times == 1 else 1

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Run the move ``times`` times; the repetitions share one drawn seating."""
        if self.times == 1:
            return self.move.apply(state, rng, steps)
        info = MoveInfo()
        with state.labelled_seating(rng) if self.move.needs_tables else nullcontext():
            for _ in range(self.times):
                info += applied(self.move, state, rng)
        return info


_OF_THE_MOVE = (
    *("name", "over", "exact", "continuous", "needs_tables", "by_cell", "ensemble"),
    *("updates", "calls", "requires", "serves", "check", "others", "needs_lengths"),
)
for _name in _OF_THE_MOVE:  # a time table is asked, and the move answers
    setattr(Scheduled, _name, property(operator.attrgetter(f"move.{_name}")))


def called(move: Move, method: Callable[..., Any], *arguments: Any) -> Any:
    """Call a method of a move. StopIteration would end the generator of draws, and every loop over it."""
    try:
        return method(*arguments)
    except StopIteration as error:
        raise ScheduleError(
            "moves", move.name, "moves that raise no StopIteration",
            "An iterator within it has ended: give next() a default, or begin the iterator again.",
        ) from error  # fmt: skip


def applied(move: Move, *arguments: Any) -> MoveInfo:
    """Apply a move, and check what it returns."""
    return checked_info(move, called(move, move.apply, *arguments))


def check_move(move: Move, state: Franchise) -> None:
    """Raise an error if a move can't run over a franchise: by what it requires, calls and serves."""
    if isinstance(move, Scheduled):
        move = move.move
    Move.check(move, state)  # also where the move has a check of its own
    move.check(state)
    for step in move.calls:
        try:
            state.kernel(step)
        except KernelError as error:
            raise ScheduleError(
                "moves", move.name, f"{SUPPORTED}: {error.parameter} must be "
                f"{error.allowed}", "Leave the move out; TableGibbs runs over every store, measure and tree.",
            ) from error  # fmt: skip
    for model in models_of(state):
        if model not in _served(move):
            raise ScheduleError(
                "moves", move.name, f"moves that serve a franchise {MODELS[model][0]}",
                f"It serves {', '.join(move.serves)}. Leave it out; or, if it is right here, too, declare "
                f"{model!r} in its attribute serves, and prove it by hdpkit.testing.check_move.",
            )  # fmt: skip


def models_of(state: Franchise) -> list[str]:
    """What a franchise has, as names of `MODELS`."""
    return [model for model, (_, there) in MODELS.items() if there(state)]


def _served(move: Move) -> tuple[str, ...]:
    """The declared models, if there are such."""
    names = move.serves
    if not isinstance(names, tuple) or not set(names) <= set(MODELS):
        raise refuse(move, "serves", names, f"a tuple of names among {EVERYWHERE}", "See moves.Move.")
    return names
