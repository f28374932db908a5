"""Declarations from data: the inverse of `hdpkit.record.describe`."""

from __future__ import annotations

from typing import Any

from hdpkit.base_measures import BaseMeasure
from hdpkit.errors import CorruptRunError, HdpkitError, RunError
from hdpkit.franchise import Part, Restaurant
from hdpkit.moves import Move, Scheduled
from hdpkit.priors import Beta, Each, Shifted
from hdpkit.record.leave import Leave

__all__ = ["rebuild"]

_DEEPEST = 300  # limit of nesting, far above that of the package's own declarations
_CHANGED = "The file was changed."
_KINDS = {"move": Move, "restaurant": Restaurant, "component": Part}


def rebuild(tree: Any, leave: Leave, place: str) -> Any:
    """Build the object described by the result of `describe`.

    Parameters
    ----------
    tree : object
        The tree read from the file.
    leave : Leave
    place : str
        The kind of object expected, for instance "move" (see `Leave.find`). Nothing else is imported or
        called.

    Raises
    ------
    RunError
        If a class isn't allowed, doesn't exist, is of another kind, or no longer accepts its arguments.
    CorruptRunError
        If the tree isn't one made by `describe`.
    """
    thing = _rebuilt(tree, leave, place, 0)
    if place in _KINDS and not isinstance(thing, _KINDS[place]):
        raise CorruptRunError("run.json", tree, f"the declaration of a {place}", _CHANGED)
    return thing


def _rebuilt(tree: Any, leave: Leave, place: str, depth: int) -> Any:
    if depth > _DEEPEST:
        raise CorruptRunError("run.json", f"{depth} levels", f"at most {_DEEPEST} levels deep", _CHANGED)
    if isinstance(tree, list | tuple):
        return type(tree)(_rebuilt(item, leave, place, depth + 1) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"dict"} and isinstance(tree["dict"], dict):
        return {key: _rebuilt(item, leave, place, depth + 1) for key, item in tree["dict"].items()}
    if set(tree) == {"class"}:
        return leave.find(tree["class"], place)
    if set(tree) == {"function"} and place in ("argument", "part of a base measure"):
        return leave.find(tree["function"], "function")
    arguments = tree.get("arguments")
    if set(tree) != {"object", "arguments"} or not isinstance(arguments, dict) or place == "store":
        raise CorruptRunError("run.json", tree, f"the declaration of a {place}", _CHANGED)
    kind = leave.find(tree["object"], place)  # before its arguments are built
    built = {key: _rebuilt(value, leave, _place_of(kind, key), depth + 1) for key, value in arguments.items()}
    try:
        thing = kind(**built)
    except HdpkitError:
        raise
    except Exception as error:  # the class's own code may raise any error
        raise RunError(
            "class", tree["object"], f"built from {sorted(arguments)}",
            f"It refused ({type(error).__name__}: {error}): use the version of it that the run began with.",
        ) from error  # fmt: skip
    return thing


def _place_of(kind: type, argument: str) -> str:
    """The kind of object expected for an argument of a class."""
    if not kind.__module__.startswith("hdpkit."):
        return "argument"
    if issubclass(kind, Restaurant):
        of_restaurants = {"base": "base of a restaurant"}
        both = dict.fromkeys(("concentration", "discount"), "hyperparameter")
        return {**of_restaurants, **both}.get(argument, "number")
    if kind in (Each, Shifted, Beta):
        return "hyperparameter"
    if issubclass(kind, BaseMeasure):
        return "part of a base measure"
    if issubclass(kind, Scheduled) or (issubclass(kind, Move) and argument == "weighted"):
        return "move"
    return "number"
