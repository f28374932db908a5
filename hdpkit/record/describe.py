"""Declarations as data: what a run folder keeps of restaurants, measures, moves, stores and functions.

An object is its class and the arguments of its constructor, each the attribute of the same name (or what the
method ``constructor_arguments`` returns, for a class whose attributes differ). Classes of the package go by
their name in a registry or by module and name; anybody else's by module and name, and these are imported only
by leave.
"""

from __future__ import annotations

import importlib
import inspect
import types
from collections.abc import Iterable, Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.base_measures import Resampled, base_measures
from hdpkit.errors import CorruptRunError, HdpkitError, ParameterError, RunError
from hdpkit.moves.registry import moves
from hdpkit.registry import Registry
from hdpkit.stores import stores

__all__ = ["Leave", "describe", "function_name", "rebuild"]

_REGISTRIES: dict[str, Registry[Any]] = {"move": moves, "measure": base_measures, "store": stores}
_HOUSES = (
    "hdpkit.base_measures",
    "hdpkit.franchise.declarations",
    "hdpkit.franchise.starts",
    "hdpkit.moves",
    "hdpkit.priors",
    "hdpkit.schedule.combinators",
    "hdpkit.stores",
    "hdpkit._compiled",
)
"""Where classes of the package that may stand in a run folder live; nothing else of it is ever called."""


def describe(thing: Any, path: str) -> Any:
    """A declaration as a tree of values (see `encode`).

    Parameters
    ----------
    thing : object
    path : str
        What it is, for errors: "moves[2]".

    Raises
    ------
    RunError
        If some part can't be saved; the path to it is named.
    """
    if isinstance(thing, Resampled):
        return describe(thing.prior, path)  # its present value is in the state
    if thing is None or isinstance(thing, bool | int | float | str | bytes | np.ndarray | np.generic):
        return thing
    if isinstance(thing, list):
        return [describe(item, f"{path}[{i}]") for i, item in enumerate(thing)]
    if isinstance(thing, tuple):
        return tuple(describe(item, f"{path}[{i}]") for i, item in enumerate(thing))
    if isinstance(thing, Mapping) and type(thing) is dict and all(isinstance(key, str) for key in thing):
        return {"dict": {key: describe(item, f"{path}[{key!r}]") for key, item in thing.items()}}
    if isinstance(thing, type):
        return {"class": _class_name(thing)}
    if isinstance(thing, types.FunctionType | types.BuiltinFunctionType):
        name = function_name(thing)
        if name is None:
            raise _unsaved(path, thing, "Use a function that is defined at the top of a module.")
        return {"function": name}
    # What is neither plain data nor of a class written in Python (a lock, a generator) has no arguments.
    written = hasattr(thing, "__dict__") or hasattr(type(thing), "__slots__")
    if not written or isinstance(thing, types.MethodType | types.ModuleType):
        raise _unsaved(path, thing, "Pass a function or an object of a class of yours.")
    arguments = _arguments(thing, path)
    return {
        "object": _class_name(type(thing)),
        "arguments": {key: describe(value, f"{path}.{key}") for key, value in arguments.items()},
    }


def function_name(function: Any) -> str | None:
    """Module and name of a function that can be found by them; None for lambdas and inner functions."""
    module, name = getattr(function, "__module__", None), getattr(function, "__qualname__", "<>")
    if module is None or "<" in name or not isinstance(
        function, types.FunctionType | types.BuiltinFunctionType
    ):  # fmt: skip
        return None
    return f"{module}:{name}"


def _arguments(thing: Any, path: str) -> dict[str, Any]:
    own = getattr(thing, "constructor_arguments", None)
    if callable(own):
        return dict(own())
    kind = type(thing)
    try:
        parameters = inspect.signature(kind).parameters.values()
    except (TypeError, ValueError):
        raise _unsaved(path, thing, "Give its class a method constructor_arguments() -> dict.") from None
    attributes = {field.alias: field.name for field in attrs.fields(kind)} if attrs.has(kind) else {}
    found = {}
    for parameter in parameters:
        name = parameter.name
        if parameter.kind in (parameter.VAR_KEYWORD, parameter.VAR_POSITIONAL, parameter.POSITIONAL_ONLY):
            raise _unsaved(
                path, thing, f"Its constructor takes {parameter}: give it constructor_arguments() -> dict."
            )
        for attribute in (attributes.get(name, name), f"_{name}"):
            if hasattr(thing, attribute):
                found[name] = getattr(thing, attribute)
                break
        else:
            raise _unsaved(
                f"{path}.{name}", thing,
                f"Keep the constructor's argument as the attribute {name!r}, "
                "or give the class a method constructor_arguments() -> dict.",
            )  # fmt: skip
    return found


def _class_name(kind: type) -> str:
    if kind.__module__.split(".")[0] == "hdpkit":
        for what, registry in _REGISTRIES.items():
            for entry in registry.values():
                if entry.thing is kind:
                    return f"{what}/{entry.name}"
    return f"{kind.__module__}:{kind.__qualname__}"


def _unsaved(path: str, value: Any, remedy: str) -> RunError:
    return RunError(path, value, "something that can be saved: its class and plain arguments", remedy)


# -------------------------------------------------------------------------- back


class Leave:
    """What may be imported or called besides the package's own.

    Parameters
    ----------
    allow : iterable of str, class or function
        Names of modules (with what is below them), or the things themselves.
    """

    def __init__(self, allow: Iterable[Any] = ()) -> None:
        if isinstance(allow, str) or not isinstance(allow, Iterable):
            raise ParameterError(
                "allow", allow, "a list of module names, classes and functions", 'allow=["my_module"].'
            )
        self._modules: list[str] = []
        self._things: list[Any] = []
        for thing in allow:
            if isinstance(thing, str):
                self._modules.append(thing)
            elif isinstance(thing, types.ModuleType):
                self._modules.append(thing.__name__)
            elif isinstance(thing, type | types.FunctionType | types.BuiltinFunctionType):
                self._things.append(thing)
            else:
                raise ParameterError(
                    "allow", thing, "module names, classes or functions", "Pass the class, not an instance."
                )

    def find(self, name: str) -> Any:
        """The class or function of this name ("module:name", or "move/table-gibbs").

        Raises a RunError if it isn't allowed or isn't there.
        """
        kind, _, entry = name.partition("/")
        if entry:
            if kind not in _REGISTRIES or entry not in _REGISTRIES[kind]:
                raise _unknown(name, "It is of a newer hdpkit, or the file was changed.")
            return _REGISTRIES[kind][entry].thing
        module, _, qualname = name.partition(":")
        for thing in self._things:
            # A script's class is of "__main__" while it runs, of the script's module when it is imported.
            same = thing.__module__ == module or "__main__" in (thing.__module__, module)
            if same and thing.__qualname__ == qualname:
                return thing
        package = any(module == house or module.startswith(house + ".") for house in _HOUSES)
        if not package and not any(module == own or module.startswith(own + ".") for own in self._modules):
            raise RunError(
                "class", name, "of hdpkit, or allowed",
                f"If you trust it: hk.open_run(folder, allow=[{module!r}]), or pass the class itself.",
            )  # fmt: skip
        return _imported(name, module, qualname, package)


def _imported(name: str, module: str, qualname: str, package: bool) -> Any:
    try:
        thing = importlib.import_module(module)
        for part in qualname.split("."):
            thing = getattr(thing, part)
    except Exception as error:  # whatever the module's own code raises
        raise _unknown(
            name, f"It can't be found ({type(error).__name__}: {error}); put its module on the path."
        ) from error
    whole = isinstance(thing, type) if package else callable(thing)
    if not whole or (package and getattr(thing, "__module__", None) != module):
        raise _unknown(name, "The file was changed.")
    return thing


def rebuild(tree: Any, leave: Leave) -> Any:
    """What `describe` described.

    Raises
    ------
    RunError
        If a class isn't allowed, isn't there, or doesn't take its arguments any more.
    CorruptRunError
        If the tree is none that `describe` makes.
    """
    if isinstance(tree, list):
        return [rebuild(item, leave) for item in tree]
    if isinstance(tree, tuple):
        return tuple(rebuild(item, leave) for item in tree)
    if not isinstance(tree, dict):
        return tree
    try:
        if "dict" in tree:
            return {key: rebuild(item, leave) for key, item in tree["dict"].items()}
        if "class" in tree:
            return leave.find(tree["class"])
        if "function" in tree:
            return leave.find(tree["function"])
        name = tree["object"]
        arguments = {key: rebuild(value, leave) for key, value in tree["arguments"].items()}
        kind = leave.find(name)
    except (KeyError, AttributeError, TypeError) as error:
        if isinstance(error, HdpkitError):
            raise
        raise CorruptRunError("run.json", tree, "a declaration", "The file was changed.") from error
    try:
        return kind(**arguments)
    except HdpkitError:
        raise
    except Exception as error:  # whatever the class's own code raises
        raise RunError(
            "class", name, f"built from {sorted(arguments)}",
            f"It refused ({type(error).__name__}: {error}): use the version of it that the run began with.",
        ) from error  # fmt: skip


def _unknown(name: str, remedy: str) -> RunError:
    return RunError("class", name, "there", remedy)
