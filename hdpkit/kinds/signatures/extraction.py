"""Signatures of a run: what samples and chains agree on, with exposures and intervals; tables and files."""

from __future__ import annotations

import os
from itertools import chain, count, islice, product
from pathlib import Path
from string import ascii_uppercase
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.checks import flag, instance, items, real_number, whole_number, whole_numbers
from hdpkit.data import Corpus
from hdpkit.data.files.tables import Columns, write_table
from hdpkit.data.top_terms import largest
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.known import Known
from hdpkit.kinds.listing import Column, Listing, plural, shares_told, unsettled_told
from hdpkit.kinds.signatures.channels import Channels, channels_of, plain_channels
from hdpkit.kinds.signatures.known import KnownSignatures, vocabulary_of
from hdpkit.posterior.alignment import nearest
from hdpkit.posterior.components import Components
from hdpkit.posterior.export import new_folder
from hdpkit.posterior.finding import components
from hdpkit.posterior.readability import REPEATS
from hdpkit.posterior.scores import reconstruction
from hdpkit.run.runs import Run

COVER = "in simulated cohorts 90 % intervals of four chains contained 89 % to 95 % of the true exposures"
"""What intervals of exposures cover, by default (benchmarks/results/intervals.md)."""
_LARGEST = 2**53  # up to which floats are exact
REST = "0"
"""Name of the component of mutations in no signature, as in the R packages."""


def names_of_signatures(n: int, channels: Channels | None) -> tuple[str, ...]:
    """Names of new signatures in SigProfiler's style: SBS96A, SBS96B, ..., SBS96AA."""
    prefix = "component " if channels is None else channels.name
    by_length = (product(ascii_uppercase, repeat=length) for length in count(1))
    return tuple(prefix + "".join(letters) for letters in islice(chain.from_iterable(by_length), n))


def signatures_of(given: Any) -> Components:
    """Signatures that were given, or a ParameterError: components in the samples of a corpus."""
    remedy = "Call extract_signatures first."
    found: Components = instance(
        "signatures", given, Components, "what extract_signatures returned", remedy=remedy
    )
    if not isinstance(found.data, Corpus):
        raise ParameterError("signatures", given, "components with the counts that they are of", remedy)
    return found


def channels_in(found: Components) -> Channels:
    """The classification of the channels of signatures."""
    words = vocabulary_of(found)
    return channels_of(words) or plain_channels(words)


def in_order(found: Components) -> Int64s:
    """Columns of the rows of signatures in the order of plots: int64, shape (n_channels,)."""
    return channels_in(found).order_of(vocabulary_of(found))


def reconstructed(found: Components) -> Floats:
    """Cosine between each sample's counts and their reconstruction without component "0": (n_samples,)."""
    return reconstruction(found.data, found.exposures[:, :-1], found.rows)


def name_signatures(signatures: Components, known: KnownSignatures, *, least: float = 0.9) -> Components:
    """The same signatures with the names of the known ones that they match.

    A known name goes to the signature most similar to it, if that is its best match and their cosine is
    at least ``least``, from 0 to 1. The other signatures keep their names. Raises a DataError if the channels
    of the known signatures differ.

    Parameters
    ----------
    signatures : Components
        As `extract_signatures` returns them.
    known : KnownSignatures
    least : float
    """
    instance("known", known, KnownSignatures, "KnownSignatures", remedy="read_signatures(path).")
    if not 0.0 <= real_number("least", least) <= 1.0:
        raise ParameterError("least", least, "from 0 to 1", "0.9 is usual.")
    given = signatures_of(signatures)
    found, names, taken = known.match(given), given.titles.copy(), set(given.titles)
    for k in np.argsort(-found.cosine, kind="stable").tolist():
        if found.cosine[k] >= least and found.names[k] not in taken:
            names[k] = found.names[k]
            taken.add(found.names[k])
    return given.named(names)


def remarks_on(found: Components) -> list[str]:
    """What calls for a second look at each signature, in words; "" where nothing does."""
    # Few samples with many mutations: their deviations from a signature become another one.
    (others, cosines), remarks = nearest(found.rows), []
    for k, (few, n) in enumerate(zip(found.in_few, found.most_in.tolist(), strict=True)):
        told = []
        if few:
            told.append(f"80 % of its mutations are in {n} {'sample' if n == 1 else 'samples'}")
        if cosines[k] >= REPEATS:
            told.append(f"nearly the same as {found.titles[others[k]]} (cosine {cosines[k]:.2f})")
        remarks.append("; ".join(told))
    return remarks


# ---------------------------------------------------------------------- tables


def overview(found: Components, known: KnownSignatures | None = None) -> Columns:
    """A row per signature: its name, and what tables, pages and files say of it."""
    table: dict[str, Any] = {
        "signature": found.titles,
        "mutations": found.exposures[:, :-1].sum(axis=0),
        "share": found.shares,
        "share_lower": found.shares_lower,
        "share_upper": found.shares_upper,
        "samples": found.present[:, :-1].sum(axis=0),
        "occurrence": found.occurrence,
        "stability": 1.0 - found.spread,
        "chains": (found.occurrence_by_chain > 0).sum(axis=0),
        "remark": remarks_on(found),
    }
    if known is not None:
        best, parts = known.match(found), known.decompose(found)
        table |= {"best_match": list(best.names), "cosine": best.cosine}
        table["decomposition"] = [
            " + ".join(f"{share:.2f} {name}" for name, share in parts.parts(k)) for k in range(len(found))
        ]
        table["decomposition_cosine"] = parts.cosine
    return table


def signature_tables(signatures: Components, known: KnownSignatures | None = None) -> dict[str, Columns]:
    """Tables of signatures and exposures by name, as `write_signatures` writes them.

    Parameters
    ----------
    signatures : Components
        As `extract_signatures` returns them.
    known : KnownSignatures, optional
        For matches and decompositions in "overview".

    Returns
    -------
    dict
        Name -> columns. "signatures" (a row per channel, in SigProfiler's order) and "exposures" (a row per
        sample, rounded to integers) have the layout of SigProfiler's files. "overview" has a row per
        signature: mutations, share, samples whose interval is above zero, occurrence in the states, stability
        (mean cosine of what it is in the states with their mean), number of chains, whether it needs a
        second look, and its most similar known one. "channels" has intervals of its shares,
        "exposure_intervals" those of exposures, also of component "0", "samples" the cosine of each sample's
        counts with what its signatures give.
    """
    found = signatures_of(signatures)
    words, names, samples = vocabulary_of(found), found.titles, list(map(str, found.names))
    order = in_order(found)[channels_in(found).ordered_for_sigprofiler()]
    (n, width), whole = found.rows.shape, np.rint(found.exposures).astype(np.int64)
    each, n_cells = [*names, REST], len(samples) * (n + 1)
    return {
        "signatures": {"MutationType": [words[v] for v in order]}
        | {name: found.rows[k, order] for k, name in enumerate(names)},
        "exposures": {"Samples": samples} | {name: whole[:, k] for k, name in enumerate(names)},
        "overview": overview(found, known),
        "channels": {
            "signature": np.repeat(names, width).tolist(),
            "channel": list(words) * n,
            "share": found.rows.ravel(),
            "lower": found.rows_lower.ravel(),
            "upper": found.rows_upper.ravel(),
        },
        "exposure_intervals": {
            "sample": [name for name in samples for _ in each],
            "signature": each * len(samples),
            "exposure": found.exposures.ravel(),
            "lower": found.exposures_lower.ravel(),
            "upper": found.exposures_upper.ravel(),
            "share": found.group_shares.ravel(),
            "zero": ~found.present.ravel(),
            "interval": [f"{found.level:.0%} of the posterior; {COVER}"] * n_cells,
        },
        "samples": {
            "sample": samples,
            "mutations": found.group_totals,
            "sampled": found.data.document_lengths,
            "cosine": reconstructed(found),
        },
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
) -> Components:
    """Find the signatures that posterior samples and chains agree on, with exposures and intervals.

    This is `hdpkit.summaries.components` in the terms of the field: dishes of a state whose cosine is at
    least ``similarity`` are merged into one component, components are matched over samples and chains by the
    same measure, and those that occur in enough samples of enough chains are kept. The rest is component "0".
    Raises a ParameterError if an argument is out of range; a DataError if there are no samples, or they are
    of other data.

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
        Mutations of each sample before `hdpkit.downsample`: exposures are then those of the complete sample.

    Returns
    -------
    Components
        Their names are ``titles`` (SBS96A, SBS96B and so on, in descending order of their mutations), their
        shares of channels ``rows``, and the mutations of each sample by signature and, last, by component "0"
        ``exposures``, all of them with intervals (``rows_lower``, ``exposures_upper``).
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
    n_terms, n_groups = found.n_terms, found.samples[0].n_groups
    if n_terms != data.n_terms or n_groups != data.n_documents:
        raise DataError(
            "corpus", f"{data.n_documents} samples, {data.n_terms} channels",
            f"that of the run: {n_groups} samples, {n_terms} channels", "Pass the corpus that was sampled.",
        )  # fmt: skip
    found.of_run(data, found.states, None if totals is None else _checked_totals(totals, data))
    if min_samples:
        often = found.present[:, :-1].sum(axis=0) >= min_samples
        if not often.all():
            found = found.selected(np.flatnonzero(often).tolist())
    if names is None:
        return found.named(_names(found, declared))
    names = items("names", names, "a sequence of names", remedy="Leave it out.")
    if len(names) != len(found):
        raise ParameterError("names", names, f"{len(found)} names", "Leave it out.")
    return found.named(names)


def _checked_totals(totals: Any, data: Corpus) -> Int64s:
    remedy = "Pass document_lengths of the corpus before hk.downsample."
    found = whole_numbers("totals", totals, 0, _LARGEST, length=data.n_documents, remedy=remedy)
    if (found < data.document_lengths).any():
        raise ParameterError("totals", totals, "at least the mutations of each sample of the corpus", remedy)
    return found


def _declared(run: Run) -> Known | None:
    """The known components of a run, if a chain has begun."""
    standing = [number for number, sweep in enumerate(run.sweeps) if sweep is not None]
    known: Known | None = run.franchise(standing[0]).known if standing else None
    return known


def _names(found: Components, declared: Known | None) -> list[str]:
    """Names of the known signatures, which have the ids 0, 1, ..., and of the others in their order."""
    n_known = 0 if declared is None else declared.n_components
    own = [next((int(i) for i in column if 0 <= i < n_known), -1) for column in found.ids_by_sample.T]
    new = iter(names_of_signatures(own.count(-1), channels_of(vocabulary_of(found))))
    taken: set[int] = set()
    names = []
    for j in own:
        label = "" if declared is None or j < 0 else declared.labels[j]
        names.append(next(new) if j < 0 else label if j not in taken else f"{label}'")
        taken.add(j)
    return names


def write_signatures(
    signatures: Components,
    folder: str | os.PathLike[str],
    *,
    known: KnownSignatures | None = None,
    raw: bool = False,
) -> list[Path]:
    """Write signatures and exposures to a folder, as `signature_tables` has them; returns the files.

    ``signatures.tsv`` and ``exposures.tsv`` have the layout of SigProfiler's files: SigProfilerAssignment
    accepts the first as ``signatures`` or ``signature_database``, and SigProfilerPlotting draws it. Neither
    contains component "0". The other tables contain intervals: ``overview.csv``, ``channels.csv``,
    ``exposure_intervals.csv`` (which says what the intervals cover), ``samples.csv``. Raises a ParameterError
    if the folder isn't empty; a StorageError if it can't be written.

    Parameters
    ----------
    signatures : Components
        As `extract_signatures` returns them.
    folder : path
        New or empty.
    known : KnownSignatures, optional
        For matches and decompositions in ``overview.csv``.
    raw : bool
        Write names as they are, even if a spreadsheet would evaluate them.
    """
    tables = signature_tables(signatures, known)
    path = Path(folder)
    new_folder(path)
    files = [path / (f"{name}.tsv" if name in _OF_SIGPROFILER else f"{name}.csv") for name in tables]
    for file, table in zip(files, tables.values(), strict=True):
        write_table(file, table, raw=flag("raw", raw))
    return files


_OF_SIGPROFILER = ("signatures", "exposures")


def _shortened(decomposition: str, most: int = 3) -> str:
    parts = decomposition.split(" + ")
    return " + ".join(parts[:most]) + (" + ..." if len(parts) > most else "")


def list_signatures(found: Components, known: Any) -> Listing:
    """Signatures with their largest channels and best matches, and a line about component "0"."""
    rows = overview(found, known)
    top = [list(map(str, found.words(largest(row, 4)))) for row in found.rows]
    columns = [
        Column("", list(found.titles), words=True),
        Column("largest channels", [" ".join(words) for words in top], words=True),
        Column("share of\nmutations", shares_told(found, len(found), 2)),
        Column("samples\nwith it", [f"{n:,}" for n in rows["samples"]]),
        Column("in states", [f"{one:.0%}" for one in rows["occurrence"]]),
        Column("stability", [f"{one:.3f}" for one in rows["stability"]]),
        Column("chains", [str(n) for n in rows["chains"]]),
    ]
    if known is not None:
        columns.append(Column("most like", rows["best_match"], words=True))
        columns.append(Column("cosine", [f"{one:.3f}" for one in rows["cosine"]]))
        columns.append(Column("as a sum", [_shortened(one) for one in rows["decomposition"]], words=True))
    median = sorted(reconstructed(found).tolist())[found.data.n_documents // 2]
    chains = plural(len(found.chain_numbers), "chain")
    lines = [
        *unsettled_told(found),
        f"{len(found)} signatures of {len(found.samples)} states of {chains} ({found.sweeps}); "
        f"{found.rest:.1%} of the mutations are in none (component 0); "
        f"cosine of reconstructed spectra: median {median:.3f}",
    ]
    named = zip(found.titles, rows["remark"], strict=True)
    lines += [f"look at {name} again: {remark}" for name, remark in named if remark]
    if n := int((found.group_totals > found.data.document_lengths).sum()):
        lines.append(
            f"exposures are of all mutations of a sample; of {plural(n, 'sample')} some were not drawn"
        )
    return Listing([columns], lines)
