"""A corpus that is always available: the documentation of the installed NumPy and SciPy.

Nothing is downloaded; with other versions of the two packages the corpus differs slightly.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import inspect
import io
import pkgutil
import re
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from types import ModuleType

import attrs
import numpy as np

from hdpkit.data.corpus import Corpus
from hdpkit.data.files.text_options import TextCounter, TextOptions, english_words
from hdpkit.errors import DataError

# Modules whose import has side effects (builds, runs, registers), test modules, and modules that only
# forward to others.
_SKIPPED = re.compile(
    r"\.(?:tests|conftest|setup|distutils|f2py|typing|__main__|_lib|_precompute|_pyinstaller|_typing"
    r"|_vendored|_examples|_*test_\w*|\w*te?stutils)\b|^numpy\.core$|^numpy\._core\.cversions$"
)

_LEFT_OUT = re.compile(
    r"^ *>>>.*(?:\n.*\S.*)*"  # an example and its output, to the next empty line
    r"|^( *)\.\. .*(?:\n(?:\1 +.*)?$)*"  # a directive or footnote, with what is indented below it
    r"|^.*\n *[-=~]{3,} *$"  # a heading
    r"|^[\w\s,.*]*=?\s*[\w.]+\(.*\)\s*$"  # a signature
    r"| : .*$"  # the type of a parameter, or what another function does
    r"|\[\w+\]_|:math:`[^`]*`|\\[A-Za-z]+|https?://\S+"
    r"|\{'[^{}]*'\}"  # a set printed by a decorator: its order differs between processes
    r"|\b(?:np|numpy|scipy|sp)(?:\.\w+)*\.(?=\w)",  # the dotted path before a name
    re.MULTILINE,
)
_PASTED = 8
"""Texts that have a line that says nothing about their subjects: ``out`` and ``where`` of every ufunc."""

_STOP_WORDS = """
accept according actual add added additional alias allow allowed allows alternatively appear applied apply
approach appropriate arg args argument arguments arr assume assumed assumes attribute attributes
automatically available avoid based basic behavior best better bool boolean calculate calculated calculates
calculation called calling calls case cases cause certain change changed changes check choice choose chosen
class classes close code common compatible computation compute computed computes computing consider
considered construct constructed contain contained containing contains convention convert converted correct
correctly correspond corresponding corresponds create created creating cupy current currently dask data
default defaults define defined defines definition depending depends described description desired details
determine determined determines different directly docs docstring documentation does dtype dtypes effect
element elements ensure ensures entries entry equal equivalent evaluate evaluated evaluates exactly example
examples exception existing exists explicitly extra false finding float following follows form func function
functions general generally generate generated generates given gives good greater having high hold identical
ignored implementation implemented implements implies important include included includes including indicate
indicated indicates indicating information input inputs inside instance instances instead int integer
integers interface internal internally isn jax just keepdims keyword keywords kind known kwargs large larger
largest left len length let like likely list lists long longer main make makes mean means method methods
module multiple names nan nans ndarray ndarrays ndim near necessary need needed needs new non note notes num
number numbers numpy object objects obtain obtained old omit ones option optional options order original
output outputs outside parameter parameters particular pass passed passing perform performed performs place
plot point policy possible possibly present previous print prior produce produced produces propagate provide
provided provides python pytorch raise raised raises real recommended ref refer reference references
regardless related relative remain remains represent representation represented representing represents
require required requires res respect respectively result resulting results return returned returning
returns right rng routine routines scalar scalars scipy second section self sense separate set sets setting
shape shows signature similar similarly simple simply single size sizes small smaller smallest specific
specifically specified specifies specify specifying start starting store stored str suitable support
supported supports suppose taken takes taking total treated true tuple type typeerror types typical
typically unchanged underlying unless unlike upper usage use used useful user uses using usually valid value
valueerror values variable variables various version want warning way ways wise words work works wrapper
zero
"""
"""Words of documentation whatever its subject."""


@attrs.frozen
class CollectedDocs:
    """Docstrings, one for each distinct text, by name in sorted order; modules that can't be imported."""

    names: tuple[str, ...]
    texts: tuple[str, ...]
    failed: tuple[str, ...]


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


def _module_of(name: str) -> ModuleType | None:
    """Import a module; None if it can't be imported."""
    try:
        return importlib.import_module(name)
    except KeyboardInterrupt:
        raise
    except BaseException:  # an import may raise SystemExit or similar
        return None


def _modules_of(package: str, failed: list[str]) -> Iterator[ModuleType]:
    """A module and all modules below it that can be imported."""
    module = _module_of(package)
    if module is None:
        failed.append(package)
        return
    yield module
    for info in pkgutil.iter_modules(getattr(module, "__path__", ())):
        name = f"{package}.{info.name}"
        if not _SKIPPED.search(name):
            yield from _modules_of(name, failed)


def _docstring(thing: object) -> str | None:
    """The docstring of an object itself; None for an instance that only inherits that of its class."""
    try:
        text = getattr(thing, "__doc__", None)
        if not isinstance(text, str) or (not inspect.isclass(thing) and text == type(thing).__doc__):
            return None
    except Exception:  # a lazy or broken attribute counts as without documentation
        return None
    return inspect.cleandoc(text)


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


def _documented(module: ModuleType, roots: frozenset[str]) -> Iterator[tuple[str, object]]:
    """Dotted names of a module and of its public objects, and the objects, sorted by name."""
    yield module.__name__, module
    for name, thing in _public(vars(module)):
        if inspect.ismodule(thing) or not _belongs(thing, module.__name__, roots):
            continue
        yield f"{module.__name__}.{name}", thing
        if isinstance(thing, type):
            found: dict[str, object] = {}
            for base in reversed(thing.__mro__):
                if _belongs(base, "", roots):
                    found.update(vars(base))
            for inner, attribute in _public(found):
                yield f"{module.__name__}.{name}.{inner}", getattr(attribute, "__func__", attribute)


def collect_docstrings(packages: Sequence[str] = ("numpy", "scipy")) -> CollectedDocs:
    """The docstrings of installed packages, each text once, under its first name."""
    roots = frozenset(package.partition(".")[0] for package in packages)
    failed: list[str] = []
    first: dict[str, str] = {}
    with _muted():
        modules = {module.__name__: module for name in packages for module in _modules_of(name, failed)}
        for name in sorted(modules, key=lambda name: ("._" in name, name)):
            for place, thing in _documented(modules[name], roots):
                if text := _docstring(thing):
                    first.setdefault(text, place)
    missing = next((package for package in packages if package in failed), None)
    if missing is not None:
        raise DataError("packages", missing, "names of installed packages", "Install it or leave it out.")
    return CollectedDocs(names=tuple(first.values()), texts=tuple(first), failed=tuple(sorted(failed)))


def prose(text: str) -> str:
    """The part of a docstring about its subject: no examples, directives, headings, signatures, formulas."""
    return _LEFT_OUT.sub(" ", text)


def demo_corpus(packages: Sequence[str] = ("numpy", "scipy")) -> Corpus:
    """The documentation of installed packages as a corpus: a document for each docstring."""
    docs = collect_docstrings(packages)
    lines = [text.splitlines() for text in docs.texts]
    seen = Counter(line for own in lines for line in {line.strip() for line in own})
    names: dict[str, str] = {}
    for name, text in zip(docs.names, lines, strict=True):
        own_lines = "\n".join(line for line in text if not line.strip() or seen[line.strip()] < _PASTED)
        names.setdefault(prose(own_lines), name)
    options = TextOptions(
        min_documents=5, max_document_share=0.2,
        stop_words=(*english_words(), *_STOP_WORDS.split()),
    )  # fmt: skip
    counter = TextCounter(options)
    counts = counter.fit_count(names)
    first: dict[tuple[bytes, bytes], int] = {}  # LAPACK's routines for four types have the same words
    for row in np.flatnonzero(np.diff(counts.indptr)).tolist():
        own = slice(*counts.indptr[row : row + 2])
        first.setdefault((counts.indices[own].tobytes(), counts.data[own].tobytes()), row)
    rows = list(first.values())
    kept = np.array(list(names.values()))[rows].tolist()
    groups = {"package": [_package(name) for name in kept]}
    return Corpus.from_counts(counts[rows], counter.vocabulary, kept, groups)


def _package(name: str) -> str:
    """The package of a documented object: "scipy.stats" for "scipy.stats.norm.pdf"."""
    parts = name.split(".")
    return ".".join(parts[:2]) if len(parts) > 2 else parts[0]
