"""The kinds of models of the package, and which of them a run is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from importlib import import_module
from pathlib import Path
from typing import Any, cast

from hdpkit.allowed import CHANGED, Allowed
from hdpkit.errors import ParameterError, RunError
from hdpkit.files import reading
from hdpkit.kinds.kind import Kind
from hdpkit.run.run_folder import RUN

KINDS = {
    "signatures": "hdpkit.kinds.signatures.cohort:Cohort",
    "topics": "hdpkit.kinds.topics:Topics",
    "sparse topics": "hdpkit.kinds.topics:SparseTopics",
    "language model": "hdpkit.kinds.language:Language",
    "hmm": "hdpkit.kinds.hidden_markov:HiddenMarkov",
    "mixture": "hdpkit.kinds.points:Mixture",
}
"""Module and class of each kind. Of several that serve data the first one is taken."""


def kind_named(name: str) -> type[Kind]:
    """The kind of this name, imported only now."""
    module, _, own = KINDS[name].partition(":")
    found: type[Kind] = getattr(import_module(module), own)
    return found


def kind_at(name: str) -> type[Kind]:
    """The class of a kind of one's own by its module and name, "module:Class"; the module is imported."""
    try:
        found = Allowed([name.partition(":")[0]]).find(name)
        return cast(type[Kind], a_kind(name, found))
    except RunError as error:
        raise ParameterError(
            "command", name, "the module and the class of a kind of model, outside hdpkit: module:Class",
            error.remedy.removeprefix(CHANGED) or "The module must be on the path.",
        ) from error  # fmt: skip


def a_kind(name: str, found: Any) -> Any:
    """The class, if it is a kind."""
    if not (isinstance(found, type) and issubclass(found, Kind)):
        raise RunError("class", name, "a kind of model, a subclass of hdpkit.kinds.Kind", "Correct the name.")
    return found


def kind_of(data: Any, about: Mapping[str, Any] | None = None, allow: Iterable[Any] | Allowed = ()) -> Kind:
    """The kind of model over data: what ``about`` of a run folder says, or else the first that serves."""
    content = (about or {}).get("model")
    if content is None:
        of_data = (kind for kind in map(kind_named, KINDS) if kind.recognises(data))
        return next(of_data, kind_named("mixture"))().of_part(data)
    allowed = allow if isinstance(allow, Allowed) else Allowed(allow)
    with reading(Path(RUN)):
        name = content["kind"]
        found: Any = kind_named(name) if name in KINDS else allowed.find(name)
        if not a_kind(name, found).serves(data) and data is not None:
            raise ValueError(f"kind {name!r} over {type(data).__name__}")
        made: Kind = found.from_data(content, allowed).of_part(data)
        return made


def kind_of_run(run: Any) -> Kind:
    """The kind of model of a run in a folder."""
    return kind_of(run.data, run.about, run.allowed)
