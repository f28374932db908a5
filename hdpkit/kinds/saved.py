"""The settings of a language model in a file of its run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hdpkit.allowed import Allowed
from hdpkit.checks import whole_number
from hdpkit.errors import RunError
from hdpkit.files import reading
from hdpkit.kinds.settings import ModelSettings
from hdpkit.run.describe import describe, rebuild
from hdpkit.run.run_folder import RUN, RunFolder

_KIND = "ngram"
_PLACES = {
    "base": "base measure",
    "store": "store",
    "concentrations": "hyperparameter",
    "discounts": "hyperparameter",
}


def described(settings: ModelSettings, changes: int) -> dict[str, Any]:
    """What run.json says of a model."""
    tree = {
        "kind": _KIND,
        "settings": {name: describe(value, name) for name, value in settings.as_dict().items()},
        "changes": changes,
    }
    return {"language model": tree}


def load(folder: Path, allow: Any) -> tuple[dict[str, Any], int]:
    """The settings of the model in a folder, and how many times its data had been changed."""
    tree = RunFolder.open(folder).about.get("language model")
    if tree is None:
        raise RunError(
            "folder", str(folder), "the run folder of an NGramModel",
            "hk.open_run opens runs that were begun by a Scheduler.",
        )  # fmt: skip
    allowed_imports = Allowed(allow)
    with reading(folder / RUN):
        settings = {
            str(name): rebuild(value, allowed_imports, _PLACES.get(name, "number"))
            for name, value in tree["settings"].items()
        }
        if tree["kind"] != _KIND or set(settings) != set(ModelSettings.names()):
            raise ValueError(f"kind {tree['kind']!r}, settings {sorted(settings)}")
        return settings, whole_number("changes", tree["changes"])
