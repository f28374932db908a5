"""`SparseTopicModel`: topics that select their own terms, as a scikit-learn estimator."""

from __future__ import annotations

from typing import Any

from hdpkit.models.topic import TopicModel

__all__ = ["SparseTopicModel"]


class SparseTopicModel(TopicModel):
    """The sparse topic model of Wang & Blei (2009): `TopicModel` with ``sparse=True``.

    Each topic selects its own terms and is a distribution over these.

    Parameters
    ----------
    smoothing : float or prior, optional
        Dirichlet parameter of the terms that a topic selects. ``hk.Each(prior)``: one per topic. None: 0.1.
    selection : prior or float, optional
        Prior of the share of terms that a topic selects, or a fixed share. None: Beta(1, 1).
    concentration, root_concentration, n_components, sweeps, partial_sweeps, samples, chains, schedule, init
        As in `TopicModel`.
    store, root, text, transform_method, transform_tolerance, transform_sweeps, score_method
        As in `TopicModel`.
    random_state, n_jobs, progress
        As in `TopicModel`.
    """

    def __init__(
        self,
        *,
        smoothing: Any = None,
        selection: Any = None,
        concentration: Any = None,
        root_concentration: Any = None,
        n_components: Any = None,
        sweeps: Any = 500,
        partial_sweeps: Any = 50,
        samples: Any = 20,
        chains: Any = 1,
        schedule: Any = None,
        init: Any = "auto",
        store: Any = "histogram",
        root: Any = "restaurant",
        text: Any = None,
        transform_method: Any = "em",
        transform_tolerance: Any = 1e-4,
        transform_sweeps: Any = 50,
        score_method: Any = "learned",
        random_state: Any = None,
        n_jobs: Any = None,
        progress: Any = None,
    ) -> None:
        super().__init__(
            sparse=True, smoothing=smoothing, selection=selection, concentration=concentration,
            root_concentration=root_concentration, n_components=n_components, sweeps=sweeps,
            partial_sweeps=partial_sweeps, samples=samples, chains=chains, schedule=schedule, init=init,
            store=store, root=root, text=text, transform_method=transform_method,
            transform_tolerance=transform_tolerance, transform_sweeps=transform_sweeps,
            score_method=score_method, random_state=random_state, n_jobs=n_jobs, progress=progress,
        )  # fmt: skip
