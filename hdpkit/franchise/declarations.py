"""Declarations of restaurants, and which of them a store of counts serves."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.checks import as_float, choice, validator, whole_number
from hdpkit.errors import DataError, DeclarationError, ParameterError, StateError
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.measures.atomic import AtomicMeasure
from hdpkit.measures.protocol import BaseMeasure
from hdpkit.priors import Each, Prior, Shifted, mean_of, support_of
from hdpkit.stores import Detail, detail_of


@attrs.frozen
class Hyperparameter:
    """A declared concentration or discount: a fixed number, or a prior from which it is resampled."""

    start: float
    prior: Prior | None = None
    each: bool = False
    shifted: bool = False

    @classmethod
    def of(cls, name: str, declared: Any) -> Hyperparameter:
        """Convert a user's declaration."""
        prior: Any = declared.prior if isinstance(declared, Each) else declared
        shifted = isinstance(prior, Shifted)
        prior = prior.prior if shifted else prior
        if isinstance(prior, Prior) and not isinstance(prior, type):
            return cls(mean_of(prior), prior, isinstance(declared, Each), shifted)
        value = as_float(declared)
        if math.isfinite(value):
            return cls(value)
        raise ParameterError(
            name,
            declared,
            "a finite number (fixed) or a prior (resampled)",
            "For instance 1.0 or hk.Gamma(1, 1).",
        )

    @property
    def support(self) -> tuple[float, float]:
        """The open interval of the prior's values (with ``shifted``, of concentration + discount)."""
        return support_of(self.prior) if self.prior is not None else (self.start, self.start)


def _concentration(declared: Any) -> Any:
    read = Hyperparameter.of("concentration", declared)
    if read.prior is not None and not read.support[0] >= 0.0:
        raise ParameterError(
            "concentration",
            declared,
            "a prior of positive numbers",
            "hk.Shifted(hk.Gamma(1, 1)), a prior of concentration + discount, allows numbers below 0.",
        )
    return declared


def _discount(declared: Any) -> Any:
    read = Hyperparameter.of("discount", declared)
    low, high = read.support
    if read.prior is not None and (read.shifted or not 0.0 <= low < read.start < high <= 1.0):
        raise ParameterError(
            "discount",
            declared,
            "a number in [0, 1), or a prior with support and mean within (0, 1)",
            "For instance hk.Beta(1, 1).",
        )
    if not 0.0 <= read.start < 1.0:
        raise ParameterError("discount", declared, "in [0, 1)", "0 is the Dirichlet process.")
    return declared


def _base(declared: Any) -> Any:
    if not isinstance(declared, (Restaurant, Several, BaseMeasure)):
        raise ParameterError(
            "base",
            declared,
            "a Restaurant, several of them (hk.MixtureOf, hk.OneOf), or a base measure",
            "For instance hk.DirichletMultinomial(eta=0.1).",
        )
    if isinstance(declared, BaseMeasure) and declared.atomic and not isinstance(declared, AtomicMeasure):
        raise ParameterError(
            "base",
            declared,
            "an AtomicMeasure, where dishes are observed",
            "Derive it from hk.AtomicMeasure.",
        )
    return declared


def _label(declared: Any) -> Any:
    if isinstance(declared, StateHomes):
        return declared
    if declared is not None and (not isinstance(declared, str) or not declared):
        raise ParameterError(
            "each", declared, "the name of a label of the data, a StateHomes, or None", "Say each='document'."
        )
    return declared


class Several:
    """A base of several restaurants: see `hdpkit.franchise.several_parents`."""

    restaurants: tuple[Restaurant, ...]


@attrs.frozen(eq=False, repr=False)
class Restaurant:
    """A declared restaurant, or one for each value of a label.

    Parameters
    ----------
    base : Restaurant, MixtureOf, OneOf or BaseMeasure
        The distribution of its dishes: the parent restaurant, several of them, or the base measure at the
        root.
    concentration : float, prior, Shifted or Each
        theta (alpha, gamma), above -discount: a number is fixed, a prior is resampled and starts at its mean.
        A prior, for instance ``hk.Gamma(1, 1)``, is one of positive numbers; ``hk.Shifted(prior)`` is one of
        theta + d, and theta may be negative.
    discount : float, Beta or Each
        d in [0, 1); 0 is the Dirichlet process. A prior has its support in (0, 1); if a fixed theta is not
        positive, it is the prior given d > -theta (`Franchise.log_joint` omits the constant of this
        condition).
    each : str or StateHomes, optional
        Label of the data: one restaurant for each of its values. None: a single restaurant. An object of a
        subclass of `hdpkit.franchise.StateHomes`: one restaurant for each dish, and a customer's restaurant
        depends on the dishes of other customers.
    name : str, optional
        Defaults to ``each`` (or its name), or "root".

    All restaurants of one declaration share its concentration and its discount, unless ``hk.Each(prior)``
    gives each restaurant its own.
    """

    base: Any = attrs.field(converter=_base)
    concentration: Any = attrs.field(default=1.0, kw_only=True, converter=_concentration)
    discount: Any = attrs.field(default=0.0, kw_only=True, converter=_discount)
    each: str | StateHomes | None = attrs.field(default=None, kw_only=True, converter=_label)
    name: str = attrs.field(kw_only=True)

    @name.default
    def _default_name(self) -> str:
        return self.label or ("root" if isinstance(self.base, BaseMeasure) else "restaurant")

    def __attrs_post_init__(self) -> None:
        if not isinstance(self.name, str) or not self.name or "/" in self.name:
            raise ParameterError("name", self.name, "a non-empty string without '/'", "Leave it out.")
        if isinstance(self.base, BaseMeasure) and self.each is not None:
            raise DeclarationError(
                "each", self.each, "None at the root, which all data share",
                "Put a root below it: Restaurant(base=Restaurant(base=measure), each=...).",
            )  # fmt: skip
        theta, discount = self.hyperparameters
        low = 0.0 if theta.prior is not None and not theta.shifted else -discount.start
        if not low < theta.start < math.inf:
            raise ParameterError(
                "concentration",
                self.concentration,
                "above -discount (above 0 without a discount); of a prior, its starting value",
                "Use a larger one.",
            )
        if theta.shifted and discount.each and not theta.each:
            raise ParameterError(
                "concentration", self.concentration, "hk.Each of a prior, as the discount is",
                "The sum concentration + discount differs between restaurants: use Each(Shifted(prior)), "
                "or hk.Gamma.",
            )  # fmt: skip
        chain = self.chain()
        if sum(isinstance(one.base, BaseMeasure) for one in chain) > 1:
            raise DeclarationError(
                "base", self.base, "restaurants with one root",
                "Declare the root once, and use it in every base.",
            )  # fmt: skip
        names = [declaration.name for declaration in chain]
        labels = [declaration.each for declaration in chain if declaration.each is not None]
        for what, values in (("name", names), ("each", labels)):
            twice = [value for i, value in enumerate(values) if value in values[:i]]
            if twice:
                raise DeclarationError(what, twice[-1], "different from those of its bases", "Rename it.")

    @property
    def label(self) -> str | None:
        """The label of the data, or the name of a `StateHomes`; None for a single restaurant."""
        return self.each.name if isinstance(self.each, StateHomes) else self.each

    @cached_property
    def hyperparameters(self) -> tuple[Hyperparameter, Hyperparameter]:
        """Concentration and discount as declared."""
        theta = Hyperparameter.of("concentration", self.concentration)
        discount = Hyperparameter.of("discount", self.discount)
        start = theta.start - discount.start if theta.shifted else theta.start
        return attrs.evolve(theta, start=start), discount

    def __repr__(self) -> str:
        own = [self]
        while isinstance(own[-1].base, Restaurant):
            own.append(own[-1].base)
        text = repr(own[-1].base)  # several bases are written by their names
        for one in own[::-1]:
            text = (
                f"Restaurant(base={text}, concentration={one.concentration!r}, discount={one.discount!r}, "
                f"each={one.each!r}, name={one.name!r})"
            )
        return text

    def chain(self) -> list[Restaurant]:
        """Declarations from the root to this one; those of several bases in their order, each once."""
        found: dict[Restaurant, None] = {}
        waiting = [self]
        while waiting:
            one = waiting[-1]
            bases = one.base.restaurants if isinstance(one.base, Several) else (one.base,)
            above = [base for base in bases if isinstance(base, Restaurant) and base not in found]
            waiting.extend(above[::-1])
            if not above:
                found[waiting.pop()] = None
        return list(found)

    @property
    def measure(self) -> BaseMeasure:
        """The base measure at the root."""
        one = self
        while not isinstance(one.base, BaseMeasure):
            one = one.base.restaurants[0] if isinstance(one.base, Several) else one.base
        return one.base


@attrs.frozen
class FixedWeights:
    """A finite model: K dishes with weight 1/K each at the root.

    Pass it as ``root`` of a `Franchise`. The root's children draw from the K dishes directly: a Dirichlet
    process with concentration alpha over them is a Dirichlet distribution with parameter alpha/K for each
    dish. The root's own concentration is not used then, and can't have a prior; its discount is 0. Dishes
    without customers are not counted by `Franchise.n_dishes`: in sweeps they are one outcome, "a new dish",
    with weight (K - n) / K, where n dishes have customers.

    Parameters
    ----------
    n_dishes : int
        K, at least 1.
    """

    n_dishes: int = attrs.field(
        validator=validator(whole_number, 1, 2**30, remedy="For instance hk.FixedWeights(100).")
    )


def kind_of_root(declared: str | FixedWeights) -> str:
    """Return "restaurant", "weights" or "fixed" for a franchise's argument ``root``."""
    return "fixed" if isinstance(declared, FixedWeights) else declared


def number_of(declarations: Sequence[Any], name: str, parameter: str = "name") -> int:
    """Number of the declaration with this name, or of what shares a concentration; the root's is 0."""
    names = [declaration.name for declaration in declarations]
    return names.index(choice(parameter, name, names, remedy="These are the declared restaurants."))


_OTHERWISE = "Or use store='histogram'."


def tables_at_end(store: Any, root: str, n_levels: int) -> bool:
    """Whether steps draw tables at their end, given the customers, with this root and number of levels."""
    # With more than two levels, tables are customers of restaurants without weights.
    return detail_of(store) is Detail.COUNTS and root not in ("restaurant", "atoms") and n_levels <= 2


def check_counts_store(
    store: type, root: str, declarations: Sequence[Restaurant], observed: bool = False
) -> None:
    """Raise a DeclarationError if the store is one of counts and can't be used for a franchise."""
    if detail_of(store) is not Detail.COUNTS:
        return
    if root != "restaurant" and any(isinstance(one.base, Several) for one in declarations):
        raise DeclarationError(
            "root", root, "'restaurant', where restaurants have several parents, over a store of counts",
            f"Leave root out. {_OTHERWISE}",
        )  # fmt: skip
    if observed:
        raise DeclarationError(
            "base", "observed dishes", "a measure over latent dishes, over a store of counts", _OTHERWISE
        )
    for declaration in declarations[1:]:
        discount = declaration.hyperparameters[1]
        if not tables_at_end(store, root, 2):
            if discount.each:  # each would need a table of Stirling numbers
                raise DeclarationError(
                    f"discount of {declaration.name!r}", declaration.discount,
                    "one for all restaurants of a declaration, over a store of counts",
                    f"Leave hk.Each out. {_OTHERWISE}",
                )  # fmt: skip
        elif discount.prior is not None or discount.start != 0.0:
            raise DeclarationError(
                f"discount of {declaration.name!r}", declaration.discount,
                "0 below the root, over a store of counts where the root is no restaurant",
                f"Leave the discount out, or leave root out. {_OTHERWISE}",
            )  # fmt: skip


def check_weights(store: Any, declared: str, root: str, step: str, n_levels: int) -> None:
    """Raise a StateError if a step would draw tables of a store of counts while there are no weights."""
    if tables_at_end(store, declared, n_levels) and not tables_at_end(store, root, n_levels):
        raise StateError(
            "root", root, "'weights' while this step runs over a store of counts",
            f"Call {step} outside `with franchise.root_integrated(rng):`.",
        )  # fmt: skip


def check_no_discount(
    store: Any, root: str, discount: npt.NDArray[np.float64], *, frozen: bool = False
) -> None:
    """Raise an error if restaurants below the root have a discount and tables are drawn given customers."""
    if not tables_at_end(store, root, 2) or not np.any(discount != 0.0):
        return
    allowed = "0 below the root, over a store of counts where the root is no restaurant"
    if frozen:
        raise DataError("discount, in the frozen state", discount, allowed, "Thaw it over store='histogram'.")
    raise ParameterError("value (a discount)", discount, allowed, f"Leave it at 0. {_OTHERWISE}")
