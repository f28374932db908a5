"""Effects of covariates of groups, such as a date or a section, on their shares of the components."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import as_sequence, hashable, plain, text
from hdpkit.data.files.labels import days_of, iso_date
from hdpkit.data.files.tables import missing, number_of
from hdpkit.errors import DataError, ParameterError, StateError, importing_extra
from hdpkit.posterior.documents import document_labels, of_documents
from hdpkit.posterior.intervals import halves_of, interval
from hdpkit.random import Purpose, as_source
from hdpkit.run.tables import data_frame

_DRAWS = 100  # of the shares of each group, at least
_COEFFICIENTS = 4000  # draws of each coefficient, at least
_SEED = 3
_FORMULA = 'For instance "year + section".'
_DAYS = 365.2425  # of a year
_ALONE = 1.0 - 1e-9  # leverage of a group that alone determines a coefficient


@attrs.frozen(eq=False, kw_only=True)
class Effects:
    """Coefficients of linear regressions of the shares of T components on P terms of a formula.

    Attributes
    ----------
    terms : tuple of str
        As formulaic names them: "Intercept", "year", "section[T.sport]".
    n_groups : int
        Groups in the regressions: those with customers and with all covariates.
    estimates, lower, upper : float64 arrays, shape (T, P)
        How the share changes if the term grows by 1: means over the draws, and intervals of the components'
        ``level``.
    labels : tuple of str
        Of the components; empty if they have none.
    """

    terms: tuple[str, ...]
    n_groups: int
    estimates: Floats = attrs.field(repr=False)
    lower: Floats = attrs.field(repr=False)
    upper: Floats = attrs.field(repr=False)
    labels: tuple[str, ...] = attrs.field(default=(), repr=False)

    def columns(self) -> dict[str, Any]:
        """A table with a row for each component, numbered from 1, and term."""
        k, p = self.estimates.shape
        return {
            "component": np.repeat(np.arange(1, k + 1), p),
            **({"label": [label for label in self.labels for _ in range(p)]} if self.labels else {}),
            "term": [*self.terms] * k,
            "estimate": self.estimates.ravel(), "lower": self.lower.ravel(), "upper": self.upper.ravel(),
        }  # fmt: skip

    def to_pandas(self) -> Any:
        """The table of `columns` as a data frame."""
        return data_frame(self.columns())


def covariate(values: Sequence[Any]) -> list[Any]:
    """Numbers, dates as years with a fraction, or texts; None where they are missing."""
    there = [None if missing(one) else one for one in values]
    numbers = [None if one is None else number_of(one) for one in there]
    if all(one is None or math.isfinite(one) for one in numbers):
        return numbers
    try:
        days = days_of([None if one is None else iso_date(one) for one in there])
    except ValueError:
        return [None if one is None else str(one) for one in there]
    years = 1970.0 + days.astype(np.float64) / _DAYS
    return [None if one is None else year for one, year in zip(there, years.tolist(), strict=True)]


def kept_covariates(found: Any) -> dict[str, list[Any]]:
    """The labels of documents that a run keeps, such as dates and groups, as covariates."""
    if not hasattr(found.data, "n_documents") or not of_documents(found):
        return {}
    return {
        name: covariate([None if code < 0 else keys[code] for code in codes.tolist()])
        for name, (codes, keys) in document_labels(found).items()
    }


def effects_of(found: Any, formula: str, table: Any) -> Effects:
    """The coefficients that `Components.effects` returns."""
    text("formula", formula, remedy=_FORMULA)
    if not found.has_groups or found.has_transitions:
        raise StateError(
            "components", "without groups that have shares", "in documents, samples or other groups",
            "See shares, or transitions of hidden Markov models.",
        )  # fmt: skip
    totals = np.asarray(found.group_totals)
    terms, design, rows = _design(formula, _columns(found, table), len(totals), np.flatnonzero(totals > 0))
    solve, error_of = _least_squares(formula, design)
    each = -(-_DRAWS // len(found.samples))
    again = -(-_COEFFICIENTS // (each * len(found.samples)))
    source = as_source(_SEED, Purpose.OTHER)
    fitted = np.empty((len(found.samples), each, len(found), len(terms)))
    errors = np.empty_like(fitted)
    for i, sample in enumerate(found.samples):
        for j in range(each):
            of_dishes = sample.draw_group_weights(source)[rows]
            shares = found.by_component(found.which(sample), of_dishes)[:, :-1]
            own = solve @ shares
            fitted[i, j], errors[i, j] = own.T, error_of(shares - design @ own).T
    estimates = fitted.mean(axis=(0, 1))
    lower, upper = np.empty_like(estimates), np.empty_like(estimates)
    halves, free = halves_of(found.samples), len(design) - len(terms)
    for k in range(len(found)):
        size = (len(found.samples), each, again, len(terms))
        drawn = fitted[:, :, None, k] + source.generator.standard_t(free, size) * errors[:, :, None, k]
        drawn = drawn.reshape(len(found.samples), -1, len(terms))
        lower[k], upper[k] = interval(drawn, found.level, halves, estimates[k])
    labels = tuple(found.titles) if found.samples[0].counts is not None else ()
    return Effects(
        terms=terms, n_groups=len(rows), estimates=estimates, lower=lower, upper=upper, labels=labels
    )


def _columns(found: Any, table: Any) -> dict[str, list[Any]]:
    """Covariates by name: those that the run keeps, and those of a table of the groups in their order."""
    columns, n = kept_covariates(found), len(found.names)
    if table is None:
        return columns
    given = dict(table.items()) if isinstance(table, Mapping) or hasattr(table, "columns") else None
    remedy = 'For instance {"year": [1999, 2004, ...]}, in the order of Components.names.'
    if given is None or isinstance(table, type):
        raise ParameterError(
            "table", table, "a dict or a data frame with a column for each covariate", remedy
        )
    for name, values in given.items():
        text("table, name of a column", name, remedy=remedy)
        own = list(as_sequence(f"table, {name!r}", values, "a value for each group"))
        if len(own) != n or not all(map(hashable, own)):
            allowed = f"{n} numbers, dates or texts, one for each group"
            raise DataError(f"table, {name!r}", f"{len(own)} values", allowed, remedy)
        columns[name] = covariate([plain(value) for value in own])
    return columns


def _design(
    formula: str, columns: dict[str, list[Any]], n: int, filled: Int64s
) -> tuple[tuple[str, ...], Floats, Int64s]:
    """Names of the terms, the design matrix, and the group of each of its rows."""
    way_out = "" if columns else " The run keeps no covariates: give them as a table."
    if "Intercept" in columns:
        raise DataError(
            "table", "Intercept", "covariates of other names", "The formula adds this term itself."
        )
    with importing_extra("formulaic", "effects", ", for formulas"):
        from formulaic import model_matrix
    frame = data_frame(columns).reindex(np.arange(n)).iloc[filled]
    try:
        made = model_matrix(formula, frame, na_action="drop", context={}, output="pandas")
        terms, rows = tuple(map(str, made.columns)), np.asarray(made.index, dtype=np.int64)
        design = np.asarray(made, dtype=np.float64)
    except Exception as error:  # of the library, or of functions that the formula calls
        known = ", ".join(map(repr, columns)) or "covariates"
        why = f"{type(error).__name__}: {str(error).partition(chr(10))[0]}"
        raise ParameterError("formula", formula, f"terms of {known} ({why})", _FORMULA + way_out) from error
    if not len(terms) or not np.isfinite(design).all():
        raise ParameterError("formula", formula, "terms that are finite numbers, at least one", _FORMULA)
    if len(design) <= design.shape[1]:
        raise DataError(
            "formula", formula,
            f"fewer terms ({design.shape[1]}) than groups with these covariates ({len(design)})",
            "Leave terms out, or give the covariates of more groups.",
        )  # fmt: skip
    if np.linalg.matrix_rank(design) < design.shape[1]:
        raise DataError(
            "formula", formula, f"terms of which none is a sum of others: {', '.join(terms)}",
            "Leave one of them out, and what never varies.",
        )  # fmt: skip
    return terms, design, rows


def _least_squares(formula: str, design: Floats) -> tuple[Floats, Any]:
    """The matrix that gives coefficients, and a function of residuals that gives their standard errors."""
    # HC3 of MacKinnon & White (1985), since the variance of a share depends on its mean.
    solve = np.asarray(np.linalg.pinv(design), dtype=np.float64)
    leverage = np.einsum("ij,ji->i", design, solve)
    if leverage.max() > _ALONE:
        raise DataError(
            "formula", formula, "terms none of which only one group has",
            "Join rare values of a covariate, or leave it out.",
        )  # fmt: skip
    weights = np.square(solve / (1.0 - leverage))
    return solve, lambda residuals: np.sqrt(weights @ np.square(residuals))
