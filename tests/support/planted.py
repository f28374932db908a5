"""Planted bugs: known mistakes, put into the production code within a block, where each must be detected.

Modules are not executed again: the mutated source is compiled, and the code of the functions that differ is
exchanged in place. Compiled code can't be exchanged: ``tests/bugs/planting.py`` compiles copies with faults.
"""

import ast
import gc
import importlib
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache
from inspect import CO_OPTIMIZED, signature
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import attrs

from hdpkit.errors import ParameterError


@attrs.frozen
class PlantedBug:
    """A mistake as a replacement of source text."""

    name: str
    what: str
    module: str
    old: str
    new: str
    caught_by: str

    @property
    def path(self) -> Path:
        """File of the module."""
        return Path(str(importlib.import_module(self.module).__file__))

    def sources(self) -> tuple[str, str]:
        """Source text of the module without and with the bug."""
        text = self.path.read_text(encoding="utf-8")
        if (n := text.count(self.old)) != 1:
            raise ParameterError(
                f"old of {self.name!r}", f"{n} times in {self.module}", "found exactly once",
                "The code has changed: adapt the bug to the current text.",
            )  # fmt: skip
        return text, text.replace(self.old, self.new)


@contextmanager
def planted(bug: PlantedBug) -> Iterator[None]:
    """Plant a bug within a block, in every function of the process with this code."""
    filename, texts = str(bug.path), bug.sources()
    if _skeleton(texts[0]) != _skeleton(texts[1]):
        raise _misplanted(bug, "more than that", "bodies of functions: no signature, nothing run at import")
    healthy, mutated = (_compiled(text, filename) for text in texts)
    # Nested functions are exchanged with the outer one; existing closures are exchanged as well.
    changed = [key for key in healthy if key in mutated and _content(healthy[key]) != _content(mutated[key])]
    swapped: list[tuple[FunctionType, CodeType]] = []
    try:
        for key in changed:
            for function in _holders(bug, healthy[key]):
                swapped.append((function, function.__code__))
                function.__code__ = mutated[key]
        if not swapped:
            raise _misplanted(bug, "nothing", "a change of behaviour")
        yield
    finally:
        for function, code in reversed(swapped):
            function.__code__ = code


class _Bodiless(ast.NodeTransformer):
    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.FunctionDef:
        node.body = []
        return node


@lru_cache(maxsize=16)  # bugs of one file are consecutive
def _skeleton(text: str) -> str:
    """A module without the bodies of its functions and without line numbers."""
    return ast.dump(_Bodiless().visit(ast.parse(text)))


def _misplanted(bug: PlantedBug, value: str, allowed: str) -> ParameterError:
    return ParameterError(f"what {bug.name!r} changes", value, allowed, f"Correct its text in {bug.module}.")


def _holders(bug: PlantedBug, healthy: CodeType) -> list[FunctionType]:
    """Every existing function with this code."""
    found = _functions() if "<locals>" in healthy.co_qualname else _defined_once(healthy)
    holders = [function for function in found if _is_from(function, healthy)]
    if any(_content(function.__code__) != _content(healthy) for function in holders):
        raise _misplanted(bug, f"{healthy.co_qualname}, which differs from its file", "code as imported")
    if not holders and "<locals>" not in healthy.co_qualname:
        raise _misplanted(
            bug, f"{healthy.co_qualname}, which no function uses", "code of an existing function"
        )
    return holders


def _functions() -> list[FunctionType]:
    """Every existing function, including those that the garbage collector has frozen."""
    frozen = gc.get_freeze_count() > 0
    if frozen:
        gc.unfreeze()
    try:
        return [thing for thing in gc.get_objects() if type(thing) is FunctionType]
    finally:
        if frozen:
            gc.freeze()


_KNOWN: dict[tuple[str, str], list[weakref.ref[FunctionType]]] = {}  # by file and qualified name


def _defined_once(code: CodeType) -> list[FunctionType]:
    """Functions of this file and name that aren't made by other functions, so they don't change
    after import.
    """
    key = code.co_filename, code.co_qualname
    if not any(one() is not None for one in _KNOWN.get(key, [])):
        _KNOWN.clear()
        for function in _functions():
            own = function.__code__
            if "<locals>" not in own.co_qualname:
                place = own.co_filename, own.co_qualname
                _KNOWN.setdefault(place, []).append(weakref.ref(function))
    return [function for function in (one() for one in _KNOWN.get(key, [])) if function is not None]


def _is_from(function: FunctionType, healthy: CodeType) -> bool:
    code = function.__code__
    return (
        code.co_qualname == healthy.co_qualname
        and code.co_firstlineno == healthy.co_firstlineno
        and code.co_filename == healthy.co_filename
    )


@lru_cache(maxsize=16)
def _compiled(text: str, filename: str) -> dict[tuple[str, int], CodeType]:
    return _codes(compile(text, filename, "exec", dont_inherit=True))


def _codes(module: CodeType) -> dict[tuple[str, int], CodeType]:
    """Code of every function of a module by qualified name, and a number where several share it."""
    codes: dict[tuple[str, int], CodeType] = {}

    def visit(code: CodeType) -> None:
        if code.co_flags & CO_OPTIMIZED:  # not the module, nor the body of a class
            number = 0
            while (code.co_qualname, number) in codes:
                number += 1
            codes[code.co_qualname, number] = code
        for constant in code.co_consts:
            if isinstance(constant, CodeType):
                visit(constant)

    visit(module)
    return codes


def _content(code: CodeType) -> Any:
    """The content of a function's code without line numbers."""
    constants = [
        _content(constant) if isinstance(constant, CodeType) else (type(constant), repr(constant))
        for constant in code.co_consts
    ]
    names = (code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars)
    return code.co_code, code.co_exceptiontable, constants, names, code.co_flags


def checks_in(module: ModuleType) -> dict[str, Any]:
    """The checks of a module: its functions `check_...` that are called without arguments."""
    return {
        name: check
        for name, check in vars(module).items()
        if name.startswith("check_")
        and check.__module__ == module.__name__
        and all(one.default is not one.empty for one in signature(check).parameters.values())
    }
