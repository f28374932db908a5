"""Plots of signatures: spectra in the conventional order and colours, exposures, cosines; pages of a PDF."""

from __future__ import annotations

import io
import os
from collections.abc import Sequence
from itertools import groupby
from pathlib import Path
from typing import Any

import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.canvas import (
    ROW,
    alt,
    chart,
    check_drawing,
    colour,
    colours,
    evenly,
    heat,
    layered,
    named,
    names,
    number,
    over,
    picture,
    places,
    rounded,
    told,
)  # fmt: skip
from hdpkit.checks import absolute_path, choice, instance, items, number_array, whole_number
from hdpkit.errors import DataError, ParameterError, importing_extra, printable
from hdpkit.files import check_place, save
from hdpkit.kinds.signatures.channels import CHANNELS, Channels, plain_channels
from hdpkit.kinds.signatures.extraction import REST, channels_in, in_order, overview, signatures_of
from hdpkit.kinds.signatures.known import KnownSignatures, check_channels, vocabulary_of
from hdpkit.posterior.alignment import unit_rows
from hdpkit.posterior.components import Components
from hdpkit.posterior.documents import document_labels

_MOST_TICKS = 100  # channels that have labels
_MOST_NAMED = 70  # samples that have names below their bars
_MOST_LEVELS = 40
_LEAST = 0.002  # share of a sample that is drawn
_STRIP = (-13, -3)
"""Upper and lower end of the coloured strips above a spectrum, in pixels from its top."""
_NARROW = "width > 0 && width < 560"  # beside other charts a chart has no width of its own: it is wide
_WHERE_WIDE = {"opacity": {"expr": f"{_NARROW} ? 0 : 1"}}
_SMALLER = {"expr": f"{_NARROW} ? 8 : 11"}
"""On a narrow page labels of a hundred bars would lie on each other."""
_WIDE = 900
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the samples of a level, drawn as a box: ends of the lines, quartiles and median."""


def plot_spectra(
    spectra: Any, channels: str | Channels | None = None, *, names: Any = None, most: int = 12
) -> Any:
    """Draw signatures, or spectra of samples, as bars by channel in the conventional order and colours.

    Returns an ``altair.VConcatChart``. Raises a ParameterError if the argument isn't spectra, or channels
    have no classification; a DataError if the width doesn't match the channels; a MissingExtraError without
    Altair.

    Parameters
    ----------
    spectra : Components, KnownSignatures or array of shape (n, n_channels)
        Signatures are drawn with the intervals of their channels; channels without a classification are in
        the order of the data. Rows of an array are drawn unchanged.
    channels : str or Channels, optional
        For an array: one of `CHANNELS`, for instance "SBS96", with columns in that order.
    names : sequence of str, optional
        Titles of the panels.
    most : int
        The largest number of spectra drawn; the first ones are used.
    """
    whole_number("most", most, 1, remedy="12 fit on a page.")
    values, ends, own = _values(spectra)
    known: Any = channels
    if known is None and isinstance(spectra, Components):
        known = channels_in(spectra)
    if known is None and isinstance(spectra, KnownSignatures):
        known = spectra.channels or plain_channels(spectra.vocabulary)
    if not isinstance(known, Channels):
        known = CHANNELS[choice("channels", known, CHANNELS, remedy="Say which classification they are of.")]
    if values.shape[1] != len(known):
        raise DataError(
            "spectra", f"{values.shape[1]} channels", f"the {len(known)} of {known.name}", "Give channels=..."
        )
    titles = own if names is None else items("names", names, "a sequence of names", remedy="Leave it out.")
    if len(titles) != len(values):
        raise ParameterError("names", names, f"{len(values)} names", "Leave it out.")
    _some("spectra", spectra, len(values))
    panels = []
    for k in range(min(most, len(values))):
        both = None if ends is None else (ends[0][k], ends[1][k])
        panels.append(_titled(spectrum(values[k], both, known), str(titles[k])))
    return alt.vconcat(*panels)


def _values(spectra: Any) -> tuple[Floats, tuple[Floats, Floats] | None, Sequence[str]]:
    if isinstance(spectra, Components):
        order = in_order(signatures_of(spectra))
        ends = spectra.rows_lower[:, order], spectra.rows_upper[:, order]
        return spectra.rows[:, order], ends, spectra.titles
    if isinstance(spectra, KnownSignatures):
        known = spectra.channels
        matrix = spectra.matrix if known is None else spectra.matrix[:, known.order_of(spectra.vocabulary)]
        return matrix, None, spectra.names
    found = number_array(spectra)
    if found is None or found.ndim != 2 or not found.size or not (np.isfinite(found) & (found >= 0)).all():
        raise ParameterError(
            "spectra", spectra, "signatures, or an array of shape (n, n_channels) of numbers of 0 or more",
            "extract_signatures(run, corpus).",
        )  # fmt: skip
    return found, None, [str(number + 1) for number in range(len(found))]


def spectrum(values: Floats, ends: tuple[Floats, Floats] | None, channels: Channels) -> Any:
    """Bars in the order and the colours of the field, with intervals, below the strips of their groups."""
    n, height = len(values), 130
    low, high = (rounded(end) for end in ends or (values, values))
    texts = [printable(text) for text in channels.labels] if n <= _MOST_TICKS else [""] * n
    rows = [
        {"channel": printable(name), "label": text, "short": text, "group": printable(group),
         "colour": channels.colours[group], "share": share, "low": lower, "high": upper,
         "left": i - 0.38, "right": i + 0.38, "place": i}
        for i, (name, text, group, share, lower, upper) in enumerate(
            zip(channels.names, texts, channels.groups, rounded(values), low, high, strict=True)
        )
    ]  # fmt: skip
    blocks = [
        (block.label, block.first, block.first + block.width, block.colour) for block in channels.blocks
    ]
    headings = []
    for heading, members in groupby(channels.blocks, key=lambda block: block.heading):
        some = list(members)
        if heading:
            headings.append((heading, some[0].first, some[-1].first + some[-1].width, None))
    strips, above = (
        [{"label": printable(text), "short": printable(text).removesuffix(">NN"), "colour": fill,
          "left": first - 0.45, "right": end - 0.55, "middle": (first + end - 1) / 2}
         for text, first, end, fill in some]
        for some in (blocks, headings)
    )  # fmt: skip

    def x(field: str) -> Any:
        return places("X", field, -0.6, n - 0.4)

    def label(data: Any, field: str, top: int, **more: Any) -> Any:
        narrow = {"test": _NARROW, "value": {"expr": "datum.short"}}
        text = alt.Text(field="label", type="nominal", condition=narrow)
        return over(data).mark_text(style="on-chart", **more).encode(x(field), text, y=alt.value(top))

    fill = alt.Color(field="colour", type="nominal", scale=None)
    tooltip = [
        named("group"),
        named("channel"),
        *(told(one, form=".2%") for one in ("share", "low", "high")[: 3 if ends else 1]),
    ]
    axis = {"title": None, "tickCount": 4, "format": ".2~%", "gridColor": "#d9dfe7"}
    share = alt.Y(field="share", type="quantitative", axis=axis, stack=None)
    bars = (
        over()
        .mark_bar()
        .encode(x("left"), alt.X2(field="right"), share, fill, y2=alt.Y2Datum(0), tooltip=tooltip)
    )
    line = over().mark_rule(strokeWidth=0.9, color="#555555")
    line = line.encode(
        x("place"), alt.Y(field="low", type="quantitative"), alt.Y2(field="high"), tooltip=tooltip
    )
    turned = {"angle": 270, "align": "right", "baseline": "middle", "fontSize": 7.5, "font": "monospace"}
    layers = [bars, *([line] if ends else []), label(None, "place", height + 4, **turned, **_WHERE_WIDE)]
    if strips:
        strip = over(strips).mark_rect(stroke="#808b9a", strokeWidth=0.5)
        top, bottom = (alt.value(end) for end in _STRIP)
        layers.append(strip.encode(x("left"), alt.X2(field="right"), fill, y=top, y2=bottom))
        layers.append(label(strips, "middle", _STRIP[0] - 3, baseline="bottom", fontSize=_SMALLER))
    if above:
        layers.append(label(above, "middle", _STRIP[0] - 19, baseline="bottom", fontSize=11, **_WHERE_WIDE))
    # Colours of the field are made for white paper: one of them is black.
    return layered(rows, height, *layers, width=_WIDE, view={"fill": "white", "stroke": None})


def labels_of(signatures: Components) -> dict[str, Any]:
    """Labels of the samples of which some sample has a value: name -> (codes, keys)."""
    return {name: own for name, own in document_labels(signatures).items() if (own[0] >= 0).any()}


def levels_of(signatures: Components, label: str | None) -> tuple[list[str], list[list[int]]]:
    """Values of a label, in descending order of their numbers of samples, and the samples of each."""
    labels = labels_of(signatures)
    if label is None and not labels:
        return ["all"], [list(range(signatures.data.n_documents))]
    chosen = next(iter(labels)) if label is None else label
    if not isinstance(chosen, str) or chosen not in labels:
        raise ParameterError("level", label, f"a label of the samples: {list(labels)}", "Leave it out.")
    codes, keys = labels[chosen]
    members = [np.flatnonzero(codes == code).tolist() for code in range(len(keys))]
    order = sorted((i for i in range(len(keys)) if members[i]), key=lambda i: -len(members[i]))
    return [str(keys[i]) for i in order], [members[i] for i in order]


def plot_exposures(
    signatures: Components, level: str | None = None, *, by: str = "sample", most: int = 400
) -> Any:
    """Draw exposures as stacked bars, with the samples of each level next to each other.

    Returns an ``altair.Chart``. Raises a ParameterError if an argument is not valid; a MissingExtraError
    without Altair.

    Parameters
    ----------
    signatures : Components
    level : str, optional
        Label of the samples; by default the first label of the corpus.
    by : str
        "sample": one bar per sample, ordered by its largest signature. "level": one bar per value of the
        level, showing the mean of its samples' shares.
    most : int
        The largest number of samples drawn; each level is represented in proportion to its samples.
    """
    signatures_of(signatures)
    choice("by", by, ("sample", "level"), remedy="Leave it out for samples.")
    whole_number("most", most, 1, remedy="400 fit into one picture.")
    keys, members = levels_of(signatures, level)
    draw = _by_sample if by == "sample" else _by_level
    return draw(signatures, keys, members, most)


def _parts(signatures: Components, **legend: Any) -> tuple[list[str], Any]:
    """Names of the signatures and, last, of what is in none; and the channel of their colours."""
    found = [printable(name) for name in (*signatures.titles, f"component {REST}")]
    columns = {"expr": "width > 0 ? max(1, min(8, floor(width / 100))) : 8"}
    shown = {"title": None, "orient": "bottom", "columns": columns, "labelLimit": 120, **legend}
    scale = {"range": colours(len(signatures), rest=True)}
    return found, alt.Color(field="signature", type="nominal", sort=None, scale=scale, legend=shown)


def _by_sample(signatures: Components, keys: list[str], members: list[list[int]], most: int) -> Any:
    """One column for each sample; samples of a level are neighbours, by their largest signature."""
    shares, totals = signatures.group_shares, signatures.group_totals
    kept = ordered_samples(shares, members, most)
    n, height = sum(map(len, kept)), 220
    gap = 0.08 if n <= 120 else 0.0
    parts, fill = _parts(signatures, offset=70 if n <= _MOST_NAMED else 12)
    values: list[dict[str, Any]] = []
    columns, ends, place = [], [], 0
    for key, chosen in zip(keys, kept, strict=True):
        level = printable(key)
        ends.append({"level": level, "first": place, "middle": place + len(chosen) / 2})
        for i in chosen.tolist():
            name, start = printable(str(signatures.names[i])), 0.0
            columns.append({"name": name, "middle": place + 0.5})
            for part, share in zip(parts, rounded(shares[i], 3), strict=True):
                # The first sample has all parts, so that colours are in the order of the parts.
                if share >= _LEAST or place == 0:
                    values.append(
                        {"sample": name, "level": level, "signature": part, "share": share, "start": start,
                         "end": start + share, "mutations": round(share * float(totals[i])),
                         "left": place + gap, "right": place + 1 - gap}
                    )  # fmt: skip
                    start += share
            place += 1

    def x(field: str) -> Any:
        return places("X", field, 0, n)

    bars = over().mark_bar().encode(
        x("left"), alt.X2(field="right"), fill, alt.Y2(field="end"),
        number("Y", "start", "share of the mutations", ".0%", scale={"domain": [0, 1]}),
        tooltip=[*map(named, ("sample", "level", "signature")), told("share", form=".1%"),
                 told("mutations", "mutations of it", ",")],
    )  # fmt: skip
    layers = [bars]
    if n <= _MOST_NAMED:
        text = over(columns).mark_text(
            style="on-chart", angle=270, align="right", baseline="middle", fontSize=9, limit=90, **_WHERE_WIDE
        )
        text = text.encode(x("middle"), y=alt.value(height + 4), text=alt.Text(field="name", type="nominal"))
        layers.append(text)
    if labels_of(signatures):
        lines = over(ends).mark_rule(strokeWidth=1, style="border")
        layers.append(lines.encode(x("first"), y=alt.value(-6), y2=alt.value(height)))
        text = over(ends).mark_text(
            style="on-chart", angle=325, align="left", baseline="middle", fontSize=11, limit=130
        )
        text = text.encode(x("middle"), y=alt.value(-8), text=alt.Text(field="level", type="nominal"))
        layers.append(text)
    return layered(values, height, *layers, width=_WIDE)


def _by_level(signatures: Components, keys: list[str], members: list[list[int]], most: int) -> Any:
    """Horizontal bars of the mean shares, which sum to one."""
    parts, fill = _parts(signatures)
    rows = list(zip(_sized(keys, members), members, strict=True))[: min(most, _MOST_LEVELS)]
    values = []
    for level, group in rows:
        ends = np.cumsum(signatures.group_shares[group].mean(axis=0)).tolist()
        values += [
            {"level": level, "signature": part, "share": end - start, "start": start, "end": end}
            for part, start, end in zip(parts, [0.0, *ends], ends, strict=False)
        ]
    return (
        chart(values, ROW * len(rows), _WIDE)
        .mark_bar()
        .encode(
            names("Y", "level"), alt.X2(field="end"), fill,
            number("X", "start", "mean share of the mutations", ".0%", scale={"domain": [0, 1]}),
            tooltip=[named("level"), named("signature"), told("share", form=".1%")],
        )
    )  # fmt: skip


def _sized(keys: list[str], members: list[list[int]]) -> list[str]:
    """Levels with their numbers of samples."""
    return [f"{printable(key)} ({len(group):,})" for key, group in zip(keys, members, strict=True)]


def plot_activity(
    signatures: Components, signature: int | str, level: str | None = None, *, most: int = 40
) -> Any:
    """Draw the shares of a signature in the samples of each level as boxes.

    Boxes reach from the first to the third quartile with the median; lines reach from 5 % to 95 % of the
    samples. Returns an ``altair.Chart``. Raises a ParameterError if an argument is not valid; a
    MissingExtraError without Altair.

    Parameters
    ----------
    signatures : Components
    signature : int or str
        Its number from 0, or its name.
    level : str, optional
        Label of the samples; by default the first label of the corpus.
    most : int
        The largest number of values of the level that are drawn; those with most samples.
    """
    signatures_of(signatures)
    place = _place(signatures, signature)
    whole_number("most", most, 1, remedy="40 fit into one picture.")
    keys, members = levels_of(signatures, level)
    shares, there = signatures.group_shares[:, place], signatures.present[:, place]
    parts = ("low", "first", "middle", "third", "high")
    values = [
        {"level": name, "samples": int(there[group].sum())}
        | dict(zip(parts, np.quantile(shares[group], QUANTILES).tolist(), strict=True))
        for name, group in list(zip(_sized(keys, members), members, strict=True))[:most]
    ]
    told_as = ("5 %", "first quartile", "median", "third quartile", "95 %")
    tooltip = [
        named("level", printable(level or next(iter(labels_of(signatures)), "samples"))),
        *(told(part, name, ".1%") for part, name in zip(parts, told_as, strict=True)),
        told("samples", "samples with it", ","),
    ]
    y = names("Y", "level", 170)
    title = f"share of {printable(signatures.titles[place])}"

    def x(field: str) -> Any:
        return number("X", field, title, ".0%", scale={"zero": True}, stack=None)

    span = (
        over()
        .mark_rule(strokeWidth=1, color=colour(place + 1))
        .encode(x("low"), alt.X2(field="high"), y, tooltip=tooltip)
    )
    box = over().mark_bar(height=11, opacity=0.75, color=colour(place + 1))
    box = box.encode(x("first"), alt.X2(field="third"), y, tooltip=tooltip)
    median = over().mark_tick(thickness=2, height=15, style="median")
    median = median.encode(x("middle"), y, tooltip=tooltip)
    return layered(values, ROW * len(values), span, box, median, width=360)


def _place(found: Components, signature: int | str) -> int:
    """Number of a signature that is given by its number or its name."""
    if isinstance(signature, str):
        return found.titles.index(choice("signature", signature, found.titles, remedy="Check the name."))
    remedy = "Signatures are numbered from 0."
    return whole_number("signature", signature, 0, len(found) - 1, remedy=remedy)


def plot_decomposition(
    signatures: Components, signature: int | str, known: KnownSignatures, *, least: float = 0.05
) -> Any:
    """Draw a signature, the sum of known ones that is most like it, and the parts of this sum.

    Returns an ``altair.VConcatChart``. Raises a ParameterError if an argument is not valid; a DataError if
    the channels of the known signatures differ; a MissingExtraError without Altair.

    Parameters
    ----------
    signatures : Components
        As `extract_signatures` returns them.
    signature : int or str
        Its number from 0, or its name.
    known : KnownSignatures
    least : float
        Known signatures with a smaller share are left out, as by `KnownSignatures.decompose`.
    """
    found, place = signatures_of(signatures), _place(signatures, signature)
    check_channels(known, vocabulary_of(found))
    parts = known.decompose(found.rows[[place]], least=least)
    channels, order, shares = channels_in(found), in_order(found), parts.shares[0]
    low, high = found.ends_of(place)
    panels = [spectrum(found.rows[place, order], (low[order], high[order]), channels)]
    panels.append(spectrum((shares @ known.matrix)[order], None, channels))
    titles = [found.titles[place], f"sum of known signatures (cosine {parts.cosine[0]:.3f})"]
    for name, share in parts.parts(0):
        panels.append(spectrum(share * known.matrix[known.names.index(name), order], None, channels))
        titles.append(f"{share:.2f} of {name}")
    both = zip(panels, titles, strict=True)
    return alt.vconcat(*(_titled(one, text) for one, text in both)).resolve_scale(y="shared")


def ordered_samples(shares: Floats, members: list[list[int]], most: int) -> list[Int64s]:
    """About so many samples, of each level in proportion: by largest signature and then by its share."""
    n_all = sum(map(len, members))
    kept = []
    for group in members:
        n = max(1, round(most * len(group) / max(n_all, most)))
        chosen = np.asarray(group, dtype=np.int64)[evenly(len(group), n)]
        largest = np.argmax(shares[chosen], axis=1)
        kept.append(chosen[np.lexsort((-shares[chosen, largest], largest))])
    return kept


def plot_cosines(signatures: Any, known: Any = None, *, most: int = 40) -> Any:
    """Draw cosine similarities of signatures with known ones, or with each other, as a heat map.

    Returns an ``altair.Chart``. Raises a ParameterError if the arguments aren't signatures; a DataError if
    their channels differ; a MissingExtraError without Altair.

    Parameters
    ----------
    signatures : Components or KnownSignatures
    known : Components or KnownSignatures, optional
        By default the signatures themselves.
    most : int
        The largest number of known signatures drawn: those most similar to a signature.
    """
    whole_number("most", most, 1, remedy="40 fit into one picture.")
    names, rows, channels = _rows("signatures", signatures)
    others, columns, own = _rows("known", signatures if known is None else known)
    if own != channels:
        raise DataError(
            "known", f"{len(own)} channels", f"the {len(channels)} of the signatures",
            "Read both with the same channels=...",
        )  # fmt: skip
    cosines = unit_rows(rows) @ unit_rows(columns).T
    kept = np.arange(len(others))
    if len(kept) > most:
        kept = np.sort(np.argsort(-cosines.max(axis=0), kind="stable")[:most])
    values = [
        {"signature": printable(one), "known": printable(others[i]), "cosine": value}
        for one, row in zip(names, rounded(cosines[:, kept], 3), strict=True)
        for i, value in zip(kept.tolist(), row, strict=True)
    ]
    return heat(
        values, ("signature", "signature"), ("known", "known"), ("cosine", "cosine", ".3~f"), len(cosines),
        scale={"domain": [0, 1]}, labelAngle=-90, width=max(ROW * len(kept), 120),
    )  # fmt: skip


def _rows(name: str, given: Any) -> tuple[Sequence[str], Floats, tuple[str, ...]]:
    """Names, shares and channels of signatures, or of known ones: at least one."""
    found: tuple[Sequence[str], Floats, tuple[str, ...]]
    if isinstance(given, KnownSignatures):
        found = (given.names, given.matrix, given.vocabulary)
    else:
        both = "Components or KnownSignatures"
        instance(name, given, Components, both, remedy="extract_signatures(run, corpus).")
        found = (signatures_of(given).titles, given.rows, vocabulary_of(given))
    _some(name, given, len(found[0]))
    return found


def _some(name: str, given: Any, n: int) -> None:
    if n == 0:
        raise DataError(name, given, "at least one", "Lower the required agreement of samples and chains.")


_A4 = (842.0, 595.0)  # points
_MARGIN = 30.0
_LARGEST = 30  # samples with the largest exposures


def write_pages(
    signatures: Components, path: str | os.PathLike[str], *, known: KnownSignatures | None = None
) -> Path:
    """Write signatures as a PDF with a page for each, and a last one with the exposures of the samples.

    The page of a signature has its spectrum with intervals and, if there are known signatures, that of its
    best match and of the sum of known ones that is most like it; its row of the overview; its shares in the
    samples of each level as boxes; and the samples with most mutations of it, with their intervals. Raises a
    DataError if there is no signature, or the channels of the known ones differ; a StorageError if the file
    can't be written; a MissingExtraError without Altair, vl-convert-python or pypdf.

    Parameters
    ----------
    signatures : Components
        At least one.
    path : path
        The file; an existing one is replaced.
    known : KnownSignatures, optional
        For the best matches.
    """
    signatures_of(signatures)
    file = absolute_path("path", path, remedy="For instance signatures.pdf.")
    if known is not None:
        check_channels(known, vocabulary_of(signatures))
    _some("signatures", signatures, len(signatures))
    check_place(file)
    check_drawing()
    with importing_extra("pypdf", "plots"):
        import pypdf
    table = overview(signatures, known)
    pages = [
        _page(signatures, k, {name: column[k] for name, column in table.items()}, known)
        for k in range(len(signatures))
    ]
    pages.append(_titled(plot_exposures(signatures), "Exposures of the samples", fontSize=13, offset=60))
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


def _titled(chart: Any, text: str, **more: Any) -> Any:
    """The chart below a title."""
    return chart.properties(title=alt.Title(printable(text), anchor="start", **({"offset": 30} | more)))


def _page(signatures: Components, k: int, row: Any, known: KnownSignatures | None) -> Any:
    """The page of a signature."""
    channels, order = channels_in(signatures), in_order(signatures)
    ends = signatures.ends_of(k)
    values, low, high = (row[order] for row in (signatures.rows[k], *ends))
    big = {"fontSize": 20, "subtitle": _facts(row, signatures), "subtitleFontSize": 11}
    parts = [_titled(spectrum(values, (low, high), channels), row["signature"], **big)]
    if known is not None:
        match = known.matrix[known.names.index(row["best_match"])][order]
        text = f"{row['best_match']}, the most similar known signature (cosine {row['cosine']:.3f})"
        parts.append(_titled(spectrum(match, None, channels), text, fontSize=13))
        sums = known.decompose(signatures.rows[[k]])
        if len(sums.parts(0)) > 1:
            text = f"{row['decomposition']} (cosine {row['decomposition_cosine']:.3f})"
            total = (sums.shares[0] @ known.matrix)[order]
            parts.append(_titled(spectrum(total, None, channels), text, fontSize=13))
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
