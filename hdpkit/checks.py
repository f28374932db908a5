"""Checks of arguments, of names and labels, and of values returned by user code.

Each check returns the value in the required type, or raises an error. All functions of the package use them,
so the same input raises the same error everywhere. A bool is never accepted as a number, a string never as a
number or a sequence, and a number must be in the range of a double. Values returned by user code (a measure,
a move, a prior, a component, a store) are checked once, where they enter the package; the error names the
class and the method.
"""

from __future__ import annotations

import math
import numbers
import os
import struct
from abc import ABCMeta
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
import numpy.typing as npt

from hdpkit.errors import DataError, HdpkitError, ParameterError, ReturnValueError, short_repr

if TYPE_CHECKING:
    _OfProtocols = ABCMeta
else:
    _OfProtocols = type(Protocol)

LARGEST = 2**62
"""The largest whole number that is accepted anywhere, unless a parameter has a lower limit: of sweeps, the
sum of those of a chain. The sum of two such numbers fits into 64 bits in every file and in compiled code."""

MOST_CHAINS = 10_000
MOST_SAMPLES = 1_000_000
"""Of a chain: each is listed in every checkpoint, and a file of its own."""

LARGEST_SEED = 2**256 - 1  # twice as many bits as seeds have that NumPy draws


class ByClass(_OfProtocols):
    """Metaclass of a protocol that has only methods, which caches the check by class."""

    # `isinstance` would check all attributes at every call, which takes longer than many steps of a chain.

    def __instancecheck__(cls, instance: Any) -> bool:
        return ABCMeta.__instancecheck__(cls, instance)


def whole_number(
    name: str, value: Any, low: int = 0, high: int = LARGEST, *, remedy: str = "Give a whole number."
) -> int:
    """Return `value` as an int from `low` to `high` (inclusive)."""
    too_large = False
    # An isinstance check of an abstract class takes most of the time of this function.
    if type(value) is int or (isinstance(value, numbers.Integral) and not isinstance(value, bool)):
        number = int(value)
        if low <= number <= high:
            return number
        too_large = number > high
    # Nobody needs to read the limit of everything where it isn't exceeded.
    unlimited = high == LARGEST and not too_large
    allowed = f"a whole number >= {low}" if unlimited else f"a whole number from {low} to {high}"
    raise ParameterError(name, value, allowed, remedy)


def seed_number(name: str, value: Any) -> int:
    """Return `value` as the seed of a chain."""
    return whole_number(name, value, 0, LARGEST_SEED, remedy="Pass a number to get the same chain again.")


def as_float(value: Any) -> float:
    """Return a real number as a float, infinite if it is too large; NaN for anything else."""
    if type(value) is float:  # without the check of an abstract class
        return value
    if not isinstance(value, numbers.Real) or isinstance(value, bool):
        return math.nan
    try:
        return float(value)
    except OverflowError:
        return math.inf


def real_number(name: str, value: Any, *, remedy: str = "Give an int or float.") -> float:
    """Return `value` as a finite float."""
    number = as_float(value)
    if math.isfinite(number):
        return number
    raise ParameterError(name, value, "a finite number", remedy)


def positive_number(name: str, value: Any, *, remedy: str = "Give a positive int or float.") -> float:
    """Return `value` as a finite float above 0."""
    number = as_float(value)
    if 0.0 < number < math.inf:
        return number
    raise ParameterError(name, value, "a finite number above 0", remedy)


def check_unmasked(name: str, values: Any) -> None:
    """Raise a DataError if an array, or an array in a list, has masked entries, which NumPy would uncover."""
    if _is_masked(values):
        remedy = "Fill them, as in values.filled(0), or drop the rows that have them."
        raise DataError(name, values, "without masked entries", remedy)


def _is_masked(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return any(isinstance(one, np.ma.MaskedArray) and np.ma.is_masked(one) for one in values)
    return isinstance(values, np.ma.MaskedArray) and bool(np.ma.is_masked(values))


def number_array(values: Any) -> npt.NDArray[np.float64] | None:
    """Real numbers (NaN, infinities too) as a new float64 array; None if they aren't, or one overflows."""
    if _is_masked(values):
        return None
    try:
        given = np.asarray(values)
        if given.dtype.kind == "O":  # numbers beyond NumPy's types, or not numbers
            made = np.array([as_float(value) for value in given.flat]).reshape(given.shape)
            return made if np.isfinite(made).all() else None
        # NumPy reads [True, 2] as [1, 2].
        if given.dtype.kind not in "iuf" or (not hasattr(values, "dtype") and _has_bool(values)):
            return None
        return np.array(given, dtype=np.float64)
    except (TypeError, ValueError, OverflowError, RecursionError):  # not convertible to an array
        return None


def whole_numbers(
    name: str,
    values: Any,
    low: int,
    high: int,
    dtype: Any = np.int64,
    *,
    length: int | None = None,
    remedy: str,
) -> npt.NDArray[Any]:
    """Return whole numbers from `low` to `high` (inclusive) as a contiguous one-dimensional array."""
    check_unmasked(name, values)
    try:
        given = np.asarray(values)
    except (TypeError, ValueError, OverflowError, RecursionError):  # not convertible to an array
        given = np.empty((0, 0))
    fits = given.ndim == 1 and (given.dtype.kind in "iu" or given.size == 0)
    fits = fits and (length is None or len(given) == length)
    fits = fits and (given is values or not isinstance(values, (str, bytes, Set, Mapping)))
    if fits and (given.size == 0 or _are_between(given, low, high)):
        return np.ascontiguousarray(given, dtype=dtype)
    number = "" if length is None else f"{length} "
    allowed = f"{number}whole numbers from {low} to {high}" if low <= high else "empty"
    raise ParameterError(name, values, allowed, remedy)


def _are_between(given: npt.NDArray[Any], low: int, high: int) -> bool:
    """Whether all whole numbers of an array with some are from `low` to `high` (inclusive)."""
    few = given.tolist() if given.size < 64 else (int(given.min()), int(given.max()))  # faster for short ones
    return bool(low <= min(few) and max(few) <= high)


def numbers_between(
    name: str, values: Any, low: float, high: float, *, whole: bool = False, remedy: str
) -> npt.NDArray[Any]:
    """Numbers from `low` to `high` as a new array of float64 or, of an integer type if ``whole``, int64."""
    if type(values) is float and not whole and low <= values <= high:
        return np.array(values)  # as below, but faster
    made = number_array(values)
    fits = made is not None and (not whole or np.asarray(values).dtype.kind in "iu" or made.size == 0)
    if fits and made is not None and np.all((low <= made) & (made <= high)):
        return np.array(values, dtype=np.int64) if whole else made
    kind = "whole numbers" if whole else "numbers"
    raise ParameterError(name, values, f"{kind} from {low!r} to {high!r}", remedy)


def shape_of(name: str, value: Any) -> tuple[int, ...]:
    """Return a whole number, or a tuple of them, as the shape of an array."""
    shape = tuple(whole_number(name, n) for n in (value if isinstance(value, tuple) else (value,)))
    if math.prod(shape) > LARGEST // 8:
        raise ParameterError(name, value, "the shape of an array that fits into memory", "Draw in pieces.")
    return shape


def broadcast(size: Any, **arrays: npt.NDArray[Any]) -> tuple[tuple[int, ...], list[npt.NDArray[Any]]]:
    """The shape of draws (`size` or that of the parameters), and the parameters broadcast to it, as rows."""
    lengths = {array.shape for array in arrays.values() if array.ndim > 0}
    row: tuple[int, ...] = ()
    if size is None and len(lengths) == 1:
        (row,) = lengths
    elif size is not None and not lengths:
        row = shape_of("size", size)
    if len(row) == 1:  # numbers and arrays of one length, as in updates of hyperparameters: faster
        filled = (np.full(row, one) if one.ndim == 0 else one for one in arrays.values())
        return row, [np.ascontiguousarray(one) for one in filled]
    try:
        own = np.broadcast_shapes(*(array.shape for array in arrays.values()))
    except ValueError:
        shapes = " and ".join(str(array.shape) for array in arrays.values())
        raise ParameterError(
            ", ".join(arrays), shapes, "arrays that broadcast to one shape", "Give arrays of one shape."
        ) from None
    shape = own if size is None else shape_of("size", size)
    try:
        spread = [np.broadcast_to(array, shape) for array in arrays.values()]
    except ValueError:
        remedy = "Leave size out, or give a shape that ends with that of the parameters."
        raise ParameterError("size", size, f"a shape that {own} broadcasts to", remedy) from None
    return shape, [np.ascontiguousarray(array).reshape(-1) for array in spread]


def array_in_place(name: str, value: Any, dtype: Any, length: int, *, remedy: str) -> npt.NDArray[Any]:
    """Return `value` if it is a writable contiguous array of this type and length."""
    if (
        isinstance(value, np.ndarray)
        and value.dtype == dtype
        and value.shape == (length,)
        and value.flags.c_contiguous
        and value.flags.writeable
    ):
        return value
    kind = np.dtype(dtype).name
    raise ParameterError(name, value, f"a contiguous, writable {kind} array of length {length}", remedy)


def _has_bool(values: Any) -> bool:
    if isinstance(values, (list, tuple)):
        return any(_has_bool(value) for value in values)
    return isinstance(values, (bool, np.bool_))


def path(name: str, value: Any, *, remedy: str = "Give a str or a pathlib.Path.") -> Path:
    """Return `value` as a path of the file system: a nonempty string, or a path object."""
    if isinstance(value, (str, os.PathLike)):
        given = os.fspath(value)
        if isinstance(given, str) and given and "\0" not in given and _encodable(given):
            return Path(given)
    raise ParameterError(name, value, "a path", remedy)


def _encodable(given: str) -> bool:
    try:
        os.fsencode(given)
    except UnicodeEncodeError:  # a lone surrogate that stands for no byte
        return False
    return True


def absolute_path(name: str, value: Any, *, remedy: str) -> Path:
    """Return `value` as an absolute path, which doesn't depend on later changes of the current folder."""
    given = path(name, value, remedy=remedy)
    try:
        return given.absolute()
    except OSError:  # the current folder was removed
        raise ParameterError(
            name, value, "an absolute path: the current folder was deleted", remedy
        ) from None


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    raise ParameterError(name, value, "True or False", "Give a bool.")


def text(name: str, value: Any, *, remedy: str) -> str:
    """Return `value` if it is a nonempty string."""
    if isinstance(value, str) and value:
        return value
    raise ParameterError(name, value, "a non-empty string", remedy)


def choice(name: str, value: Any, known: Iterable[str], *, remedy: str) -> str:
    """Return `value` if it is one of the known names."""
    names = tuple(known)
    if isinstance(value, str) and value in names:
        return value
    raise ParameterError(name, value, f"one of {list(names)}", remedy)


def function(name: str, value: Any, *, remedy: str = "Pass the function itself.") -> Any:
    """Return `value` if it is callable."""
    if callable(value):
        return value
    raise ParameterError(name, value, "a function", remedy)


def instance(name: str, value: Any, kind: type | tuple[type, ...], allowed: str, *, remedy: str) -> Any:
    """Return `value` if it is an instance of a class or protocol; a class itself is never accepted."""
    if isinstance(value, kind) and not isinstance(value, type):
        return value
    raise ParameterError(name, value, allowed, remedy)


def items(name: str, values: Any, allowed: str, *, remedy: str) -> tuple[Any, ...]:
    """Return a sequence's items. Strings aren't accepted, nor are sets and mappings, which have no order."""
    check_unmasked(name, values)
    if not isinstance(values, (str, bytes, Set, Mapping)) and not isinstance(values, type):
        try:
            iterator = iter(values)
        except (TypeError, ValueError):  # ValueError: a closed file
            pass
        else:
            return tuple(iterator)  # errors of a generator are passed on
    raise ParameterError(name, values, allowed, remedy)


def validator(check: Callable[..., Any], *arguments: Any, **options: Any) -> Callable[[Any, Any, Any], None]:
    """Return a check of this module as a validator of an attrs field, with the name of the field."""

    def validate(instance: Any, attribute: Any, value: Any) -> None:
        check(attribute.name, value, *arguments, **options)

    return validate


DAMAGED = "It was damaged; restore a copy of it."
"""What to do about the content of a pickle that doesn't fit."""


# What the use of a value that does not fit may raise. Other errors have other causes: a signal, for one.
_UNFIT = (
    TypeError, ValueError, AttributeError, LookupError, ArithmeticError, AssertionError, BufferError,
    EOFError, ImportError, RuntimeError, struct.error,
)  # fmt: skip


@contextmanager
def fitting(name: str, allowed: str, *, remedy: str) -> Iterator[None]:
    """Turn errors in the use of values that only the package makes, such as pickles, into a DataError."""
    try:
        yield
    except _UNFIT as error:
        if isinstance(error, (HdpkitError, OSError)):
            raise
        raise DataError(name, short_repr(error), allowed, remedy) from error


Codes = tuple[npt.NDArray[np.int64], Sequence[Any]]
"""Codes (one per customer, -1 = missing) and keys."""


def is_missing(value: Any) -> bool:
    """Whether a label's value is missing: None, NaN, NaT or pandas.NA. The number -1 is a value."""
    # Every comparison with pandas.NA is NA; it is recognised by the name of its type, without importing
    # pandas.
    if value is None or type(value).__name__ == "NAType":
        return True
    try:
        return bool(value != value)  # only NaN and NaT differ from themselves
    except (TypeError, ValueError):
        return False


def as_sequence(parameter: str, values: Any, what: str) -> npt.NDArray[Any] | list[Any]:
    """Return `values` as a list, or as an array if it can be converted to one."""
    remedy = f"Pass a list or a one-dimensional array of {what}."
    if isinstance(values, np.ma.MaskedArray) and values.ndim == 1:
        mask = np.ma.getmaskarray(values)
        return [None if masked else value for value, masked in zip(values, mask, strict=True)]
    if isinstance(values, str | bytes | Set | Mapping) or not isinstance(values, Iterable):
        raise DataError(parameter, values, f"a list of {what}", remedy)
    if getattr(values, "closed", False) is True:
        raise DataError(parameter, values, f"a list of {what}, not a closed file", remedy)
    sequence = np.asarray(values) if hasattr(values, "__array__") else list(values)
    if isinstance(sequence, np.ndarray) and sequence.ndim != 1:
        raise DataError(parameter, f"array of shape {sequence.shape}", f"a list of {what}", remedy)
    return sequence


def hashable(value: Any) -> bool:
    """Whether a value is hashable."""
    try:
        hash(value)
    except TypeError:
        return False
    return True


def plain(value: Any) -> Any:
    """Return the Python object of a NumPy scalar; dates are unchanged, since their unit would be lost."""
    if isinstance(value, np.generic) and value.dtype.kind not in "mM":
        return value.item()
    return value


def check_names(
    parameter: str, values: Any, n: int | None, unit: str, *, strings: bool = True
) -> tuple[Any, ...]:
    """Check names (of documents, groups or terms) and return them as a tuple."""
    names = tuple(plain(name) for name in as_sequence(parameter, values, f"names, one per {unit}"))
    if n is not None and len(names) != n:
        raise DataError(
            parameter, f"{len(names)} names", f"{n} names, one per {unit}", f"Give one name per {unit}."
        )
    first: dict[Any, int] = {}
    for position, name in enumerate(names):
        if (strings and not isinstance(name, str)) or not hashable(name) or is_missing(name):
            allowed = "a string" if strings else "a hashable value that isn't missing"
            raise DataError(f"{parameter}, {unit} {position}", name, allowed, f"Name every {unit}.")
        if first.setdefault(name, position) != position:
            raise DataError(
                f"{parameter}, {unit} {position}",
                name,
                f"different from all others ({unit} {first[name]} has this name)",
                "Remove or rename duplicates.",
            )
    return names


_ATTRIBUTES = ("mean", "support", "parameters", "name", "serves")
_REMEDY = "Correct the method; hdpkit.testing.check_base_measure says more."


def refuse(owner: Any, method: str, value: Any, allowed: str, remedy: str = _REMEDY) -> ReturnValueError:
    """Return the error for a value that this method of a user's object (or class) returned."""
    kind = owner if isinstance(owner, (type, str)) else type(owner)
    name = kind if isinstance(kind, str) else kind.__name__
    shape = np.shape(value) if isinstance(value, np.ndarray) else None
    what = f"{allowed} (here: shape {shape}, type {value.dtype})" if shape is not None else allowed
    call = "" if method in _ATTRIBUTES else "()"
    return ReturnValueError(f"{name}.{method}{call}", value, what, remedy)


def log_densities(owner: Any, method: str, value: Any, n: int) -> npt.NDArray[np.float64]:
    """Return n logarithms as a float64 array: numbers or -inf, shape (n,)."""
    plain = type(value) is np.ndarray and value.dtype == np.float64
    logs: npt.NDArray[np.float64] | None = value if plain else _as_array(value)
    if logs is None:
        raise refuse(owner, method, value, f"logarithms, shape ({n},): an array or a list of numbers")
    if logs.shape != (n,):
        raise refuse(owner, method, value, f"logarithms, one per dish: shape ({n},)")
    if n and not logs.max() < math.inf:  # NaN too
        raise refuse(
            owner, method, value, f"logarithms, finite or -inf: shape ({n},)",
            "A NaN or an overflow is the usual cause.",
        )  # fmt: skip
    return logs


def log_density(owner: Any, method: str, value: Any) -> float:
    """Return one logarithm as a float: a number or -inf."""
    number = _as_number(value)
    if number is None or not number < math.inf:  # NaN too
        raise refuse(owner, method, value, "a logarithm: one number, finite or -inf")
    return number


def real_values(owner: Any, method: str, value: Any, shape: tuple[int, ...] | None) -> Any:
    """Return finite numbers of this shape (None: of any shape) unchanged."""
    array = _as_array(value)
    if array is None or not np.isfinite(array).all():
        raise refuse(owner, method, value, "finite numbers: one, or an array")
    if shape is not None and array.shape != shape:
        raise refuse(owner, method, value, f"finite numbers, shape {shape}")
    return value


def one_of_kind(owner: Any, method: str, value: Any, kind: type | tuple[type, ...], allowed: str) -> Any:
    """Return the value if it is an instance of a class."""
    if isinstance(value, kind) and not isinstance(value, type):
        return value
    raise refuse(owner, method, value, allowed, "Return one.")


def _as_number(value: Any) -> float | None:
    if type(value) is float:
        return value
    if isinstance(value, np.ndarray):
        if value.size != 1:
            return None
        value = value.item() if value.dtype.kind in "iuf" else None
    if not isinstance(value, numbers.Real) or isinstance(value, (bool, np.bool_)):
        return None
    try:
        return float(value)
    except (OverflowError, TypeError, ValueError):
        return math.nan


def _as_array(value: Any) -> npt.NDArray[np.float64] | None:
    """Real numbers as a float64 array; None for generators, objects, strings, bools, complex numbers."""
    try:
        array = np.asarray(value)
    except (TypeError, ValueError):  # ragged, or not convertible to an array
        return None
    if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
        return None
    return np.asarray(array, dtype=np.float64) if array.dtype.kind in "iuf" else None
