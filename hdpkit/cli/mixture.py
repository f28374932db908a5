"""``hdpkit mixture``: mixtures of points in tables, in run folders, and new points in their components."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from hdpkit.arrays import Floats, Int64s
from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.options import (
    Command,
    group,
    init_option,
    kept_options,
    moves_option,
    out_option,
    path_type,
    prior_type,
    run_options,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.runs import carry_out, check_until, first_run, in_rounds
from hdpkit.cli.tables import Table, is_missing, options_of_table
from hdpkit.data import Groups
from hdpkit.data.files.tables import Columns
from hdpkit.data.files.text_files import place_of, reading
from hdpkit.errors import DataError, ParameterError
from hdpkit.franchise.franchise import Franchise
from hdpkit.kinds.kept_columns import KeptColumns
from hdpkit.kinds.mixture_parts import (
    MEASURES,
    directions_of,
    measure_of_points,
    moves_of_mixture,
    restaurants_of_mixture,
    warn_of_time,
)
from hdpkit.posterior.components import components
from hdpkit.posterior.points import new_points as components_of_new_points
from hdpkit.run.runs import Run
from hdpkit.run.scheduler import Scheduler


@click.command(cls=Command)
@click.argument("points", type=path_type)
@out_option
@click.option(
    "--columns",
    multiple=True,
    metavar="NAME,...",
    help="Columns of the numbers, with commas between them or several times.  [default: all but the group]",
)
@click.option(
    "--group",
    metavar="NAME",
    help="Column with the group of each point.  [default: a mixture without groups]",
)
@options_of_table
@run_options()
@group(
    "Model",
    click.option(
        "--measure",
        type=click.Choice(MEASURES),
        default="normal",
        show_default=True,
        help="Components: normal distributions with any covariance, or with independent columns, or "
        "distributions of directions, for which rows are divided by their lengths.",
    ),
    click.option(
        "--concentration",
        type=prior_type("concentration"),
        default="gamma(1,1)",
        show_default=True,
        help="Of the mixture, or of the weights of each group.",
    ),
    click.option(
        "--root-concentration",
        type=prior_type("root-concentration"),
        help="With --group, of the components of all groups.  [default: gamma(1,1)]",
    ),
)
@group(
    "Sampler",
    moves_option("table-gibbs, split-merge, with groups dish-gibbs, and updates of parameters"),
    init_option(),
)
@kept_options(samples=40)
def mixture(points: Path, **options: Any) -> None:
    """Find the components of points in a table and save the run in a folder.

    POINTS is a table (CSV, TSV or similar, plain or compressed) with a header and a row for each point,
    without missing values. Columns without a name, such as an index, are left out. The number of components
    is inferred. With --group each group has weights of its own over shared components; a point without a
    group is drawn from the components of all groups. The prior of the components has the scale of the data.

    Ctrl-C stops the run, and hdpkit resume RUN continues it. hdpkit report RUN shows the components in the
    plane, weights by group, and which points are together; hdpkit infer RUN NEW has the components of new
    points. In Python hk.open_run(RUN) has the states, and hk.MixtureModel is the same model as an estimator.

    \b
    Examples:
      hdpkit mixture points.csv --out run
      hdpkit mixture points.csv --columns height,width --group site --chains 4 --until readable --out run
    """
    folder: Path = options["out"]
    check_until(options)
    if options["group"] is None and options["root_concentration"] is not None:
        raise ParameterError(
            "root-concentration", options["root_concentration"], "left out without --group",
            "A mixture without groups has --concentration alone.",
        )  # fmt: skip
    check_new_folder(folder)
    quiet = options["quiet"]
    if not quiet:
        say(f"reading {shown_path(points)}", err=True)
    with reading(points):
        data = read_points(points, options["columns"], options["group"], options)
    if options["measure"] == "directions":
        data = data.with_values(directions_of(data.values))
    else:
        data = KeptColumns.of(data).of_data(data)
    if not quiet:
        grouped = f", {len(data.keys(options['group'])):,} groups" if options["group"] else ""
        say(f"{len(data):,} points in {data.values.shape[1]:,} dimensions{grouped}", err=True)
    measure = measure_of_points(options["measure"], data.values)
    warn_of_time(measure, len(data), options["sweeps"])
    restaurant = restaurants_of_mixture(
        measure, options["group"], options["concentration"],
        options["root_concentration"],
    )  # fmt: skip
    scheduler = Scheduler(options["moves"] or moves_of_mixture(restaurant))
    franchise = Franchise(restaurant, data, store="counts")
    run = first_run(scheduler, franchise, options, folder, options["init"])
    with held_for_a_run(folder, {}):
        carry_out(in_rounds(options, folder, run), folder, 10, quiet, unit="points")


def read_points(
    path: Path,
    columns: Sequence[str],
    group: str | None,
    options: Mapping[str, Any] | None = None,
    *,
    new: bool = False,
) -> Groups:
    """The points of a table; an error names the line and the column of a cell that is no number.

    Of ``new`` points the column of the group may be absent.
    """
    read = Table(path, options)
    named = [name for given in columns for name in _split(given, read.names)]
    if new and group is not None and group not in read.names:
        group = None
    key = None if group is None else read.place("group", group)
    chosen = read.columns("columns", named, key)
    if len(set(chosen)) < len(chosen) or key in chosen:
        raise ParameterError("columns", named, "each column once, without that of the group", "Correct them.")
    read.tell(chosen, options)
    rows, groups = [], []
    for line, row in read.rows():
        for i in chosen:
            if is_missing(row[i]):
                raise read.refused(
                    line, i, row[i], "a number: missing values have no density",
                    "Drop the row or fill the cell, for instance with sklearn.impute.SimpleImputer, or leave "
                    "the column out.",
                )  # fmt: skip
        numbers = [read.number(row[i]) for i in chosen]
        for i, number in zip(chosen, numbers, strict=True):
            if not math.isfinite(number):
                remedy = "Correct the cell, or choose other columns with --columns."
                raise read.refused(line, i, row[i], "a finite number", remedy)
        rows.append(numbers)
        if key is not None:
            groups.append(None if is_missing(row[key]) else row[key])
    if not rows:
        raise DataError(place_of(path), "no rows", "a row for each point", "Check the path.")
    data = Groups.from_labels(np.array(rows), None if group is None else {group: groups})
    return attrs.evolve(data, columns=tuple(read.names[i] for i in chosen))


def _split(given: str, names: Sequence[str]) -> list[str]:
    """Names with commas between them; a column may have commas in its name."""
    return [given] if given in names else [name.strip() for name in given.split(",")]


def point_columns(shares: Floats, components: Int64s) -> dict[str, Any]:
    """Columns of a table of points: the row of the file, the most probable component, all probabilities."""
    probabilities = {f"component_{k + 1}": shares[:, k] for k in range(shares.shape[1])}
    return {"point": np.arange(1, len(shares) + 1), "component": components + 1, **probabilities}


def new_points(run: Run, path: Path, options: Mapping[str, Any]) -> Columns:
    """The components of new points of a table, read as the options say, and their log densities."""
    found = components(run, chain=options["chain"])
    franchise = found.states[0].franchise
    own: Any = run.data
    names = getattr(own, "columns", None)
    label = found.label if found.has_groups else None
    with reading(path):
        data = read_points(path, names or (), label, options, new=True)
    width = int(np.prod(own.values.shape[1:], dtype=np.int64))
    if data.values.shape[1] != width:
        raise DataError(
            place_of(path), f"{data.values.shape[1]} columns", f"the {width} columns of the run",
            "Give the new points the same columns.",
        )  # fmt: skip
    if franchise.measure.support == "sphere":
        data = data.with_values(directions_of(data.values))
    values = data.values.reshape(len(data), *own.values.shape[1:]).astype(own.values.dtype)
    group = np.full(len(data), -1, dtype=np.int64)
    if label in data.label_names:
        place = {str(name): i for i, name in enumerate(found.names)}
        codes, keys = data.labels[label]
        group = np.array([*(place.get(key, -1) for key in keys), -1])[codes]
    if not options["quiet"]:
        known = f", {int((group >= 0).sum()):,} of them in groups of the run" if label else ""
        say(f"{len(data):,} points{known}", err=True)
    logs, shares = components_of_new_points(found, franchise, values, group)
    columns = point_columns(shares, shares.argmax(axis=1))
    return {"point": columns.pop("point"), "log_density": logs, **columns}
