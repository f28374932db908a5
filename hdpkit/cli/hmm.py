"""``hdpkit hmm``: hidden Markov models of sequences in tables, in run folders."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from hdpkit.cli.corpus import given_table, say_table, table_options
from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.options import (
    Command,
    Parsed,
    group,
    init_option,
    kept_options,
    moves_option,
    option_of,
    out_option,
    parse_number_or_prior,
    path_type,
    positive,
    prior_type,
    run_options,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.runs import carry_out, check_until, first_run, in_rounds
from hdpkit.data import Sequences
from hdpkit.data.files.table import Table, missing
from hdpkit.data.files.text_files import place_of, reading
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.declarations import FixedWeights
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.hidden_markov_parts import (
    EMISSIONS,
    measure_of,
    moves_of_states,
    restaurants_of_states,
)
from hdpkit.kinds.kept_columns import KeptColumns
from hdpkit.run.scheduler import Scheduler


def _kappa(text: str) -> Any:
    """A number of at least 0, or a prior."""
    return 0.0 if text.strip() in ("0", "0.0") else parse_number_or_prior("sticky", text)


@click.group()
def hmm() -> None:
    """Hidden Markov models: states of sequences, with a number of states that is inferred.

    \b
    Examples:
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit hmm fit words.csv --column word --sequence line --emission words --out run
    """


@hmm.command(cls=Command)
@click.argument("data", type=path_type)
@out_option
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="NAME",
    help="Column of observations; several times for rows of numbers.  [default: all but the sequence]",
)
@click.option(
    "--sequence",
    metavar="NAME",
    help="Column that says which sequence a row belongs to.  [default: all rows are one sequence]",
)
@table_options
@run_options(chains=2)
@group(
    "Model",
    click.option(
        "--emission",
        type=click.Choice(EMISSIONS),
        default="normal",
        show_default=True,
        help="What observations are: numbers, words (one column), or counts.",
    ),
    click.option(
        "--sticky",
        type=Parsed("number|gamma(a,b)", _kappa),
        default="gamma(10,1)",
        show_default=True,
        help="kappa, by which states favour themselves; 0: none.",
    ),
    click.option(
        "--concentration",
        type=prior_type("concentration"),
        default="gamma(1,1)",
        show_default=True,
        help="Of the transitions of each state.",
    ),
    click.option(
        "--root-concentration",
        type=prior_type("root-concentration"),
        help="Of the states of all rows.  [default: gamma(1,1)]",
    ),
    click.option(
        "--start-concentration",
        type=prior_type("start-concentration"),
        help="Of the first states of sequences.  [default: that of the transitions]",
    ),
    click.option("--states", type=positive, metavar="K", help="A finite model with K states."),
)
@group(
    "Sampler",
    moves_option("beam-sampler, table-gibbs:every=10, and updates of parameters"),
    init_option(),
    option_of(Scheduler, "threads", positive),
)
@kept_options(samples=20)
def fit(data: Path, **options: Any) -> None:
    """Find the states of sequences in a table and save the run in a folder.

    DATA is a table (CSV, TSV or similar, plain or compressed, JSON lines, Parquet, .npy, .xlsx) with a row
    for each observation, in order. Columns without a name, such as an index, are left out.
    An empty cell, NA or NaN is a missing observation; with several columns either all cells of a row are
    missing or none. Rows of a sequence need not be next to each other, but must be in order.

    With numbers and counts the prior of the states has the scale of the data. --sticky favours staying in a
    state: with gamma(10,1) about ten steps are expected before the data are seen, and how long states last is
    inferred. The number of states is inferred, unless --states K is given.

    Ctrl-C stops the run, and hdpkit resume RUN continues it. hdpkit report RUN shows the states over time,
    transitions, and the parameters of the states. In Python hk.open_run(RUN) has the states, and
    hk.HiddenMarkovModel is the same model as an estimator.

    \b
    Examples:
      hdpkit hmm fit data.csv --column speed --sequence trip --out run
      hdpkit hmm fit data.csv --column x --column y --chains 4 --until readable --out run
      hdpkit hmm fit words.csv --column word --sequence line --emission words --out run
    """
    folder: Path = options["out"]
    check_until(options)
    n_states = options["states"]
    if n_states is not None and options["root_concentration"] is not None:
        raise ParameterError(
            "root-concentration", options["root_concentration"], "left out with --states",
            "States of a finite model weigh the same.",
        )  # fmt: skip
    check_new_folder(folder)
    quiet = options["quiet"]
    if not quiet:
        say(f"reading {shown_path(data)}", err=True)
    with reading(data):
        sequences = read_sequences(
            data, options["columns"], options["sequence"], options["emission"], options
        )
    if options["emission"] == "normal" and sequences.values.ndim == 2:
        sequences = KeptColumns.of(sequences).of_data(sequences)
    if not quiet:
        absent = int(sequences.missing.sum())
        gaps = f", {absent:,} of them missing" if absent else ""
        say(f"{sequences.n_sequences:,} sequences, {len(sequences):,} observations{gaps}", err=True)
    restaurant = restaurants_of_states(
        measure_of(options["emission"], sequences), options["sticky"], options["concentration"],
        options["root_concentration"], options["start_concentration"], n_states,
    )  # fmt: skip
    root: Any = "weights" if n_states is None else FixedWeights(n_states)
    franchise = Franchise(restaurant, sequences, store="counts", root=root)
    moves = options["moves"] or moves_of_states(restaurant, n_states)
    scheduler = Scheduler(moves, threads=options["threads"])

    run = first_run(scheduler, franchise, options, folder, options["init"])
    with held_for_a_run(folder, {}):
        carry_out(in_rounds(options, folder, run), folder, 10, quiet, unit="observations")


def read_sequences(
    path: Path,
    columns: Sequence[str],
    sequence: str | None,
    emission: str,
    options: Mapping[str, Any] | None = None,
) -> Sequences:
    """The sequences of a table; an error names the line and the column of a cell that is no observation."""
    read = given_table(path, options)
    names = read.names
    key = None if sequence is None else read.column("sequence", sequence)
    chosen = read.columns("column", columns, key)
    if emission == "words" and len(chosen) != 1:
        raise ParameterError("column", [names[i] for i in chosen], "one column of words", "Give --column.")
    if options and not options["quiet"]:
        say_table([names[i] for i in chosen], read.delimiter, len(names))
    found: dict[str, list[Any]] = {}
    for number, row in read.rows(chosen if key is None else [*chosen, key]):
        cells = [_value(read, number, i, cell, emission) for i, cell in zip(chosen, row, strict=False)]
        absent = [cell is None for cell in cells]
        if any(absent) and not all(absent):
            raise DataError(
                read.place(number), f"no {names[chosen[absent.index(True)]]}",
                "rows with all columns, or with none", "Fill the cell, or empty the others.",
            )  # fmt: skip
        value = None if absent[0] else cells[0] if len(cells) == 1 else cells
        found.setdefault("" if key is None else str(row[-1]).strip(), []).append(value)
    if not found:
        raise DataError(place_of(path), "no rows", "a row for each observation", "Check the path.")
    keys = list(found) if key is not None else None
    made = Sequences.from_arrays(list(found.values()), names=keys, label=sequence or "sequence")
    if made.values.ndim == 2:
        made = attrs.evolve(made, columns=tuple(names[i] for i in chosen))
    return made


def _value(read: Table, number: int, column: int, cell: Any, emission: str) -> Any:
    """An observation, None if it is missing."""
    if missing(cell):
        return None
    if emission == "words":
        return str(cell).strip()
    value = read.number(cell)
    whole = emission != "poisson" or (value >= 0 and value == np.floor(value))
    if math.isfinite(value) and whole:
        return int(value) if emission == "poisson" else value
    wanted = "a finite number" if emission == "normal" else "a count, a whole number from 0"
    remedy = "Correct the cell, leave it empty if it is missing, or choose other columns."
    raise read.refused(number, column, cell, wanted, remedy)
