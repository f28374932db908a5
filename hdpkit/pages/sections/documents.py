"""Documents and their topics."""

from __future__ import annotations

import numpy as np

from hdpkit.canvas import rounded
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Content

_MOST = 10_000
_TOPICS = 4
_IN_PAGE = 15


def read_documents(report: ReportData) -> Content:
    """Names, lengths and largest topics for the script, which shows them in pages.

    If there are more than 10,000 documents, only those in the list of some topic.
    """
    n = report.corpus.n_documents
    if n <= _MOST:
        chosen = np.arange(n)
    else:
        column = report.document_shares
        tops = [
            column.indices[first:last][
                np.argsort(-column.data[first:last], kind="stable")[: report.n_documents]
            ]
            for first, last in zip(column.indptr[:-1], column.indptr[1:], strict=True)
        ]
        chosen = np.unique(np.concatenate(tops))
    shares = report.document_shares.tocsr()
    rows = []
    for d in chosen.tolist():
        first, last = shares.indptr[d], shares.indptr[d + 1]
        order = np.argsort(-shares.data[first:last], kind="stable")[:_TOPICS] + first
        row: list[float] = []
        for i in order:
            row += [report.numbers[shares.indices[i]], *rounded([shares.data[i]], 2)]
        rows.append([report.names[d], int(report.document_lengths[d]), *row])
    return Content(
        values={"named": report.named, "n_documents": n, "n_shown": len(rows), "in_page": _IN_PAGE},
        # Topics name documents by their numbers in the corpus.
        data={"documents": rows, "numbers": None if len(rows) == n else chosen.tolist()},
    )
