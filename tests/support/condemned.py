"""The verdict of `SampledTests` on a sampler that is known to be wrong."""

from collections.abc import Mapping

from hdpkit.testing.pvalues import SampledTests


def condemned(run, n_p_values, seed=1):
    """Whether a family of so many p-values condemns this sampler: at the first look, or at the repeat.

    ``run(more, seed)`` returns p-values by name, as `SampledTests.check` has it.
    """
    first = _named(run(1, seed))
    if min(first.values()) < SampledTests.FIRST / n_p_values:
        return True
    suspicious = [name for name, p in first.items() if p < SampledTests.SUSPICIOUS]
    if not suspicious:
        return False
    repeat = _named(run(SampledTests.MORE_DRAWS, seed + 1))
    return min(repeat[name] for name in suspicious) < SampledTests.REPEAT / n_p_values


def _named(p_values):
    return p_values if isinstance(p_values, Mapping) else dict(enumerate(p_values))
