"""Settings for extracting signatures from a run, which its folder keeps."""

from __future__ import annotations

import os
from typing import Any

import attrs

from hdpkit.checks import absolute_path, numbers_between, whole_number
from hdpkit.errors import DataError
from hdpkit.files import reading
from hdpkit.kinds.signatures.channels import channels_of
from hdpkit.kinds.signatures.extraction import Signatures, extract_signatures
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.posterior.settled import states_of_run
from hdpkit.run.run_folder import RUN, RunFolder
from hdpkit.run.runs import Run

_NUMBERS = ("similarity", "occurrence", "chains", "level", "min_samples")


@attrs.frozen(kw_only=True, eq=False)
class Settings:
    """Settings for extracting signatures from a run, as in `extract_signatures`."""

    similarity: float = 0.9
    occurrence: float = 0.5
    chains: float = 0.5
    level: float = 0.9
    min_samples: int = 1
    known: KnownSignatures | None = None  # for comparison
    # cosine from which a signature has the name of a known one (`Signatures.named_after`)
    names_from: float | None = None
    # mutations of each sample before downsampling; None if the run has all
    totals: tuple[int, ...] | None = None
    ranks: RankChoice | None = None  # how the start was chosen

    def as_data(self) -> dict[str, Any]:
        """Return the settings as JSON-compatible data, which `load_settings` reads."""
        content: dict[str, Any] = {name: getattr(self, name) for name in _NUMBERS}
        if self.known is not None:
            content["known"] = {
                "names": list(self.known.names),
                "channels": list(self.known.vocabulary),
                "shares": self.known.matrix.tolist(),
            }
        if self.names_from is not None:
            content["names_from"] = self.names_from
        if self.totals is not None:
            content["mutations"] = [int(total) for total in self.totals]
        if self.ranks is not None:
            content["ranks"] = self.ranks.as_data()
        return content


def load_settings(folder: str | os.PathLike[str]) -> Settings | None:
    """The settings in a run folder; None if the run has none."""
    place = absolute_path("folder", folder, remedy="Give the folder of the run.")
    content = RunFolder.open(place).about.get("signatures")
    if content is None:
        return None
    with reading(place / RUN):
        numbers: dict[str, Any] = {
            name: numbers_between(name, content[name], 0.0, 1.0, remedy="").item()
            for name in _NUMBERS
            if name != "min_samples"
        }
        numbers["min_samples"] = whole_number("min_samples", content["min_samples"])
        known = totals = names_from = ranks = None
        if "names_from" in content:
            names_from = numbers_between("names_from", content["names_from"], 0.0, 1.0, remedy="").item()
        if "ranks" in content:
            ranks = RankChoice.from_data(content["ranks"])
        if "mutations" in content:
            totals = tuple(whole_number("mutations", total) for total in content["mutations"])
        if "known" in content:
            held = content["known"]
            matrix = numbers_between("shares", held["shares"], 0.0, 1.0, remedy="")
            if matrix.shape != (len(held["names"]), len(held["channels"])):
                raise ValueError(f"shares of shape {matrix.shape}")
            known = KnownSignatures(
                tuple(map(str, held["names"])), tuple(map(str, held["channels"])), matrix,
                channels_of(list(map(str, held["channels"]))),
            )  # fmt: skip
        return Settings(**numbers, known=known, names_from=names_from, totals=totals, ranks=ranks)


def signatures_of_run(run: Run, settings: Settings | None = None) -> tuple[Signatures, Settings]:
    """Signatures of a run, from its samples after the burn-in and its newest states."""
    if hasattr(run.data, "shards"):
        raise DataError(
            "run", run.data, "not over shards: signatures need all samples of the cohort at once",
            "extract_signatures([hk.open_run(folder).franchise().sample()], corpus).",
        )  # fmt: skip
    used = settings or load_settings(run.folder) or Settings()
    samples, states = states_of_run(run)
    corpus: Any = run.data
    found = extract_signatures(
        samples, corpus, similarity=used.similarity, occurrence=used.occurrence, chains=used.chains,
        level=used.level, min_samples=used.min_samples, declared=states[0].franchise.known,
        totals=used.totals,
    )  # fmt: skip
    if used.known is not None and used.names_from is not None:
        found = found.named_after(used.known, least=used.names_from)
    return found, used
