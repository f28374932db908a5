"""Trees of values as JSON and raw bytes: the format of everything in a run folder. Pickle isn't used.

A tree consists of None, bool, int, float, str, bytes, lists, tuples, dicts with string keys, NumPy arrays and
scalars. Values that JSON can't represent become a dict with one key that begins with ``$``:

==============================  ==============================================================
``{"$float": "nan"}``           a float that isn't finite ("nan", "inf", "-inf")
``{"$int": "0x..."}``           an int beyond 63 bits
``{"$tuple": [...]}``           a tuple
``{"$bytes": ARRAY}``           bytes, as an array of uint8
``{"$dict": [[key, value]..]}`` a dict with a key that begins with ``$``
``{"$array": ARRAY}``           a NumPy array
``{"$scalar": ARRAY}``          a NumPy scalar, as an array of shape ()
==============================  ==============================================================

ARRAY is ``[dtype, shape, place]``: the dtype in NumPy's notation, always little-endian, and the place of the
bytes, in C order. `pack` writes the bytes after the JSON, and the place is an offset; in run.json the place
is the bytes themselves in base64.
"""

from __future__ import annotations

import base64
import binascii
import json
import math
import struct
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import CorruptRunError, RunError

__all__ = ["from_json", "pack", "to_json", "unpack"]

Put = Callable[[bytes], Any]
Get = Callable[[Any, int], bytes]

_HEAD = struct.Struct("<Q")
_ALIGN = 8
_LARGE = 2**63


def to_json(tree: Any, put: Put | None = None, path: str = "value") -> Any:
    """A tree as JSON-compatible data.

    Parameters
    ----------
    tree : object
    put : callable, optional
        Takes the bytes of an array and returns its place; by default base64.
    path : str
        What the tree is, for errors.

    Raises
    ------
    RunError
        If a value in it isn't supported; the message names the path to it.
    """
    put = put or _to_base64
    if tree is None or isinstance(tree, bool | str):
        return tree
    if isinstance(tree, np.generic) and not isinstance(tree, float | str | bytes):
        return {"$scalar": _array(np.asarray(tree), put, path)}
    if isinstance(tree, int):
        return tree if -_LARGE <= tree < _LARGE else {"$int": hex(tree)}
    if isinstance(tree, float):
        return float(tree) if math.isfinite(tree) else {"$float": repr(float(tree))}
    if isinstance(tree, np.ndarray):
        return {"$array": _array(tree, put, path)}
    if isinstance(tree, bytes):
        return {"$bytes": _array(np.frombuffer(tree, np.uint8), put, path)}
    if isinstance(tree, list | tuple):
        items = [to_json(item, put, f"{path}[{i}]") for i, item in enumerate(tree)]
        return items if isinstance(tree, list) else {"$tuple": items}
    if isinstance(tree, Mapping) and all(isinstance(key, str) for key in tree):
        pairs = [[str(key), to_json(item, put, f"{path}[{key!r}]")] for key, item in tree.items()]
        if any(key.startswith("$") for key, _ in pairs):
            return {"$dict": pairs}
        return dict(pairs)
    raise RunError(
        path,
        tree,
        "None, numbers, strings, lists, dicts with string keys, or arrays of these",
        "Anything else can't be kept in a run folder.",
    )


def from_json(node: Any, get: Get | None = None) -> Any:
    """The tree from the result of `to_json`. Arrays are new and writable.

    Parameters
    ----------
    node : object
        The data as read by ``json``.
    get : callable, optional
        Takes a place and a number of bytes, and returns the bytes; by default decodes base64.

    Raises
    ------
    ValueError
        If it isn't a result of `to_json` (callers add the name of the file).
    """
    get = get or _from_base64
    if isinstance(node, list):
        return [from_json(item, get) for item in node]
    if not isinstance(node, dict):
        return node
    if len(node) != 1 or not next(iter(node)).startswith("$"):
        return {key: from_json(item, get) for key, item in node.items()}
    ((kind, held),) = node.items()
    if kind == "$float":
        return float(_checked(held, str))
    if kind == "$int":
        return int(_checked(held, str), 16)
    if kind == "$tuple":
        return tuple(from_json(_checked(held, list), get))
    if kind == "$dict":
        return {_checked(key, str): from_json(item, get) for key, item in _checked(held, list)}
    if kind == "$array":
        return _read_array(held, get)
    if kind == "$scalar":
        scalar = _read_array(held, get)
        if scalar.shape != ():
            raise ValueError(f"a scalar of shape {scalar.shape}")
        return scalar[()]
    if kind == "$bytes":
        return _read_array(held, get).tobytes()
    raise ValueError(f"unknown kind of value {kind!r}")


def pack(tree: Any, path: str = "value") -> bytes:
    """A tree as bytes: length of the JSON (uint64), the JSON (UTF-8), then the arrays.

    Each array begins at a multiple of eight bytes from the end of the JSON.
    """
    parts: list[bytes] = []
    end = 0

    def put(data: bytes) -> int:
        nonlocal end
        place = end
        padded = -len(data) % _ALIGN
        parts.extend((data, b"\0" * padded))
        end += len(data) + padded
        return place

    text = json.dumps(to_json(tree, put, path), separators=(",", ":")).encode()
    return b"".join((_HEAD.pack(len(text)), text, *parts))


def unpack(data: bytes | memoryview, where: str) -> Any:
    """The tree from the result of `pack`.

    Raises a CorruptRunError that names ``where`` if the bytes aren't valid; lengths are checked before memory
    is allocated.
    """
    view = memoryview(data)
    try:
        (length,) = _HEAD.unpack_from(view)
        if length > len(view) - _HEAD.size:
            raise ValueError(f"{length} bytes of JSON in {len(view)}")
        begin = _HEAD.size + length
        node = json.loads(bytes(view[_HEAD.size : begin]))

        left = len(view) - begin

        def get(place: Any, n: int) -> bytes:
            nonlocal left
            place = begin + _whole(place)
            left -= n
            if place + n > len(view) or left < 0:  # arrays that share bytes would exceed the file
                raise ValueError("arrays end beyond the file")
            return bytes(view[place : place + n])

        return from_json(node, get)
    except (ValueError, TypeError, KeyError, RecursionError, struct.error, OverflowError) as error:
        raise CorruptRunError(
            where,
            f"{type(error).__name__}: {error}",
            "what hdpkit wrote",
            "The file was damaged or changed.",
        ) from error


def _array(array: npt.NDArray[Any], put: Put, path: str) -> list[Any]:
    if array.dtype.kind not in "biufcSUmM" or (array.dtype.kind in "fc" and array.dtype.itemsize > 16):
        raise RunError(
            path,
            f"array of {array.dtype}",
            "an array of numbers, bools, fixed-width strings or times",
            "Convert it (objects, structured types and extended precision can't be kept).",
        )
    if array.dtype.itemsize == 0:  # strings of length zero
        array = array.astype(f"{array.dtype.kind}1")
    little = np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")
    return [little.dtype.str, list(array.shape), put(little.tobytes())]


def _read_array(held: Any, get: Get) -> npt.NDArray[Any]:
    name, shape, place = _checked(held, list)
    dtype = np.dtype(_checked(name, str))
    if dtype.kind not in "biufcSUmM" or dtype.itemsize == 0:
        raise ValueError(f"arrays of {dtype} are never written")
    n = dtype.itemsize * math.prod(_whole(extent) for extent in _checked(shape, list))
    data = get(place, n)
    if len(data) != n:
        raise ValueError(f"{len(data)} bytes for an array of {n}")
    if n == 0:
        return np.zeros(shape, dtype=dtype)
    array = np.frombuffer(data, dtype=dtype).reshape(shape)
    return array.astype(dtype.newbyteorder("="))


def _to_base64(data: bytes) -> str:
    return base64.b64encode(data).decode("ascii")


def _from_base64(place: Any, n: int) -> bytes:
    try:
        return base64.b64decode(_checked(place, str), validate=True)
    except binascii.Error as error:
        raise ValueError(str(error)) from error


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} where {kind.__name__} should be")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} where a whole number should be")
    return value
