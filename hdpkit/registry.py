"""Registries of moves, stores and measures, for the package and the test harness."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from importlib import import_module
from typing import Any, Generic, TypeVar

import attrs

from hdpkit.checks import function, text
from hdpkit.errors import RegistryError

T = TypeVar("T")


@attrs.frozen
class Entry(Generic[T]):
    """A registered object: its name, the class or factory, and small instances for the contract tests."""

    name: str
    thing: T
    examples: Callable[[], list[Any]]


class Registry(Mapping[str, Entry[T]]):
    """A registry of objects of one kind by name. The test harness tests all entries, and only these."""

    def __init__(self, kind: str, home: str | None = None) -> None:
        self.kind = kind
        self._home = home  # where a registry of the package is: "module:name"
        self._entries: dict[str, Entry[T]] = {}

    def register(self, name: str, thing: T, examples: Callable[[], list[Any]] = list) -> T:
        """Register an object under an unused name, and return it."""
        text("name", name, remedy="Users select it by this name.")
        function("thing", thing, remedy=f"Register the class of the {self.kind}, not an instance.")
        function("examples", examples, remedy="For instance lambda: [MyMove()].")
        if name in self._entries and self._entries[name].thing is not thing:
            raise RegistryError(
                "name", name, f"a {self.kind} name that is not taken", "Choose another name or remove() it."
            )
        self._entries[name] = Entry(name, thing, examples)
        return thing

    def __reduce__(self) -> Any:
        # One of the package is itself in another process, too: entries are no data.
        return object.__reduce_ex__(self, 2) if self._home is None else (_registry_at, (self._home,))

    def remove(self, name: str) -> None:
        """Remove a name."""
        del self._entries[self[name].name]

    def __getitem__(self, name: str) -> Entry[T]:
        try:
            return self._entries[name]
        except (KeyError, TypeError):
            raise RegistryError(
                self.kind,
                name,
                f"one of {sorted(self._entries)}",
                "Register it or pass the class itself.",
            ) from None

    def __iter__(self) -> Iterator[str]:
        return iter(self._entries)

    def __len__(self) -> int:
        return len(self._entries)


def _registry_at(home: str) -> Any:
    module, _, name = home.partition(":")
    return getattr(import_module(module), name)
