"""Which classes and functions a file may name at each place, and how they are found.

A file names objects as "module:name". An object is accepted only if it is defined in that module under that
name, and is of the kind expected at its place. Names are looked up in the dictionaries of modules and
classes: attributes of imported modules aren't followed, and no property or ``__getattr__`` runs.
"""

from __future__ import annotations

import importlib
import sys
import types
from collections.abc import Iterable
from typing import Any

from hdpkit.base_measures import BaseMeasure, Finite, base_measures
from hdpkit.errors import ParameterError, RunError
from hdpkit.franchise import FixedWeights, Known, KnownValues, Part, Restaurant
from hdpkit.init import Factors, Random, TermClusters
from hdpkit.moves import Move
from hdpkit.moves.registry import moves
from hdpkit.priors import Beta, Each, Gamma, Normal, Shifted
from hdpkit.registry import Registry
from hdpkit.stores import missing_verbs, stores

__all__ = ["REGISTRIES", "Leave", "NotAllowed"]

REGISTRIES: dict[str, Registry[Any]] = {"move": moves, "measure": base_measures, "store": stores}
_HOUSES = (
    "hdpkit.base_measures",
    "hdpkit.franchise.declarations",
    "hdpkit.franchise.factors",
    "hdpkit.franchise.known",
    "hdpkit.franchise.starts",
    "hdpkit.franchise.term_clusters",
    "hdpkit.moves",
    "hdpkit.priors",
    "hdpkit.schedule.combinators",
    "hdpkit.stores",
    "hdpkit._compiled",
)
"""Modules of the package whose classes may be named in a run folder; no other part of it is called."""

_MOVED = {"hdpkit.moves.scheduled:Scheduled": "hdpkit.moves.protocol:Scheduled"}
"""Names in run folders of earlier versions, of classes that have moved."""

_PRIORS = (Gamma, Beta, Normal, Each, Shifted)
_STARTS = (Random, TermClusters, Factors)
_DECLARED = (Move, BaseMeasure, Restaurant, Part, *_PRIORS, *_STARTS, Finite)
_PLACES: dict[str, tuple[type, ...]] = {
    "move": (Move,),
    "base measure": (BaseMeasure,),
    "restaurant": (Restaurant,),
    "base of a restaurant": (Restaurant, BaseMeasure),
    "component": (Part,),
    "root": (FixedWeights,),
    "known components": (Known, KnownValues),
    "start": _STARTS,
    "hyperparameter": _PRIORS,
    "part of a base measure": (*_PRIORS, Finite),
    "argument": _DECLARED,
    "number": (),
}
"""Allowed classes of an object at each place. For "argument" (of a class from outside the package) any class
of an allowed module is accepted, since its base class isn't known."""


class NotAllowed(RunError):
    """A file names an object from outside the package that isn't allowed to be imported."""


class Leave:
    """What may be imported or called in addition to the package itself.

    Parameters
    ----------
    allow : iterable of str, class or function
        Names of modules (which include their submodules), or the objects themselves. A module allows only
        what is defined in it, not what it imports.
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

    def find(self, name: Any, place: str = "argument") -> Any:
        """The class or function of this name ("module:name", or "move/table-gibbs").

        Parameters
        ----------
        name : str
        place : str
            What is expected at the place of the name: "function", "store" (a class), or the kind of object
            whose class is named.

        Raises
        ------
        NotAllowed
            If it isn't allowed.
        RunError
            If it doesn't exist, or is of another kind than expected.
        """
        if not isinstance(name, str):
            raise _unknown(name, "The file was changed.")
        name = _MOVED.get(name, name)
        kind, _, entry = name.partition("/")
        if entry:
            if kind not in REGISTRIES or entry not in REGISTRIES[kind]:
                raise _unknown(name, "It is of a newer hdpkit, or the file was changed.")
            return _fitting(name, REGISTRIES[kind][entry].thing, place, package=True)
        module, _, qualname = name.partition(":")
        for thing in self._things:
            # A script's classes are in "__main__" while it runs, and in the script's module when it is
            # imported.
            same = thing.__module__ == module or "__main__" in (thing.__module__, module)
            if same and thing.__qualname__ == qualname:
                return _fitting(name, thing, place, package=False)
        package = _within(module, _HOUSES)
        if not package and (module.split(".")[0] == "hdpkit" or not _within(module, self._modules)):
            raise NotAllowed(
                "class", name, "of hdpkit, or allowed",
                f"If you trust it: hk.open_run(folder, allow=[{module!r}]), or pass the class itself.",
            )  # fmt: skip
        return _fitting(name, _imported(name, module, qualname), place, package)


def _within(module: str, names: Iterable[str]) -> bool:
    return any(module == name or module.startswith(name + ".") for name in names)


def _imported(name: str, module: str, qualname: str) -> Any:
    """The class or function that a module defines under this name."""
    parts, path = qualname.split("."), module.split(".")
    plain = all(part.isidentifier() and not part.startswith("__") for part in parts)
    # A package's __main__ is a program; only the script that is running is loaded under that name.
    program = "__main__" in path and module != "__main__"
    if not plain or program or not all(part.isidentifier() for part in path):
        raise _unknown(name, "The file was changed.")
    try:
        importlib.import_module(module)
    except Exception as error:  # the module's own code may raise any error
        raise _unknown(
            name, f"It can't be found ({type(error).__name__}: {error}); put its module on the path."
        ) from error
    there: Any = sys.modules.get(module)
    thing: Any = there
    for depth, part in enumerate(parts, 1):
        names = type.__dict__["__dict__"].__get__(thing) if thing is not there else vars(there)
        thing = names.get(part)
        if isinstance(thing, staticmethod):
            thing = thing.__func__
        own = _is_class(thing) or (depth == len(parts) and type(thing) is types.FunctionType)
        if not own or thing.__module__ != module or thing.__qualname__ != ".".join(parts[:depth]):
            raise _unknown(name, f"{module!r} defines no class or function of this name.")
    # A wrapper of a function of the module has its name, but is code of another module.
    if type(thing) is types.FunctionType and thing.__globals__ is not vars(there):
        raise _unknown(name, f"It is wrapped by code of another module than {module!r}: pass it itself.")
    return thing


def _is_class(thing: Any) -> bool:
    return issubclass(type(thing), type)  # isinstance would access __class__


def _fitting(name: str, thing: Any, place: str, package: bool) -> Any:
    """The object, if it is allowed at this place."""
    if place == "function":
        fits = not package and isinstance(thing, types.FunctionType | types.BuiltinFunctionType)
    elif place == "store":
        fits = _is_class(thing) and not missing_verbs(thing)
    elif not _is_class(thing) or place not in _PLACES:
        fits = False
    elif issubclass(thing, _PLACES[place]):
        fits = True
    else:
        prior = all(callable(getattr(thing, verb, None)) for verb in ("log_density", "draw"))
        fits = not package and (
            place == "argument"
            or (prior and place in ("hyperparameter", "part of a base measure"))
            or (place == "part of a base measure" and "__call__" in dir(thing))
        )
    if not fits:
        raise RunError("class", name, f"a {place} at this place in the file", "The file was changed.")
    return thing


def _unknown(name: Any, remedy: str) -> RunError:
    return RunError("class", name, "there", remedy)
