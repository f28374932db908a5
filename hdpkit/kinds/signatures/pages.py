"""Signatures as a PDF: a page for each, and one with the exposures of the samples."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.arrays import Floats
from hdpkit.canvas import load_matplotlib, plain
from hdpkit.checks import absolute_path, instance
from hdpkit.errors import DataError
from hdpkit.files import refusals
from hdpkit.kinds.signatures.channels import Channels, plain_channels
from hdpkit.kinds.signatures.extraction import Signatures
from hdpkit.kinds.signatures.known import KnownSignatures, check_channels
from hdpkit.kinds.signatures.pictures import draw_spectrum, plot_activity, plot_exposures
from hdpkit.writing import check_place, written_aside

_A4 = (11.69, 8.27)
_LARGEST = 30  # samples with the largest exposures


def write_pages(
    signatures: Signatures, path: str | os.PathLike[str], *, known: KnownSignatures | None = None
) -> Path:
    """Write signatures as a PDF with a page for each, and a last one with the exposures of the samples.

    The page of a signature has its spectrum with intervals and, if there are known signatures, that of its
    best match; what is in `Signatures.overview`; its shares in the samples of each level as boxes; and the
    samples with most mutations of it, with their intervals.

    Parameters
    ----------
    signatures : Signatures
        At least one.
    path : path
        The file; an existing one is replaced.
    known : KnownSignatures, optional
        For the best matches.

    Returns
    -------
    Path

    Raises
    ------
    DataError
        If there is no signature, or the channels of the known ones differ.
    StorageError
        If the file can't be written.
    MissingExtraError
        Without matplotlib.
    """
    instance("signatures", signatures, Signatures, "Signatures", remedy="extract_signatures(run, corpus).")
    file = absolute_path("path", path, remedy="For instance signatures.pdf.")
    if known is not None:
        check_channels(known, signatures.vocabulary)
    if not len(signatures):
        raise DataError(
            "signatures", signatures, "at least one", "Lower the required agreement of samples and chains."
        )
    check_place(file)
    load_matplotlib()
    from matplotlib.backends.backend_pdf import PdfPages
    from matplotlib.figure import Figure

    table = signatures.overview(known)
    with refusals(file, "write a file"), written_aside(file) as out, PdfPages(out) as pages:
        for k in range(len(signatures)):
            figure = _page(Figure)
            _draw_page(figure, signatures, k, {name: column[k] for name, column in table.items()}, known)
            pages.savefig(figure)
        figure = _page(Figure)
        ax = figure.subplots()
        plot_exposures(signatures, ax=ax)
        ax.set_title("Exposures of the samples", loc="left", fontsize=11)
        pages.savefig(figure)
    return file


def _page(figure_type: Any) -> Any:
    figure = figure_type(figsize=_A4, layout="constrained")
    figure.get_layout_engine().set(w_pad=0.12, h_pad=0.08)
    return figure


def _draw_page(figure: Any, signatures: Signatures, k: int, row: Any, known: KnownSignatures | None) -> None:
    """The page of a signature."""
    heights = [0.7, 2.4, 3.0] if known is None else [0.7, 2.2, 2.0, 3.0]
    head, *spectra, below = figure.subfigures(len(heights), 1, height_ratios=heights)
    head.text(0.02, 0.7, plain(row["signature"]), fontsize=16, weight="bold", va="top")
    head.text(0.25, 0.7, "\n".join(map(plain, _facts(row, signatures))), fontsize=8.5, va="top")
    channels, order = signatures.channels or plain_channels(signatures.vocabulary), signatures.in_order
    values, *ends = (rows[k, order] for rows in (signatures.matrix, signatures.lower, signatures.upper))
    _spectrum(spectra[0], "", values, (ends[0], ends[1]), channels)
    if known is not None:
        match = known.matrix[known.names.index(row["best_match"])][order]
        title = f"{row['best_match']}, the most similar known signature (cosine {row['cosine']:.3f})"
        _spectrum(spectra[1], title, match, None, channels)
    left, right = below.subplots(1, 2)
    plot_activity(signatures, k, ax=left)
    _largest(right, signatures, k)


def _spectrum(part: Any, title: str, values: Floats, ends: Any, channels: Channels) -> None:
    ax = part.subplots()
    draw_spectrum(ax, values, ends, channels)
    ax.set_title(plain(title), loc="left", fontsize=9, pad=26)


def _facts(row: Any, signatures: Signatures) -> list[str]:
    """Lines with the numbers of a row of `Signatures.overview`."""
    level = signatures.components.level
    facts = [
        f"{row['share']:.1%} of the mutations ({level:.0%} interval {row['share_lower']:.1%} to "
        f"{row['share_upper']:.1%}), in {int(row['samples']):,} samples",
        f"in {row['occurrence']:.0%} of the states, in {int(row['chains'])} of "
        f"{len(signatures.components.chain_numbers)} chains",
    ]
    if row["remark"]:
        facts.append(plain(row["remark"]))
    if "decomposition" in row:
        sums = row["decomposition"]
        facts.append(f"as a sum of known ones: {sums} (cosine {row['decomposition_cosine']:.3f})")
    return facts


def _largest(ax: Any, signatures: Signatures, k: int) -> None:
    """The samples with most mutations of a signature, with intervals."""
    held = signatures.exposures
    order = np.argsort(-held.mean[:, k], kind="stable")[:_LARGEST]
    order = order[held.mean[order, k] > 0]
    places = np.arange(len(order))
    ax.barh(places, held.mean[order, k], height=0.7, color="#4c78a8")
    ax.hlines(places, held.lower[order, k], held.upper[order, k], color="#333333", linewidth=0.8)
    ax.set_yticks(places, [plain(held.names[i])[:40] for i in order.tolist()], fontsize=6)
    ax.invert_yaxis()
    ax.set_xlabel("mutations of it in the samples with most of them", fontsize=8)
    ax.tick_params(axis="x", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
