"""A corpus that everybody already has: the documentation of the installed NumPy and SciPy.

`demo_documents` walks the packages, reads every docstring once, and makes lists of words of them. Nothing is
downloaded and nothing is made up; with other versions of the two packages the corpus differs a little.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import warnings
from collections.abc import Callable, Iterator, Sequence
from types import ModuleType

import attrs

from hdpkit.errors import DataError
from hdpkit.io.tokens import merge_plurals, prose, recurring_lines, tokenise, trim_vocabulary

__all__ = ["CollectedDocs", "DemoDocuments", "collect_docstrings", "demo_documents"]

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)`` with the number of modules done, of all, and the next one's name."""

# Modules whose import does something (builds, runs, registers) or that only forward to others.
_SKIPPED_PARTS = frozenset({"tests", "conftest", "setup", "distutils", "f2py", "typing", "__main__"})
_SKIPPED_MODULES = frozenset({"numpy.core","numpy._core.cversions","scipy._lib","numpy._pyinstaller","numpy._typing","scipy.special._precompute"})
import os
PRIV=os.environ.get("PRIV")


@attrs.frozen
class CollectedDocs:
    """Docstrings, one for each distinct text.

    Attributes
    ----------
    names : tuple of str
        Dotted name of the first object, in sorted order, that carries the text.
    texts : tuple of str
        The docstrings, indentation removed.
    failed : tuple of str
        Modules that could not be imported.
    """

    names: tuple[str, ...]
    texts: tuple[str, ...]
    failed: tuple[str, ...]


@attrs.frozen
class DemoDocuments:
    """Tokenised docstrings, ready for ``Corpus.from_documents(documents, vocabulary=..., names=...)``.

    Attributes
    ----------
    documents : list of list of str
        Words of each document, in order; none is empty.
    names : list of str
        What each document documents.
    vocabulary : list of str
        All words, sorted.
    failed : tuple of str
        Modules that could not be imported.
    """

    documents: list[list[str]]
    names: list[str]
    vocabulary: list[str]
    failed: tuple[str, ...]

    @property
    def n_tokens(self) -> int:
        """Number of words in all documents together."""
        return sum(map(len, self.documents))


def _skipped(name: str) -> bool:
    parts = name.split(".")
    return (
        name in _SKIPPED_MODULES
        or any((part.startswith("_") and not PRIV) or part in _SKIPPED_PARTS for part in parts)
        or any(part.startswith("test_") for part in parts)
    )


def _submodules(name: str, path: Sequence[str]) -> Iterator[str]:
    """Names of the modules below a package, read off the folders: nothing is imported to list them."""
    for info in pkgutil.iter_modules(path):
        full = f"{name}.{info.name}"
        if _skipped(full):
            continue
        yield full
        if info.ispkg:
            spec = info.module_finder.find_spec(info.name, None)  # type: ignore[call-arg]
            if spec is not None and spec.submodule_search_locations:
                yield from _submodules(full, list(spec.submodule_search_locations))


def _module_names(package: str) -> list[str]:
    try:
        spec = importlib.util.find_spec(package)
    except (ImportError, ValueError, AttributeError):
        spec = None
    if spec is None:
        raise DataError("packages", package, "names of installed packages", "Install it or leave it out.")
    return sorted([package, *_submodules(package, list(spec.submodule_search_locations or ()))],key=lambda n: ("._" in n, n))


def _import_muted(name: str) -> ModuleType | None:
    """Import a module with everything that it prints or warns of thrown away; None if it can't be imported."""
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        try:
            return importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # a module may end in SystemExit or worse; it is counted, not obeyed
            return None


def _docstring(thing: object) -> str | None:
    """The docstring of an object itself: an instance that only shows its class's has none."""
    try:
        text = getattr(thing, "__doc__", None)
        if not isinstance(text, str) or (not inspect.isclass(thing) and text == type(thing).__doc__):
            return None
    except Exception:  # a lazy or broken attribute is no documentation
        return None
    return inspect.cleandoc(text)


def _belongs(thing: object, module: str, roots: frozenset[str]) -> bool:
    owner = getattr(thing, "__module__", None)
    owner = owner if isinstance(owner, str) else module
    return owner.partition(".")[0] in roots


def _attributes(cls: type, roots: frozenset[str]) -> list[tuple[str, object]]:
    """What a class has of its own and from the bases that belong to the packages, sorted by name."""
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if _belongs(base, "", roots):
            found.update(vars(base))
    return sorted(found.items(), key=lambda pair: pair[0])


def _members(module: ModuleType, roots: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Dotted names and docstrings of a module and of what is public in it, sorted by name."""
    here = module.__name__
    text = _docstring(module)
    if text:
        yield here, text
    for name, thing in sorted(vars(module).items(), key=lambda pair: pair[0]):
        if name.startswith("_") or inspect.ismodule(thing) or not _belongs(thing, here, roots):
            continue
        text = _docstring(thing)
        if text:
            yield f"{here}.{name}", text
        if inspect.isclass(thing):
            for inner, attribute in _attributes(thing, roots):
                if not inner.startswith("_"):
                    attribute = getattr(attribute, "__func__", attribute)  # class and static methods
                    text = _docstring(attribute)
                    if text:
                        yield f"{here}.{name}.{inner}", text


def collect_docstrings(
    packages: Sequence[str] = ("numpy", "scipy"), progress: Progress | None = None
) -> CollectedDocs:
    """The docstrings of all public modules, classes, methods and functions of installed packages.

    A text is collected once, under the first name in sorted order (module, then name in the module) that
    carries it, so that re-exports and inherited documentation don't count twice. Modules are imported with
    standard output, standard error and warnings muted.

    Parameters
    ----------
    packages : sequence of str
        Names of importable packages; a dotted name takes a part of one.
    progress : callable, optional
        Called as ``progress(done, total, what)`` before each module and once at the end.

    Returns
    -------
    CollectedDocs
        Names, texts and the modules that could not be imported.

    Raises
    ------
    DataError
        If a package is not installed.
    """
    modules = [name for package in packages for name in _module_names(package)]
    roots = frozenset(package.partition(".")[0] for package in packages)
    first: dict[str, str] = {}
    failed: list[str] = []
    for done, name in enumerate(modules):
        if progress is not None:
            progress(done, len(modules), name)
        module = _import_muted(name)
        if module is None:
            failed.append(name)
            continue
        for member, text in _members(module, roots):
            first.setdefault(text, member)
    if progress is not None:
        progress(len(modules), len(modules), "")
    return CollectedDocs(names=tuple(first.values()), texts=tuple(first), failed=tuple(failed))
