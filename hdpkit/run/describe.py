"""Declarations as data and back, and the checks of the names of classes in files."""

from __future__ import annotations

import inspect
import json
import types
from collections.abc import Mapping
from importlib import import_module
from typing import Any

import attrs
import numpy as np

from hdpkit.allowed import CHANGED, Allowed, imported, is_class, unknown, within
from hdpkit.errors import CorruptRunError, HdpkitError, RunError
from hdpkit.files import to_json
from hdpkit.franchise.declarations import FixedWeights, Restaurant, Several
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known, KnownValues
from hdpkit.franchise.starts import Factors, Random, TermClusters
from hdpkit.franchise.state_homes import StateHomes
from hdpkit.measures.non_conjugate import Finite
from hdpkit.measures.protocol import BaseMeasure, Resampled
from hdpkit.moves import Move, Scheduled
from hdpkit.moves.registry import moves
from hdpkit.parts import Part
from hdpkit.priors import Above, Beta, Dirichlet, Each, Gamma, Normal, Shifted
from hdpkit.registry import Registry
from hdpkit.stores import missing_methods, stores

_HOUSES = (
    "hdpkit.franchise.declarations",
    "hdpkit.franchise.known",
    "hdpkit.franchise.several_parents",
    "hdpkit.franchise.starts",
    "hdpkit.franchise.state_homes",
    "hdpkit.measures",
    "hdpkit.moves",
    "hdpkit.priors",
    "hdpkit.run.combinators",
    "hdpkit.stores",
)
"""Modules of the package whose classes may be named in a run folder; no other part of it is called."""

_PRIORS = (Gamma, Beta, Normal, Above, Each, Shifted)
_STARTS = (Random, TermClusters, Factors)
_DECLARED = (Move, BaseMeasure, Restaurant, Part, *_PRIORS, *_STARTS, Finite)
_PLACES: dict[str, tuple[type, ...]] = {
    "move": (Move,),
    "base measure": (BaseMeasure,),
    "restaurant": (Restaurant,),
    "base of a restaurant": (Restaurant, Several, BaseMeasure),
    "each of a restaurant": (StateHomes,),
    "component": (Part,),
    "root": (FixedWeights,),
    "known components": (Known, KnownValues),
    "start": _STARTS,
    "hyperparameter": _PRIORS,
    "weights of parents": (Dirichlet,),
    "part of a base measure": (*_PRIORS, Finite),
    "argument": _DECLARED,
    "number": (),
}
"""Allowed classes of an object at each place. For "argument" (of a class from outside the package) any class
of an allowed module is accepted, since its base class isn't known."""


def _registries() -> dict[str, Registry[Any]]:
    # Importing a move or a store registers all of them. All measures are registered by what users import.
    measures = import_module("hdpkit.base_measures").base_measures
    return {"move": moves, "measure": measures, "store": stores}


def find(allowed: Allowed, name: Any, place: str = "argument") -> Any:
    """The class or function of a name ("module:name", or "move/table-gibbs") of the kind ``place``."""
    kind, _, entry = name.partition("/") if isinstance(name, str) else ("", "", "")
    if entry:
        registries = _registries()
        if kind not in registries or entry not in registries[kind]:
            raise unknown(name, "It is of a newer hdpkit, or the file was changed.")
        return _fitting(name, registries[kind][entry].thing, place, package=True)
    if place == "function":
        return allowed.function(name)
    package = isinstance(name, str) and within(name.partition(":")[0], _HOUSES)
    return _fitting(name, imported(name) if package else allowed.find(name), place, package)


def _fitting(name: str, thing: Any, place: str, package: bool) -> Any:
    """The object, if it is allowed at this place."""
    if place == "store":
        fits = is_class(thing) and not missing_methods(thing)
    elif not is_class(thing) or place not in _PLACES:
        fits = False
    elif issubclass(thing, _PLACES[place]):
        fits = True
    else:
        prior = all(callable(getattr(thing, name, None)) for name in ("log_density", "draw"))
        fits = not package and (
            place == "argument"
            or (prior and place in ("hyperparameter", "part of a base measure"))
            or (place == "part of a base measure" and "__call__" in dir(thing))
        )
    if not fits:
        raise RunError("class", name, f"a {place} at this place in the file", CHANGED)
    return thing


_DEEPEST = 300  # limit of nesting, far above that of the package's own declarations
_KINDS = {"move": Move, "restaurant": Restaurant, "component": Part}


def rebuild(tree: Any, allowed_imports: Allowed, place: str) -> Any:
    """Build the object of kind ``place`` described by the result of `describe`; nothing else is called."""
    thing = _rebuilt(tree, allowed_imports, place, 0, {})
    if place in _KINDS and not isinstance(thing, _KINDS[place]):
        raise CorruptRunError("run.json", tree, f"the declaration of a {place}", CHANGED)
    return thing


def _rebuilt(tree: Any, allowed_imports: Allowed, place: str, depth: int, made: dict[str, Restaurant]) -> Any:
    """The object of a tree; ``made`` has the restaurants so far, since bases of several may share one."""
    if depth > _DEEPEST:
        raise CorruptRunError("run.json", f"{depth} levels", f"at most {_DEEPEST} levels deep", CHANGED)
    if isinstance(tree, list | tuple):
        return type(tree)(_rebuilt(item, allowed_imports, place, depth + 1, made) for item in tree)
    if not isinstance(tree, dict):
        return tree
    if set(tree) == {"dict"} and isinstance(tree["dict"], dict):
        return {
            key: _rebuilt(item, allowed_imports, place, depth + 1, made) for key, item in tree["dict"].items()
        }
    if set(tree) == {"class"}:
        return find(allowed_imports, tree["class"], place)
    if set(tree) == {"function"} and place in ("argument", "part of a base measure"):
        return find(allowed_imports, tree["function"], "function")
    arguments = tree.get("arguments")
    if set(tree) != {"object", "arguments"} or not isinstance(arguments, dict) or place == "store":
        raise CorruptRunError("run.json", tree, f"the declaration of a {place}", CHANGED)
    kind = find(allowed_imports, tree["object"], place)  # before its arguments are built
    shared = json.dumps(to_json(tree)) if kind is Restaurant else ""
    if shared in made:
        return made[shared]
    built = {
        key: _rebuilt(value, allowed_imports, _place_of(kind, key), depth + 1, made)
        for key, value in arguments.items()
    }
    try:
        thing = getattr(kind, "_from_arguments", kind)(**built)
    except HdpkitError:
        raise
    except Exception as error:  # the class's own code may raise any error
        raise RunError(
            "class", tree["object"], f"built from {sorted(arguments)}",
            f"It refused ({type(error).__name__}: {error}): use the version of it that the run began with.",
        ) from error  # fmt: skip
    if shared:
        made[shared] = thing
    return thing


def _place_of(kind: type, argument: str) -> str:
    """The kind of object expected for an argument of a class."""
    if not kind.__module__.startswith("hdpkit."):
        return "argument"
    if issubclass(kind, Restaurant):
        of_restaurants = {"base": "base of a restaurant", "each": "each of a restaurant"}
        both = dict.fromkeys(("concentration", "discount"), "hyperparameter")
        return {**of_restaurants, **both}.get(argument, "number")
    if issubclass(kind, Several):
        return {"restaurants": "restaurant", "weights": "weights of parents"}.get(argument, "number")
    if issubclass(kind, StateHomes):
        return "hyperparameter"
    if kind in (Above, Beta, Each, Shifted):
        return "hyperparameter"
    if issubclass(kind, BaseMeasure):
        return "base measure" if argument == "measure" else "part of a base measure"
    if issubclass(kind, Scheduled) or (issubclass(kind, Move) and argument == "weighted"):
        return "move"
    return "number"


def describe(thing: Any, path: str) -> Any:
    """A declaration as a tree of values (see `encode`); ``path`` names the object in errors ("moves[2]")."""
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
    declared = franchise.declarations[-1].measure.for_data(franchise.data)
    there = franchise.measure
    return {
        "restaurant": describe(franchise.declarations[-1], "restaurant"),
        "measure": None if _same(declared, there) else describe(there, "measure"),
        "store": describe(franchise.store_type, "store"),
        "kernel": franchise.forced_kernel,
        "root": describe(franchise.root.declared, "root"),
        "known": describe(franchise.known, "known"),
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


def described_start(franchise: Franchise, init: Any) -> tuple[Any, dict[str, Any] | None]:
    """The description of the start for run.json, or the content of init.npz."""
    if init is None:
        return None, {"kind": "stand", "value": franchise.freeze()}
    if isinstance(init, Mapping | Franchise):
        return None, {"kind": "state", "value": dict(init) if isinstance(init, Mapping) else init.freeze()}
    if isinstance(init, str) or (attrs.has(type(init)) and not hasattr(init, "__array__")):
        return describe(init, "init"), None
    return None, {"kind": "dishes", "value": np.asarray(init)}


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
        for what, registry in _registries().items():
            for entry in registry.values():
                if entry.thing is kind:
                    return f"{what}/{entry.name}"
    return f"{kind.__module__}:{kind.__qualname__}"


def _unsaved(path: str, value: Any, remedy: str) -> RunError:
    return RunError(path, value, "something that can be saved: its class and plain arguments", remedy)
