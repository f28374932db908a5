"""Mutational signatures of a cohort: the model of a matrix of counts, and how signatures are extracted."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from hdpkit.checks import numbers_between, whole_number
from hdpkit.data.files.tables import Columns, rows_of, write_workbook
from hdpkit.data.sharded import in_shards
from hdpkit.errors import DataError, OverdispersedCountsWarning, ParameterError
from hdpkit.franchise.declarations import FixedWeights, Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known
from hdpkit.kinds.kind import Hierarchy, Kind, of_the_data, setting, updates_of
from hdpkit.kinds.listing import Listing, Nouns
from hdpkit.kinds.signatures.channels import channels_of
from hdpkit.kinds.signatures.extraction import (
    extract_signatures,
    list_signatures,
    name_signatures,
    overview,
    signature_tables,
    write_signatures,
)
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.kinds.signatures.pictures import write_pages
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.kinds.topics import Topics
from hdpkit.kinds.values import Between, Flag, Names, NumberOrPrior, OneOf, Whole
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import CountGibbs, Move, RootWeights, TableCounts
from hdpkit.posterior.components import Components
from hdpkit.posterior.export import EXPORTS
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState

_EXTRACTION = "Signatures of the run"
_VARIED = 2.0  # times the variance of the model from which a warning names bursts


def _known_from(tree: Mapping[str, Any]) -> KnownSignatures:
    matrix = numbers_between("shares", tree["shares"], 0.0, 1.0, remedy="")
    names, channels = (tuple(map(str, tree[name])) for name in ("names", "channels"))
    if matrix.shape != (len(names), len(channels)):
        raise ValueError(f"shares of shape {matrix.shape}")
    return KnownSignatures(names, channels, matrix, channels_of(list(channels)))


def _known_data(known: KnownSignatures) -> dict[str, Any]:
    return {
        "names": list(known.names), "channels": list(known.vocabulary), "shares": known.matrix.tolist()
    }  # fmt: skip


def _totals_from(tree: Any) -> tuple[int, ...]:
    return tuple(whole_number("mutations", total) for total in tree)


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Cohort(Hierarchy):
    """Counts of mutations by channel in the samples of a cohort."""

    name = "signatures"
    nouns = Nouns("Signatures", "signature", "component", "mutation", "sample", "channel")
    of_documents = True
    sections = ("cohort", "signatures", "exposures", "cohort-samples", "convergence", "reproduce")
    exports = (*EXPORTS, "signatures", "pdf")
    sampling: ClassVar[Mapping[str, Any]] = {"sweeps": 1000, "chains": 4, "samples": 50}
    spoken: ClassVar[Mapping[str, Any]] = {
        "concentration": {"option": "sample_concentration", "told": "Of samples over signatures."}
    }

    eta: Any = setting(0.5, NumberOrPrior(), "Dirichlet parameter of signatures over channels.")
    bursty: bool = setting(
        True, Flag(), "Signatures that differ by sample: counts vary more than multinomials."
    )
    burst_concentration: Any = setting(
        None, NumberOrPrior(), "With --bursty: the larger, the less signatures differ. None: gamma(1,0.01)."
    )
    level_concentration: Any = setting(
        None, NumberOrPrior(), "Of each level over signatures.", usual="gamma(1,1)"
    )
    known_as: str = setting(
        "match", OneOf(("match", "prior", "frozen"), "Leave it out."),
        "What known ones are: compared with the signatures afterwards; components that the run begins with, "
        "worth --pseudo-counts mutations each; or components that never change.", under="Known signatures",
    )  # fmt: skip
    known_names: tuple[str, ...] = setting(
        (), Names(), "Only these of FILE are components; or without --known-as only these are compared.",
        of="commands", under="Known signatures",
    )  # fmt: skip
    only_known: bool = setting(
        False, Flag(), "Exposures to known signatures, which never change, and to nothing else.",
        under="Known signatures",
    )  # fmt: skip
    names_from: float | None = setting(
        None, Between(0.0, 1.0, "COSINE"),
        "Give a signature the name of its best match in FILE if their cosine is at least this.",
        under="Known signatures",
    )  # fmt: skip
    pseudo_counts: float = setting(
        1000.0, Between(0.0, None, "NUMBER", ends=False),
        "With --known-as prior: mutations that a known signature is worth, each in a sample of its own.",
        under="Known signatures",
    )  # fmt: skip
    similarity: float = setting(
        0.9, Between(0.0, 1.0, "COSINE", ends=False),
        "Components of a state whose cosine exceeds this are one.", under=_EXTRACTION,
    )  # fmt: skip
    occurrence: float = setting(
        0.5, Between(0.0, 1.0, "SHARE"),
        "Smallest share of the samples of a chain in which a signature occurs, for the chain to have it.",
        under=_EXTRACTION,
    )  # fmt: skip
    agreement: float = setting(
        0.5, Between(0.0, 1.0, "SHARE"), "The smallest share of the chains in which it must do so.",
        under=_EXTRACTION,
    )  # fmt: skip
    min_samples: int = setting(
        1, Whole(0), "Samples that must have a signature with an interval above zero.", under=_EXTRACTION
    )
    interval: float = setting(
        0.9, Between(0.0, 1.0, "SHARE", ends=False), "Probability of the intervals.", under=_EXTRACTION
    )
    known: KnownSignatures | None = of_the_data(KnownSignatures, _known_data, _known_from)
    totals: tuple[int, ...] | None = of_the_data(tuple, list, _totals_from)
    ranks: RankChoice | None = of_the_data(RankChoice, RankChoice.as_data, RankChoice.from_data)
    levels: tuple[str, ...] = ()

    def __attrs_post_init__(self) -> None:
        if self.burst_concentration is not None and not self.bursty:
            raise ParameterError(
                "burst_concentration", self.burst_concentration, "left out with --no-bursty",
                "Leave out one of the two.",
            )  # fmt: skip
        _ = self.chosen  # a ParameterError for names that aren't there

    @classmethod
    def serves(cls, data: Any) -> bool:
        return hasattr(data, "n_documents")

    @classmethod
    def recognises(cls, data: Any) -> bool:
        """Whether the terms of documents are channels."""
        return cls.serves(data) and channels_of(data.vocabulary or ()) is not None

    @property
    def chosen(self) -> KnownSignatures | None:
        """The known signatures that are named, or all of them."""
        names = [name.strip() for given in self.known_names for name in given.split(",")]
        return self.known.chosen(names) if self.known is not None and names else self.known

    @property
    def fitted(self) -> KnownSignatures | None:
        """The known signatures that are components of the model; None if there are none."""
        return self.chosen if self.only_known or self.known_as != "match" else None

    @property
    def compared(self) -> KnownSignatures | None:
        """The known signatures with which those of the run are compared: all, if some are fitted."""
        if self.only_known:
            return None
        return self.chosen if self.fitted is None else self.known

    @property
    def finite(self) -> int | None:
        """The number of known signatures, if there is nothing else."""
        return len(self.fitted) if self.only_known and self.fitted is not None else None

    def above(self) -> str | FixedWeights:
        """The root above the samples or levels: fixed weights if there is nothing new."""
        return "weights" if self.finite is None else FixedWeights(self.finite)

    def declare(self, data: Any) -> Restaurant:
        """The restaurants: samples below levels below the root."""
        measure: Any = DirichletMultinomial(eta=self.eta)
        if self.bursty:
            burst = self.burst_concentration
            measure = Bursty(measure) if burst is None else Bursty(measure, burst)
        return self.restaurants(measure, *self.levels, "document", between=self.level_concentration)

    def franchise(self, data: Any) -> Franchise:
        declared, known = None, self.fitted
        if known is not None:
            frozen = self.only_known or self.known_as == "frozen"
            counts = None if frozen else self.pseudo_counts
            declared = Known(known.matrix, counts=counts, frozen=frozen, names=list(known.names))
            nowhere = np.flatnonzero((data.to_counts().sum(axis=0) > 0) & ~known.matrix.any(axis=0))
            if self.only_known and len(nowhere):
                raise DataError(
                    f"known, channel {known.vocabulary[nowhere[0]]}", 0.0,
                    "above 0 in some signature, since samples have mutations of this channel",
                    "Give more signatures, or --known-as frozen, which finds new ones.",
                )  # fmt: skip
        return Franchise(self.declare(data), data, store="counts", root=self.above(), known=declared)

    def warn(self, restaurant: Restaurant, data: Any, sweeps: int) -> None:
        """Warn of counts that vary more than the model without bursts assumes."""
        if self.bursty or self.ranks is None:
            return
        median = int(np.median(data.document_lengths))
        more = 1.0 + median * self.ranks.overdispersion
        if more >= _VARIED:
            warnings.warn(
                f"counts of a sample with {median:,} mutations vary {more:.1f} times as much as the model "
                "assumes, which gives false signatures: leave out --no-bursty, or give --max-per-sample N.",
                OverdispersedCountsWarning, stacklevel=2,
            )  # fmt: skip

    def moves(self, restaurant: Restaurant) -> list[Move]:
        """Cells, weights, and updates of parameters; with levels `CountGibbs` is what draws tables."""
        base: Any = restaurant.base
        tables: list[Move] = [TableCounts()] if base.each is None else []
        weights: list[Move] = [RootWeights()] if self.finite is None else []
        return [CountGibbs(), *tables, *weights, *updates_of(restaurant)]

    def of_part(self, data: Any, chain: int | None = None) -> Kind:
        """Components in place of signatures, which need all chains, and all samples of the cohort at once."""
        return CohortComponents() if chain is not None or in_shards(data) else self

    @property
    def least_cosine(self) -> float:
        """The similarity by which components are one."""
        return self.similarity

    def results(self, run: Run, chain: int | None = None, about: int | None = None) -> Any:
        if about is not None:
            raise ParameterError("topics", f"about:{about}", "a number, for signatures", "Leave it out.")
        return self.signatures(run)

    def listing(self, found: Any, n_terms: int, most: int | None = None) -> Listing:
        return list_signatures(found, self.compared)

    def table(self, found: Any, n_terms: int) -> Columns:
        return overview(found, self.compared)

    def content(self, found: Any, n_terms: int, most: int | None = None) -> dict[str, Any]:
        table = {name: np.asarray(values).tolist() for name, values in self.table(found, n_terms).items()}
        facts = {"n_signatures": len(found), "share_of_no_signature": found.rest}
        return facts | {"signatures": rows_of(table)[:most]}

    def export(self, run: Run, to: str, out: Path, **options: Any) -> tuple[str, list[Path]]:
        """Write signatures and exposures; other formats have the components."""
        if to not in ("signatures", "pdf", "excel"):
            return CohortComponents().export(run, to, out, **options)
        found = self.signatures(run)
        if to == "pdf":
            written = [write_pages(found, out, known=self.compared)]
        elif to == "signatures":
            written = write_signatures(found, out, known=self.compared, raw=options["raw"])
        else:
            tables = signature_tables(found, self.compared)
            write_workbook(out, {name: [columns] for name, columns in tables.items()})
            written = [out]
        return f"{len(found)} signatures", written

    def extracted(self, samples: Any, data: Any = None, declared: Known | None = None) -> Components:
        """Signatures of samples, or of a run, with settings of this kind."""
        return extract_signatures(
            samples, data, similarity=self.similarity, occurrence=self.occurrence, chains=self.agreement,
            level=self.interval, min_samples=self.min_samples, declared=declared, totals=self.totals,
        )  # fmt: skip

    def signatures(self, run: Run) -> Components:
        """Signatures of a run, from its samples after the burn-in and its newest states."""
        if in_shards(run.data):
            raise DataError(
                "run", run.data, "not over shards: signatures need all samples of the cohort at once",
                "extract_signatures([hk.open_run(folder).franchise().sample()], corpus).",
            )  # fmt: skip
        found = self.extracted(run)
        if self.compared is not None and self.names_from is not None:
            found = name_signatures(found, self.compared, least=self.names_from)
        return found


@attrs.frozen(kw_only=True, eq=False, slots=False)
class CohortComponents(Topics):
    """The components of a cohort, as topics are shown."""

    name = "signatures"
    nouns = attrs.evolve(Cohort.nouns, topic=Cohort.nouns.dish)

    def hint(self, state: ChainState, folder: Path | None) -> None:
        """Nothing: channels aren't words."""
        return
