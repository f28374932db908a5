"""What may be imported because a file names it: nothing but what the caller allows."""

from __future__ import annotations

import functools
import importlib
import sys
import types
from collections.abc import Iterable, Iterator
from typing import Any

from hdpkit.errors import ParameterError, RunError

CHANGED = "The file was changed: restore a copy of it."


class NotAllowed(RunError):
    """A file names an object from outside the package that isn't allowed to be imported."""


class Allowed:
    """What may be imported or called besides the package: modules with their submodules, or objects."""

    def __init__(self, allow: Iterable[Any] = ()) -> None:
        given = isinstance(allow, Iterable) and not isinstance(allow, str | type)
        if not given or getattr(allow, "closed", False) is True or getattr(allow, "ndim", None) == 0:
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

    def __iter__(self) -> Iterator[Any]:
        return iter((*self._modules, *self._things))

    def find(self, name: Any) -> Any:
        """The class or function of a name ("module:name"); NotAllowed, or a RunError if it doesn't exist."""
        if not isinstance(name, str):
            raise unknown(name, CHANGED)
        module, _, qualname = name.partition(":")
        for thing in self._things:
            # A script's classes are in "__main__" while it runs, and in the script's module when it is
            # imported.
            same = thing.__module__ == module or "__main__" in (thing.__module__, module)
            if same and thing.__qualname__ == qualname:
                return thing
        self._permit(name, module)
        return imported(name)

    def _permit(self, name: str, module: str) -> None:
        """Raise NotAllowed unless a module is allowed."""
        if module.split(".")[0] == "hdpkit" or not within(module, self._modules):
            command = (
                "a command needs it in a module" if module == "__main__" else f"in a command --allow {module}"
            )
            raise NotAllowed(
                "class", name, "of hdpkit, or allowed",
                f"If you trust it: allow=[{module!r}] or the class itself; {command}.",
            )  # fmt: skip

    def called(self, name: Any) -> Any:
        """What an allowed module calls by a name ("module:name"): a function, or a method of an object."""
        module, _, qualname = name.partition(":")
        if any((one.__module__, one.__qualname__) == (module, qualname) for one in self._things):
            return self.find(name)
        self._permit(name, module)
        try:
            found = functools.reduce(getattr, qualname.split("."), importlib.import_module(module))
        except Exception as error:  # the module's own code may raise any error
            raise unknown(
                name, f"It can't be found ({type(error).__name__}: {error}); put its module on the path."
            ) from error
        code = getattr(found, "__func__", found)
        home = getattr(code, "__globals__", {}).get("__name__") or getattr(code, "__module__", None) or ""
        if is_class(found) or not callable(found) or not within(home, self._modules):
            raise unknown(
                name,
                f"It is no function of {module!r}." + (f" It is of {home!r}: allow that." if home else ""),
            )
        return found

    def function(self, name: Any) -> Any:
        """The function of a name; errors as in `find`."""
        thing = self.find(name)
        if not isinstance(thing, types.FunctionType | types.BuiltinFunctionType):
            raise RunError("class", name, "a function at this place in the file", CHANGED)
        return thing


def within(module: str, names: Iterable[str]) -> bool:
    """Whether a module is one of these or within one."""
    return any(module == name or module.startswith(name + ".") for name in names)


def imported(name: str) -> Any:
    """The class or function that a module defines under a name ("module:name")."""
    module, _, qualname = name.partition(":")
    parts, path = qualname.split("."), module.split(".")
    plain = all(part.isidentifier() and not part.startswith("__") for part in parts)
    # A package's __main__ is a program; only the script that is running is loaded under that name.
    program = "__main__" in path and module != "__main__"
    if not plain or program or not all(part.isidentifier() for part in path):
        raise unknown(name, CHANGED)
    try:
        importlib.import_module(module)
    except Exception as error:  # the module's own code may raise any error
        raise unknown(
            name, f"It can't be found ({type(error).__name__}: {error}); put its module on the path."
        ) from error
    there: Any = sys.modules.get(module)
    thing: Any = there
    for depth, part in enumerate(parts, 1):
        names = type.__dict__["__dict__"].__get__(thing) if thing is not there else vars(there)
        thing = names.get(part)
        if isinstance(thing, staticmethod):
            thing = thing.__func__
        own = is_class(thing) or (depth == len(parts) and type(thing) is types.FunctionType)
        if not own or thing.__module__ != module or thing.__qualname__ != ".".join(parts[:depth]):
            other = getattr(thing, "__module__", module) if own else module
            found = f" It is of {other!r}: name that." if other != module else ""
            raise unknown(name, f"{module!r} defines no class or function of this name.{found}")
    # A wrapper of a function of the module has its name, but is code of another module.
    if type(thing) is types.FunctionType and thing.__globals__ is not vars(there):
        raise unknown(name, f"It is wrapped by code of another module than {module!r}: pass it itself.")
    return thing


def is_class(thing: Any) -> bool:
    """Whether it is a class, without asking the thing itself."""
    return issubclass(type(thing), type)  # isinstance would access __class__


def unknown(name: Any, remedy: str) -> RunError:
    """The error for a name of nothing."""
    return RunError("class", name, "a class or function that can be found", remedy)
