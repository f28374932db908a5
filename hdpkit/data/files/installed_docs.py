"""A corpus that is always available: the documentation of the installed NumPy and SciPy.

`demo_documents` imports the modules of the packages, reads every docstring once, and splits them into words.
Nothing is downloaded; with other versions of the two packages the corpus differs slightly.
"""

from __future__ import annotations

import contextlib
import functools
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.machinery import PathFinder
from types import ModuleType

import attrs

from hdpkit.data.files.tokens import (
    count_words,
    merge_plurals,
    prose,
    recurring_lines,
    tokenise,
    trim_vocabulary,
)
from hdpkit.errors import DataError

Progress = Callable[[int, int, str], None]
"""Called as ``progress(done, total, what)``: modules done, all modules, and the name of the next one."""

# Modules whose import has side effects (builds, runs, registers), test modules, and modules that only
# forward to others.
_SKIPPED_PARTS = frozenset(
    {"tests", "conftest", "setup", "distutils", "f2py", "typing", "__main__"}
    | {"_lib", "_precompute", "_pyinstaller", "_typing", "_vendored", "_examples"}
)
_SKIPPED_MODULES = frozenset({"numpy.core", "numpy._core.cversions"})
_TESTING = re.compile(r"\b_*(?:test_|\w*te?stutils\b)")


@attrs.frozen
class CollectedDocs:
    """Docstrings, one for each distinct text.

    Attributes
    ----------
    names : tuple of str
        Dotted name of the first object, in sorted order, with each text.
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
        Dotted name of the object that each document documents.
    vocabulary : list of str
        All words, sorted.
    failed : tuple of str
        Modules that could not be imported.
    n_docstrings, n_words : int
        Number of distinct docstrings, and number of words of three letters or more in them.
    """

    documents: list[list[str]]
    names: list[str]
    vocabulary: list[str]
    failed: tuple[str, ...]
    n_docstrings: int
    n_words: int

    @property
    def n_tokens(self) -> int:
        """Number of words in all documents together."""
        return sum(map(len, self.documents))


@contextlib.contextmanager
def _muted() -> Iterator[None]:
    """Discard all output and warnings inside the block."""
    nowhere = io.StringIO()
    with (
        contextlib.redirect_stdout(nowhere),
        contextlib.redirect_stderr(nowhere),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("ignore")
        yield


def _skipped(name: str) -> bool:
    return (
        name in _SKIPPED_MODULES
        or not _SKIPPED_PARTS.isdisjoint(name.split("."))
        or _TESTING.search(name) is not None
    )


def _submodules(name: str, path: Sequence[str]) -> Iterator[str]:
    """Names of the modules of a package, listed from its folders without importing anything."""
    for info in pkgutil.iter_modules(path):
        full = f"{name}.{info.name}"
        if _skipped(full):
            continue
        yield full
        if info.ispkg:
            spec = PathFinder.find_spec(info.name, path)
            if spec is not None and spec.submodule_search_locations:
                yield from _submodules(full, list(spec.submodule_search_locations))


def _is_private(module: str) -> bool:
    return any(part.startswith("_") for part in module.split("."))


def _module_names(package: str) -> list[str]:
    """A package and all its modules, public ones first, so that texts get their public names."""
    spec = None
    with _muted(), contextlib.suppress(Exception, SystemExit):  # finding a dotted name imports its parent
        spec = importlib.util.find_spec(package)
    if spec is None:
        raise DataError("packages", package, "names of installed packages", "Install it or leave it out.")
    modules = [package, *_submodules(package, list(spec.submodule_search_locations or ()))]
    return sorted(modules, key=lambda module: (_is_private(module), module))


def _import_muted(name: str) -> ModuleType | None:
    """Import a module, muted; None if it can't be imported."""
    with _muted():
        try:
            return importlib.import_module(name)
        except KeyboardInterrupt:
            raise
        except BaseException:  # an import may raise SystemExit or similar; it counts as failed
            return None


_cleaned = functools.cache(inspect.cleandoc)  # one text is found at many names


def _docstring(thing: object) -> str | None:
    """The docstring of an object itself; None for an instance that only inherits that of its class."""
    try:
        text = getattr(thing, "__doc__", None)
        if not isinstance(text, str) or (not inspect.isclass(thing) and text == type(thing).__doc__):
            return None
    except Exception:  # a lazy or broken attribute counts as without documentation
        return None
    return _cleaned(text)


def _belongs(thing: object, module: str, roots: frozenset[str]) -> bool:
    """Whether an object found in a module is defined in the packages (and not, say, imported from `math`)."""
    try:
        owner = getattr(thing, "__module__", None)
    except Exception:  # attributes of other packages may raise any error; such objects don't belong
        return False
    return (owner if isinstance(owner, str) else module).partition(".")[0] in roots


def _public(members: Mapping[str, object]) -> list[tuple[str, object]]:
    return sorted(
        (pair for pair in members.items() if isinstance(pair[0], str) and not pair[0].startswith("_")),
        key=lambda pair: pair[0],
    )


def _attributes(cls: type, roots: frozenset[str]) -> list[tuple[str, object]]:
    """Attributes of a class and of its bases in the packages, sorted by name."""
    found: dict[str, object] = {}
    for base in reversed(cls.__mro__):
        if _belongs(base, "", roots):
            found.update(vars(base))
    return _public(found)


def _documented(module: ModuleType, roots: frozenset[str]) -> Iterator[tuple[str, str]]:
    """Dotted names and docstrings of a module and of its public objects, sorted by name."""
    here = module.__name__
    text = _docstring(module)
    if text:
        yield here, text
    for name, thing in _public(vars(module)):
        if inspect.ismodule(thing) or not _belongs(thing, here, roots):
            continue
        text = _docstring(thing)
        if text:
            yield f"{here}.{name}", text
        if isinstance(thing, type):
            for inner, attribute in _attributes(thing, roots):
                if isinstance(attribute, (classmethod, staticmethod)):
                    attribute = attribute.__func__
                text = _docstring(attribute)
                if text:
                    yield f"{here}.{name}.{inner}", text


def collect_docstrings(
    packages: Sequence[str] = ("numpy", "scipy"), progress: Progress | None = None
) -> CollectedDocs:
    """The docstrings of the modules, classes, methods and functions of installed packages.

    A text is collected once, under the first name that has it (public modules before private ones, each
    sorted by module and then by name), so re-exports and inherited documentation don't count twice.
    Modules are imported with standard output, standard error and warnings muted.

    Parameters
    ----------
    packages : sequence of str
        Names of importable packages; a dotted name selects a part of one.
    progress : callable, optional
        Called as ``progress(done, total, what)`` before each module is imported, and once at the end.

    Returns
    -------
    CollectedDocs
        Names, texts and the modules that could not be imported.

    Raises
    ------
    DataError
        If a package is not installed.
    """
    names = list(dict.fromkeys(name for package in packages for name in _module_names(package)))
    roots = frozenset(package.partition(".")[0] for package in packages)
    modules: list[ModuleType] = []
    failed: list[str] = []
    for done, name in enumerate(names):
        if progress is not None:
            progress(done, len(names), name)
        module = _import_muted(name)
        if module is None:
            failed.append(name)
        else:
            modules.append(module)
    first: dict[str, str] = {}  # read after all imports, since a module may change another
    with _muted():
        for module in modules:
            for name, text in _documented(module, roots):
                first.setdefault(text, name)
    if progress is not None:
        progress(len(names), len(names), "")
    return CollectedDocs(names=tuple(first.values()), texts=tuple(first), failed=tuple(failed))


def demo_documents(
    packages: Sequence[str] = ("numpy", "scipy"),
    progress: Progress | None = None,
    *,
    pasted: int = 8,
    min_documents: int = 5,
    max_share: float = 0.2,
) -> DemoDocuments:
    """The documentation of installed packages as lists of words.

    Parameters
    ----------
    packages, progress
        As for `collect_docstrings`.
    pasted : int
        Lines that occur in at least this many docstrings are left out.
    min_documents : int
        The smallest number of documents in which a word must occur.
    max_share : float
        The largest share of the documents in which a word may occur.

    Returns
    -------
    DemoDocuments
        Words, names and vocabulary. Docstrings without remaining words, or with the same words as an earlier
        one (the single- and double-precision versions of LAPACK routines), are left out.

    Raises
    ------
    DataError
        If a package is not installed.
    """
    collected = collect_docstrings(packages, progress)
    bodies = [prose(text) for text in collected.texts]
    pasted_lines = recurring_lines(bodies, pasted)
    worded = [tokenise(body, without=pasted_lines) for body in bodies]
    distinct: dict[tuple[str, ...], str] = {}
    for name, words in zip(collected.names, merge_plurals(worded), strict=True):
        distinct.setdefault(tuple(words), name)
    trimmed, _ = trim_vocabulary(list(distinct), min_documents=min_documents, max_share=max_share)
    kept = [(name, words) for name, words in zip(distinct.values(), trimmed, strict=True) if words]
    return DemoDocuments(
        documents=[words for _, words in kept],
        names=[name for name, _ in kept],
        vocabulary=sorted({word for _, words in kept for word in words}),
        failed=collected.failed,
        n_docstrings=len(collected.texts),
        n_words=sum(map(count_words, collected.texts)),
    )
