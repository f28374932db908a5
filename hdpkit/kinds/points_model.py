"""Estimators of points with an inferred number of components."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import attrs
import numpy as np
import numpy.typing as npt
from sklearn.base import ClusterMixin, DensityMixin
from sklearn.utils.validation import check_is_fitted

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import whole_number
from hdpkit.data import Groups
from hdpkit.errors import DataError, ParameterError, StateError
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.estimators import Estimator, at_once, of_rows
from hdpkit.kinds.points import Mixture, Points
from hdpkit.posterior.components import Components
from hdpkit.posterior.finding import dishes_of
from hdpkit.posterior.new_data import draw_points, new_points
from hdpkit.posterior.partitions import co_clustering
from hdpkit.random import Purpose, as_source
from hdpkit.run.trace import ChainTrace, Trace, chains_in, last_of_burn_in

_GROUP = "group"
_IMPUTE = (
    "Drop these rows, or fill them: sklearn.impute.SimpleImputer, or IterativeImputer, before the model in a "
    "pipeline."
)


class PointsModel(ClusterMixin, DensityMixin, Estimator):
    """Estimator of points, which may be in groups; subclasses name its kind.

    Methods and attributes are named as in `sklearn.mixture`.
    """

    kind: ClassVar[type[Any]] = Points
    kind_: Points
    groups: Any

    # ------------------------------------------------------------------ fitting

    @at_once
    def fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Fit the model.

        Raises a ValueError (DataError, ParameterError) if values are missing or impossible under the measure,
        groups don't fit, or a parameter is out of range.

        Parameters
        ----------
        X : array of shape (n, D), data frame, or Groups
            Points, in rows, without missing values.
        y : ignored
        groups : array of length n, optional
            Group of each point: a number, a string or another value; None or NaN: the point is in none, and
            drawn from the components of all groups.
        """
        self.kind_ = self._made()
        data, _ = self._data(X, groups, reset=True)
        self.kind_, data = self.kind_.prepared(data)
        return self._begin(data)

    @at_once
    def partial_fit(self, X: Any, y: Any = None, groups: Any = None) -> Self:
        """Add new points and continue sampling; the first call is `fit`.

        The new points are seated one by one given the current state. Then `partial_sweeps` sweeps reseat all
        points, including the old ones, whose labels may change; ``labels_`` has all points in order. The
        prior doesn't change. Raises a ValueError as for `fit`. After this and any other exception the model
        is what it was before.

        Parameters
        ----------
        X, y, groups
            As in `fit`: points that are not in the model yet. Groups may be new.
        """
        if not hasattr(self, "franchises_"):
            return self.fit(X, y, groups)
        self._made()
        self._check_run()
        more, label = self._data(X, groups, reset=False)
        more = self.kind_.spread(self.kind_.same(more), len(self.franchise_.data))
        if label is not None:
            self._need_groups()
            own = self.samples_[0].label
            if label != own:  # a column instead of an array, or the reverse
                more = attrs.evolve(more, labels={own: more.labels[label]})
        return self._grow(self.franchise_.data.plus(more))  # type: ignore[attr-defined]

    def _finish(self, franchises: list[Franchise], trace: Trace | ChainTrace) -> None:
        """Keep the fitted states, and set the attributes."""
        super()._finish(franchises, trace)
        self.samples_ = tuple(self._fitted.samples)
        dishes_of(self.samples_)  # raises an error for more points than samples have the dishes of
        self.n_components_posterior_ = _posterior_of_k(trace, self.samples_)

    # ------------------------------------------------------------------ the points of the fit

    @property
    def labels_(self) -> Int64s:
        """Group of each point of the fit, 0 the one with most points: int64, shape (n,).

        A group is one component, or several that points move between from sample to sample.
        """
        found = self._found("labels_")
        return np.asarray(found.point_groups.of[found.partition], dtype=np.int64)

    @property
    def group_of_component_(self) -> Int64s:
        """Group of each component: int64, shape (K,)."""
        return self._found("group_of_component_").point_groups.of

    @property
    def n_groups_(self) -> int:
        """Number of groups in `labels_`."""
        return len(self._found("n_groups_").point_groups)

    @property
    def n_groups_posterior_(self) -> dict[int, float]:
        """Number of groups -> share of the samples whose own components make so many."""
        return self._found("n_groups_posterior_").point_groups.posterior

    @property
    def weights_(self) -> Floats:
        """Mean share of each component, without what is in none: shape (K,), with the sum one."""
        shares = self._found("weights_").shares
        return shares / shares.sum()

    @property
    def parameters_(self) -> dict[str, Floats]:
        """Name -> posterior mean of each component, and the ends of its 90 % interval: shape (K, 3)."""
        return self._found("parameters_").parameters

    @property
    def memberships_(self) -> Floats:
        """Posterior probability of each component for each point of the fit: shape (n, K)."""
        return self._found("memberships_").memberships[:, :-1]

    @property
    def group_names_(self) -> list[Any]:
        """Names of the groups of a fit with groups."""
        return list(self._of_groups("group_names_").names)

    @property
    def group_weights_(self) -> Floats:
        """Posterior mean weights of the components and, last, of the rest: shape (n_groups, K + 1)."""
        return self._of_groups("group_weights_").group_shares

    @property
    def group_weights_lower_(self) -> Floats:
        """Lower ends of the 90 % intervals of `group_weights_`."""
        return self._of_groups("group_weights_lower_").group_shares_lower

    @property
    def group_weights_upper_(self) -> Floats:
        """Upper ends of the 90 % intervals of `group_weights_`."""
        return self._of_groups("group_weights_upper_").group_shares_upper

    def _of_groups(self, name: str) -> Components:
        found = self._found(name)
        if not found.has_groups:
            raise AttributeError(f"{name}: fit the model with groups")
        return found

    def co_clustering(self, rows: Any = None) -> Floats:
        """Posterior probability that two points of the fit are in the same component.

        `hdpkit.plots.posterior_similarity` draws it. Returns a float64 array, shape (m, m).

        Parameters
        ----------
        rows : int array of shape (m,), optional
            Numbers of points; None: all, at most 10,000.
        """
        check_is_fitted(self)
        return co_clustering(dishes_of(self.samples_), items=rows)

    # ------------------------------------------------------------------ new points

    def predict(self, X: Any, groups: Any = None) -> Int64s:
        """Most probable group of each point, as an int64 array of shape (n,), numbered as ``labels_``.

        It is the largest in its row of `predict_proba`, and from 0 to ``n_groups_`` - 1.

        Parameters
        ----------
        X, groups
            As in `predict_component_proba`.
        """
        return np.asarray(self.predict_proba(X, groups).argmax(axis=1), dtype=np.int64)

    def predict_proba(self, X: Any, groups: Any = None) -> Floats:
        """Probability of each group of components for new points, shape ``(n, n_groups_)``.

        These are sums of the probabilities of the components of each group; rows sum to one.

        Parameters
        ----------
        X, groups
            As in `predict_component_proba`.
        """
        shares = self.predict_component_proba(X, groups)
        return shares @ np.eye(self.n_groups_)[self.group_of_component_]

    def predict_component_proba(self, X: Any, groups: Any = None) -> Floats:
        """Probability of each component for new points, shape (n, K), numbered as ``weights_``.

        In each sample a point belongs to a dish with the probability that follows from the weights of its
        group and the predictive densities, and the dish to components by the shares of its points that they
        have. Probabilities are averaged over the samples; rows sum to one. Points don't influence each other
        or the model; a point like none of the model has a low `score_samples`.

        Parameters
        ----------
        X : array of shape (n, D), data frame, or Groups
            Points.
        groups : array of length n, optional
            Group of each point. A group that the model doesn't have, None or NaN: the mean weights of a group
            without points.
        """
        return self._new(X, groups)[1]

    def score_samples(self, X: Any, groups: Any = None) -> Floats:
        """Log posterior predictive density of each point in nats, shape (n,).

        It is the log of the average over ``samples_`` of the density of the point by itself, new components
        included.

        Parameters
        ----------
        X, groups
            As in `predict_component_proba`.
        """
        return self._new(X, groups)[0]

    def score(self, X: Any, y: Any = None, groups: Any = None) -> float:
        """Mean of `score_samples`, in nats: higher is better.

        Parameters
        ----------
        X, groups
            As in `predict_component_proba`.
        y : ignored
        """
        return float(self.score_samples(X, groups).mean())

    def sample(
        self, n_samples: int = 1, groups: Any = None, random_state: Any = None
    ) -> tuple[npt.NDArray[Any], Int64s]:
        """Draw new points from the posterior predictive distribution, each by itself.

        Returns the points, shape (n_samples, D), and their components, numbered as ``labels_``; -1: in none.

        Parameters
        ----------
        n_samples : int
            Number of points.
        groups : array of length n_samples, optional
            Group of each point, as in `predict_component_proba`.
        random_state : int, RandomState, Generator or None
            None: that of the model.
        """
        check_is_fitted(self)
        n = whole_number("n_samples", n_samples, 1, remedy="Number of points.")
        generator = as_source(self._seed(random_state), Purpose.SIMULATE).generator
        data = Groups.from_labels(np.zeros(n), {} if groups is None else {_GROUP: groups})
        group = self._group_numbers(data, None if groups is None else _GROUP)
        values, own = draw_points(self.aligned_, self.franchise_, group, generator)
        return self.kind_.every_column(values), np.append(self.group_of_component_, -1)[own]

    # ------------------------------------------------------------------ input

    def _new(self, X: Any, groups: Any) -> tuple[Floats, Floats]:
        """Log predictive densities of new points, shape (n,), and their components, shape (n, K)."""
        check_is_fitted(self)
        data, label = self._data(X, groups, reset=False)
        data = self.kind_.same(data)
        return new_points(self.aligned_, self.franchise_, data.values, self._group_numbers(data, label))

    def _group_numbers(self, data: Groups, label: str | None) -> Int64s:
        """Numbers of the groups of points; -1 for a new one, or none."""
        if label is None:
            return np.full(len(data), -1, dtype=np.int64)
        self._need_groups()
        codes, keys = data.labels[label]
        return np.append(self.aligned_.places(keys), -1)[codes]

    def _need_groups(self) -> None:
        if not self.samples_[0].levels:
            raise StateError(
                "groups", "of points", "None, for a model that was fitted without groups",
                "Give groups to fit, or leave them out.",
            )  # fmt: skip

    def _data(self, X: Any, groups: Any, *, reset: bool) -> tuple[Groups, str | None]:
        """Points in their groups, after scikit-learn's checks of X, and the label of the groups."""
        return (self._given if isinstance(X, Groups) else self._read)(X, groups, reset)

    def _read(self, X: Any, groups: Any, reset: bool) -> tuple[Groups, str | None]:
        """Points of an array or a data frame."""
        label = _GROUP if groups is not None else None
        if self.groups is not None and self.groups in getattr(X, "columns", ()):
            if groups is not None:
                raise ParameterError(
                    "groups",
                    "an array",
                    f"None, since column {self.groups!r} has the groups",
                    "Leave it out.",
                )
            label, groups, X = str(self.groups), X[self.groups], X.drop(columns=[self.groups])
        elif self.groups is not None and groups is None and reset:
            raise DataError(
                "X", X, f"a data frame with the column {self.groups!r}",
                "It has the group of each row: give such a frame, or fit(X, groups=...).",
            )  # fmt: skip
        values = self._values(X, reset)
        data = Groups.from_labels(values, {} if label is None else {label: groups})
        names = getattr(self, "feature_names_in_", None)
        if names is not None and values.ndim == 2:
            data = attrs.evolve(data, columns=tuple(map(str, names)))
        return data, label

    def _given(self, data: Groups, groups: Any, reset: bool) -> tuple[Groups, str | None]:
        """Points that are in groups already."""
        width = int(np.prod(data.values.shape[1:], dtype=np.int64))
        if groups is not None or len(data.label_names) > 1:
            raise ParameterError(
                "groups", data.label_names if groups is None else groups,
                "None, and one label at most, where X is hk.Groups",
                "Use hk.Franchise for several levels.",
            )  # fmt: skip
        self._check_width(width, reset)
        return data, next(iter(data.label_names), None)

    def _values(self, X: Any, reset: bool) -> npt.NDArray[Any]:
        X = of_rows(self, X, reset, "points")
        if np.isnan(X).any():
            n = int(np.isnan(X).any(axis=1).sum())
            raise DataError("X", f"NaN in {n:,} of {len(X):,} rows", "points without missing values", _IMPUTE)
        if np.isinf(X).any():
            raise DataError("X", "infinity", "finite numbers", "Leave these rows out, or correct them.")
        return self.kind_.rows(X)


def _posterior_of_k(trace: Trace | ChainTrace, samples: tuple[Sample, ...]) -> dict[int, float]:
    """Share of the draws, after half of the sweeps, that have each number of components."""
    found: list[int] = []
    for chain in chains_in(trace).values():
        after = last_of_burn_in(np.asarray(chain["sweep"]))
        found += np.asarray(chain["n_dishes"])[np.asarray(chain["sweep"]) > after].tolist()
    numbers, counts = np.unique(found or [one.n_dishes for one in samples], return_counts=True)
    return {int(k): float(n) for k, n in zip(numbers, counts / counts.sum(), strict=True)}


class MixtureModel(PointsModel):
    """Mixture of points with an inferred number of components: a scikit-learn estimator.

    x_i ~ component k with probability w_k, where the weights have a Dirichlet process prior and components
    the prior ``measure``. With groups, each group has weights of its own over shared components (a
    hierarchical Dirichlet process, Teh et al. 2006). Methods and attributes are named as in
    `sklearn.mixture`. See docs/points.md.

    Parameters
    ----------
    {parameters}

    Attributes
    ----------
    n_components_ : int
        Number of components of the density, K: clusters of the partition of least expected loss over the
        samples of all chains (`hdpkit.summaries.point_partition`), which is ``aligned_.partition``.
    n_components_posterior_ : dict
        Posterior probability of each number of components, over the second half of the sweeps.
    samples_ : tuple of Sample
        The states that everything is averaged over.
    franchise_, franchises_, trace_, diagnosis_
        As in `TopicModel`.
    n_features_in_, feature_names_in_, n_iter_
        As in scikit-learn; ``n_iter_`` is the number of completed sweeps.
    """

    kind = Mixture

    @property
    def means_(self) -> Floats:
        """Posterior mean of each component, for measures that have moments: shape (K, D)."""
        return np.asarray(self._moments("means_")[0])

    @property
    def covariances_(self) -> Floats:
        """Posterior mean covariances of the components, for such measures: shape (K, D, D)."""
        return np.asarray(self._moments("covariances_")[1])
