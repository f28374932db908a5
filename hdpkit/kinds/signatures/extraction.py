"""Signatures of a run: components that samples and chains agree on, with exposures and intervals."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import instance, items, real_number, whole_number
from hdpkit.data import Corpus
from hdpkit.data.files.tables import Columns
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.known import Known
from hdpkit.kinds.signatures.channels import Channels, channels_of
from hdpkit.kinds.signatures.known import Decomposition, KnownSignatures, Matches, check_channels
from hdpkit.posterior.components import Components
from hdpkit.posterior.exposures import Exposures, exposures, reconstruction
from hdpkit.posterior.finding import components
from hdpkit.posterior.matching import ComponentSet
from hdpkit.posterior.readability import REPEATS
from hdpkit.posterior.vectors import nearest
from hdpkit.run.runs import Run

COVER = "in simulated cohorts 90 % intervals contained 68 % to 76 % of the true exposures"
"""What intervals of exposures cover, by default (docs/signature_cohorts.md)."""
REST = "0"
"""Name of the component of mutations in no signature, as in the R packages."""


def names_of_signatures(n: int, channels: Channels | None) -> tuple[str, ...]:
    """Names of new signatures in SigProfiler's style: SBS96A, SBS96B, ..., SBS96AA."""
    prefix = "component " if channels is None else channels.name
    return tuple(prefix + _letters(i) for i in range(n))


def _letters(number: int) -> str:
    letters = ""
    number += 1
    while number:
        number, digit = divmod(number - 1, 26)
        letters = chr(ord("A") + digit) + letters
    return letters


class Signatures:
    """Signatures of a cohort with their exposures. See `extract_signatures`, which makes them.

    Attributes
    ----------
    components : Components
        The underlying components: means, intervals, occurrence by chain.
    names : tuple of str
        SBS96A, SBS96B and so on, in descending order of their numbers of mutations.
    vocabulary : tuple of str
        The channels.
    channels : Channels or None
        Their classification; None if channels have other names.
    exposures : Exposures
        Mutations of each sample by signature and, last, by component "0", with intervals.
    cosine : float64 array, shape (n_samples,)
        Cosine similarity between each sample's counts and their reconstruction from its signatures, without
        component "0".
    corpus : Corpus
    totals : int64 array, shape (n_samples,), or None
        Mutations of each sample before downsampling, to which `exposures` sum. None: the corpus has all.
    """

    def __init__(
        self,
        components: Components,
        corpus: Corpus,
        names: tuple[str, ...] | None = None,
        totals: Any = None,
    ) -> None:
        self.components = components
        self.corpus = corpus
        self.totals = None if totals is None else np.array(totals, dtype=np.int64)
        words = corpus.vocabulary or tuple(map(str, range(corpus.n_terms)))
        self.vocabulary = tuple(words)
        self.channels = channels_of(words)
        self.names = names or names_of_signatures(len(components), self.channels)

    def __repr__(self) -> str:
        return f"<Signatures: {len(self)} in {len(self.corpus.document_lengths)} samples>"

    def __len__(self) -> int:
        return len(self.components)

    @property
    def matrix(self) -> Floats:
        """Mean share of each channel: float64, shape (T, n_channels); rows sum to one."""
        return self.components.rows

    @cached_property
    def in_order(self) -> Int64s:
        """Columns of `matrix` in the order of plots: int64, shape (n_channels,)."""
        if self.channels is None:
            return np.arange(len(self.vocabulary))
        return self.channels.order_of(self.vocabulary)

    @property
    def lower(self) -> Floats:
        """Lower ends of the intervals of `matrix`."""
        return self.components.rows_lower

    @property
    def upper(self) -> Floats:
        """Upper ends of the intervals of `matrix`."""
        return self.components.rows_upper

    @cached_property
    def exposures(self) -> Exposures:
        """Mutations of each sample by signature and, last, component "0"; of all `totals` if given."""
        return exposures(self.components, self.totals)

    @cached_property
    def cosine(self) -> Floats:
        """Cosine between each sample's counts and their reconstruction: float64, shape (n_samples,)."""
        return reconstruction(self.corpus, self.exposures.mean[:, :-1], self.matrix)

    def match(self, known: KnownSignatures) -> Matches:
        """The most similar known signature of each signature.

        Parameters
        ----------
        known : KnownSignatures

        Raises
        ------
        DataError
            If its channels differ.
        """
        return check_channels(known, self.vocabulary).match(self.matrix)

    def decompose(self, known: KnownSignatures, *, least: float = 0.05) -> Decomposition:
        """Decompose each signature into a sum of known signatures.

        Parameters
        ----------
        known : KnownSignatures
        least : float
            As in `KnownSignatures.decompose`.

        Raises
        ------
        DataError
            If its channels differ.
        """
        return check_channels(known, self.vocabulary).decompose(self.matrix, least=least)

    def component_set(self, source: str) -> ComponentSet:
        """The signatures as `hdpkit.summaries.match_topics` compares them.

        Parameters
        ----------
        source : str
            What they are signatures of, in messages.
        """

        def words(signature: int, n: int) -> list[str]:
            return [self.vocabulary[v] for v in largest(self.matrix[signature], n).tolist()]

        return ComponentSet(
            source=source, names=self.names, shares=self.components.shares, columns=self.vocabulary,
            rows=lambda which: self.matrix[which], words=words,
        )  # fmt: skip

    def named_after(self, known: KnownSignatures, *, least: float = 0.9) -> Signatures:
        """The same signatures with the names of the known ones that they match.

        A known name goes to the signature most similar to it, if that is its best match and their cosine is
        at least ``least``. The other signatures keep their names.

        Parameters
        ----------
        known : KnownSignatures
        least : float
            From 0 to 1.

        Returns
        -------
        Signatures

        Raises
        ------
        DataError
            If its channels differ.
        ParameterError
            If ``least`` isn't from 0 to 1.
        """
        if not 0.0 <= real_number("least", least) <= 1.0:
            raise ParameterError("least", least, "from 0 to 1", "0.9 is usual.")
        found, names, taken = self.match(known), list(self.names), set(self.names)
        for k in np.argsort(-found.cosine, kind="stable").tolist():
            if found.cosine[k] >= least and found.names[k] not in taken:
                names[k] = found.names[k]
                taken.add(found.names[k])
        return Signatures(self.components, self.corpus, tuple(names), self.totals)

    @cached_property
    def remarks(self) -> tuple[str, ...]:
        """What calls for a second look at a signature, in words; "" where nothing does.

        Most of its mutations are in few samples, or another signature is nearly the same: both happen where a
        few samples have many mutations, and their deviations from a signature become another one.
        """
        held, (others, cosines) = self.exposures, nearest(self.matrix)
        found = []
        for k in range(len(self)):
            told = []
            if held.in_few[k]:
                n = int(held.most_in[k])
                told.append(f"80 % of its mutations are in {n} {'sample' if n == 1 else 'samples'}")
            if cosines[k] >= REPEATS:
                told.append(f"nearly the same as {self.names[others[k]]} (cosine {cosines[k]:.2f})")
            found.append("; ".join(told))
        return tuple(found)

    # ------------------------------------------------------------------ tables

    def overview(self, known: KnownSignatures | None = None) -> Columns:
        """A row per signature: name, mutations, share, occurrence, samples, remarks, most similar known one.

        Parameters
        ----------
        known : KnownSignatures, optional
        """
        held = self.exposures
        table: dict[str, Any] = {
            "signature": list(self.names),
            "mutations": held.mean[:, :-1].sum(axis=0),
            "share": self.components.shares,
            "share_lower": self.components.shares_lower,
            "share_upper": self.components.shares_upper,
            "samples": (~held.zero[:, :-1]).sum(axis=0),
            "occurrence": self.components.occurrence,
            "chains": (self.components.occurrence_by_chain > 0).sum(axis=0),
            "remark": list(self.remarks),
        }
        if known is not None:
            found, parts = self.match(known), self.decompose(known)
            table |= {"best_match": list(found.names), "cosine": found.cosine}
            table["decomposition"] = [
                " + ".join(f"{share:.2f} {name}" for name, share in parts.parts(k)) for k in range(len(self))
            ]
            table["decomposition_cosine"] = parts.cosine
        return table

    def channel_table(self) -> Columns:
        """A row per signature and channel: share and its interval."""
        n, width = self.matrix.shape
        return {
            "signature": np.repeat(self.names, width).tolist(),
            "channel": list(self.vocabulary) * n,
            "share": self.matrix.ravel(),
            "lower": self.lower.ravel(),
            "upper": self.upper.ravel(),
        }

    def exposure_table(self) -> Columns:
        """A row per sample and signature or component "0": mutations, share, an interval and its cover."""
        held = self.exposures
        table = held.table([*self.names, REST])
        what = f"{held.level:.0%} of the posterior; {COVER}"
        return {
            "sample": table.pop(held.label),
            "signature": table.pop("component"),
            **table,
            "interval": [what] * len(table["exposure"]),
        }

    def sample_table(self) -> Columns:
        """A row per sample: mutations, those sampled, and the cosine of the reconstructed spectrum."""
        return {
            "sample": list(self.exposures.names),
            "mutations": self.corpus.document_lengths if self.totals is None else self.totals,
            "sampled": self.corpus.document_lengths,
            "cosine": self.cosine,
        }


def extract_signatures(
    samples: Any,
    corpus: Corpus | None = None,
    *,
    similarity: float = 0.9,
    occurrence: float = 0.5,
    chains: float = 0.5,
    level: float = 0.9,
    min_samples: int = 1,
    declared: Known | None = None,
    names: Any = None,
    totals: Any = None,
) -> Signatures:
    """Find the signatures that posterior samples and chains agree on, with exposures and intervals.

    This is `hdpkit.summaries.components` in the terms of the field: dishes of a state whose cosine
    is at least ``similarity`` are merged into one component, components are matched over samples and chains
    by the same measure, and those that occur in enough samples of enough chains are kept. The rest is
    component "0".

    Parameters
    ----------
    samples : Run, Trace, ChainTrace or sequence of Sample
        Samples, or a run that kept samples, of which those after the burn-in are used, as by `components`.
    corpus : Corpus, optional
        The counts, as read by `read_spectra`; not needed for a run.
    similarity : float
        Cosine from which components are merged, above 0 and below 1.
    occurrence : float
        The smallest share of a chain's samples in which a signature must occur.
    chains : float
        The smallest share of the chains in which it must do so.
    level : float
        Probability of the intervals.
    min_samples : int
        Signatures whose exposure has an interval above zero in fewer samples belong to component "0".
    declared : Known, optional
        Known signatures of the franchise, ``hk.Franchise(..., known=declared)``; not needed for a run. They
        are never merged with each other, and keep their names.
    names : sequence of str, optional
        Names of the signatures, if their number is known.
    totals : int array, shape (n_samples,), optional
        Mutations of each sample before `hdpkit.downsample`: exposures are then those of the complete sample,
        as in `hdpkit.summaries.exposures`.

    Returns
    -------
    Signatures

    Raises
    ------
    ParameterError
        If an argument is out of range.
    DataError
        If there are no samples, or they are of other data.
    """
    if not 0.0 < real_number("similarity", similarity) < 1.0:
        raise ParameterError("similarity", similarity, "above 0 and below 1", "0.9 is usual.")
    if declared is None and isinstance(samples, Run):
        declared = _declared(samples)
    kind = (Known, type(None))
    instance("declared", declared, kind, "an hk.Known, or None", remedy="franchise.known.")
    whole_number("min_samples", min_samples, 0, remedy="1 means one sample.")
    given = samples.data if corpus is None and isinstance(samples, Run) else corpus
    data: Corpus = instance(
        "corpus", given, Corpus, "the Corpus of the run", remedy="read_spectra(path) returns one."
    )
    found = components(
        samples, threshold=1.0 - similarity, similar=1.0 - similarity, min_occurrence=0.0, level=level,
        apart=0 if declared is None else declared.n_components,
    )  # fmt: skip
    found = found.selected(found.agreed(occurrence, chains))
    n_terms, n_groups = found.rows.shape[1], found.samples[0].n_groups
    if n_terms != data.n_terms or n_groups != data.n_documents:
        raise DataError(
            "corpus", f"{data.n_documents} samples, {data.n_terms} channels",
            f"that of the run: {n_groups} samples, {n_terms} channels", "Pass the corpus that was sampled.",
        )  # fmt: skip
    if min_samples:
        often = (~exposures(found, totals).zero[:, :-1]).sum(axis=0) >= min_samples
        if not often.all():
            found = found.selected(np.flatnonzero(often).tolist())
    if names is not None:
        names = items("names", names, "a sequence of names", remedy="Leave it out.")
        if len(names) != len(found):
            raise ParameterError("names", names, f"{len(found)} names", "Leave it out.")
    elif declared is not None:
        names = _names(found, declared, channels_of(data.vocabulary or ()))
    return Signatures(found, data, names, totals)


def _declared(run: Run) -> Known | None:
    """The known components of a run, if a chain has begun."""
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    known: Known | None = run.franchise(standing[0]).known if standing else None
    return known


def _names(found: Components, declared: Known, channels: Channels | None) -> tuple[str, ...]:
    """Names of the known signatures, which have the ids 0, 1, ..., and of the others in their order."""
    ids = found.ids_by_sample
    own = [next((int(i) for i in column if 0 <= i < declared.n_components), -1) for column in ids.T]
    new = iter(names_of_signatures(own.count(-1), channels))
    taken: set[int] = set()
    names = []
    for j in own:
        first = j >= 0 and j not in taken
        names.append(declared.labels[j] if first else next(new) if j < 0 else f"{declared.labels[j]}'")
        taken.add(j)
    return tuple(names)
