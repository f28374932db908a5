"""Signatures of cohorts: counts of channels in samples."""

from __future__ import annotations

from typing import Any

import attrs

from hdpkit.kinds.kind import Nouns
from hdpkit.kinds.signatures.channels import channels_of
from hdpkit.kinds.topics import Topics


@attrs.frozen(kw_only=True, eq=False, slots=False)
class Signatures(Topics):
    """Mutational signatures of a matrix of counts."""

    name = "signatures"
    nouns = Nouns("Signatures", "signature", "component", "mutation", "sample", "channel")
    sections = ("cohort", "signatures", "exposures", "cohort-samples")
    shown = "signatures"

    @classmethod
    def serves(cls, data: Any) -> bool:
        """Whether the terms of documents are channels."""
        return hasattr(data, "n_documents") and channels_of(data.vocabulary or ()) is not None
