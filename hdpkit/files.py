"""Files that are complete or absent; trees of values in them as npz and as JSON, with checksums.

A sealed JSON file (run.json, manifest.json, others) is an object whose last key, on a line of
its own, is ``"checksum"``: the SHA-256 (hex) of the bytes before the comma that precedes it.
"""

from __future__ import annotations

import base64
import contextlib
import hashlib
import io
import json
import math
import os
import re
import secrets
import stat
import zipfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import IO, Any

import attrs
import numpy as np
import numpy.typing as npt

from hdpkit.errors import CorruptRunError, MissingExtraError, RunError, RunVersionError, StorageError

# Flags that the system lacks are zero (Windows doesn't follow links by default, and has no pipes as files).
OPEN_FLAGS = 0
for _flag in ("O_NOFOLLOW", "O_NONBLOCK", "O_CLOEXEC", "O_BINARY"):
    OPEN_FLAGS |= getattr(os, _flag, 0)


@contextmanager
def written_aside(path: Path) -> Iterator[IO[bytes]]:
    """Open a temporary file that replaces a user's file on success (of a link its target), or is removed."""
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
def storage_errors(parameter: str, path: object, allowed: str, remedy: str) -> Iterator[None]:
    """Turn errors of the operating system into StorageErrors."""
    try:
        yield
    except OSError as error:
        raise StorageError.of(error, parameter, str(path), allowed, remedy) from error


_END = re.compile(rb',\n"checksum": "([0-9a-f]{64})"\}\n\Z')


def sealed_text(fields: Mapping[str, Any], indent: int | None = None) -> bytes:
    """Return fields as JSON in UTF-8 with a checksum at its end."""
    text = json.dumps(dict(fields), ensure_ascii=False, indent=indent)
    body = text[:-1].rstrip("\n").encode("utf-8", "surrogatepass")  # which the reader of JSON accepts
    return body + f',\n"checksum": "{hashlib.sha256(body).hexdigest()}"}}\n'.encode()


def opened_text(content: bytes) -> tuple[Any, str | None]:
    """The JSON without its checksum, and the checksum, None if it is wrong; a ValueError if it is none."""
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
    with storage_errors("path", path, _PLACE, _REMEDY):  # a name that is too long
        why = "it is a folder" if path.is_dir() else "its folder does not exist"
        if path.is_dir() or not path.absolute().parent.is_dir():
            raise StorageError("path", str(path), f"{_PLACE} ({why})", _REMEDY)


def save(path: Path, data: bytes) -> None:
    """Write a file named by a user, completely or not at all."""
    check_place(path)
    with storage_errors("path", path, _PLACE, _REMEDY), written_aside(path) as file:
        file.write(data)


Put = Callable[[npt.NDArray[Any]], Any]
Get = Callable[[Any], npt.NDArray[Any]]

_LARGE = 2**63
_KINDS = "biufcSUmM"


def to_json(tree: Any, put: Put | None = None, path: str = "value") -> Any:
    """A tree as JSON-compatible data; ``put`` stores an array; a RunError names ``path`` to what it can't."""
    put = put or _to_base64
    if tree is None or isinstance(tree, bool | str):
        return tree
    if isinstance(tree, np.generic) and not isinstance(tree, float | str | bytes):
        return {"$scalar": put(_storable(np.asarray(tree), path))}
    if isinstance(tree, int):
        return tree if -_LARGE <= tree < _LARGE else {"$int": hex(tree)}
    if isinstance(tree, float):
        return float(tree) if math.isfinite(tree) else {"$float": repr(float(tree))}
    if isinstance(tree, np.ndarray):
        return {"$array": put(_storable(tree, path))}
    if isinstance(tree, bytes):
        return {"$bytes": put(np.frombuffer(tree, np.uint8))}
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
    """The tree from the result of `to_json`, or a ValueError; ``get`` is the inverse of ``put``."""
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
        return get(held)
    if kind == "$scalar":
        scalar = get(held)
        if scalar.shape != ():
            raise ValueError(f"a scalar of shape {scalar.shape}")
        return scalar[()]
    if kind == "$bytes":
        return get(held).tobytes()
    raise ValueError(f"unknown kind of value {kind!r}")


def _storable(array: npt.NDArray[Any], path: str) -> npt.NDArray[Any]:
    """The array as it is stored: little-endian, in C order."""
    if array.dtype.kind not in _KINDS or (array.dtype.kind in "fc" and array.dtype.itemsize > 16):
        raise RunError(
            path,
            f"array of {array.dtype}",
            "an array of numbers, bools, fixed-width strings or times",
            "Convert it (objects, structured types and extended precision can't be kept).",
        )
    if array.dtype.itemsize == 0:  # strings of length zero
        array = array.astype(f"{array.dtype.kind}1")
    return np.asarray(array, dtype=array.dtype.newbyteorder("<"), order="C")


def _read_array(file: Any, size: int) -> npt.NDArray[Any]:
    """An array in NumPy's format from a file of this size, which is checked before memory is allocated."""
    np.lib.format.read_magic(file)
    shape, _, dtype = np.lib.format.read_array_header_1_0(file)
    if dtype.kind not in _KINDS or dtype.itemsize == 0:
        raise ValueError(f"arrays of {dtype} are never written")
    if file.tell() + dtype.itemsize * math.prod(map(_whole, shape)) != size:
        raise ValueError(f"an array of {dtype} of shape {shape} in {size} bytes")
    file.seek(0)
    array: npt.NDArray[Any] = np.lib.format.read_array(file, allow_pickle=False)
    return array.astype(dtype.newbyteorder("="), copy=False)


def _to_base64(array: npt.NDArray[Any]) -> str:
    file = io.BytesIO()
    np.lib.format.write_array(file, array, (1, 0), allow_pickle=False)
    return base64.b64encode(file.getvalue()).decode("ascii")


def _from_base64(text: Any) -> npt.NDArray[Any]:
    content = base64.b64decode(_checked(text, str), validate=True)
    return _read_array(io.BytesIO(content), len(content))


def _checked(value: Any, kind: type) -> Any:
    if not isinstance(value, kind):
        raise ValueError(f"{value!r} where {kind.__name__} should be")
    return value


def _whole(value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int) or value < 0:
        raise ValueError(f"{value!r} where a whole number should be")
    return value


FORMAT_VERSION = 3
"""Version of every file of a run folder; all change together."""

_TREE = "tree.json"
_LARGE_MEMBER = 1 << 30  # zip files have longer entries for members of 2 GB and more
_SIZES = ("compress_size", "file_size")
_DIGEST = 64  # hexadecimal digits of a SHA-256
_MOST_DEFLATED = 1 << 28
"""More bytes are written as they are: compression takes 8 ms a megabyte, at each checkpoint."""
_LEVEL = 1  # higher ones save a tenth of the bytes more, and take up to five times as long


def refusals(path: os.PathLike[str] | str, doing: str) -> AbstractContextManager[None]:
    """Turn errors of the file system into a StorageError that names the file."""
    return storage_errors(
        "folder", path, f"a place where this can be done: {doing}",
        "Choose another folder; a run that was under way goes on from its last checkpoint with "
        "hk.open_run(folder).resume().",
    )  # fmt: skip


def write_whole(path: Path, data: bytes) -> None:
    """Write a file of a run folder so that at any time either the old or the new one exists, complete."""
    refuse_others(path)
    with refusals(path, "write a file"), write_aside(path, path.with_name(path.name + ".tmp")) as file:
        file.write(data)


def refuse_others(path: Path, *, folder: bool = False, one_name: bool = False) -> None:
    """Raise a RunError if the path is there and no file (or folder); ``one_name``: no hard link either."""
    # A folder copied from someone else may contain links to files outside of it. That of the run itself may
    # be one, which the user chose.
    with refusals(path, "look at a file"):
        try:
            found = os.lstat(path)
        except FileNotFoundError:
            return
    _check_kind(path, found, folder, one_name)


def _check_kind(path: Path, found: os.stat_result, folder: bool, one_name: bool) -> None:
    own, other = ("folder", stat.S_ISDIR) if folder else ("file", stat.S_ISREG)
    if stat.S_ISLNK(found.st_mode) or getattr(os.path, "isjunction", lambda path: False)(path):
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


def open_own(path: Path, flags: int, *, one_name: bool = False) -> int:
    """Open a file of a run folder without following links or blocking on a pipe; returns its descriptor."""
    refuse_others(path, one_name=one_name)
    number = os.open(path, flags | OPEN_FLAGS)
    try:
        _check_kind(path, os.fstat(number), False, one_name)
    except BaseException:
        os.close(number)
        raise
    return number


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


def npz_of(format: str, content: Any, path: str = "value", *, compress: bool = False) -> bytes:
    """The bytes of an npz file: the tree as JSON, its arrays by numbers; the comment is its `checksum_of`."""
    arrays: list[npt.NDArray[Any]] = []

    def put(array: npt.NDArray[Any]) -> int:
        arrays.append(array)
        return len(arrays) - 1

    tree = {"format": format, "version": FORMAT_VERSION, "content": to_json(content, put, path)}
    text = json.dumps(tree, separators=(",", ":")).encode()
    small = len(text) + sum(array.nbytes for array in arrays) <= _MOST_DEFLATED
    method = zipfile.ZIP_DEFLATED if compress and small else zipfile.ZIP_STORED
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", method, compresslevel=_LEVEL) as archive:
        archive.comment = b"0" * _DIGEST
        with archive.open(_TREE, "w", force_zip64=len(text) > _LARGE_MEMBER) as member:
            member.write(text)
        for number, array in enumerate(arrays):
            with archive.open(f"{number}.npy", "w", force_zip64=array.nbytes > _LARGE_MEMBER) as member:
                np.lib.format.write_array(member, array, (1, 0), allow_pickle=False)
    with file.getbuffer() as view, view[:-_DIGEST] as body:
        digest = hashlib.sha256(body).hexdigest()
    file.seek(-_DIGEST, os.SEEK_END)
    file.write(digest.encode())
    return file.getvalue()


def checksum_of(npz: bytes) -> str:
    """The SHA-256 (hex) of the bytes before it, with which the result of `npz_of` ends."""
    return npz[-_DIGEST:].decode("ascii", "replace")


def read_npz(path: Path, format: str, checksum: str | None = None) -> Any:
    """Content of a file that `npz_of` made, or a CorruptRunError or RunVersionError."""
    whole = read_bytes(path)
    with reading(path):
        found = checksum_of(whole)
        if hashlib.sha256(memoryview(whole)[:-_DIGEST]).hexdigest() != found:
            raise ValueError("a wrong checksum")
        if checksum not in (None, found):
            raise CorruptRunError(
                str(path), f"checksum {found[:12]}...",
                f"the file of this run, checksum {str(checksum)[:12]}...", "Restore the file of this run.",
            )  # fmt: skip
        with zipfile.ZipFile(io.BytesIO(whole)) as archive:
            held = archive.infolist()
            # Members that share bytes, or that are tiny and deflated, could ask for any amount of memory.
            packed, there = (sum(getattr(one, size) for one in held) for size in _SIZES)
            if packed > len(whole) or there > max(len(whole), 2 * _MOST_DEFLATED):
                raise ValueError("members larger than the file")
            members = {one.filename: one for one in held}

            def get(number: Any) -> npt.NDArray[Any]:
                info = members.pop(f"{_whole(number)}.npy")  # each once
                with archive.open(info) as member:
                    return _read_array(member, info.file_size)

            return from_json(_content(path, json.loads(archive.read(_TREE)), format), get)


def _content(path: Path, tree: Any, format: str) -> Any:
    """The content of what `npz_of` or `text_of` wrote, if it is of this format and version."""
    if not isinstance(tree, dict) or tree["format"] != format:
        raise ValueError(f"not of the format {format!r}")
    if type(tree["version"]) is not int or tree["version"] != FORMAT_VERSION:
        raise RunVersionError(
            f"{path}, format", f"version {tree['version']}",
            f"version {FORMAT_VERSION}, the only one that this hdpkit reads", "Use the hdpkit that wrote it.",
        )  # fmt: skip
    return tree["content"]


def text_of(format: str, content: Any) -> bytes:
    """The bytes of a JSON file: its format, the version, the content, and a checksum of all of it."""
    return sealed_text({"format": format, "version": FORMAT_VERSION, "content": content}, indent=1)


def read_text(path: Path, format: str) -> Any:
    """Content of a file that `text_of` made. Errors as in `read_npz`."""
    raw = read_bytes(path)
    with reading(path):
        text, checksum = opened_text(raw)
        content = _content(path, text, format)
        if checksum is None:
            raise ValueError("a wrong checksum")
        return from_json(content)


@contextmanager
def reading(path: os.PathLike[str] | str) -> Iterator[None]:
    """Turn errors that changed content causes into a CorruptRunError that names the file."""
    try:
        yield
    except (RunError, MissingExtraError):
        raise
    except Exception as error:  # content may be anything, and so may the error
        raise CorruptRunError(
            str(path), f"{type(error).__name__}: {error}", "what hdpkit wrote",
            "The file was damaged or changed; restore a copy of it.",
        ) from error  # fmt: skip


@attrs.frozen
class ChainFiles:
    """The npz files in the folder of a chain, each with the id of the run and the number of the chain."""

    path: Path
    run: bytes
    chain: int

    def write(self, name: str, kind: str, tree: Mapping[str, Any]) -> None:
        """Write a file; a RunError if something in it can't be stored."""
        refuse_others(self.path, folder=True)
        own = {"run": self.run.hex(), "chain_folder": self.chain, **tree}
        write_whole(self.path / name, npz_of(f"hdpkit {kind}", own, kind, compress=True))

    def read(self, name: str, kind: str) -> dict[str, Any]:
        """Read a file; a CorruptRunError if it is damaged, or of another run or chain."""
        refuse_others(self.path, folder=True)
        tree: dict[str, Any] = read_npz(self.path / name, f"hdpkit {kind}")
        with reading(self.path / name):
            if tree["run"] != self.run.hex() or tree["chain_folder"] != self.chain:
                raise ValueError("it is of another run or chain")
        return tree

    def numbers(self, prefix: str) -> list[int]:
        """The numbers of the files PREFIX-NUMBER.npz, ascending."""
        found = os.listdir(self.path) if self.path.is_dir() else []
        own = (
            name.removeprefix(prefix + "-").removesuffix(".npz") for name in found if name.startswith(prefix)
        )
        return sorted(int(name) for name in own if name.isascii() and name.isdecimal())
