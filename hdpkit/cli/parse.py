"""Parsing of text from the command line or a settings file into objects: moves, priors, starts."""

from __future__ import annotations

import difflib
import inspect
import math
import re
from collections.abc import Iterable
from typing import Any

from hdpkit.errors import HdpkitError, ParameterError
from hdpkit.init import Factors, Random, TermClusters
from hdpkit.moves import Move
from hdpkit.moves.registry import moves
from hdpkit.priors import Beta, Each, Gamma, Shifted

__all__ = ["closest", "parse_init", "parse_levels", "parse_moves", "parse_number_or_prior", "parse_selection"]

TIME_TABLES = ("until", "after", "every", "repeat")
"""Keys of a move that are methods of all moves, not arguments of the constructor."""

_GAMMA = re.compile(r"gamma\(([^(),]+),([^(),]+)\)", re.IGNORECASE)

_EACH = re.compile(r"each\((.*)\)", re.IGNORECASE)


def closest(name: str, known: Iterable[str]) -> str:
    """A sentence with the known name most similar to an unknown one, or with all known names."""
    names = sorted(known)
    near = difflib.get_close_matches(name, names, n=1)
    return f"Did you mean {near[0]!r}?" if near else f"Known names: {', '.join(names)}."


def parse_smoothing(text: str) -> float | Gamma | Each:
    """Read a positive number, ``gamma(shape, rate)``, or ``each(gamma(shape, rate))`` (one per topic).

    Raises
    ------
    ParameterError
    """
    call = _EACH.fullmatch(re.sub(r"\s+", "", text))
    found = parse_number_or_prior("smoothing", call[1] if call else text)
    if call is None:
        return found
    if isinstance(found, Gamma):
        return Each(found)
    raise ParameterError(
        "smoothing", text, "each(gamma(shape, rate)), if each topic has its own",
        "For one number for all topics, leave each out.",
    )  # fmt: skip


def parse_number_or_prior(name: str, text: str) -> float | Gamma:
    """Read a positive number (fixed) or ``gamma(shape, rate)`` (resampled).

    Parameters
    ----------
    name : str
        Name of the parameter, for errors.
    text : str

    Raises
    ------
    ParameterError
    """
    prior = _GAMMA.fullmatch(re.sub(r"\s+", "", text))
    try:
        numbers = [float(part) for part in (prior.groups() if prior else [text])]
    except ValueError:
        numbers = [math.nan]
    if not all(0.0 < number < math.inf for number in numbers):
        raise ParameterError(
            name, text, "a number above 0, or gamma(shape, rate)",
            "A number is fixed; a prior is resampled, for instance gamma(1, 1).",
        )  # fmt: skip
    return Gamma(*numbers) if prior else numbers[0]


_BETA = re.compile(r"beta\(([^(),]+),([^(),]+)\)", re.IGNORECASE)


def parse_selection(text: str) -> float | Beta:
    """Read ``beta(r, s)``, the prior of the share of the vocabulary that a topic selects, or that share.

    Raises
    ------
    ParameterError
    """
    prior = _BETA.fullmatch(re.sub(r"\s+", "", text))
    try:
        numbers = [float(part) for part in (prior.groups() if prior else [text])]
    except ValueError:
        numbers = [math.nan]
    if prior and all(0.0 < number < math.inf for number in numbers):
        return Beta(*numbers)
    if not prior and 0.0 < numbers[0] < 1.0:
        return numbers[0]
    raise ParameterError(
        "selection", text, "beta(r, s) of positive numbers, or a number above 0 and below 1",
        "For instance beta(1, 1), the uniform prior.",
    )  # fmt: skip


_OUTSIDE_BRACKETS = re.compile(r",(?![^()]*\))")  # a comma before the next "(" or the end
_CALL = re.compile(r"([a-z]+)\((.*)\)")
_LEVEL_FORMS = "a number, beta(a,b), gamma(shape,rate), shifted(PRIOR) or each(PRIOR)"


def parse_levels(name: str, text: str) -> Any:
    """Read hyperparameters: one for all levels, or one for each level, separated by commas.

    Parameters
    ----------
    name : str
        Name of the parameter, for errors.
    text : str
        Each is a number (fixed), ``beta(a, b)`` or ``gamma(shape, rate)`` (resampled), ``shifted(PRIOR)`` (a
        prior of concentration + discount), or ``each(PRIOR)``, which gives each restaurant of the level its
        own value.

    Returns
    -------
    float, prior, or list of these
        In the form accepted by `NGramModel`.

    Raises
    ------
    ParameterError
    """
    parts = _OUTSIDE_BRACKETS.split(re.sub(r"\s+", "", text.lower()))
    values = [_level(name, part) for part in parts]
    return values[0] if len(values) == 1 else values


def _level(name: str, text: str) -> Any:
    call = _CALL.fullmatch(text)
    inner = call[2] if call else ""
    try:
        if call is None:
            number = float(text)
            if math.isfinite(number):
                return number
        elif call[1] == "each":
            return Each(_level(name, inner))
        elif call[1] == "shifted":
            return Shifted(_level(name, inner))
        elif call[1] in ("beta", "gamma"):
            one, other = (float(part) for part in inner.split(","))
            return (Beta if call[1] == "beta" else Gamma)(one, other)
    except HdpkitError as error:
        if error.parameter == name:
            raise
        raise ParameterError(
            name, text, f"such that {error.parameter} is {error.allowed}", error.remedy
        ) from error
    except ValueError:
        pass
    raise ParameterError(
        name, text, _LEVEL_FORMS,
        "One for all levels, or one for each, separated by commas, the unigrams' first.",
    )  # fmt: skip


def parse_init(text: str) -> str | Random | TermClusters | Factors:
    """Read a start: ``auto``, ``sequential``, ``one``, ``random:K``, ``clusters:K`` or ``factors:K``.

    Raises
    ------
    ParameterError
    """
    name, _, count = text.strip().partition(":")
    if name in ("auto", "sequential", "one") and not count:
        return name
    kinds = {"random": Random, "clusters": TermClusters, "factors": Factors}
    if name in kinds and re.fullmatch(r"[0-9]{1,18}", count):
        made: Random | TermClusters | Factors = kinds[name](int(count))
        return made
    raise ParameterError(
        "init", text, "auto, sequential, one, random:K, clusters:K or factors:K", "For instance clusters:100."
    )


def parse_moves(text: str) -> list[Move]:
    """Read moves: names with arguments and time tables, for instance ``table-gibbs,split-merge:until=50``.

    Parameters
    ----------
    text : str
        Moves are separated by commas. A move is a name of the registry, followed by any number of
        ``:key=value``: arguments of the move, or ``until``, ``after``, ``every``, ``repeat``.

    Raises
    ------
    ParameterError
        If a name or a key isn't known (the message suggests a similar one), or a value isn't valid for the
        move.
    """
    return [_move(part.strip()) for part in text.split(",")]


def _move(text: str) -> Move:
    name, *settings = (part.strip() for part in text.split(":"))
    if name not in moves:
        raise ParameterError("moves", name, "the name of a move", closest(name, moves))
    kind = moves[name].thing
    known = list(inspect.signature(kind).parameters)
    arguments: dict[str, Any] = {}
    times: list[tuple[str, int]] = []
    for setting in settings:
        key, equals, value = (part.strip() for part in setting.partition("="))
        if not equals or not value:
            raise ParameterError(f"moves, {name}", setting, "key=value", "For instance split-merge:until=50.")
        if key in TIME_TABLES:
            if not re.fullmatch(r"[0-9]{1,18}", value):
                raise ParameterError(
                    f"moves, {name}", setting, "a whole number", "Sweeps are numbered from 1."
                )
            times.append((key, int(value)))
        elif key not in known:
            raise ParameterError(
                f"moves, {name}", key, "an argument of the move or a time table",
                closest(key, [*known, *TIME_TABLES]),
            )  # fmt: skip
        elif key in arguments:
            raise ParameterError(f"moves, {name}", setting, "given once", "Remove one of the two.")
        else:
            arguments[key] = _value(value)
    try:
        move = kind(**arguments)
    except HdpkitError:
        raise
    except Exception as error:  # a registered move of a user may raise any error
        raise ParameterError(
            f"moves, {name}", arguments, f"arguments that it takes ({type(error).__name__}: {error})",
            "See the documentation of the move.",
        ) from error  # fmt: skip
    for key, number in times:
        move = getattr(move, key)(number)
    return move


def _value(text: str) -> Any:
    constants = {"true": True, "false": False, "none": None}
    if text.lower() in constants:
        return constants[text.lower()]
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
