"""Limits on the size of a corpus read from a file, since a file of a few bytes can declare any size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import attrs

from hdpkit.checks import whole_number
from hdpkit.errors import DataError
from hdpkit.formats.counts import ID_LIMIT, TOKEN_LIMIT, Counts, check_total

__all__ = ["Limits", "limited"]

_TOKENS = 2**28  # accepted from any file
_TOKENS_PER_ENTRY = 100  # accepted from files with more entries


def _optional(high: int) -> Any:
    def validate(instance: Any, attribute: Any, value: Any) -> None:
        if value is not None:
            whole_number(attribute.name, value, 1, high, remedy="Give the largest number allowed.")

    return validate


def _required(high: int) -> Any:
    def validate(instance: Any, attribute: Any, value: Any) -> None:
        whole_number(attribute.name, value, 1, high, remedy="Give the largest number allowed.")

    return validate


@attrs.frozen(kw_only=True)
class Limits:
    """The largest corpus that is read from a file.

    A file of a few bytes can contain a term id, a document id or a count of any size, for which memory would
    be needed. Files that exceed these limits raise an error before memory is allocated.

    Parameters
    ----------
    max_terms : int
        Size of the vocabulary, by default 2^24.
    max_documents : int
        Number of documents, by default 2^24.
    max_tokens : int, optional
        Number of tokens. By default 2^28, or 100 for each entry of the file if that is more.

    Raises
    ------
    ParameterError
        If a number isn't a whole number from 1 to 2^31 - 1.
    """

    max_terms: int = attrs.field(default=2**24, validator=_required(ID_LIMIT))
    max_documents: int = attrs.field(default=2**24, validator=_required(ID_LIMIT))
    max_tokens: int | None = attrs.field(default=None, validator=_optional(TOKEN_LIMIT - 1))

    def check(self, place: str, n_terms: int = 0, n_documents: int = 0) -> None:
        """Raise a DataError if there are more terms or documents than the limits allow.

        Parameters
        ----------
        place : str
            Where the numbers were read, for the error.
        n_terms, n_documents : int
            Actual or declared numbers of the file.

        Raises
        ------
        DataError
            The message names the limit, and the option that raises it.
        """
        for what, value, most in (
            ("terms", n_terms, self.max_terms),
            ("documents", n_documents, self.max_documents),
        ):
            if whole_number(f"n_{what}", value) > most:
                raise self._too_many(place, what, value, most)

    def check_tokens(self, place: str, n_tokens: int, n_entries: int, *, in_shards: bool = False) -> None:
        """Raise a DataError if there are more tokens than the limits allow.

        Parameters
        ----------
        place : str
            Where the number was read, for the error.
        n_tokens : int
            Actual or declared number of the file.
        n_entries : int
            Number of entries in the file; without ``max_tokens`` the limit grows with it.
        in_shards : bool
            Whether cells are written to shards. Their size depends on entries, not on tokens, so only
            ``max_tokens`` applies; otherwise there must also be fewer than 2^31 tokens.

        Raises
        ------
        DataError
            It names the limit, and the option that lifts it.
        """
        most = self.max_tokens
        if in_shards and most is None:
            return
        check_total(n_tokens)
        if most is None:
            most = max(_TOKENS, _TOKENS_PER_ENTRY * n_entries)
        if n_tokens > most:
            raise self._too_many(place, "tokens", n_tokens, most)

    def _too_many(self, place: str, what: str, value: int, most: int) -> DataError:
        if value > ID_LIMIT:
            return DataError(f"{place}, number of {what}", value, f"at most {ID_LIMIT}", "Check the file.")
        return DataError(
            f"{place}, number of {what}", value, f"at most {most} (max_{what})",
            f"Check the file. If it is right, pass limits=hk.Limits(max_{what}={value}); "
            f"on the command line, --max-{what} {value}.",
        )  # fmt: skip


def limited(
    place: str, blocks: Iterable[Counts], limits: Limits, *, in_shards: bool = False
) -> Iterator[Counts]:
    """Yield blocks of a file's documents, each checked before it is used.

    Raises a DataError if the blocks together exceed the limits.
    """
    n_documents = n_tokens = n_entries = 0
    for counts in blocks:
        n_documents += counts.n_documents
        n_tokens += counts.n_tokens
        n_entries += len(counts.count)
        limits.check(place, counts.n_terms, n_documents)
        limits.check_tokens(place, n_tokens, n_entries, in_shards=in_shards)
        yield counts
