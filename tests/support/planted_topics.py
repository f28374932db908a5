"""Samples that no chain made: their dishes have the tokens of given laws."""

import numpy as np
import scipy.sparse as sp

from hdpkit.franchise.sample import Level, Sample, TermMeans


def sample_of(chain, sweep, laws, sizes, groups, rng, eta, ids=None):
    """A sample with a dish for each law; `groups` has the tokens of documents in dishes."""
    counts = np.array([rng.multinomial(n, law) for n, law in zip(sizes, laws, strict=True)])
    sizes, groups = counts.sum(axis=1), sp.csr_array(groups)
    scale = 1.0 / (sizes + counts.shape[1] * eta)
    level = Level(
        name="document", parent=np.zeros(groups.shape[0], dtype=int), counts=groups, tables=None,
        concentration=np.array(2.0), discount=np.array(0.0),
    )  # fmt: skip
    return Sample(
        chain=chain, sweep=sweep, ids=np.arange(len(sizes)) if ids is None else np.asarray(ids), sizes=sizes,
        counts=sp.csr_array(counts), label="document", names=range(groups.shape[0]), levels=[level],
        root_weights=np.append(sizes, 1.0) / (sizes.sum() + 1.0), group_counts=groups,
        term_means=TermMeans(smoothing=np.array(eta), inside=scale, outside=scale),
        hyperparameters={"base/eta": eta},
    )  # fmt: skip
