"""Concentrations and discounts of a franchise: two arrays, one entry a restaurant, theta > -d everywhere."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import number_array
from hdpkit.errors import DeclarationError, ParameterError
from hdpkit.franchise.counts_rules import check_no_discount
from hdpkit.franchise.declarations import Hyperparameter
from hdpkit.priors import Prior, draw_from, log_density_at

if TYPE_CHECKING:
    from hdpkit.franchise.core import FranchiseCore

__all__ = ["Numbers", "assign", "draw", "log_prior", "present", "replace", "reset"]

Floats = npt.NDArray[np.float64]

_TRIES = 1000
_CHUNK = 1 << 18


def reset(franchise: FranchiseCore) -> None:
    """Set every concentration and discount to its starting value: the number, or the prior's mean."""
    for number, declaration in enumerate(franchise.declarations):
        theta, discount = declaration.hyperparameters
        nodes = franchise.topology.nodes(number)
        _put(franchise, nodes, theta.start, discount.start)


def present(franchise: FranchiseCore, name: str) -> tuple[Any, Any]:
    """Concentration and discount of a declaration: each a float, or an array with one entry a restaurant."""
    number = franchise.declaration_number(name)
    nodes = franchise.topology.nodes(number)
    theta, discount = (
        values[nodes].copy() if declared.each else _shared(values[nodes], declared)
        for declared, values in zip(
            franchise.declarations[number].hyperparameters,
            (franchise._concentration, franchise._discount),
            strict=True,
        )
    )
    return theta, discount


def _shared(values: Floats, declared: Hyperparameter) -> float:
    """The value that all restaurants share; where no context is as long as a level's there are none."""
    return float(values[0]) if len(values) else declared.start


def assign(franchise: FranchiseCore, name: str, **values: Any) -> None:
    """Set ``concentration`` or ``discount`` of a declaration, or both at once.

    Each is one number, or one each a restaurant where each has its own. A ParameterError leaves both alone.
    """
    number = franchise.declaration_number(name)
    nodes = franchise.topology.nodes(number)
    theta, d = franchise._concentration[nodes], franchise._discount[nodes]
    declared = franchise.declarations[number].hyperparameters
    if "concentration" in values:
        theta = _entries(declared[0], name, values["concentration"], len(d))
        if not np.all(np.isfinite(theta)):
            raise _outside("concentration", values["concentration"], "finite and above -discount")
    if "discount" in values:
        d = _entries(declared[1], name, values["discount"], len(d))
        if not np.all((d >= 0.0) & (d < 1.0) & (theta > -d)):
            raise _outside("discount", values["discount"], "in [0, 1) and above -concentration")
        if number > 0:
            check_no_discount(franchise.store, np.atleast_1d(d))
    elif not np.all(theta > -d):
        raise _outside("concentration", values["concentration"], "finite and above -discount")
    _put(franchise, nodes, theta, d)


def _put(franchise: FranchiseCore, nodes: Any, theta: Any, d: Any) -> None:
    """Write both; theta > -d on the way, too, since a signal may come in between."""
    franchise._functions.clear()  # what runs a verb may depend on the values
    franchise._concentration[nodes] = np.maximum(franchise._concentration[nodes], theta)
    franchise._discount[nodes] = d
    franchise._concentration[nodes] = theta


def replace(franchise: FranchiseCore, concentration: Floats, discount: Floats) -> None:
    """Take over the two arrays of a frozen state."""
    for values, frozen in ((franchise._concentration, concentration), (franchise._discount, discount)):
        if not np.array_equal(values, frozen):
            franchise._functions.clear()
            values[:] = frozen


@attrs.frozen
class Numbers:
    """What kernels ask about the hyperparameters before they serve a verb."""

    franchise: FranchiseCore

    def ends(self) -> list[tuple[float, float]]:
        """Return the largest concentration and the largest discount of each declaration, the root's first."""
        franchise = self.franchise
        arrays = (franchise._concentration, franchise._discount)
        out = []
        for number in range(len(franchise.declarations)):
            nodes = franchise.topology.nodes(number)
            theta, d = (float(np.max(values[nodes], initial=0.0)) for values in arrays)
            out.append((theta, d))
        return out

    def longest(self) -> int:
        """Return the number of data customers of the largest restaurant below the root."""
        topology = self.franchise.topology
        if self.franchise._longest < 0:
            sizes = np.zeros(topology.n_nodes, dtype=np.int64)
            for first in range(0, topology.n_customers, _CHUNK):
                sizes += np.bincount(topology.home[first : first + _CHUNK], minlength=topology.n_nodes)
            self.franchise._longest = int(np.max(sizes[1:], initial=0))
        return self.franchise._longest


def _outside(what: str, value: Any, allowed: str) -> ParameterError:
    return ParameterError(f"value (a {what})", value, allowed, "Check the update.")


def _entries(declared: Hyperparameter, name: str, value: Any, n: int) -> Floats:
    """One entry a restaurant."""
    values = number_array(value)
    shapes = [(), (n,)] if declared.each else [()]
    if values is None or values.shape not in shapes:
        allowed = f"one number, or {n} of them" if declared.each else "one number"
        raise ParameterError("value", value, allowed, f"{name!r} has {n} restaurants.")
    return np.broadcast_to(values, n)


def log_prior(franchise: FranchiseCore) -> float:
    """Log prior density of the concentrations and discounts that have a prior, in nats."""
    total = 0.0
    for declaration in franchise.declarations:
        theta, d = present(franchise, declaration.name)
        declared = declaration.hyperparameters
        for one, values in zip(declared, (theta + d if declared[0].shifted else theta, d), strict=True):
            if one.prior is not None:
                total += sum(log_density_at(one.prior, float(value)) for value in np.atleast_1d(values))
    return total


def draw(franchise: FranchiseCore, generator: np.random.Generator) -> None:
    """Draw every concentration and discount that has a prior from it, the discounts first."""
    for number, declaration in enumerate(franchise.declarations):
        theta, d = present(franchise, declaration.name)
        declared, discount = declaration.hyperparameters
        nodes = franchise.topology.nodes(number)
        n = len(franchise._concentration[nodes])
        if discount.prior is not None:
            low = -declared.start if declared.prior is None else 0.0
            d = _draw_above(low, discount.prior, n if discount.each else None, generator)
        if declared.prior is not None:
            theta = draw_from(declared.prior, generator, n if declared.each else None)
            if declared.shifted:
                # A sum far below d is lost in theta's last bit, and theta > -d must stay.
                theta = np.maximum(theta - d, np.nextafter(-np.asarray(d), 1.0))
        assign(franchise, declaration.name, concentration=theta, discount=d)


def _draw_above(low: float, prior: Prior, size: int | None, generator: np.random.Generator) -> Any:
    """Draw from a prior given that the value is above ``low``."""
    drawn = np.asarray(draw_from(prior, generator, size))
    for _ in range(_TRIES):
        outside = ~(drawn > low)
        if not outside.any():
            return drawn
        drawn[outside] = draw_from(prior, generator, int(outside.sum()))
    raise DeclarationError(
        "discount", prior, f"a prior with mass above {low}, which is -concentration", "Give it another one."
    )
