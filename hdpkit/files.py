"""Files that are complete or absent; trees of values in them, as JSON and raw bytes with checksums."""

from __future__ import annotations

import base64
import binascii
import contextlib
import hashlib
import json
import math
import os
import re
import secrets
import stat
import struct
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import IO, Any

import numpy as np
import numpy.typing as npt

from hdpkit.errors import CorruptRunError, MissingExtraError, RunError, RunVersionError, StorageError

# Flags that the system lacks are zero (Windows doesn't follow links by default, and has no pipes as files).
OPEN_FLAGS = 0
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


@contextmanager
def written_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file next to `path` that replaces it on success, and is removed otherwise.

    For files named by a user: if the path is a link, its target is replaced, not the link. An existing path
    that isn't a regular file (a device, a pipe) can't be replaced and is written to directly.
    """
    if path.exists() and not path.is_file():
        with open(path, "wb") as file:
            yield file
        return
    path = Path(os.path.realpath(path))
    # A random name, since the user may have another file called NAME.tmp.
    with write_aside(path, path.with_name(f"{path.name}.{secrets.token_hex(8)}.tmp")) as file:
        yield file


@contextmanager
def write_aside(path: Path, aside: Path) -> Iterator[IO[bytes]]:
    """Open a new file that replaces `path` on success, and is removed otherwise."""
    with contextlib.suppress(FileNotFoundError):
        os.unlink(aside)  # a file left by a killed process, or a link, which isn't followed
    number = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | OPEN_FLAGS, 0o666)
    try:
        with open(number, "wb") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(aside, path)
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(aside)
        raise
    sync_folder(path.parent)


def sync_folder(folder: Path) -> None:
    """Flush the entries of a folder to disk, if the system supports it."""
    if os.name != "posix":
        return
    number = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(number)
    finally:
        os.close(number)


@contextmanager
def storing(folder: Path, what: str, remedy: str) -> Iterator[None]:
    """Turn errors of the operating system on writing ``what`` to a folder into StorageErrors."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(
            error, "folder", str(folder), f"a place where {what} can be written", remedy
        ) from error


_END = re.compile(rb',\n"checksum": "([0-9a-f]{64})"\}\n\Z')


def sealed_text(fields: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return fields as JSON in UTF-8 with a checksum at its end."""
    text = json.dumps(dict(fields), ensure_ascii=False, indent=indent)
    body = text[:-1].rstrip("\n").encode("utf-8", "surrogatepass")  # which the reader of JSON accepts
    return body + f',\n"checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def opened_text(content: bytes) -> tuple[Any, str | None]:
    """Return what the JSON says without its checksum, and the checksum; None if the checksum isn't right.

    The caller checks format and version before it refuses a wrong checksum. Raises a ValueError or a
    RecursionError if it isn't JSON.
    """
    found = json.loads(content)
    if isinstance(found, dict):
        found.pop("checksum", None)
    end = _END.search(content[-128:])
    if end is None:
        return found, None
    said = end[1].decode()
    body = memoryview(content)[: len(content) - len(end[0])]
    return found, said if hashlib.sha256(body).hexdigest() == said else None


_PLACE, _REMEDY = "a place where a file can be written", "Choose another one."


def check_place(path: Path) -> None:
    """Raise a StorageError if no file can be written there: its parent is no folder, or it is itself one."""
    with _refused(path):  # a name that is too long
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise StorageError("path", str(path), f"{_PLACE} ({why})", _REMEDY)


def save(path: Path, data: bytes) -> None:
    """Write a file named by a user, completely or not at all."""
    check_place(path)
    with _refused(path), written_aside(path) as file:
        file.write(data)


@contextmanager
def _refused(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        raise StorageError.of(error, "path", str(path), _PLACE, _REMEDY) from error


Put = Callable[[bytes], Any]
Get = Callable[[Any, int], bytes]

_LENGTH = struct.Struct("<Q")
_ALIGN = 8
_LARGE = 2**63


def to_json(tree: Any, put: Put | None = None, path: str = "value") -> Any:
    """A tree as JSON-compatible data; ``put`` stores the bytes of an array (by default as base64).

    A RunError if a value isn't supported; it names the path to it, from ``path``.
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
    """The tree from the result of `to_json`, with new, writable arrays; ``get`` is the inverse of ``put``.

    A ValueError if it isn't a result of `to_json` (callers add the name of the file).
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
    return b"".join((_LENGTH.pack(len(text)), text, *parts))


def unpack(data: bytes | memoryview, where: str) -> Any:
    """The tree from the result of `pack`.

    Raises a CorruptRunError that names ``where`` if the bytes aren't valid; lengths are checked before memory
    is allocated.
    """
    view = memoryview(data)
    try:
        (length,) = _LENGTH.unpack_from(view)
        if length > len(view) - _LENGTH.size:
            raise ValueError(f"{length} bytes of JSON in {len(view)}")
        begin = _LENGTH.size + length
        node = json.loads(bytes(view[_LENGTH.size : begin]))

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


FORMAT_VERSION = 2
"""Version of every file of a run folder; all change together."""

_HEAD = struct.Struct("<8sIIQ")  # magic, version, kind of the payload, its length
_DIGEST = 32
_PLAIN, _DEFLATED = 0, 1
_MOST_DEFLATED = 1 << 28
"""Longer payloads are written as they are: compression takes 8 ms a megabyte, at each checkpoint."""
_LEVEL = 1  # higher ones save a tenth of the bytes more, and take up to five times as long


@contextmanager
def refusals(path: os.PathLike[str] | str, doing: str) -> Iterator[None]:
    """Turn errors of the file system into a StorageError that names the file."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(
            error, "folder", str(path), f"a place where this can be done: {doing}",
            "Choose another folder; a run that was under way goes on from its last checkpoint with "
            "hk.open_run(folder).resume().",
        ) from error  # fmt: skip


def write_whole(path: Path, data: bytes) -> None:
    """Write a file of a run folder so that at any time either the old or the new one exists, complete."""
    refuse_others(path)
    with refusals(path, "write a file"), write_aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(data)


def refuse_others(path: Path, *, folder: bool = False, one_name: bool = False) -> None:
    """Raise a RunError if the path exists and isn't a file (or a folder) within the run folder.

    A run folder copied from someone else may contain links, through which files outside of it would be
    written or read. The path of the run folder itself may be a link, since the user chose it. With
    ``one_name`` hard links are errors, too, because the file is written in place.
    """
    with refusals(path, "look at a file"):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
    _check_kind(path, found, folder, one_name)


def _check_kind(path: Path, found: os.stat_result, folder: bool, one_name: bool) -> None:
    own, other = ("folder", stat.S_ISDIR) if folder else ("file", stat.S_ISREG)
    if stat.S_ISLNK(found.st_mode) or getattr(os.path, "isjunction", _never)(path):
        value = "a link"
    elif not other(found.st_mode):
        value = f"not a {own}"
    elif one_name and found.st_nlink > 1:
        value = f"a file with {found.st_nlink} names (hard links)"
    else:
        return
    raise RunError(
        str(path), value, f"a {own} in the run folder itself, if it exists",
        "Files outside a run folder are neither read nor written: replace it by a copy of the original.",
    )  # fmt: skip


def _never(path: object) -> bool:
    return False


def open_own(path: Path, flags: int, *, one_name: bool = False) -> int:
    """Open a file of a run folder without following links or blocking on a pipe; returns its descriptor.

    Raises a RunError if it isn't a regular file. Parameters as in `refuse_others`.
    """
    refuse_others(path, one_name=one_name)
    number = os.open(path, flags | OPEN_FLAGS)
    try:
        _check_kind(path, os.fstat(number), False, one_name)
    except BaseException:
        os.close(number)
        raise
    return number


def seal(magic: bytes, payload: bytes, *, compress: bool = False) -> bytes:
    """Magic (8 bytes), version, kind (uint32), length (uint64), payload, SHA-256 of everything before it.

    A payload of kind 1 is compressed: its length (uint64), and the rest by zlib.
    """
    kind = _PLAIN
    if compress and len(payload) <= _MOST_DEFLATED:
        kind, payload = _DEFLATED, _LENGTH.pack(len(payload)) + zlib.compress(payload, _LEVEL)
    body = _HEAD.pack(magic, FORMAT_VERSION, kind, len(payload)) + payload
    return body + hashlib.sha256(body).digest()


def read_bytes(path: Path) -> bytes:
    """Contents of a file of a run folder; StorageError if it can't be read, RunError if it is a link."""
    with refusals(path, "read a file"), open(open_own(path, os.O_RDONLY), "rb") as file:
        try:
            return file.read()
        except MemoryError as error:
            size = os.fstat(file.fileno()).st_size
            raise RunError(
                str(path), f"{size} bytes", "a file that fits into memory",
                "The file may have been changed; or use a machine with more memory.",
            ) from error  # fmt: skip


def read_sealed(path: Path, magic: bytes) -> tuple[memoryview, str]:
    """Payload of a sealed file and its digest (hex).

    Raises a CorruptRunError or a RunVersionError that names the file.
    """
    data = memoryview(read_bytes(path))
    if len(data) < _HEAD.size + _DIGEST:
        raise _corrupt(path, f"{len(data)} bytes", "at least a header and a checksum")
    found, version, kind, length = _HEAD.unpack_from(data)
    if found != magic:
        raise _corrupt(path, found, f"a file that begins with {magic!r}")
    if version != FORMAT_VERSION:
        raise RunVersionError(
            str(path), version, f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it, or a newer one."
        )
    if length != len(data) - _HEAD.size - _DIGEST:
        raise _corrupt(path, f"{len(data)} bytes", f"{length} bytes of payload, a header and a checksum")
    digest = bytes(data[-_DIGEST:])
    if hashlib.sha256(data[:-_DIGEST]).digest() != digest:
        raise _corrupt(path, "a wrong checksum", "unchanged since it was written")
    payload = data[_HEAD.size : -_DIGEST]
    return payload if kind == _PLAIN else _inflated(path, kind, payload), digest.hex()


def _inflated(path: Path, kind: int, payload: memoryview) -> memoryview:
    """A payload that was compressed; it may be forged."""
    with reading(path):
        (length,) = _LENGTH.unpack_from(payload)
        if kind != _DEFLATED or length > _MOST_DEFLATED:
            raise ValueError(f"a payload of kind {kind}, {length} bytes")
        made = zlib.decompressobj()
        whole = made.decompress(payload[_LENGTH.size :], length + 1)
        if len(whole) != length or not made.eof or made.unused_data:
            raise ValueError("a payload of another length")
        return memoryview(whole)


def text_of(format: str, content: Any) -> bytes:
    """The bytes of a JSON file: its format, the version, the content, and a checksum of all of it."""
    return sealed_text({"format": format, "version": FORMAT_VERSION, "content": content}, indent=1)


def read_text(path: Path, format: str) -> tuple[Any, str]:
    """Content of a file that `text_of` made, and its checksum (hex). Errors as in `read_sealed`."""
    raw = read_bytes(path)
    with reading(path):
        text, checksum = opened_text(raw)
        if not isinstance(text, dict) or text["format"] != format:
            raise ValueError(f"not of the format {format!r}")
        if type(text["version"]) is not int or text["version"] != FORMAT_VERSION:
            raise RunVersionError(
                str(path), text["version"], f"version {FORMAT_VERSION}", "Use the hdpkit that wrote it."
            )
        if checksum is None:
            raise ValueError("a wrong checksum")
        return text["content"], checksum


@contextmanager
def reading(path: os.PathLike[str] | str) -> Iterator[None]:
    """Turn errors that changed content causes into a CorruptRunError that names the file."""
    try:
        yield
    except (RunError, MissingExtraError):
        raise
    except Exception as error:  # content may be anything, and so may the error
        raise _corrupt(path, f"{type(error).__name__}: {error}", "what hdpkit wrote") from error


def _corrupt(path: os.PathLike[str] | str, value: object, allowed: str) -> CorruptRunError:
    return CorruptRunError(
        str(path), value, allowed, "The file was damaged or changed; restore a copy of it."
    )
