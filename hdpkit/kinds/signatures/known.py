"""Reference signatures read from a file: matches, and decompositions into them."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import attrs
import numpy as np
import scipy

from hdpkit.arrays import Floats
from hdpkit.checks import choice, instance, items, number_array, real_number, whole_number
from hdpkit.data.files.text_files import Layout
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.signatures.channels import Channels
from hdpkit.kinds.signatures.spectra import arranged, given_channels, read_table, side_of
from hdpkit.posterior.alignment import unit_rows
from hdpkit.posterior.components import Components

_ROUNDING = 0.01
"""Largest deviation from one of the sum of a signature's shares, which are rounded in files."""


@attrs.frozen(eq=False, repr=False)
class Matches:
    """For each component the most similar known signature. See `KnownSignatures.match`.

    Attributes
    ----------
    names : tuple of str
        Name of the most similar known signature of each component.
    cosine : float64 array, shape (T,)
        Cosine similarity with it.
    cosines : float64 array, shape (T, n_known)
        Cosine similarities with all known signatures.
    """

    names: tuple[str, ...]
    cosine: Floats
    cosines: Floats

    def __repr__(self) -> str:
        shown = ", ".join(f"{n} {c:.2f}" for n, c in zip(self.names, self.cosine.tolist(), strict=True))
        return f"<Matches: {shown}>"


@attrs.frozen(eq=False, repr=False)
class Decomposition:
    """Components as sums of known signatures. See `KnownSignatures.decompose`.

    Attributes
    ----------
    names : tuple of str
        Names of the known signatures.
    shares : float64 array, shape (T, n_known)
        Share of each known signature in each component; rows sum to one.
    cosine : float64 array, shape (T,)
        Cosine similarity of each component with its decomposition.
    """

    names: tuple[str, ...]
    shares: Floats
    cosine: Floats

    def __repr__(self) -> str:
        return f"<Decomposition: {len(self.shares)} components into {len(self.names)} known signatures>"

    def parts(self, component: int) -> list[tuple[str, float]]:
        """The known signatures in a component with their shares, the largest first.

        Parameters
        ----------
        component : int
        """
        number = whole_number("component", component, 0, len(self.shares) - 1, remedy="Counted from 0.")
        row = self.shares[number]
        return [(self.names[i], float(row[i])) for i in np.argsort(-row, kind="stable") if row[i] > 0]


@attrs.frozen(eq=False, repr=False)
class KnownSignatures:
    """Reference signatures. See `read_signatures`.

    Attributes
    ----------
    names : tuple of str
    vocabulary : tuple of str
        The channels.
    matrix : float64 array, shape (n_known, n_channels)
        Rows sum to one.
    channels : Channels or None
        None if channels have other names.
    """

    names: tuple[str, ...]
    vocabulary: tuple[str, ...]
    matrix: Floats
    channels: Channels | None = None

    def __repr__(self) -> str:
        return f"<KnownSignatures: {len(self)} of {len(self.vocabulary)} channels>"

    def __len__(self) -> int:
        return len(self.names)

    def chosen(self, names: Sequence[str]) -> KnownSignatures:
        """Select known signatures by name.

        Raises a ParameterError if a name isn't among them.

        Parameters
        ----------
        names : sequence of str
        """
        places = {name: place for place, name in enumerate(self.names)}
        given = items("names", names, "names of known signatures", remedy="Give a list of names.")
        rows = [places[choice("names", name, places, remedy="Check the name.")] for name in given]
        return attrs.evolve(self, names=given, matrix=self.matrix[rows])

    def match(self, components: Any) -> Matches:
        """Find the known signature with the largest cosine similarity to each component.

        Raises a DataError if the channels or the shape don't match.

        Parameters
        ----------
        components : Components, or array of shape (T, n_channels)
            An array has the channels in the order of `vocabulary`.
        """
        given = self._components(components)
        cosines = unit_rows(given) @ unit_rows(self.matrix).T
        best = np.argmax(cosines, axis=1)
        return Matches(tuple(self.names[i] for i in best), cosines[np.arange(len(given)), best], cosines)

    def decompose(self, components: Any, *, least: float = 0.05) -> Decomposition:
        """Write each component as a sum of known signatures, by non-negative least squares (Lawson & Hanson).

        Raises a DataError if the channels or the shape don't match; a ParameterError if ``least`` isn't from
        0 to below 1.

        Parameters
        ----------
        components : Components, or array of shape (T, n_channels)
        least : float
            Known signatures with a smaller share are removed, the smallest first, and the others are
            refitted.
        """
        given = self._components(components)
        if not 0.0 <= real_number("least", least) < 1.0:
            raise ParameterError("least", least, "from 0 to below 1", "0 keeps all of them.")
        shares = np.array([self._fitted(row, least) for row in given]).reshape(len(given), len(self))
        sums = shares @ self.matrix
        cosine = np.einsum("ij,ij->i", unit_rows(given), unit_rows(sums))
        total = shares.sum(axis=1, keepdims=True)
        return Decomposition(self.names, shares / np.where(total > 0, total, 1.0), cosine)

    def _fitted(self, row: Floats, least: float) -> Floats:
        weights = np.zeros(len(self))
        kept = np.arange(len(self))
        while len(kept):
            found = scipy.optimize.nnls(self.matrix[kept].T, row)[0]
            low = found < least * found.sum()
            if not low.any():
                weights[kept] = found
                break
            # Those at zero are removed together, since this doesn't change the fit.
            drop = low & (found == 0.0) if (found == 0.0).any() else found == found.min()
            kept = kept[~drop]
        return weights

    def _components(self, components: Any) -> Floats:
        if isinstance(components, Components):
            check_channels(self, vocabulary_of(components))
            return components.rows
        found = number_array(components)
        if found is None or found.ndim != 2 or found.shape[1] != len(self.vocabulary):
            raise DataError(
                "components", components, f"an array of shape (T, {len(self.vocabulary)})",
                "They and the known signatures must have the same channels.",
            )  # fmt: skip
        return found


def read_signatures(
    path: str | os.PathLike[str],
    *,
    channels: str | Channels | None = None,
    signatures: str = "auto",
    delimiter: str | None = None,
) -> KnownSignatures:
    """Read reference signatures, such as COSMIC's downloads: a row per channel, a column per signature.

    Raises a DataError with line and cell: if channels are wrong, duplicated or missing, a share is negative
    or not a number, or those of a signature don't sum to one. Shares in files are rounded: they are rescaled.

    Parameters
    ----------
    path : path
        CSV, TSV or similar, plain or compressed, Parquet, JSON lines or xlsx.
    channels : str or Channels, optional
        As in `read_spectra`. If you give the classification of the counts, a file of another one raises an
        error.
    signatures : str
        Whether signatures are "columns" or "rows"; "auto" detects it.
    delimiter : str, optional
        Separator of fields; by default it is detected.
    """
    wanted = given_channels(channels)
    table = read_table(path, Layout(delimiter=delimiter))
    side = side_of(table, wanted, "signatures", signatures)
    values, names, order, words, known = arranged(table, wanted, side, "signature")
    if (values < 0).any():
        number, channel = (int(i[0]) for i in np.nonzero(values < 0))
        cell = (order[channel], number) if side == "columns" else (number, order[channel])
        raise DataError(
            table.cell(*cell), float(values[number, channel]), "a share of 0 or more", "Correct it."
        )
    for name, total in zip(names, values.sum(axis=1).tolist(), strict=True):
        if abs(total - 1.0) > _ROUNDING:
            raise DataError(
                f"{table.place}, signature {name!r}", total, "shares of channels that sum to one",
                "Divide counts by their sum, and check that the file contains signatures.",
            )  # fmt: skip
    return KnownSignatures(tuple(names), tuple(words), values / values.sum(axis=1, keepdims=True), known)


def vocabulary_of(found: Components) -> tuple[str, ...]:
    """The channels of components, or their numbers."""
    return tuple(map(str, found.words(range(found.n_terms))))


def check_channels(known: Any, vocabulary: Sequence[str]) -> KnownSignatures:
    """Return the known signatures if they have these channels in this order; otherwise raise a DataError."""
    instance("known", known, KnownSignatures, "KnownSignatures", remedy="read_signatures(path).")
    found: KnownSignatures = known
    if found.vocabulary != tuple(vocabulary):
        told = f"{len(found.vocabulary)} channels, {found.vocabulary[0]} first"
        own = f"the {len(vocabulary)} channels of the counts, {vocabulary[0]} first"
        raise DataError("known", told, own, "Read both with the same channels=...")
    return found
