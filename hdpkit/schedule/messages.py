"""Messages between the processes of a run: pickled frames over pipes. They are never written to a file."""

from __future__ import annotations

import struct
from typing import Any, BinaryIO

import attrs

from hdpkit.franchise import Franchise

__all__ = ["STOP", "Recipe", "read_frame", "write_frame"]

STOP = b"s"  # from the parent: end after the current sweep

_LENGTH = struct.Struct("<Q")


def write_frame(stream: BinaryIO, data: bytes) -> None:
    """Write a length and the bytes."""
    stream.write(_LENGTH.pack(len(data)))
    stream.write(data)
    stream.flush()


def read_frame(stream: BinaryIO) -> bytes | None:
    """Read what `write_frame` wrote; None at the end of the stream."""
    head = stream.read(_LENGTH.size)
    if head is None or len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    data = stream.read(length)
    return data if len(data) == length else None


@attrs.frozen
class Recipe:
    """The data for building a copy of a franchise without seated customers."""

    restaurant: Any
    data: Any
    store: Any
    kernel: str
    root: Any
    measure: Any
    components: dict[str, Any]
    known: Any = None

    @classmethod
    def of(cls, franchise: Franchise) -> Recipe:
        """The recipe of a franchise."""
        return cls(
            franchise.restaurant_declared,
            franchise.data,
            franchise.store_type,
            franchise.forced_kernel,
            franchise.root.declared,
            franchise.measure,
            dict(franchise.components),
            franchise.known,
        )

    def build(self) -> Franchise:
        """Build it."""
        franchise = Franchise(
            self.restaurant,
            self.data,
            store=self.store,
            kernel=self.kernel,
            root=self.root,
            measure=self.measure,
            known=self.known,
        )
        for name, component in self.components.items():
            franchise.register(name, component)
        return franchise
