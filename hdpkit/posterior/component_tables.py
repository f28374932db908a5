"""Tables of components: of all of them for commands, exports and pages, and tidy ones for pandas."""

from __future__ import annotations

from typing import Any

import numpy as np

from hdpkit.checks import choice, items, whole_number
from hdpkit.data.top_terms import largest
from hdpkit.errors import StateError
from hdpkit.posterior.documents import document_shares
from hdpkit.posterior.readings import term_names

ENDS = ("lower", "upper")
_TABLES = ("topics", "parameters", "shares", "weights", "transitions", "trace")


def table_of(found: Any, n_terms: int) -> dict[str, Any]:
    """The columns that `Components.table` returns."""
    of_topics = found.samples[0].counts is not None and found.samples[0].dishes is None
    columns: dict[str, Any] = {"topic" if of_topics else "component": np.arange(1, len(found) + 1)}
    if of_topics:
        if found.usual_groups is not None:
            columns["group"] = found.usual_groups.of + 1
        columns["label"] = found.titles
    elif found.partition is not None:
        columns["group"] = found.point_groups.of + 1
    columns |= {
        "share": found.shares, "share_low": found.shares_lower, "share_high": found.shares_upper,
        "occurrence": found.occurrence,
    }  # fmt: skip
    if len(found.chain_numbers) > 1:
        columns["settled"] = found.settled
    if not of_topics:
        for name, values in (found.parameters if found.states else {}).items():
            columns |= {f"{name}{end}": values[:, i] for i, end in enumerate(("", " low", " high"))}
        return columns
    if hasattr(found.data, "n_documents"):
        columns["tokens"] = np.rint(found.shares * found.data.n_tokens).astype(np.int64)
        if found.states:
            columns["document_share"] = document_shares(found)
    if found.selected_terms is not None:
        columns["distinct_terms"], columns["sparsity"] = found.selected_terms
    columns["terms"] = [" ".join(map(str, found.words(terms))) for _, terms, _ in found.top_terms(n_terms)]
    return columns


def pandas_rows(found: Any, table: str, *, n_terms: Any, vocabulary: Any, measure: Any) -> dict[str, Any]:
    """The columns of a table of `Components.to_pandas`."""
    choice("table", table, _TABLES, remedy="Leave it out for the topics.")
    if n_terms is not None:
        whole_number("n_terms", n_terms, 1, remedy="None for all of them.")
    if vocabulary is not None:
        vocabulary = items("vocabulary", vocabulary, "a sequence of words", remedy="corpus.vocabulary.")
    if table == "topics":
        return _topics(found, n_terms, vocabulary)
    if table == "parameters":
        return parameters(found, found.named_parameters(measure, vocabulary))
    if table == "weights":
        return weights(found, (found.label, "topic", "share"), [*found.own_names, "rest"])
    if table == "transitions":
        return transitions(found, [*range(1, len(found) + 1), "rest"])
    return _shares(found) if table == "shares" else _trace(found)


def parameters(found: Any, named: Any, component: str = "topic", ends: Any = ENDS) -> dict[str, Any]:
    """A row for each component and parameter."""
    n = len(named)
    values = np.array(list(named.values())).reshape(n, len(found), 3)
    return {
        component: [name for name in found.own_names for _ in range(n)],
        "parameter": list(named) * len(found),
        **{key: values[:, :, i].T.ravel() for i, key in enumerate(("value", *ends))},
    }


def _topics(found: Any, n_terms: int | None, vocabulary: Any) -> dict[str, Any]:
    if any(sample.counts is None for sample in found.samples):
        raise StateError("table", "topics", "of data that are terms", "See the table 'parameters'.")
    all_terms = int(found.samples[0].counts.shape[1])
    if vocabulary is not None:
        vocabulary = term_names(found, vocabulary, all_terms)
    most = all_terms if n_terms is None else min(n_terms, all_terms)
    terms, numbers = np.empty((len(found), most), dtype=np.int64), np.empty((3, len(found), most))
    for topic in range(len(found)):
        row = found.rows_of(np.array([topic]))[0]
        terms[topic] = largest(row, most)
        for out, values in zip(numbers, (row, *found.ends_of(topic)), strict=True):
            out[topic] = values[terms[topic]]
    words = terms.ravel()
    probability, lower, upper = (values.ravel() for values in numbers)
    return {
        "topic": [name for name in found.own_names for _ in range(most)],
        "term": words if vocabulary is None else [vocabulary[term] for term in words.tolist()],
        "probability": probability,
        "lower": lower,
        "upper": upper,
    }


def _shares(found: Any) -> dict[str, Any]:
    return {
        "topic": found.own_names,
        "share": found.shares,
        "lower": found.shares_lower,
        "upper": found.shares_upper,
        "occurrence": found.occurrence,
        "chains": (found.occurrence_by_chain > 0).sum(axis=0),
        "spread": found.spread,
    }


def weights(found: Any, names: Any, parts: list[Any], ends: Any = ENDS) -> dict[str, Any]:
    """A row for each group and part (components and the rest); names of these columns and the values."""
    group, component, value = names
    return {
        group: [name for name in found.names for _ in parts],
        component: parts * len(found.names),
        value: found.group_shares.ravel(),
        ends[0]: found.group_shares_lower.ravel(),
        ends[1]: found.group_shares_upper.ravel(),
    }


def transitions(found: Any, parts: list[Any], ends: Any = ENDS) -> dict[str, Any]:
    """A row for each pair of states, from each and from the start to each and to the rest."""
    return {
        "from": [name for name in [*parts[:-1], "start"] for _ in parts],
        "to": parts * len(parts),
        "probability": found.transitions.ravel(),
        ends[0]: found.transitions_lower.ravel(),
        ends[1]: found.transitions_upper.ravel(),
    }


def _trace(found: Any) -> dict[str, Any]:
    sample, topic = np.nonzero(found.ids_by_sample >= 0)
    of = [found.samples[i] for i in sample.tolist()]
    return {
        "chain": [one.chain for one in of],
        "sweep": [one.sweep for one in of],
        "topic": [found.own_names[k] for k in topic.tolist()],
        "id": found.ids_by_sample[sample, topic],
        "share": found.shares_by_sample[sample, topic],
    }
