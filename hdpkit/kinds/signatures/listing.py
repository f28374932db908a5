"""What a terminal shows of the signatures of a cohort."""

from __future__ import annotations

from typing import Any

from hdpkit.data.top_terms import largest
from hdpkit.kinds.listing import Column, Listing, shares_told, unsettled_told
from hdpkit.kinds.nouns import plural
from hdpkit.kinds.signatures.extraction import overview, reconstructed
from hdpkit.posterior.components import Components


def _shortened(decomposition: str, most: int = 3) -> str:
    parts = decomposition.split(" + ")
    return " + ".join(parts[:most]) + (" + ..." if len(parts) > most else "")


def list_signatures(found: Components, known: Any) -> Listing:
    """Signatures with their largest channels and best matches, and a line about component "0"."""
    rows = overview(found, known)
    top = [list(map(str, found.words(largest(row, 4)))) for row in found.rows]
    columns = [
        Column("", list(found.titles), words=True),
        Column("largest channels", [" ".join(words) for words in top], words=True),
        Column("share of\nmutations", shares_told(found, len(found), 2)),
        Column("samples\nwith it", [f"{n:,}" for n in rows["samples"]]),
        Column("in states", [f"{one:.0%}" for one in rows["occurrence"]]),
        Column("stability", [f"{one:.3f}" for one in rows["stability"]]),
        Column("chains", [str(n) for n in rows["chains"]]),
    ]
    if known is not None:
        columns.append(Column("most like", rows["best_match"], words=True))
        columns.append(Column("cosine", [f"{one:.3f}" for one in rows["cosine"]]))
        columns.append(Column("as a sum", [_shortened(one) for one in rows["decomposition"]], words=True))
    median = sorted(reconstructed(found).tolist())[found.data.n_documents // 2]
    chains = plural(len(found.chain_numbers), "chain")
    lines = [
        *unsettled_told(found),
        f"{len(found)} signatures of {len(found.samples)} states of {chains} ({found.sweeps}); "
        f"{found.rest:.1%} of the mutations are in none (component 0); "
        f"cosine of reconstructed spectra: median {median:.3f}",
    ]
    named = zip(found.titles, rows["remark"], strict=True)
    lines += [f"look at {name} again: {remark}" for name, remark in named if remark]
    if n := int((found.group_totals > found.data.document_lengths).sum()):
        lines.append(
            f"exposures are of all mutations of a sample; of {plural(n, 'sample')} some were not drawn"
        )
    return Listing([columns], lines)
