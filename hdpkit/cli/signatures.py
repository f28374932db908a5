"""``hdpkit signatures``: mutational signatures of a matrix of counts, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import check_new_folder, held_for_a_run
from hdpkit.cli.options import (
    ARGUMENTS,
    Parsed,
    chains_type,
    config_option,
    given_limits,
    limit_options,
    not_negative,
    path_type,
    positive,
    quiet_option,
    seed_option,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.parse import parse_init
from hdpkit.cli.priors import prior_type
from hdpkit.cli.runs import carry_out
from hdpkit.cli.summary import echo_signatures, plural
from hdpkit.data import Corpus, downsample
from hdpkit.errors import ParameterError
from hdpkit.franchise import Known
from hdpkit.io.labels import check_nested, read_labels
from hdpkit.record.command import kept_command
from hdpkit.schedule import open_run
from hdpkit.schedule.progress_bar import ProgressBar
from hdpkit.signatures import (
    CHANNELS,
    channels_of,
    read_signatures,
    read_spectra,
    start_from_part,
)
from hdpkit.signatures.known import KnownSignatures, check_channels
from hdpkit.signatures.settings import Settings, kept_settings, signatures_of_run
from hdpkit.signatures.spectra import ANY

__all__ = ["signatures"]

share = click.FloatRange(0.0, 1.0)
inside = click.FloatRange(0.0, 1.0, min_open=True, max_open=True)


@click.command()
@click.argument("matrix", type=path_type)
@click.option(
    "--out", required=True, type=path_type, metavar="RUN",
    help="Folder to keep the run in; a new or an empty one.",
)  # fmt: skip
@config_option
@click.option(
    "--channels", type=click.Choice([*CHANNELS, ANY]),
    help="What the channels are; any: names as they are.  [default: what most names are of]",
)  # fmt: skip
@click.option(
    "--samples-in", type=click.Choice(["auto", "rows", "columns"]), default="auto", show_default=True,
    help="Where the samples are.",
)  # fmt: skip
@click.option("--drop-empty", is_flag=True, help="Leave samples without a mutation out.")
@click.option(
    "--levels", type=path_type, metavar="TABLE",
    help="Table with a row per sample: its name, and labels that become levels, the widest first.",
)  # fmt: skip
@click.option("--level-column", multiple=True, metavar="NAME", help="A column of TABLE.  [default: all]")
@click.option("--id-column", metavar="NAME", help="The column of TABLE with the names.  [default: the first]")
@click.option(
    "--flat", is_flag=True,
    help="Keep the labels for pictures and tables, but put no level above the samples.",
)  # fmt: skip
@click.option(
    "--known", type=path_type, metavar="FILE",
    help="Reference signatures, as COSMIC has them: best matches, and decompositions into them.",
)  # fmt: skip
@click.option(
    "--known-as", type=click.Choice(["match", "prior", "frozen"]), default="match", show_default=True,
    help="What known ones are: compared with the signatures afterwards; components that the run begins with, "
    "worth --pseudo-counts mutations each; or components that never change.",
)  # fmt: skip
@click.option("--known-names", metavar="NAME,...", help="Only these of FILE.")
@click.option(
    "--pseudo-counts", type=click.FloatRange(0, min_open=True), default=1000.0, show_default=True,
    help="With --known-as prior: mutations that a known signature is worth.",
)  # fmt: skip
@click.option(
    "--max-per-sample", type=positive, metavar="N",
    help="Draw N mutations of each sample that has more: see below.",
)  # fmt: skip
@click.option("--eta", type=prior_type("eta"), default="0.5", show_default=True,
              help="Dirichlet parameter of signatures over channels.")  # fmt: skip
@click.option("--sample-concentration", type=prior_type("sample-concentration"), default="gamma(1,1)",
              show_default=True, help="Of samples over signatures.")  # fmt: skip
@click.option("--level-concentration", type=prior_type("level-concentration"), default="gamma(1,1)",
              show_default=True, help="Of each level over signatures.")  # fmt: skip
@click.option("--root-concentration", type=prior_type("root-concentration"), default="gamma(1,1)",
              show_default=True, help="Of the signatures of all samples.")  # fmt: skip
@click.option("--sweeps", type=positive, default=1000, show_default=True, help="Sweeps to run.")
@click.option("--chains", type=chains_type, default=4, show_default=True, help="Chains, a process each.")
@click.option(
    "--samples", type=positive, default=50, show_default=True,
    help="States of each chain to keep, from the second half of its sweeps.",
)  # fmt: skip
@click.option(
    "--init", type=Parsed("auto|sequential|one|random:K|clusters:K|factors:K", parse_init),
    help="The start of a chain.  [default: what two chains over 300 mutations of each sample agree on]",
)  # fmt: skip
@seed_option
@click.option("--threads", type=positive, default=1, show_default=True, help="Of each chain.")
@click.option("--checkpoint-seconds", type=click.FloatRange(0, min_open=True), default=60.0,
              show_default=True, help="Save the state after this many seconds.")  # fmt: skip
@click.option("--similarity", type=inside, default=0.9, show_default=True,
              help="Cosine from which components are merged.")  # fmt: skip
@click.option("--occurrence", type=share, default=0.5, show_default=True,
              help="Smallest share of a chain's samples that must have a signature.")  # fmt: skip
@click.option("--agreement", type=share, default=0.5, show_default=True,
              help="Smallest share of the chains that must have it.")  # fmt: skip
@click.option(
    "--min-samples", type=not_negative, default=1, show_default=True,
    help="Samples that must have a signature with an interval above zero.",
)  # fmt: skip
@click.option("--interval", type=inside, default=0.9, show_default=True, help="Probability of intervals.")
@limit_options
@quiet_option
def signatures(matrix: Path, **options: Any) -> None:
    """Find mutational signatures in a matrix of counts and save the run in a folder.

    MATRIX is a table of SigProfilerMatrixGenerator (SBS96, SBS288, SBS1536, DBS78, ID83),
    MutationalPatterns, ICAMS or R's hdp, as CSV or TSV, plain or compressed. Channels are identified by
    name and sorted.

    Without --levels all samples share one distribution over signatures. With --levels each value of a label
    has its own distribution. The time of a sweep depends on the cells of the matrix and not on the number of
    mutations.

    Counts of tumours vary more than the model assumes. In a tumour with a million mutations, deviations of
    a thousandth are evidence and become additional signatures. --max-per-sample reduces larger samples to
    this number of mutations, drawn without replacement; exposures are then those of the drawn mutations. By
    default nothing is reduced.

    Use hdpkit resume to continue the run and hdpkit report to see it; hdpkit export RUN --to signatures
    writes signatures and exposures for SigProfilerAssignment.

    \b
    Examples:
      hdpkit signatures cohort.SBS96.all --out run
      hdpkit signatures cohort.SBS96.all --levels types.csv --max-per-sample 5000 --out run
      hdpkit signatures matrix.csv --known COSMIC_v3.4_SBS_GRCh37.txt --sweeps 5000 --chains 4 --out run
    """
    import hdpkit as hk

    folder: Path = options["out"]
    quiet = options["quiet"]
    check_new_folder(folder)
    corpus, levels, totals = _corpus(matrix, options)
    known = None
    if options["known"] is not None:
        kind = options["channels"] or getattr(channels_of(corpus.vocabulary), "name", ANY)
        known = read_signatures(options["known"], channels=kind)
        check_channels(known, corpus.vocabulary or ())
        if options["known_names"] is not None:
            known = known.chosen([name.strip() for name in options["known_names"].split(",")])
    elif options["known_as"] != "match" or options["known_names"] is not None:
        raise ParameterError(
            "known-as", options["known_as"], "left out without --known", "Give --known FILE."
        )
    settings = Settings(
        similarity=options["similarity"], occurrence=options["occurrence"], chains=options["agreement"],
        level=options["interval"], min_samples=options["min_samples"], known=known, totals=totals,
    )  # fmt: skip
    sample = _restaurants(levels, options)
    franchise, schedule = _model(sample, corpus, known, options)
    scheduler = hk.Scheduler(schedule, threads=options["threads"])
    start = options["init"]
    if start is None:
        start = _start(sample, corpus, franchise.known, options)

    def run(progress: Any) -> Any:
        return scheduler.run(
            franchise,
            sweeps=options["sweeps"],
            rng=options["seed"],
            init=start,
            chains=options["chains"] if options["chains"] > 1 else None,
            samples=options["samples"],
            progress=progress,
            folder=folder,
            checkpoint=hk.Checkpoint(None, options["checkpoint_seconds"]),
        )

    arguments = click.get_current_context().meta.get(ARGUMENTS, ())
    with (
        held_for_a_run(folder),
        kept_settings(folder, settings),
        kept_command(folder, arguments),
    ):
        carry_out(run, folder, None, quiet)
    echo_signatures(*signatures_of_run(open_run(folder)))


def _corpus(matrix: Path, options: dict[str, Any]) -> tuple[Corpus, list[str], tuple[int, ...] | None]:
    """The counts with their labels, the labels that are levels, and totals by sample after downsampling."""
    quiet, limits = options["quiet"], given_limits(options)
    if not quiet:
        say(f"reading {shown_path(matrix)}", err=True)
    corpus = read_spectra(
        matrix, channels=options["channels"], samples=options["samples_in"],
        drop_empty=options["drop_empty"], limits=limits,
    )  # fmt: skip
    levels: list[str] = []
    if options["levels"] is not None:
        groups = read_labels(
            options["levels"], corpus.names or (), columns=options["level_column"] or None,
            id_column=options["id_column"],
        )  # fmt: skip
        if not options["flat"]:
            check_nested(groups)
            levels = list(groups)
        corpus = Corpus.from_counts(
            corpus.to_counts(), vocabulary=corpus.vocabulary, names=corpus.names, groups=groups
        )
    totals = None
    if options["max_per_sample"] is not None:
        totals = tuple(corpus.document_lengths.tolist())
        most = options["max_per_sample"]
        n = int((corpus.document_lengths > most).sum())
        corpus = downsample(corpus, most, rng=options["seed"])
        say(f"{n:,} samples had more than {most:,} mutations: {most:,} of each are drawn", err=True)
    if not quiet:
        told = f"{corpus.n_documents:,} samples, {corpus.n_tokens:,} mutations, {corpus.n_terms:,} channels"
        say(told, err=True)
    return corpus, levels, totals


def _restaurants(levels: list[str], options: dict[str, Any]) -> Any:
    """The restaurants: samples below levels below the root."""
    import hdpkit as hk

    above = hk.Restaurant(
        base=hk.DirichletMultinomial(eta=options["eta"]), concentration=options["root_concentration"],
        name="root",
    )  # fmt: skip
    for label in levels:
        above = hk.Restaurant(base=above, concentration=options["level_concentration"], each=label)
    return hk.Restaurant(base=above, concentration=options["sample_concentration"], each="document")


def _model(sample: Any, corpus: Corpus, known: KnownSignatures | None, options: dict[str, Any]) -> Any:
    """The franchise and its schedule, over cells."""
    import hdpkit as hk
    from hdpkit import moves

    declared = None
    if known is not None and options["known_as"] != "match":
        frozen = options["known_as"] == "frozen"
        counts = None if frozen else options["pseudo_counts"]
        declared = hk.Known(known.matrix, counts=counts, frozen=frozen, names=list(known.names))
    flat = sample.base.each is None
    priors = [options[f"{name}_concentration"] for name in ("root", "sample", *([] if flat else ["level"]))]
    updates: list[Any] = []
    if any(isinstance(prior, hk.Gamma) for prior in priors):
        updates.append(moves.Concentration())
    if isinstance(options["eta"], hk.Gamma):
        updates.append(moves.BaseMeasureParameters())
    franchise = hk.Franchise(sample, corpus, store="counts", root="weights", known=declared)
    tables = [moves.TableCounts()] if flat else []  # with levels CountGibbs is what draws them
    return franchise, [moves.CountGibbs(), *tables, moves.RootWeights(), *updates]


def _start(sample: Any, corpus: Corpus, known: Known | None, options: dict[str, Any]) -> Any:
    """A start from the signatures that chains over a part of the mutations agree on."""
    quiet = options["quiet"]
    if not quiet:
        say("a start by two chains over at most 300 mutations of each sample", err=True)
    with ProgressBar() as bar:
        start = start_from_part(
            sample, corpus, known=known, rng=options["seed"], progress=None if quiet else bar
        )
    if not quiet and start.topics is not None:
        say(f"the start has {plural(len(start.topics), 'new signature')}", err=True)
    return start
