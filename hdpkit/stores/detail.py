"""How much of a seating a store keeps."""

from __future__ import annotations

import enum
import functools
from typing import Any

from hdpkit.errors import ParameterError

__all__ = ["Detail", "declared_detail", "detail_of"]


class Detail(enum.IntEnum):
    """What a store keeps, from the least to the most.

    A store class declares it as ``DETAIL``, by a member or its name in small letters.
    """

    COUNTS = 1
    """The dish of each data customer, and customers and tables by restaurant and dish."""

    SIZES = 2
    """The same, and the sizes of the tables."""

    SEATS = 3
    """The table of each data customer, and the table of the parent restaurant at which each table sits."""


_NAMES = {detail.name.lower(): detail for detail in Detail}


@functools.lru_cache(maxsize=128)
def declared_detail(store: type) -> Detail | None:
    """The declared `Detail` of a class, None if it declares none.

    ``TABLE_IDS`` is the declaration of earlier versions: True for seats, False for sizes. The first class in
    the method resolution order that declares either one decides.

    Parameters
    ----------
    store : type
        A store class.
    """
    for kind in store.__mro__:
        own = vars(kind)
        if "DETAIL" in own:
            declared: Any = own["DETAIL"]
            return declared if isinstance(declared, Detail) else _NAMES.get(str(declared))
        if "TABLE_IDS" in own:
            return {"True": Detail.SEATS, "False": Detail.SIZES}.get(str(own["TABLE_IDS"]))
    return None


def detail_of(store: Any) -> Detail:
    """What a store, or a store class, keeps.

    Parameters
    ----------
    store : SeatingStore or type

    Raises
    ------
    ParameterError
        If the class declares no `Detail`.
    """
    kind = store if isinstance(store, type) else type(store)
    detail = declared_detail(kind)
    if detail is None:
        raise ParameterError(
            "store", store, "a SeatingStore that declares DETAIL", 'For instance DETAIL = "sizes".'
        )
    return detail
