"""Words from documentation: the part of a docstring about its subject, as words.

Three steps, each a pure function. `prose` keeps the text about the subject: it removes the output of
examples, formulas, references, signatures and markup. `recurring_lines` finds lines that a project repeats
in many docstrings (the ``out`` and ``where`` of every ufunc, the table of methods of every distribution,
the footnote on array back ends): such lines say nothing about the individual subjects, and would become a
separate topic. `tokenise` splits text into words.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Container, Iterable, Sequence

_ENGLISH = """
able about above according after again against all allow allowed allows along already also although always
among and another any anything appear appears appropriate are aren around available avoid away back based
became because become becomes been before behavior behaviour being below best better between both but call
called calling calls came can cannot case cases cause certain change changed changes come common commonly
consider considered contain contained containing contains correspond corresponding corresponds could current
currently depending depends desired despite detail details did different directly discussed does doesn doing
don done down due during each easily effect either else enough ensure entire equivalent especially etc even
ever every everything exactly except explicitly false far few finally first follow followed following
follows for former found four from full fully further generally get gets give given gives giving good had
happen hard has have having hence her here high his how however idea ideally identical ignore ignored
implementation implemented implements implies important include included includes including indeed indicate
indicated indicates indicating information inside instead intended internal internally into isn its itself
just keep kept kind know known large larger largest last later latter least left less let like likely little
long longer look made main make makes making many matter may mean meaning means meant might more moreover
most much multiple must name named namely names near nearly necessarily necessary need needed needs neither
never new next non nor not note noted nothing now number numbers obtain obtained off often old once one ones
only onto order other others otherwise our out over overall own page part particular pass passed passing per
perform performed performs place please point possible possibly previous prior probably proceed produce
produced produces provide provided provides put quite rather real really reason recommended regardless
related relevant remain remains require required requires respectively rest result resulting results right
said same saw say second see seen separate set sets setting several shall should show shown shows similar
similarly simple simply since single small smaller smallest some someone something sometimes specific
specifically specified specifies specify still such suitable support supported supports sure take taken
takes taking than that the their them then there thereby therefore these they thing things this those though
three through throughout thus together too total toward true try turn two type types typical typically under
unless unlike until unused upon usage use used useful user users uses using usual usually various very via
want was way ways well were what when whenever where whereas wherever whether which while who whole whose
why will wish with within without word words work works would yet you your zero
"""

_DOCSTRING = """
accept actual actually add added additional alias allclose alternatively applied apply approach arange arg
args argument arguments arr arraylike asarray assume assumed assumes attribute attributes automatically bar
basic baz bool boolean calculate calculated calculates calculation check choice choose chosen class classes
close cls code compatible computation compute computed computes computing consist consisting consists
construct constructed constructs convention convert converted converting copyright correct correctly create
created creates creating cupy dask data def default defaults define defined defines definition deprecated
describe described description determine determined determines directive doc docs docstring docstrings
documentation doi dtype dtypes easy element elements ensures entries entry equal equals evaluate evaluated
evaluates example examples exception exist existing exists explanation extra fig find finding finds float
foo form forms func function functions futurewarning general generate generated generates going greater help
helper hold holds http https import input inputs instance instances int integer integers interface
introduced isinstance jax keepdims keyword keywords kwarg kwargs kwds legend len length lengths licence
license linspace list lists loop lot matplotlib mentioned method methods module modules nan nans ndarray
ndarrays ndim none notes num numba numpy obj object objects omit option optional options original output
outputs outside package par param parameter parameters permission plot plt policy present press print
propagate purpose pyplot python pytorch raise raised raises ref refer reference references refers relative
remove represent representation represented representing represents res respect return returned returning
returns retval rng routine routines scalar scalars scipy section self sense shape signature simplest size
sizes slightly specifying start starting stdout store stored str subok subplots suppose temp tmp torch
treated tuple typeerror unchanged underlying university upper usefulness val valid vals value valueerror
values variable variables version versionadded versionchanged vol warn warning warnings wiki wikipedia wise
wrapper www xarray xlabel yield yields ylabel zorder
"""

STOP_WORDS: frozenset[str] = frozenset((_ENGLISH + _DOCSTRING).split())
"""English function words, and words common to all docstrings."""

_WORD = re.compile(r"[a-z]{3,}")
_RULE = re.compile(r"^[-=~^*\s]{3,}$")
_DROPPED_SECTIONS = frozenset({"references", "author", "authors", "license", "copyright"})
_DROPPED_DIRECTIVES = ("math", "plot", "index", "image", "code", "code-block", "sourcecode", "currentmodule")
_DIRECTIVE = re.compile(r"^\.\.\s+([\w-]+)::")
_TYPED_SECTIONS = frozenset(
    {"parameters", "other parameters", "returns", "yields", "attributes", "keyword parameters", "arguments"}
)
_CALL = re.compile(r"^[\w\s,.*]*=?\s*[\w.]+\(.*\)\s*(?:->.*)?$")  # a signature on its own line
_TYPED = re.compile(r"^(\s*[*\w`]+(?:\s*,\s*[*\w`.]+)*)\s*: .*$")  # name : type
_CHORE = re.compile(r"\bimport\b|\b(?:plt|fig|ax\d?|axs)\b")  # imports and plotting, the same in all examples
_FOOTNOTE = re.compile(r"^\.\.\s+\[")
_MARKUP = (
    re.compile(r":math:`[^`]*`"),  # formulas: \frac and \left say nothing about a subject
    re.compile(r":(?:doi|arxiv|wikipedia|issue|gh):`[^`]*`"),
    re.compile(r"\bhttps?://\S+"),
    re.compile(r"\[[A-Za-z0-9_-]{1,12}\]_"),  # footnote marks
    re.compile(r"\b(?:np|numpy|scipy|sp)(?:\.\w+)*\.(?=\w)"),  # the dotted path before a name
    re.compile(r"\\[A-Za-z]+"),
    re.compile(r"\{'[^{}]*'\}"),  # a set printed by a decorator: its order differs between processes
)


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())


def prose(text: str) -> str:
    """Extract the part of a docstring that is about its subject.

    Formulas, references, signatures, types of parameters, and the output, imports and plotting of examples
    are removed. Other code of examples is kept, since its names are often informative.

    Parameters
    ----------
    text : str
        A docstring (indentation as `inspect.cleandoc` leaves it).

    Returns
    -------
    str
        The remaining lines, in order, without inline formulas, addresses and footnote marks.
    """
    kept: list[str] = []
    lines = text.splitlines()
    typed_section = skip_section = False
    skip_until_blank = False  # a doctest, with its output, ends at the next empty line
    skip_deeper_than: int | None = None  # a directive includes everything indented below it
    for number, line in enumerate(lines):
        bare = line.strip()
        following = lines[number + 1] if number + 1 < len(lines) else ""
        if bare and not _RULE.match(bare) and _RULE.match(following) and not bare.startswith((">>>", "|")):
            skip_section = bare.lower().rstrip(":") in _DROPPED_SECTIONS
            typed_section = bare.lower().rstrip(":") in _TYPED_SECTIONS
            skip_until_blank, skip_deeper_than = False, None
        if not bare:
            skip_until_blank = False
            kept.append("")
            continue
        if skip_deeper_than is not None and _indent(line) > skip_deeper_than:
            continue
        skip_deeper_than = None
        if bare.startswith((">>>", "...")):
            skip_until_blank = True
            if not skip_section and not _CHORE.search(bare):
                kept.append(bare[3:].partition("#")[0])
        if skip_section or skip_until_blank:
            continue
        directive = _DIRECTIVE.match(bare)
        if (directive and directive[1] in _DROPPED_DIRECTIVES) or _FOOTNOTE.match(bare):
            skip_deeper_than = _indent(line)
            continue
        if _CALL.match(bare):
            continue
        typed = _TYPED.match(line) if typed_section else None
        if typed:
            line = typed[1]  # the name may be informative, the type is not
        for pattern in _MARKUP:
            line = pattern.sub(" ", line)
        kept.append(line)
    return "\n".join(kept)


_QUOTED = re.compile(r"`+[^`]*`+|\*{1,2}\w+\*{1,2}|\w+\.(?=\w)|\d+")


@functools.lru_cache(maxsize=1 << 18)  # lines are read twice, and many are in several texts
def _normal(line: str) -> str:
    """A line without the parts that vary in a template: white space, case, quoted names, numbers."""
    return " ".join(_QUOTED.sub("`", line).split()).lower()


def recurring_lines(texts: Iterable[str], at_least: int = 8) -> frozenset[str]:
    """The lines that occur in ``at_least`` of the texts or more, in the form that `tokenise` leaves out.

    Lines are compared without case, white space, quoted names, the path before a dotted name, and numbers.
    """
    seen: Counter[str] = Counter()
    for text in texts:
        seen.update({_normal(line) for line in text.splitlines()})
    return frozenset(line for line, count in seen.items() if line and count >= at_least)


def tokenise(text: str, *, without: Container[str] = ()) -> list[str]:
    """The words of a text in its order, without the lines in ``without`` (from `recurring_lines`).

    Words are runs of at least three letters, in lower case; an identifier with underscores is split into its
    parts; `STOP_WORDS` are left out.
    """
    words: list[str] = []
    for line in text.splitlines():
        if _normal(line) not in without:
            words.extend(word for word in _WORD.findall(line.lower()) if word not in STOP_WORDS)
    return words


def count_words(text: str) -> int:
    """The number of words of three letters or more, including stop words."""
    return len(_WORD.findall(text.lower()))


def merge_plurals(documents: Sequence[Sequence[str]]) -> list[list[str]]:
    """Replace plurals in -s by the singular if the singular occurs as often in the same documents.

    No grammar is used: ``filters`` becomes ``filter`` if ``filter`` occurs; ``basis`` and ``class`` don't
    change.
    """
    counts = Counter(word for document in documents for word in document)
    singular: dict[str, str] = {}
    for word in counts:
        if len(word) > 4 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
            stem = word[:-1]
            if 4 * counts.get(stem, 0) >= counts[word]:
                singular[word] = stem
    return [[singular.get(word, word) for word in document] for document in documents]


def trim_vocabulary(
    documents: Sequence[Sequence[str]], *, min_documents: int = 5, max_share: float = 0.2
) -> tuple[list[list[str]], list[str]]:
    """Documents without the words that occur in too few or too many of them, and the remaining words."""
    spread: Counter[str] = Counter()
    for document in documents:
        spread.update(set(document))
    most = max_share * len(documents)
    vocabulary = sorted(word for word, count in spread.items() if min_documents <= count <= most)
    wanted = frozenset(vocabulary)
    return [[word for word in document if word in wanted] for document in documents], vocabulary
