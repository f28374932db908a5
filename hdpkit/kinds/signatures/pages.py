"""Signatures as a PDF: a page for each, and one with the exposures of the samples."""

from __future__ import annotations

import io
import os
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.canvas import alt, check_drawing, colour, layered, names, number, over, picture
from hdpkit.checks import absolute_path
from hdpkit.errors import DataError, importing_extra, printable
from hdpkit.files import check_place, save
from hdpkit.kinds.signatures.extraction import channels_in, in_order, overview, signatures_of
from hdpkit.kinds.signatures.known import KnownSignatures, check_channels, vocabulary_of
from hdpkit.kinds.signatures.pictures import plot_activity, plot_exposures, spectrum
from hdpkit.posterior.components import Components

_A4 = (842.0, 595.0)  # points
_MARGIN = 30.0
_LARGEST = 30  # samples with the largest exposures


def write_pages(
    signatures: Components, path: str | os.PathLike[str], *, known: KnownSignatures | None = None
) -> Path:
    """Write signatures as a PDF with a page for each, and a last one with the exposures of the samples.

    The page of a signature has its spectrum with intervals and, if there are known signatures, that of its
    best match and of the sum of known ones that is most like it; its row of the overview; its shares in the
    samples of each level as boxes; and the samples with most mutations of it, with their intervals.

    Parameters
    ----------
    signatures : Components
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
        Without Altair, vl-convert-python or pypdf.
    """
    signatures_of(signatures)
    file = absolute_path("path", path, remedy="For instance signatures.pdf.")
    if known is not None:
        check_channels(known, vocabulary_of(signatures))
    if not len(signatures):
        raise DataError(
            "signatures", signatures, "at least one", "Lower the required agreement of samples and chains."
        )
    check_place(file)
    check_drawing()
    with importing_extra("pypdf", "plots"):
        import pypdf
    table = overview(signatures, known)
    pages = [
        _page(signatures, k, {name: column[k] for name, column in table.items()}, known)
        for k in range(len(signatures))
    ]
    pages.append(plot_exposures(signatures).properties(title=_title("Exposures of the samples", offset=60)))
    written = pypdf.PdfWriter()
    for one in pages:
        drawn = pypdf.PdfReader(io.BytesIO(picture(one, "pdf"))).pages[0]
        width, height = float(drawn.mediabox.width), float(drawn.mediabox.height)
        scale = min(1.0, (_A4[0] - 2 * _MARGIN) / width, (_A4[1] - 2 * _MARGIN) / height)
        place = pypdf.Transformation().scale(scale)
        place = place.translate(_MARGIN, _A4[1] - _MARGIN - scale * height)
        written.add_blank_page(*_A4).merge_transformed_page(drawn, place)
    out = io.BytesIO()
    written.write(out)
    save(file, out.getvalue())
    return file


def _title(text: str, size: int = 13, **more: Any) -> Any:
    return alt.Title(printable(text), anchor="start", fontSize=size, **more)


def _page(signatures: Components, k: int, row: Any, known: KnownSignatures | None) -> Any:
    """The page of a signature."""
    channels, order = channels_in(signatures), in_order(signatures)
    ends = signatures.ends_of(k)
    values, low, high = (row[order] for row in (signatures.rows[k], *ends))
    title = _title(row["signature"], 20, subtitle=_facts(row, signatures), subtitleFontSize=11, offset=30)
    parts = [spectrum(values, (low, high), channels).properties(title=title)]
    if known is not None:
        match = known.matrix[known.names.index(row["best_match"])][order]
        text = f"{row['best_match']}, the most similar known signature (cosine {row['cosine']:.3f})"
        parts.append(spectrum(match, None, channels).properties(title=_title(text, offset=30)))
        sums = known.decompose(signatures.rows[[k]])
        if len(sums.parts(0)) > 1:
            text = f"{row['decomposition']} (cosine {row['decomposition_cosine']:.3f})"
            total = (sums.shares[0] @ known.matrix)[order]
            parts.append(spectrum(total, None, channels).properties(title=_title(text, offset=30)))
    return alt.vconcat(*parts, alt.hconcat(plot_activity(signatures, k), _largest(signatures, k)), spacing=40)


def _facts(row: Any, signatures: Components) -> list[str]:
    """Lines with the numbers of a row of `overview`."""
    level = signatures.level
    facts = [
        f"{row['share']:.1%} of the mutations ({level:.0%} interval {row['share_lower']:.1%} to "
        f"{row['share_upper']:.1%}), in {int(row['samples']):,} samples",
        f"in {row['occurrence']:.0%} of the states (stability {row['stability']:.3f}), "
        f"in {int(row['chains'])} of {len(signatures.chain_numbers)} chains",
    ]
    if row["remark"]:
        facts.append(row["remark"])
    if "decomposition" in row:
        sums = row["decomposition"]
        facts.append(f"as a sum of known ones: {sums} (cosine {row['decomposition_cosine']:.3f})")
    return [printable(fact) for fact in facts]


def _largest(signatures: Components, k: int) -> Any:
    """The samples with most mutations of a signature, with intervals."""
    mean, low, high = (
        ends[:, k] for ends in (signatures.exposures, signatures.exposures_lower, signatures.exposures_upper)
    )
    order = np.argsort(-mean, kind="stable")[:_LARGEST]
    values = [
        {
            "sample": printable(str(signatures.names[i])),
            "mutations": float(mean[i]),
            "low": float(low[i]),
            "high": float(high[i]),
        }
        for i in order[mean[order] > 0].tolist()
    ]
    title = "mutations of it in the samples with most of them"
    y = names("Y", "sample", 150)
    bars = over().mark_bar(color=colour(k + 1)).encode(y, number("X", "mutations", title, ",.0f", stack=None))
    spans = (
        over()
        .mark_rule(color="#333333")
        .encode(y, alt.X(field="low", type="quantitative"), alt.X2(field="high"))
    )
    return layered(values, 11 * len(values), bars, spans, width=360)
