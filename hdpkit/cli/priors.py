"""Options that declare the base measure of topics and the restaurants."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import click

from hdpkit.base_measures import BaseMeasure, DirichletMultinomial, SparseDirichletMultinomial
from hdpkit.cli.options import Parsed
from hdpkit.cli.parse import parse_number_or_prior, parse_selection, parse_smoothing
from hdpkit.errors import ParameterError
from hdpkit.franchise import FixedWeights, Restaurant
from hdpkit.models.topic_parts import default_moves, updates_of
from hdpkit.priors import Gamma

__all__ = [
    "base_measure_of",
    "concentrations_of",
    "default_moves",
    "model_options",
    "prior_type",
    "restaurants_of",
    "root_of",
    "sparse_options",
    "updates_of",
]

ETA = 0.05
"""Default Dirichlet parameter of topics over terms."""
OF_SPARSE = ("smoothing", "selection", "proportions")


def prior_type(name: str) -> Parsed:
    """The type of an option that takes a number or a gamma prior."""
    return Parsed("number|gamma(a,b)", lambda text: parse_number_or_prior(name, text))


def sparse_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the sparse topic model; `base_measure_of` reads them."""
    options = [
        click.option("--sparse", is_flag=True, help="Sparse topics: each one selects its own terms."),
        click.option(
            "--smoothing",
            type=Parsed("number|gamma(a,b)|each(gamma(a,b))", parse_smoothing),
            help="With --sparse: Dirichlet parameter of the terms that a topic selects.  [default: 0.1]",
        ),
        click.option(
            "--selection",
            type=Parsed("beta(r,s)|share", parse_selection),
            help="With --sparse: prior of the share of the terms that a topic selects.  [default: beta(1,1)]",
        ),
        click.option(
            "--proportions",
            type=click.Choice(["integrated", "stored"]),
            help="With --sparse: whether each topic's share is part of the state.  [default: integrated]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def model_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add the options of the two-level topic model; `base_measure_of` and `restaurants_of` read them."""
    options: list[Any] = [
        click.option(
            "--eta",
            type=prior_type("eta"),
            help="Dirichlet parameter of topics over terms. Give it a number: see below.  [default: 0.05]",
        ),
        sparse_options,
        click.option(
            "--document-concentration",
            type=prior_type("document-concentration"),
            default="gamma(1,1)",
            show_default=True,
            help="Concentration of documents over topics (alpha).",
        ),
        click.option(
            "--root-concentration",
            type=prior_type("root-concentration"),
            help="Concentration of the whole corpus over topics (gamma).  [default: gamma(1,1)]",
        ),
        click.option(
            "--group-concentration",
            type=prior_type("group-concentration"),
            help="With --group-column: concentration of groups at each level.  [default: gamma(1,1)]",
        ),
    ]
    for option in reversed(options):
        command = option(command)
    return command


def restaurants_of(base: BaseMeasure, options: dict[str, Any], groups: Iterable[str] = ()) -> Restaurant:
    """The restaurants of the documents, with those of groups of documents and the root above them.

    Parameters
    ----------
    base : BaseMeasure
        As returned by `base_measure_of`.
    options : dict
        Includes those of `model_options`.
    groups : iterable of str
        Labels of groups, the largest groups first; each is a level.
    """
    above = Restaurant(base=base, concentration=_root_concentration(options), name="root")
    for label in groups:
        above = Restaurant(base=above, concentration=_group_concentration(options), each=label)
    return Restaurant(base=above, concentration=options["document_concentration"], each="document")


def concentrations_of(options: dict[str, Any], groups: Iterable[str] = ()) -> list[Any]:
    """Concentrations from the options of `model_options`; parameters as in `restaurants_of`."""
    of_groups = [_group_concentration(options)] if tuple(groups) else []
    return [options["document_concentration"], _root_concentration(options), *of_groups]


def root_of(options: dict[str, Any]) -> str | FixedWeights:
    """The root above the documents: fixed weights if a number of topics is given.

    Parameters
    ----------
    options : dict
        Includes ``topics``, ``root`` and those of `model_options`.

    Raises
    ------
    ParameterError
        If a number of topics is combined with weights or a concentration of the root.
    """
    if options["topics"] is None:
        return str(options["root"])
    if options["root"] != "restaurant":
        raise ParameterError(
            "root", options["root"], "left out with --topics",
            "Topics of a finite model have fixed weights.",
        )  # fmt: skip
    if options["root_concentration"] is not None:
        raise ParameterError(
            "root-concentration", options["root_concentration"], "left out with --topics",
            "Topics of a finite model weigh the same: --document-concentration is K alpha.",
        )  # fmt: skip
    return FixedWeights(options["topics"])


def _group_concentration(options: dict[str, Any]) -> Any:
    given = options.get("group_concentration")
    return Gamma(1.0, 1.0) if given is None else given


def _root_concentration(options: dict[str, Any]) -> Any:
    if options["root_concentration"] is not None:
        return options["root_concentration"]
    # It is not used with fixed weights.
    return Gamma(1.0, 1.0) if options.get("topics") is None else 1.0


def base_measure_of(options: dict[str, Any]) -> BaseMeasure:
    """The base measure declared by the options.

    Parameters
    ----------
    options : dict
        Includes ``eta`` and those of `sparse_options`; None for options that were not given.

    Raises
    ------
    ParameterError
        If an option is given that the measure doesn't support.
    """
    given = {name: options[name] for name in OF_SPARSE if options[name] is not None}
    if options["sparse"]:
        if options["eta"] is not None:
            raise ParameterError(
                "eta", options["eta"], "left out with --sparse",
                "The Dirichlet parameter of the selected terms is --smoothing.",
            )  # fmt: skip
        return SparseDirichletMultinomial(**given)
    for name, value in given.items():
        raise ParameterError(name, value, "left out without --sparse", "Add --sparse, or leave it out.")
    return DirichletMultinomial(eta=ETA if options["eta"] is None else options["eta"])
