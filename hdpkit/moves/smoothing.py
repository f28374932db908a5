"""The smoothing of a sparse Dirichlet-multinomial."""

from __future__ import annotations

import attrs

from hdpkit.checks import choice, positive_number, validator
from hdpkit.errors import ScheduleError
from hdpkit.franchise import Franchise
from hdpkit.moves.base_measure_parameters import update_parameter
from hdpkit.moves.protocol import Move, MoveInfo
from hdpkit.moves.registry import moves
from hdpkit.moves.scale import Scale
from hdpkit.priors import support_of
from hdpkit.random import ChoiceSource

__all__ = ["Smoothing"]


@attrs.define
class Smoothing(Move):
    """Update the smoothing of a sparse Dirichlet-multinomial, where it has a prior.

    The target is p(data | dishes, smoothing) p(smoothing), selectors and topics integrated out, given the
    proportions where these are stored. `BaseMeasureParameters` updates every parameter that has a prior.

    Parameters
    ----------
    method : str
        "slice": Neal (2003), stepping out, on the log scale. "metropolis": a normal random walk on the
        smoothing itself, as in Wang & Blei (2009, section 4); a proposal below 0 is rejected.
    width : float
        First width of the slice, on the log scale, or standard deviation of the walk; 1 in the paper.
    """

    continuous = True
    updates = ("base",)

    method: str = attrs.field(
        default="slice", validator=validator(choice, ("slice", "metropolis"), remedy="Slice needs no tuning.")
    )
    width: float = attrs.field(
        default=1.0, validator=validator(positive_number, remedy="1.0 is the paper's.")
    )

    def check(self, state: Franchise) -> None:
        """Refuse a measure without smoothing, or whose smoothing is fixed."""
        if "smoothing" not in state.measure.priors:
            raise ScheduleError(
                "moves", self.name, "moves that have something to do",
                "No smoothing has a prior: build hk.SparseDirichletMultinomial(smoothing=hk.Gamma(1, 1)), or "
                "leave Smoothing out.",
            )  # fmt: skip

    def apply(self, state: Franchise, rng: ChoiceSource, steps: tuple[int, int] | None = None) -> MoveInfo:
        """Make one update."""
        if steps == (0, 0):
            return MoveInfo()
        ends = support_of(state.measure.priors["smoothing"])
        scale = Scale(*ends, natural=self.method == "metropolis")
        return MoveInfo(1, int(update_parameter(state, "smoothing", scale, self.method, self.width, rng)))


moves.register("smoothing", Smoothing, lambda: [Smoothing(), Smoothing("metropolis")])
