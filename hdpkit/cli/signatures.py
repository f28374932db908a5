"""``hdpkit signatures``: mutational signatures of a matrix of counts, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import attrs
import click
import numpy as np

from hdpkit.cli.corpus import table_options
from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.kind import kind_options, made, named, run_kind
from hdpkit.cli.options import (
    Command,
    Parsed,
    given_limits,
    group,
    kept_options,
    limit_options,
    option_of,
    out_option,
    parse_init,
    path_type,
    positive,
    run_options,
)
from hdpkit.cli.output import echo_ranks, say, shown_path, tell
from hdpkit.cli.runs import check_until
from hdpkit.data import Corpus, downsample
from hdpkit.data.files.labels import check_nested, read_labels
from hdpkit.data.files.text_files import shown_names
from hdpkit.errors import ParameterError
from hdpkit.franchise.known import Known
from hdpkit.franchise.starts import Factors
from hdpkit.kinds.signatures.channels import CHANNELS, channels_of, plain_channels
from hdpkit.kinds.signatures.cohort import Cohort
from hdpkit.kinds.signatures.known import KnownSignatures, check_channels, read_signatures
from hdpkit.kinds.signatures.spectra import ANY, read_spectra
from hdpkit.kinds.signatures.starts import RankChoice, choose_rank
from hdpkit.run.runs import Scheduler

_TABLE = ("encoding", "delimiter", "quotes", "header")
_DELIMITER = "The character between fields of {}, or tab.  [default: detected]"


@click.command(cls=Command)
@click.argument("matrix", type=path_type)
@out_option
@run_options(sweeps=1000, chains=4)
@group(
    "Counts of mutations",
    click.option(
        "--channels", type=click.Choice([*CHANNELS, ANY]),
        help="What the channels are; any: names as they are.  [default: what most names are of]",
    ),
    option_of(read_spectra, "samples", click.Choice(["auto", "rows", "columns"]), name="samples-in"),
    option_of(read_spectra, "drop_empty"),
    click.option(
        "--max-per-sample", type=positive, metavar="N",
        help="Draw N mutations of each sample that has more: see below.",
    ),
)  # fmt: skip
@table_options
@limit_options
@group(
    "Levels",
    click.option(
        "--levels", type=path_type, metavar="TABLE",
        help="Table with a row per sample: its name, and labels that become levels, the widest first.",
    ),
    click.option("--level-column", multiple=True, metavar="NAME", help="A column of TABLE.  [default: all]"),
    click.option("--id-column", metavar="NAME", help="The column with the names.  [default: the first]"),
    click.option("--levels-delimiter", metavar="CHARACTER", help=_DELIMITER.format("TABLE")),
    click.option(
        "--flat", is_flag=True,
        help="Keep the labels for pictures and tables, but put no level above the samples.",
    ),
)  # fmt: skip
@group(
    "Known signatures",
    click.option(
        "--known", type=path_type, metavar="FILE",
        help="Reference signatures, as COSMIC has them: best matches, and decompositions into them.",
    ),
    click.option("--known-delimiter", metavar="CHARACTER", help=_DELIMITER.format("FILE")),
)  # fmt: skip
@kind_options(Cohort)
@group(
    "Sampler",
    click.option(
        "--init", type=Parsed("auto|sequential|one|random:K|clusters:K|factors:K", parse_init),
        help="The start of a chain.  [default: the number of signatures that held-out mutations support]",
    ),
    option_of(Scheduler, "threads", positive, help="Threads of each chain."),
)  # fmt: skip
@kept_options(samples=50)
def signatures(matrix: Path, **options: Any) -> None:
    """Find mutational signatures in a matrix of counts and save the run in a folder.

    MATRIX is a table of SigProfilerMatrixGenerator (SBS96, SBS192, SBS288, SBS384, SBS1536, DBS78, ID83,
    CNV48, SV32), MutationalPatterns, ICAMS or R's hdp, as CSV or TSV, plain or compressed, JSON lines,
    Parquet or .xlsx. Channels are identified by name and sorted.

    Without --levels all samples share one distribution over signatures. With --levels each value of a label
    has its own distribution. The time of a sweep depends on the cells of the matrix and not on the number of
    mutations.

    Counts of tumours vary more than the plain model assumes. In a tumour with a million mutations, deviations
    of a thousandth would be evidence and become additional signatures. So each sample has its own version of
    each signature, drawn from a Dirichlet distribution around it; what is reported are the signatures of the
    cohort, and mutations of each sample by signature. --no-bursty leaves this out, and --max-per-sample
    reduces larger samples to this number of mutations, drawn without replacement; exposures are then those of
    the drawn mutations.

    Chains begin with the signatures of a fit whose number of signatures predicts held-out mutations best, up
    to one standard error; the scores of all numbers that were tried are printed, and shown by the report.

    With --known FILE signatures are compared with known ones after the run. --known-as makes these, or those
    of --known-names, components of the model beside new ones; with --only-known there are no new ones, and
    the run only finds exposures.

    Use hdpkit resume to continue the run and hdpkit report to see it; hdpkit export RUN --to signatures
    writes signatures and exposures for SigProfilerAssignment.

    \b
    Examples:
      hdpkit signatures cohort.SBS96.all --out run
      hdpkit signatures cohort.SBS96.all --levels types.csv --max-per-sample 5000 --out run
      hdpkit signatures matrix.csv --known COSMIC_v3.4_SBS_GRCh37.txt --sweeps 5000 --chains 4 --out run
      hdpkit signatures matrix.csv --known COSMIC_v3.4_SBS_GRCh37.txt --only-known --out exposures
    """
    check_until(options)
    check_new_folder(options["out"])
    file = options["known"]
    for name in ("known_as", "known_names", "only_known", "known_delimiter", "names_from"):
        if file is None and options[name] not in (None, (), False):
            raise ParameterError(
                name.replace("_", "-"), options[name], "left out without --known", "Give --known FILE."
            )
    model: Any = made(Cohort, options)
    corpus, levels, totals = _corpus(matrix, options)
    tell(options["quiet"], model.said(corpus))
    known = None if file is None else _known(file, corpus, options)
    model = attrs.evolve(model, known=known, levels=tuple(levels), totals=totals)
    if options["init"] is None and model.only_known:
        options["init"] = Factors(topics=np.empty((0, corpus.n_terms)))
    elif options["init"] is None:
        franchise = named(Cohort, lambda: model.franchise(corpus))
        choice = _choice(franchise.declarations[-1], corpus, franchise.known, options)
        model, options["init"] = attrs.evolve(model, ranks=choice), choice.init
    run_kind(model, corpus, options | {"moves": None})


def _known(file: Path, corpus: Corpus, options: dict[str, Any]) -> KnownSignatures:
    """The known signatures over the channels of the corpus."""
    words = corpus.vocabulary or ()
    kind = None if options["channels"] == ANY else channels_of(words)
    known = read_signatures(
        file, channels=kind or plain_channels(words), delimiter=options["known_delimiter"]
    )
    check_channels(known, words)
    tell(options["quiet"], f"known signatures: {shown_names(known.names)}")
    return known


def _corpus(matrix: Path, options: dict[str, Any]) -> tuple[Corpus, list[str], tuple[int, ...] | None]:
    """The counts with their labels, the labels that are levels, and totals by sample after downsampling."""
    quiet, limits = options["quiet"], given_limits(options)
    tell(quiet, f"reading {shown_path(matrix)}")
    corpus = read_spectra(
        matrix, channels=options["channels"], samples=options["samples_in"],
        drop_empty=options["drop_empty"], limits=limits,
        **{name: options[name] for name in _TABLE if options[name] is not None},
    )  # fmt: skip
    levels: list[str] = []
    if options["levels"] is not None:
        groups = read_labels(
            options["levels"], corpus.names or (), columns=options["level_column"] or None,
            id_column=options["id_column"], delimiter=options["levels_delimiter"],
        )  # fmt: skip
        tell(quiet, f"labels: {shown_names(groups)}")
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
    return corpus, levels, totals


def _choice(sample: Any, corpus: Corpus, known: Known | None, options: dict[str, Any]) -> RankChoice:
    """The start with the number of signatures that held-out mutations support."""
    quiet = options["quiet"]
    tell(quiet, "a start with the number of signatures that held-out mutations support")
    choice = choose_rank(sample, corpus, known=known, rng=options["seed"])
    if not quiet:
        echo_ranks(choice)
    return choice
