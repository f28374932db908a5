"""Declarations as data: how a run folder stores restaurants, measures, moves, stores and functions.

An object is stored as its class and the arguments of its constructor, each the attribute of the same name (or
the results of the method ``constructor_arguments``, for a class whose attributes differ). Classes of the
package are named by a registry or by module and name, other classes by module and name. The inverse is
`hdpkit.record.rebuild`.
"""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Mapping
from typing import Any

import attrs
import numpy as np

from hdpkit.base_measures import Resampled
from hdpkit.errors import RunError
from hdpkit.franchise import Franchise
from hdpkit.record.encode import pack, to_json
from hdpkit.record.leave import REGISTRIES

__all__ = ["describe", "described_franchise", "described_start", "function_name"]


def describe(thing: Any, path: str) -> Any:
    """A declaration as a tree of values (see `encode`).

    Parameters
    ----------
    thing : object
    path : str
        Path of the object, for errors: "moves[2]".

    Raises
    ------
    RunError
        If a part can't be saved; the message names the path to it.
    """
    if isinstance(thing, Resampled):
        return describe(thing.prior, path)  # its current value is in the state
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
    # An object that is neither plain data nor of a Python class (a lock, a generator) has no arguments.
    written = hasattr(thing, "__dict__") or hasattr(type(thing), "__slots__")
    if not written or isinstance(thing, types.MethodType | types.ModuleType):
        raise _unsaved(path, thing, "Pass a function or an object of a class of yours.")
    arguments = _arguments(thing, path)
    return {
        "object": _class_name(type(thing)),
        "arguments": {key: describe(value, f"{path}.{key}") for key, value in arguments.items()},
    }


def described_franchise(franchise: Franchise) -> dict[str, Any]:
    """The declaration of a franchise for run.json."""
    declared = franchise.restaurant_declared.measure.for_data(franchise.data)
    there = franchise.measure
    return {
        "restaurant": describe(franchise.restaurant_declared, "restaurant"),
        "measure": None if _same(declared, there) else describe(there, "measure"),
        "store": describe(franchise.store_type, "store"),
        "kernel": franchise.forced_kernel,
        # Folders of earlier versions have none: the root was a restaurant.
        **(
            {}
            if franchise.root.declared == "restaurant"
            else {"root": describe(franchise.root.declared, "root")}
        ),
        **({} if franchise.known is None else {"known": describe(franchise.known, "known")}),
        "components": {
            name: describe(component, f"components[{name!r}]")
            for name, component in franchise.components.items()
        },
    }


def _same(declared: Any, there: Any) -> bool:
    """Whether a franchise's measure equals the declared one, apart from current values of parameters."""
    try:
        one, other = describe(declared, "measure"), describe(there, "measure")
    except RunError:
        return type(declared) is type(there)  # the measure prepared for the data need not be describable
    for name in getattr(there, "parameters", {}):
        one["arguments"].pop(name, None)
        other["arguments"].pop(name, None)
    return json.dumps(to_json(one)) == json.dumps(to_json(other))


def described_start(franchise: Franchise, init: Any) -> tuple[Any, bytes | None]:
    """The description of the start for run.json, or the bytes for init.bin."""
    if init is None:
        return None, pack({"kind": "stand", "value": franchise.freeze()}, "state of the franchise")
    if isinstance(init, Mapping):
        return None, pack({"kind": "state", "value": dict(init)}, "init")
    if isinstance(init, Franchise):
        return None, pack({"kind": "state", "value": init.freeze()}, "init")
    if isinstance(init, str) or (attrs.has(type(init)) and not hasattr(init, "__array__")):
        return describe(init, "init"), None
    return None, pack({"kind": "dishes", "value": np.asarray(init)}, "init")


def function_name(function: Any) -> str | None:
    """Module and name of a function if it can be found by them; None for lambdas and inner functions."""
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
        for what, registry in REGISTRIES.items():
            for entry in registry.values():
                if entry.thing is kind:
                    return f"{what}/{entry.name}"
    return f"{kind.__module__}:{kind.__qualname__}"


def _unsaved(path: str, value: Any, remedy: str) -> RunError:
    return RunError(path, value, "something that can be saved: its class and plain arguments", remedy)
