"""Plots of signatures with matplotlib: spectra in the conventional order and colours, exposures, cosines."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import groupby
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.arrays import Floats
from hdpkit.canvas import colours, evenly, given_axes, given_figure, load_matplotlib, plain
from hdpkit.checks import choice, instance, items, number_array, whole_number
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.signatures.channels import CHANNELS, Block, Channels, plain_channels
from hdpkit.kinds.signatures.extraction import REST, Signatures
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.posterior.vectors import unit_rows

_MOST_TICKS = 100
_REST_COLOUR = "#d9d9d9"
QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95)
"""Of the samples of a level, drawn as a box: ends of the lines, quartiles and median."""


def plot_spectra(
    spectra: Any,
    channels: str | Channels | None = None,
    *,
    names: Any = None,
    most: int = 12,
    figure: Any = None,
) -> Any:
    """Draw signatures, or spectra of samples, as bars by channel in the conventional order and colours.

    Parameters
    ----------
    spectra : Signatures, KnownSignatures or array of shape (n, n_channels)
        Signatures are drawn with the intervals of their channels; channels without a classification are in
        the order of the data. Rows of an array are drawn unchanged.
    channels : str or Channels, optional
        For an array: "SBS96", "SBS288", "SBS1536", "DBS78" or "ID83", with columns in that order.
    names : sequence of str, optional
        Titles of the panels.
    most : int
        The largest number of spectra drawn; the first ones are used.
    figure : matplotlib.figure.Figure, optional
        Where to draw; by default a new one.

    Returns
    -------
    matplotlib.figure.Figure

    Raises
    ------
    ParameterError
        If the argument isn't spectra, or channels have no classification.
    DataError
        If the width doesn't match the channels.
    MissingExtraError
        Without matplotlib.
    """
    whole_number("most", most, 1, remedy="12 fit on a page.")
    values, ends, own = _values(spectra)
    known = getattr(spectra, "channels", None) if channels is None else channels
    if known is None and hasattr(spectra, "vocabulary"):
        known = plain_channels(spectra.vocabulary)
    if not isinstance(known, Channels):
        known = CHANNELS[choice("channels", known, CHANNELS, remedy="Say which classification they are of.")]
    if values.shape[1] != len(known):
        raise DataError(
            "spectra", f"{values.shape[1]} channels", f"the {len(known)} of {known.name}", "Give channels=..."
        )
    titles = own if names is None else items("names", names, "a sequence of names", remedy="Leave it out.")
    if len(titles) != len(values):
        raise ParameterError("names", names, f"{len(values)} names", "Leave it out.")
    if not len(values):
        raise DataError(
            "spectra", spectra, "at least one", "Lower the required agreement of samples and chains."
        )
    n = min(most, len(values))
    figure = given_figure(figure, (11.0, 1.9 * n))
    axes = figure.subplots(n, 1, squeeze=False)[:, 0]
    for k, ax in enumerate(axes):
        both = None if ends is None else (ends[0][k], ends[1][k])
        draw_spectrum(ax, values[k], both, known)
        ax.set_title(plain(titles[k]), loc="left", fontsize=9, pad=14)
    return figure


def _values(spectra: Any) -> tuple[Floats, tuple[Floats, Floats] | None, Sequence[str]]:
    if isinstance(spectra, Signatures):
        order = spectra.in_order
        return spectra.matrix[:, order], (spectra.lower[:, order], spectra.upper[:, order]), spectra.names
    if isinstance(spectra, KnownSignatures):
        known = spectra.channels
        matrix = spectra.matrix if known is None else spectra.matrix[:, known.order_of(spectra.vocabulary)]
        return matrix, None, spectra.names
    found = number_array(spectra)
    if (
        found is None
        or found.ndim != 2
        or not found.size
        or not np.isfinite(found).all()
        or (found < 0).any()
    ):
        raise ParameterError(
            "spectra", spectra, "signatures, or an array of shape (n, n_channels) of numbers of 0 or more",
            "extract_signatures(run, corpus).",
        )  # fmt: skip
    return found, None, [str(number + 1) for number in range(len(found))]


def draw_spectrum(ax: Any, values: Floats, ends: tuple[Floats, Floats] | None, channels: Channels) -> None:
    """Bars in the order and the colours of the field, with intervals, below the strips of their groups."""
    n = len(values)
    ax.bar(np.arange(n), values, width=0.75, color=[channels.colours[group] for group in channels.groups])
    if ends is not None:
        ax.vlines(np.arange(n), *ends, color="#555555", linewidth=0.6)
    ax.set_xlim(-0.7, n - 0.3)
    ax.set_ylim(0.0, None)
    ax.tick_params(axis="y", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    ticks = channels.labels if n <= _MOST_TICKS else ()
    ax.set_xticks(np.arange(len(ticks)), [plain(label) for label in ticks], rotation=90, family="monospace")
    ax.tick_params(axis="x", length=0, pad=1, labelsize=4.5)
    for block in channels.blocks:
        _strip(ax, block)
    for heading, members in groupby(channels.blocks, key=lambda block: block.heading):
        blocks = list(members)
        centre = (blocks[0].first + blocks[-1].first + blocks[-1].width) / 2
        _above(ax, heading, centre, 1.22, 6)


def _strip(ax: Any, block: Block) -> None:
    """A coloured strip with the label of the block above its bars."""
    from matplotlib.patches import Rectangle

    place, across = (block.first - 0.4, 1.02), ax.get_xaxis_transform()
    ax.add_patch(
        Rectangle(place, block.width - 0.2, 0.05, color=block.colour, transform=across, clip_on=False)
    )
    _above(ax, block.label, block.first + block.width / 2, 1.09, 6 if block.width > 3 else 3.5)


def _above(ax: Any, text: str, centre: float, height: float, size: float) -> None:
    if text:
        ax.text(
            centre - 0.5, height, plain(text), transform=ax.get_xaxis_transform(), ha="center", va="bottom",
            fontsize=size,
        )  # fmt: skip


def labels_of(signatures: Signatures) -> dict[str, Any]:
    """Labels of the samples of which some sample has a value: name -> (codes, keys)."""
    labels = signatures.corpus.document_labels
    return {name: own for name, own in labels.items() if name != "document" and (own[0] >= 0).any()}


def levels_of(signatures: Signatures, label: str | None) -> tuple[list[str], list[list[int]]]:
    """Values of a label, in descending order of their numbers of samples, and the samples of each."""
    labels = labels_of(signatures)
    if label is None and not labels:
        return ["all"], [list(range(signatures.corpus.n_documents))]
    chosen = next(iter(labels)) if label is None else label
    if not isinstance(chosen, str) or chosen not in labels:
        raise ParameterError("level", label, f"a label of the samples: {list(labels)}", "Leave it out.")
    codes, keys = labels[chosen]
    members = [np.flatnonzero(codes == code).tolist() for code in range(len(keys))]
    order = sorted((i for i in range(len(keys)) if members[i]), key=lambda i: -len(members[i]))
    return [str(keys[i]) for i in order], [members[i] for i in order]


def plot_exposures(
    signatures: Signatures, level: str | None = None, *, by: str = "sample", most: int = 400, ax: Any = None
) -> Any:
    """Draw exposures as stacked bars, with the samples of each level next to each other.

    Parameters
    ----------
    signatures : Signatures
    level : str, optional
        Label of the samples; by default the first label of the corpus.
    by : str
        "sample": one bar per sample, ordered by its largest signature. "level": one bar per value of the
        level, showing the mean of its samples' shares.
    most : int
        The largest number of samples drawn; each level is represented in proportion to its samples.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If an argument is not valid.
    MissingExtraError
        Without matplotlib.
    """
    instance("signatures", signatures, Signatures, "Signatures", remedy="extract_signatures(run, corpus).")
    choice("by", by, ("sample", "level"), remedy="Leave it out for samples.")
    whole_number("most", most, 1, remedy="400 fit into one picture.")
    keys, members = levels_of(signatures, level)
    shares = signatures.exposures.shares
    ax = given_axes(ax, (11.0, 4.0))
    each = [*colours(len(signatures)), _REST_COLOUR]
    if by == "level":
        rows, ends, ticks = np.array([shares[group].mean(axis=0) for group in members]), [], list(keys)
        places = np.arange(len(keys), dtype=np.float64)
    else:
        kept = ordered_samples(shares, members, most)
        rows = shares[np.concatenate(kept)]
        bounds = np.concatenate([[0], np.cumsum([len(group) for group in kept])])
        ends, ticks = bounds[1:-1].tolist(), list(keys)
        places = (bounds[:-1] + bounds[1:] - 1) / 2.0
    bottom = np.zeros(len(rows))
    for k, name in enumerate([*signatures.names, REST]):
        width = 0.8 if by == "level" else 1.0
        ax.bar(np.arange(len(rows)), rows[:, k], width, bottom=bottom, color=each[k], label=plain(name))
        bottom += rows[:, k]
    for end in ends:
        ax.axvline(end - 0.5, color="black", linewidth=0.8)
    ax.set_xticks(places, [plain(key) for key in ticks], rotation=90, fontsize=7)
    ax.set_xlim(-0.5, len(rows) - 0.5)
    ax.set_ylim(0.0, 1.0)
    ax.set_ylabel("share of the mutations")
    ax.legend(fontsize=6, loc="center left", bbox_to_anchor=(1.0, 0.5), ncols=1 + len(signatures) // 20)
    return ax


def plot_activity(
    signatures: Signatures, signature: int | str, level: str | None = None, *, most: int = 40, ax: Any = None
) -> Any:
    """Draw the shares of a signature in the samples of each level as boxes.

    Boxes reach from the first to the third quartile with the median; lines reach from 5 % to 95 % of the
    samples.

    Parameters
    ----------
    signatures : Signatures
    signature : int or str
        Its number from 0, or its name.
    level : str, optional
        Label of the samples; by default the first label of the corpus.
    most : int
        The largest number of values of the level that are drawn; those with most samples.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If an argument is not valid.
    MissingExtraError
        Without matplotlib.
    """
    instance("signatures", signatures, Signatures, "Signatures", remedy="extract_signatures(run, corpus).")
    if isinstance(signature, str):
        remedy = "Check the name."
        number = signatures.names.index(choice("signature", signature, signatures.names, remedy=remedy))
    else:
        remedy = "Signatures are numbered from 0."
        number = whole_number("signature", signature, 0, len(signatures) - 1, remedy=remedy)
    whole_number("most", most, 1, remedy="40 fit into one picture.")
    keys, members = levels_of(signatures, level)
    keys, members = keys[:most], members[:most]
    column = signatures.exposures.shares[:, number]
    ax = given_axes(ax, (6.4, 0.8 + 0.26 * len(keys)))
    boxes = [
        dict(zip(("whislo", "q1", "med", "q3", "whishi"), np.quantile(column[group], QUANTILES), strict=True))
        for group in members
    ]
    ax.bxp(
        boxes, showfliers=False, patch_artist=True, widths=0.6, **_turned(),
        boxprops={"facecolor": "#9ecae9", "edgecolor": "#333333", "linewidth": 0.8},
        medianprops={"color": "#333333", "linewidth": 1.6},
    )  # fmt: skip
    names = [f"{plain(key)} ({len(group):,})" for key, group in zip(keys, members, strict=True)]
    ax.set_yticks(np.arange(1, len(keys) + 1), names, fontsize=7)
    ax.invert_yaxis()
    ax.set_xlim(left=0.0)
    ax.set_xlabel(f"share of {plain(signatures.names[number])} in the mutations of a sample", fontsize=8)
    ax.tick_params(axis="x", labelsize=7)
    ax.spines[["top", "right"]].set_visible(False)
    return ax


def _turned() -> dict[str, Any]:
    """The argument by which boxes lie: Matplotlib renamed it in version 3.10."""
    version = tuple(int(part) for part in load_matplotlib().__version__.split(".")[:2])
    return {"orientation": "horizontal"} if version >= (3, 10) else {"vert": False}


def ordered_samples(shares: Floats, members: list[list[int]], most: int) -> list[npt.NDArray[np.int64]]:
    """About so many samples, of each level in proportion: by largest signature and then by its share."""
    n_all = sum(map(len, members))
    kept = []
    for group in members:
        n = max(1, round(most * len(group) / max(n_all, most)))
        chosen = np.asarray(group, dtype=np.int64)[evenly(len(group), n)]
        largest = np.argmax(shares[chosen], axis=1)
        kept.append(chosen[np.lexsort((-shares[chosen, largest], largest))])
    return kept


def plot_cosines(signatures: Any, known: Any = None, *, most: int = 40, ax: Any = None) -> Any:
    """Draw cosine similarities of signatures with known ones, or with each other, as a heat map.

    Parameters
    ----------
    signatures : Signatures or KnownSignatures
    known : Signatures or KnownSignatures, optional
        By default the signatures themselves.
    most : int
        The largest number of known signatures drawn: those most similar to a signature.
    ax : matplotlib.axes.Axes, optional
        Where to draw; by default, a new figure.

    Returns
    -------
    matplotlib.axes.Axes

    Raises
    ------
    ParameterError
        If the arguments aren't signatures.
    DataError
        If their channels differ.
    MissingExtraError
        Without matplotlib.
    """
    kinds = (Signatures, KnownSignatures)
    instance("signatures", signatures, kinds, "Signatures", remedy="extract_signatures(run, corpus).")
    other = signatures if known is None else known
    instance("known", other, kinds, "Signatures or KnownSignatures", remedy="read_signatures(path).")
    whole_number("most", most, 1, remedy="40 fit into one picture.")
    for name, one in (("signatures", signatures), ("known", other)):
        if not len(one):
            raise DataError(name, one, "at least one", "Lower the required agreement of samples and chains.")
    if other.vocabulary != signatures.vocabulary:
        raise DataError(
            "known", f"{len(other.vocabulary)} channels",
            f"the {len(signatures.vocabulary)} of the signatures", "Read both with the same channels=...",
        )  # fmt: skip
    cosines = unit_rows(signatures.matrix) @ unit_rows(other.matrix).T
    kept = np.arange(len(other.names))
    if len(kept) > most:
        kept = np.sort(np.argsort(-cosines.max(axis=0), kind="stable")[:most])
    ax = given_axes(ax, (1.5 + 0.25 * len(kept), 1.5 + 0.25 * len(cosines)))
    image = ax.imshow(cosines[:, kept], vmin=0.0, vmax=1.0, cmap="Blues", aspect="auto")
    ax.set_xticks(np.arange(len(kept)), [plain(other.names[i]) for i in kept], rotation=90, fontsize=7)
    ax.set_yticks(np.arange(len(cosines)), [plain(name) for name in signatures.names], fontsize=7)
    ax.figure.colorbar(image, ax=ax, label="cosine")
    return ax
