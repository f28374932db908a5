"""`write_report`: the report of a run as one HTML file."""

from __future__ import annotations

import datetime
import os
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, cast

from hdpkit.checks import absolute_path, choice, instance, items, text, whole_number
from hdpkit.data.files.labels import PERIODS
from hdpkit.errors import RUN_FIRST, DataError, ParameterError, StateError, printable
from hdpkit.files import check_place, save
from hdpkit.franchise.franchise import Franchise
from hdpkit.franchise.sample import Sample
from hdpkit.kinds.catalog import kind_of, kind_of_run
from hdpkit.pages.page import check_extra, rendered
from hdpkit.pages.report_data import ReportData
from hdpkit.pages.section import Section
from hdpkit.pages.sections import SECTIONS, sections_of
from hdpkit.posterior.finding import components
from hdpkit.posterior.settled import settled_samples
from hdpkit.run.runs import Run, open_run
from hdpkit.run.states import state_of
from hdpkit.run.trace import ChainTrace, Trace, chains_in

_EXCERPT = 300  # characters
_SECTIONS, _FOR_ALL = "a sequence of sections", "Leave it out for all."
_REMEDY = "Give a franchise, an open run, or its folder."


def write_report(
    run: Any,
    path: str | os.PathLike[str],
    *,
    trace: Any = None,
    chain: int | None = None,
    title: str | None = None,
    command: str | None = None,
    topics: int = 500,
    about: int | None = None,
    terms: int = 30,
    documents: int = 20,
    axes: Any = None,
    by: str | None = None,
    texts: Iterable[str] | None = None,
    sections: Iterable[Section] = SECTIONS,
    allow: Iterable[Any] = (),
) -> Path:
    """Write a report of a fitted topic model, cohort or mixture: one HTML file that needs no network.

    Returns the path of the file. Raises a MissingExtraError without Jinja2, Altair, vl-convert-python or
    scikit-learn (``pip install 'hdpkit[report]'``); a StateError if no customer is seated, or dishes are
    observed, as in language models; a RunError or StorageError if the run can't be read, or the file can't be
    written.

    Parameters
    ----------
    run : Run, path, Franchise, or fitted model
        A run or its folder; a franchise (give ``trace`` too, for traces and the verdicts); or a fitted
        estimator.
    path : path
        The file to write; an existing file is replaced.
    trace : Trace or ChainTrace, optional
        For a franchise: the trace of its run. A run has its own.
    chain : int, optional
        The chain whose topics are shown; by default the one with the highest final log joint.
    title : str, optional
        By default the name of the run's folder, or "Topics".
    command : str, optional
        The command line that reproduces the run; by default the one that ``hdpkit fit`` saved in the run.
    topics : int
        The largest number of topics to show; the largest topics are shown.
    about : int, optional
        Merge similar topics until this many are left: a coarser view of the run, not a model with fewer
        topics.
    terms, documents : int
        Number of terms and documents for each topic.
    axes : (int or str, int or str), optional
        For a run over vectors: dimensions in which components are drawn, as for `hdpkit.plots.components`.
    by : str, optional
        Length of the periods of shares over time, as for `hk.summaries.trends`.
    texts : iterable of str, optional
        Text of each document, in the order of the corpus: the page shows the first 300 characters of those
        that are listed for a topic.
    sections : iterable of Section
        The sections of the page: those of the kind of model, in its order, or these. Of
        ``hdpkit.report.SECTIONS``, which has those of the package, a page has those of its kind.
    allow : iterable of str, class or function
        For a folder: code that may be imported, as for `hk.open_run`.
    """
    file = absolute_path("path", path, remedy="For instance report.html.")
    for name, value in (("topics", topics), ("terms", terms), ("documents", documents)):
        whole_number(name, value, 1, remedy="Leave it out.")
    if about is not None:
        whole_number("about", about, 1, remedy="About 30 can be read at once.")
    if by is not None:
        choice("by", by, PERIODS, remedy="Leave it out.")
    for name, given in (("title", title), ("command", command)):
        if given is not None:
            text(name, given, remedy="Leave it out.")
    chosen = _checked(items("sections", sections, _SECTIONS, remedy=_FOR_ALL))
    check_place(file)
    check_extra()
    report = _report_data(
        run, trace, chain, allow, axes, by, texts, title=title, command=command, most_topics=topics,
        n_terms=terms, n_documents=documents, about=about,
    )  # fmt: skip
    written = datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%d")
    of_kind = _checked(sections_of(report.model))
    # Sections of the package are only for the kinds that name them.
    of_these = [one for one in chosen if one in of_kind or one not in SECTIONS]
    page = rendered(report, of_kind if sections is SECTIONS else of_these, written)
    save(file, page.encode("utf-8", errors="backslashreplace"))
    return file


def _checked(sections: Sequence[Any]) -> Sequence[Section]:
    """Sections with different keys."""
    keys: set[str] = set()
    for section in sections:
        instance("sections", section, Section, _SECTIONS, remedy=_FOR_ALL)
        if section.key in keys:
            raise ParameterError("sections", section.key, "sections with different keys", "Rename one.")
        keys.add(section.key)
    return sections


def _report_data(
    run: Any,
    trace: Any,
    chain: Any,
    allow: Any,
    axes: Any,
    by: Any,
    texts: Any,
    about: int | None,
    **options: Any,
) -> ReportData:
    if isinstance(run, str | os.PathLike):
        run = open_run(run, allow)
    if trace is not None:
        instance("trace", trace, (Trace, ChainTrace), "a Trace or a ChainTrace", remedy="Leave it out.")
    if chain is not None:
        whole_number("chain", chain, 0, remedy="Chains are numbered from 0.")
    opened, franchises = None, []
    if isinstance(run, Run):
        if trace is not None:
            raise ParameterError("trace", trace, "None for a run, which has its own", "Leave it out.")
        opened, trace = run, run.trace
    elif isinstance(run, Franchise):
        franchises = [run]
    elif isinstance(getattr(run, "franchise_", None), Franchise):
        franchises, trace = [run.franchise_], getattr(run, "trace_", None) if trace is None else trace
        franchises = list(getattr(run, "franchises_", None) or franchises)
    else:
        raise ParameterError("run", run, "a run, its folder, a franchise or a fitted model", _REMEDY)
    number = _number(trace, chain)
    if opened is not None:
        state = opened.state(number or 0)
    elif number is not None and len(franchises) > 1:
        state = state_of(franchises[list(trace.numbers).index(number)])
    else:
        state = state_of(franchises[0])
    kind = kind_of(state.data) if opened is None else kind_of_run(opened)
    for name, one in (("about", about), ("texts", texts)):
        if one is not None and not kind.of_documents:
            raise ParameterError(name, one, f"None for {kind.nouns.topics}", "Leave it out.")
    if state.franchise.n_dishes == 0:
        raise StateError("run", state.franchise, "a franchise with topics", RUN_FIRST)
    if options["command"] is None and opened is not None:
        kept = opened.about.get("command")
        options["command"] = None if kept is None else shlex.join(["hdpkit", *kept])
    if options["title"] is None:
        subject = kind.nouns.title
        options["title"] = subject if opened is None else f"{subject} of {opened.folder.name}"
    options["title"] = printable(options["title"])
    if opened is not None:
        found = components(opened, chain=chain)
    elif isinstance(run, Franchise):
        samples = () if trace is None else settled_samples(trace)
        newest = state.sample
        others = [one for one in samples if (one.chain, one.sweep) != (newest.chain, newest.sweep)]
        fitting = [one for one in others if _like(one, newest)]  # the trace may be that of another run
        found = components([*fitting, newest]).of_run(state.data, (state,))
    else:
        found = components(run, chain=chain)
    found = found.about(about)
    if opened is None:
        found = found.of_run(state.data, found.states)
    excerpts = None
    if texts is not None:
        excerpts, n = tuple(map(_excerpt, texts)), cast(Any, state.data).n_documents
        if len(excerpts) != n:
            raise DataError(
                "texts", f"{len(excerpts)} texts", f"{n}, one per document", "Give those of the corpus."
            )
    made = ReportData(
        state=state, model=kind, components=found, trace=trace, run=opened, chain=number, axes=axes, by=by,
        texts=excerpts, **options,
    )  # fmt: skip
    if axes is not None:
        _ = made.plane  # raises an error for axes that the data don't have
    return made


def _like(one: Sample, other: Sample) -> bool:
    """Whether two samples are of the same data."""
    if (one.counts is None) != (other.counts is None) or (one.dishes is None) != (other.dishes is None):
        return False
    same = one.dishes is None or len(one.dishes) == len(other.dishes)  # type: ignore[arg-type]
    return (
        same
        and one.n_groups == other.n_groups
        and (one.counts is None or one.counts.shape[1] == other.counts.shape[1])
    )


def _excerpt(one: Any) -> str:
    """The beginning of a text, on one line and without control characters."""
    instance("texts", one, str, "a string per document", remedy="A list of strings.")
    line = " ".join(one.split())
    return printable(line if len(line) <= _EXCERPT else f"{line[:_EXCERPT]} ...")


def _number(trace: Any, chain: int | None) -> int | None:
    """Number of the chain to show; None if there is only one."""
    if not isinstance(trace, ChainTrace):
        if chain not in (None, 0):
            raise ParameterError("chain", chain, "0 or None, because there is one chain", "Leave it out.")
        return None
    if chain is not None:
        if chain not in trace.numbers:
            raise ParameterError("chain", chain, f"one of {list(trace.numbers)}", "Leave it out.")
        return chain
    last = {number: one["log_joint"][-1] for number, one in chains_in(trace).items() if one.n_draws}
    return max(last, key=lambda number: last[number]) if last else trace.numbers[0]
