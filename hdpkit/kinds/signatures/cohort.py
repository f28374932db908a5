"""Mutational signatures of a cohort: the model of a matrix of counts, and how signatures are extracted."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any, ClassVar

import attrs
import numpy as np

from hdpkit.checks import numbers_between, whole_number
from hdpkit.data.files.tables import Columns, rows_of, write_workbook
from hdpkit.data.sharded import in_shards
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import Restaurant
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.known import Known
from hdpkit.kinds.kind import Hierarchy, Kind, of_the_data, setting, updates_of
from hdpkit.kinds.listing import Listing
from hdpkit.kinds.nouns import Nouns
from hdpkit.kinds.signatures.channels import channels_of
from hdpkit.kinds.signatures.export import signature_tables, write_signatures
from hdpkit.kinds.signatures.extraction import Signatures, extract_signatures
from hdpkit.kinds.signatures.known import KnownSignatures
from hdpkit.kinds.signatures.listing import list_signatures
from hdpkit.kinds.signatures.pages import write_pages
from hdpkit.kinds.signatures.starts import RankChoice
from hdpkit.kinds.topics import Topics
from hdpkit.kinds.values import Between, Flag, NumberOrPrior, OneOf, Whole
from hdpkit.measures.bursty import Bursty
from hdpkit.measures.dirichlet_multinomial import DirichletMultinomial
from hdpkit.moves import CountGibbs, Move, RootWeights, TableCounts
from hdpkit.posterior.export import EXPORTS
from hdpkit.posterior.settled import states_of_run
from hdpkit.run.runs import Run
from hdpkit.run.states import ChainState

_EXTRACTION = "Signatures of the run"


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
        "concentration": {"option": "sample_concentration", "told": "Of samples over signatures."},
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

    @classmethod
    def serves(cls, data: Any) -> bool:
        """Whether data are counts."""
        return hasattr(data, "n_documents")

    @classmethod
    def recognises(cls, data: Any) -> bool:
        """Whether the terms of documents are channels."""
        return cls.serves(data) and channels_of(data.vocabulary or ()) is not None

    def said(self, data: Any) -> str:
        """Numbers of samples, mutations and channels."""
        return f"{data.n_documents:,} samples, {data.n_tokens:,} mutations, {data.n_terms:,} channels"

    def declare(self, data: Any) -> Restaurant:
        """The restaurants: samples below levels below the root."""
        measure: Any = DirichletMultinomial(eta=self.eta)
        if self.bursty:
            burst = self.burst_concentration
            measure = Bursty(measure) if burst is None else Bursty(measure, burst)
        return self.restaurants(measure, *self.levels, "document", between=self.level_concentration)

    def franchise(self, data: Any) -> Franchise:
        """The franchise over cells."""
        declared, known = None, self.known
        if known is not None and self.known_as != "match":
            frozen = self.known_as == "frozen"
            counts = None if frozen else self.pseudo_counts
            declared = Known(known.matrix, counts=counts, frozen=frozen, names=list(known.names))
        return Franchise(self.declare(data), data, store="counts", root="weights", known=declared)

    def moves(self, restaurant: Restaurant) -> list[Move]:
        """Cells, weights, and updates of parameters; with levels `CountGibbs` is what draws tables."""
        base: Any = restaurant.base
        tables: list[Move] = [TableCounts()] if base.each is None else []
        return [CountGibbs(), *tables, RootWeights(), *updates_of(restaurant)]

    def of_part(self, data: Any, chain: int | None = None) -> Kind:
        """Components in place of signatures, which need all chains, and all samples of the cohort at once."""
        return CohortComponents() if chain is not None or in_shards(data) else self

    @property
    def least_cosine(self) -> float:
        """The similarity by which components are one."""
        return self.similarity

    def results(self, run: Run, chain: int | None = None, about: int | None = None) -> Any:
        """The signatures."""
        if about is not None:
            raise ParameterError("topics", f"about:{about}", "a number, for signatures", "Leave it out.")
        return self.signatures(run)

    def listing(self, found: Any, n_terms: int, most: int | None = None) -> Listing:
        """Signatures with their best matches."""
        return list_signatures(found, self.known)

    def table(self, found: Any, n_terms: int) -> Columns:
        """A row for each signature."""
        columns: Columns = found.overview(self.known)
        return columns

    def content(self, found: Any, n_terms: int, most: int | None = None) -> dict[str, Any]:
        """The number of signatures, the share of the mutations in none, and the table."""
        table = {name: np.asarray(values).tolist() for name, values in self.table(found, n_terms).items()}
        facts = {"n_signatures": len(found), "share_of_no_signature": found.components.rest}
        return facts | {"signatures": rows_of(table)[:most]}

    def export(self, run: Run, to: str, out: Path, **options: Any) -> tuple[str, list[Path]]:
        """Write signatures and exposures; other formats have the components."""
        if to not in ("signatures", "pdf", "excel"):
            return CohortComponents().export(run, to, out, **options)
        found = self.signatures(run)
        if to == "pdf":
            written = [write_pages(found, out, known=self.known)]
        elif to == "signatures":
            written = write_signatures(found, out, known=self.known, raw=options["raw"])
        else:
            tables = signature_tables(found, self.known)
            write_workbook(out, {name: [columns] for name, columns in tables.items()})
            written = [out]
        return f"{len(found)} signatures", written

    def extracted(self, samples: Any, data: Any, declared: Known | None) -> Signatures:
        """Signatures of samples, with settings of this kind."""
        return extract_signatures(
            samples, data, similarity=self.similarity, occurrence=self.occurrence, chains=self.agreement,
            level=self.interval, min_samples=self.min_samples, declared=declared, totals=self.totals,
        )  # fmt: skip

    def signatures(self, run: Run) -> Signatures:
        """Signatures of a run, from its samples after the burn-in and its newest states."""
        if in_shards(run.data):
            raise DataError(
                "run", run.data, "not over shards: signatures need all samples of the cohort at once",
                "extract_signatures([hk.open_run(folder).franchise().sample()], corpus).",
            )  # fmt: skip
        samples, states = states_of_run(run)
        found = self.extracted(samples, run.data, states[0].franchise.known)
        if self.known is not None and self.names_from is not None:
            found = found.named_after(self.known, least=self.names_from)
        return found


@attrs.frozen(kw_only=True, eq=False, slots=False)
class CohortComponents(Topics):
    """The components of a cohort, as topics are shown."""

    name = "signatures"
    nouns = attrs.evolve(Cohort.nouns, topic=Cohort.nouns.dish)

    def hint(self, state: ChainState, folder: Path | None) -> None:
        """Nothing: channels aren't words."""
        return
