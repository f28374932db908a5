"""Channels of mutations: their names, orders, colours and alternative names."""

from __future__ import annotations

import functools
import itertools
import re
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import attrs
import numpy as np

from hdpkit.arrays import Int64s
from hdpkit.checks import choice, instance, items
from hdpkit.errors import ParameterError

_BASES = "ACGT"
_SUBSTITUTIONS = ("C>A", "C>G", "C>T", "T>A", "T>C", "T>G")
_DOUBLETS = {
    "AC": "CA CG CT GA GG GT TA TG TT", "AT": "CA CC CG GA GC TA", "CC": "AA AG AT GA GG GT TA TG TT",
    "CG": "AT GC GT TA TC TT", "CT": "AA AC AG GA GC GG TA TC TG", "GC": "AA AG AT CA CG TA",
    "TA": "AT CG CT GC GG GT", "TC": "AA AG AT CA CG CT GA GG GT", "TG": "AA AC AT CA CC CT GA GC GT",
    "TT": "AA AC AG CA CC CG GA GC GG",
}  # fmt: skip
_SBS_COLOURS = ("#03bdef", "#010101", "#e42926", "#cbcaca", "#a2cf63", "#ecc7c5")
_DBS_COLOURS = (
    "#03bdef", "#0366cc", "#a2cf63", "#016601", "#ff9999", "#e42926", "#ffb266", "#ff8001", "#cc99ff",
    "#4c0199",
)  # fmt: skip
_ID_COLOURS = (
    "#fdbe6f", "#ff8002", "#b0dd8b", "#36a12e", "#fdcab5", "#fc8a6a", "#f14432", "#bc191a", "#d0e1f2",
    "#94c4df", "#4a98c9", "#1764ab", "#e2e2ef", "#b6b6d8", "#8683bd", "#62409b",
)  # fmt: skip
_COPIES = {  # total copies -> colour
    "0": "#1764ab", "1": "#808b9a", "2": "#36a12e", "3-4": "#62409b", "5-8": "#ff8002", "9+": "#bc191a",
}  # fmt: skip
_REARRANGEMENTS = {"del": "#e41a1c", "tds": "#4daf4a", "inv": "#377eb8", "trans": "#984ea3"}
STRANDS = {"SBS192": "TU", "SBS288": "TUN", "SBS384": "TUNB"}
"""Of genes: the transcribed and the untranscribed one, none, and both."""


@attrs.frozen
class Block:
    """Neighbouring channels of one group, which have one colour and one strip above them in a plot."""

    group: str
    first: int  # place of the first channel
    width: int  # number of channels
    colour: str
    label: str  # short, for the strip
    heading: str  # over several blocks; the same for all of them, empty if there is none


@attrs.frozen(eq=False, repr=False)
class Channels:
    """A classification of mutations.

    Attributes
    ----------
    name : str
        One of `CHANNELS`.
    names : tuple of str
        The channels in the order of plots, with the names of SigProfilerMatrixGenerator.
    groups : tuple of str
        The group of each channel: its substitution, the doublet that is replaced, the kind of indel, copies
        and whether both parents' are there, or the kind of rearrangement.
    colours : dict
        Group -> colour, in the order of plots; those of substitutions, doublets and indels are COSMIC's.
    """

    name: str
    names: tuple[str, ...]
    groups: tuple[str, ...]
    colours: dict[str, str]
    _key: Callable[[str], str]

    def __len__(self) -> int:
        return len(self.names)

    def __repr__(self) -> str:
        return f"<Channels {self.name}: {self.names[0]} to {self.names[-1]}>"

    @functools.cached_property
    def _places(self) -> dict[str, int]:
        return {self._key(name): place for place, name in enumerate(self.names)}

    def find(self, name: str) -> int | None:
        """Index in `names` of the channel with this name or alternative name; None if there is none.

        Parameters
        ----------
        name : str
        """
        instance("name", name, str, "the name of a channel", remedy="For instance 'A[C>A]A'.")
        return self._places.get(self._key(name))

    def order_of(self, names: Sequence[str]) -> Int64s:
        """Indices that bring names of all these channels into the order of `names`: shape (n_channels,).

        Raises a ParameterError if these aren't all channels, each once.

        Parameters
        ----------
        names : sequence of str
            Names or alternative names, each channel once.
        """
        given = items("names", names, "names of all channels", remedy="For instance corpus.vocabulary.")
        places = [self.find(name) for name in given]
        if sorted(-1 if place is None else place for place in places) != list(range(len(self))):
            raise ParameterError(
                "names", names, f"the {len(self)} channels of {self.name}, each once",
                "hdpkit.signatures.channels_of(names) says what they are.",
            )  # fmt: skip
        return np.argsort(np.array(places, dtype=np.int64))

    @functools.cached_property
    def labels(self) -> tuple[str, ...]:
        """Label of each channel within its block: its context, the new doublet, or the number of units."""
        return tuple(self._label(name) for name in self.names)

    def _label(self, name: str) -> str:
        if self.name.startswith("SBS"):
            before, _, rest = name.partition("[")
            return before + rest[0] + rest.partition("]")[2]
        if self.name == "ID83":
            _, kind, what, number = name.split(":")
            # Units that are there before a deletion, and after which "or more" holds.
            n = int(number) + (kind == "Del" and what != "M")
            return f"{n}+" if number == "5" else str(n)
        if self.name in ("CNV48", "SV32"):
            return name[len(self.groups[self.names.index(name)]) + 1 :] or "any"
        return name.partition(">")[2] if self.name == "DBS78" else name

    @functools.cached_property
    def blocks(self) -> tuple[Block, ...]:
        """Channels of the same group, in order; none if there is only one group without a name."""
        found: list[Block] = []
        for group, members in itertools.groupby(self.groups if any(self.groups) else ()):
            first = found[-1].first + found[-1].width if found else 0
            label, heading = self._titles(group)
            found.append(Block(group, first, len(list(members)), self.colours[group], label, heading))
        return tuple(found)

    def _titles(self, group: str) -> tuple[str, str]:
        if self.name == "DBS78":
            return f"{group}>NN", ""
        if self.name in ("CNV48", "SV32"):
            first, _, second = group.partition(":" if self.name == "CNV48" else "_")
            return (first, second) if self.name == "CNV48" else (second, first)
        if self.name != "ID83":
            return group, ""
        size, kind, what = group.split(":")
        change = {"Del": "deletion", "Ins": "insertion"}[kind]
        if size == "1":
            return what, f"1 bp {change}"
        heading = f"microhomology {change}" if what == "M" else f">1 bp {change} at repeats"
        return f"{size}+" if size == "5" else size, heading

    def ordered_for_sigprofiler(self) -> list[int]:
        """Indices of the channels in the order of SigProfiler's files: by context, then by substitution."""
        if not self.name.startswith("SBS"):
            return list(range(len(self)))
        strands = STRANDS.get(self.name, "")
        return sorted(range(len(self)), key=lambda i: (strands.find(self.names[i][0]), self.names[i]))


def _substitution(name: str) -> str:
    """Key of a substitution in its context: as written, after R's make.names, or with a separate context."""
    text = re.sub(r"\s+", "", name).upper()
    written = re.fullmatch(r"([ACGT]+)[\[.]([CT])[>.]([ACGT])[\].]([ACGT]+)", text)
    if written:
        return "{}[{}>{}]{}".format(*written.groups())
    # C>A in ACA, C.A.in.ACA; and C>A with ACA in another column
    apart = re.fullmatch(r"([CT])[>.]([ACGT])(?:\.?IN\.?|\|)?([ACGT]{3}|[ACGT]{5})", text)
    if apart:
        before, after, context = apart.groups()
        middle = len(context) // 2
        if context[middle] == before:
            return f"{context[:middle]}[{before}>{after}]{context[middle + 1 :]}"
    short = re.fullmatch(r"([ACGT]{3}|[ACGT]{5})([ACGT])", text)  # ACAA: ACA, whose middle base becomes A
    if short:
        context, after = short.groups()
        middle = len(context) // 2
        return f"{context[:middle]}[{context[middle]}>{after}]{context[middle + 1 :]}"
    return text


def _stranded(name: str) -> str:
    text = name.strip().upper()
    return f"{text[:1]}:{_substitution(text[2:])}" if text[1:2] in (":", ".") else text


def _plain(name: str) -> str:
    """Key of a copy number or a rearrangement: without spaces and case."""
    return re.sub(r"\s+", "", name).upper()


def _doublet(name: str) -> str:
    found = re.fullmatch(r"([ACGT]{2})[>.|_:]?([ACGT]{2})", re.sub(r"\s+", "", name).upper())
    return f"{found[1]}>{found[2]}" if found else name


_INDEL = re.compile(r"X?([1-5])\+?[:._|](DEL|INS)[:._|](C|T|R|M)[:._|]([0-5])\+?")
_OTHER_INDEL = re.compile(r"(DEL|INS)[:._|](C|T|REPEATS?|R|MH|M)[:._|]([1-5])\+?[:._|]([0-5])\+?")


_WORDS = re.compile(r"X?(?:([CT])|([2-5])\+?[.]?BP)_(DELETION|INSERTION)(_WITH_MICROHOMOLOGY)?_([0-6])[+.]?")


def _indel(name: str) -> str:
    """Key of an indel: 1:Del:C:0, DEL_C_1_0, DEL:repeats:5+:2, or C_deletion_1, which counts all units."""
    text = re.sub(r"\s+", "", name).upper()
    words = _WORDS.fullmatch(text)
    if words:
        base, length, kind, homology, times = words.groups()
        repeats = int(times) - (kind == "DELETION" and not homology)
        what = base or ("M" if homology else "R")
        return f"{length or 1}:{kind[:3].capitalize()}:{what}:{repeats}"
    found, other = _INDEL.fullmatch(text), _OTHER_INDEL.fullmatch(text)
    if found:
        size, kind, what, count = found.groups()
    elif other:
        kind, what, size, count = other.groups()
        what = {"REPEAT": "R", "REPEATS": "R", "MH": "M"}.get(what, what)
    else:
        return name
    return f"{size}:{kind.capitalize()}:{what}:{count}"


def _substitutions(flanks: Sequence[str]) -> list[tuple[str, str]]:
    return [(f"{a}[{s}]{b}", s) for s in _SUBSTITUTIONS for a in flanks for b in flanks]


def _indels() -> list[tuple[str, str]]:
    made = [(f"1:{kind}:{base}:{n}", f"1:{kind}:{base}") for kind in ("Del", "Ins") for base in "CT"
            for n in range(6)]  # fmt: skip
    made += [(f"{size}:{kind}:R:{n}", f"{size}:{kind}:R") for kind in ("Del", "Ins")
             for size in range(2, 6) for n in range(6)]  # fmt: skip
    longest = {2: 1, 3: 2, 4: 3, 5: 5}
    return made + [
        (f"{size}:Del:M:{n}", f"{size}:Del:M") for size in range(2, 6) for n in range(1, longest[size] + 1)
    ]


def _copy_numbers() -> list[tuple[str, str]]:
    """Segments by total copies, whether copies of one parent are lost, and size (Steele et al. 2022)."""
    small = ("0-100kb", "100kb-1Mb")
    sizes = (*small, "1Mb-10Mb", "10Mb-40Mb", ">40Mb")
    kinds = [("0:homdel", (*small, ">1Mb")), *((f"{n}:LOH", sizes) for n in [*_COPIES][1:])]
    kinds += [(f"{n}:het", sizes) for n in [*_COPIES][2:]]
    return [(f"{kind}:{size}", kind) for kind, own in kinds for size in own]


def _structural_variants() -> list[tuple[str, str]]:
    """Rearrangements by whether they are clustered, kind and size (Nik-Zainal et al. 2016)."""
    sizes = ("_1-10Kb", "_10-100Kb", "_100Kb-1Mb", "_1Mb-10Mb", "_>10Mb")
    groups = [
        (f"{where}_{kind}", kind) for where in ("clustered", "non-clustered") for kind in _REARRANGEMENTS
    ]
    return [(group + size, group) for group, kind in groups for size in (sizes if kind != "trans" else ("",))]


def _made(
    name: str, pairs: Sequence[tuple[str, str]], colours: Sequence[str], key: Callable[[str], str]
) -> Channels:
    groups = tuple(dict.fromkeys(group for _, group in pairs))
    return Channels(
        name,
        tuple(channel for channel, _ in pairs),
        tuple(group for _, group in pairs),
        dict(zip(groups, colours, strict=True)),
        key,
    )


_SINGLE = _substitutions(_BASES)


class _Known(dict[str, Channels]):
    """Classifications by name; a ParameterError for another name."""

    def __missing__(self, name: Any) -> Channels:
        choice("channels", name, self, remedy="Read another one with channels_of or read_spectra.")
        raise AssertionError


CHANNELS: dict[str, Channels] = _Known(
    (made.name, made)
    for made in (
        _made("SBS96", _SINGLE, _SBS_COLOURS, _substitution),
        *(
            _made(name, [(f"{strand}:{n}", g) for n, g in _SINGLE for strand in strands], _SBS_COLOURS,
                  _stranded)
            for name, strands in STRANDS.items()
        ),
        _made(
            "SBS1536",
            [(f"{a}{x}[{s}]{y}{b}", s) for s in _SUBSTITUTIONS for x in _BASES for y in _BASES for a in _BASES
             for b in _BASES],
            _SBS_COLOURS,
            _substitution,
        ),
        _made("DBS78", [(f"{a}>{b}", a) for a, bs in _DOUBLETS.items() for b in bs.split()], _DBS_COLOURS,
              _doublet),
        _made("ID83", _indels(), _ID_COLOURS, _indel),
        _made("CNV48", _copy_numbers(), [*_COPIES.values(), *[*_COPIES.values()][2:]], _plain),
        _made("SV32", _structural_variants(), [*_REARRANGEMENTS.values()] * 2, _plain),
    )
)  # fmt: skip
"""The known classifications, by name."""


def plain_channels(names: Sequence[str]) -> Channels:
    """A classification of channels with any names: one group, one colour."""
    return Channels("other", tuple(names), ("",) * len(names), {"": "#4a98c9"}, str)


def channels_of(names: Any, *, known: Iterable[str] = tuple(CHANNELS)) -> Channels | None:
    """Return the classification with exactly these channels, in any order; None if there is none.

    Raises a ParameterError if ``names`` are not strings, or a classification isn't known.

    Parameters
    ----------
    names : sequence of str
        Names or alternative names of channels.
    known : iterable of str
        Names of the classifications to try.
    """
    given = items("names", names, "a sequence of names", remedy="For instance corpus.vocabulary.")
    for name in given:
        if not isinstance(name, str):
            raise ParameterError("names", name, "strings", "For instance corpus.vocabulary.")
    for name in items("known", known, "names of classifications", remedy="Leave it out for all."):
        channels = CHANNELS[choice("known", name, CHANNELS, remedy="Leave it out for all.")]
        if len(given) == len(channels) and len({channels.find(one) for one in given} - {None}) == len(given):
            return channels
    return None
