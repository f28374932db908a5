"""The rule that determines after which sweeps of a run the state is kept as a sample."""

from __future__ import annotations

from typing import Any, Self

import attrs

from hdpkit.checks import whole_number
from hdpkit.errors import ParameterError

__all__ = ["Samples"]


def _after(instance: Any, attribute: Any, value: Any) -> None:
    whole_number("after", value, 0, remedy="The last sweep of the warm-up.")


def _every(instance: Any, attribute: Any, value: Any) -> None:
    whole_number("every", value, 1, remedy="1 keeps every sweep.")


@attrs.frozen
class Samples:
    """The sweeps of a run after which a `Sample` is kept: after + every, after + 2 every, ...

    Parameters
    ----------
    after : int
        The last sweep of the warm-up; sweeps count from the start of the chain, as in its trace.
    every : int
        Sweeps from one sample to the next.
    """

    after: int = attrs.field(validator=_after)
    every: int = attrs.field(default=1, validator=_every)

    @classmethod
    def of(cls, given: Any, begun: int, sweeps: int) -> Self | None:
        """The rule given to a run of ``sweeps`` sweeps that begins after sweep ``begun``.

        A number of samples is spread over the second half: after = begun + sweeps // 2, every = the number of
        remaining sweeps divided by the number of samples, rounded down and at least 1.

        Parameters
        ----------
        given : None, int or Samples
            The argument ``samples``.
        begun : int
            Sweeps before the run.
        sweeps : int
            Sweeps of the run.

        Returns
        -------
        Samples or None

        Raises
        ------
        ParameterError
            If it has another type.
        """
        if given is None or isinstance(given, cls):
            return given
        if isinstance(given, bool) or not isinstance(given, int):
            raise ParameterError(
                "samples", given, "None, a number of samples, or hk.Samples(after=..., every=...)",
                "For instance samples=40: from the second half of the sweeps.",
            )  # fmt: skip
        number = whole_number("samples", given, 1, remedy="Leave it out to keep none.")
        half = sweeps // 2
        return cls(begun + half, max(1, (sweeps - half) // number))

    def wanted(self, sweep: int) -> bool:
        """Whether the state after this sweep is kept.

        Parameters
        ----------
        sweep : int

        Returns
        -------
        bool
        """
        return sweep > self.after and (sweep - self.after) % self.every == 0

    def sweeps(self, last: int) -> range:
        """The sweeps after which the state is kept, up to this one.

        Parameters
        ----------
        last : int

        Returns
        -------
        range
        """
        return range(self.after + self.every, last + 1, self.every)
