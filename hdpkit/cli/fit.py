"""``hdpkit fit``: topics of a corpus of one's own, in a run folder."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click

from hdpkit.cli.folders import check_new_folder
from hdpkit.cli.options import (
    Parsed,
    config_option,
    given_limits,
    limit_options,
    path_type,
    positive,
    quiet_option,
    seed_option,
)
from hdpkit.cli.output import say, shown_path
from hdpkit.cli.parse import parse_init, parse_moves
from hdpkit.cli.priors import base_measure_of, default_moves, prior_type, sparse_options
from hdpkit.cli.runs import carry_out
from hdpkit.data import Corpus
from hdpkit.formats.text_folder import TextOptions
from hdpkit.io.corpora import FORMATS, read_corpus
from hdpkit.stores import Detail, at_least

__all__ = ["fit"]


@click.command()
@click.argument("corpus", type=path_type)
@click.option(
    "--out",
    required=True,
    type=path_type,
    metavar="RUN",
    help="Folder to keep the run in; a new or an empty one.",
)
@config_option
@click.option(
    "--vocabulary",
    type=path_type,
    metavar="FILE",
    help="Terms, one a line: names of the columns; for text, the words to count.",
)
@click.option("--format", type=click.Choice(FORMATS), help="Of the corpus.  [default: detected]")
@click.option("--min-documents", type=positive, help="Text: leave out words of fewer documents.")
@click.option(
    "--max-document-share",
    type=click.FloatRange(0, 1, min_open=True),
    help="Text: leave out words of more than this share of the documents.",
)
@limit_options
@click.option("--stop-words", type=click.Choice(["none", "english"]), help="Text: leave out function words.")
@click.option(
    "--eta",
    type=prior_type("eta"),
    help="Dirichlet parameter of topics over terms. Give it a number: see below.  [default: 0.05]",
)
@sparse_options
@click.option(
    "--document-concentration",
    type=prior_type("document-concentration"),
    default="gamma(1,1)",
    show_default=True,
    help="Of documents over topics (alpha).",
)
@click.option(
    "--root-concentration",
    type=prior_type("root-concentration"),
    default="gamma(1,1)",
    show_default=True,
    help="Of the topics of the whole corpus (gamma).",
)
@click.option(
    "--moves",
    type=Parsed("MOVE[:KEY=VALUE]...,...", parse_moves),
    help="What a sweep does.  [default: table-gibbs,dish-gibbs,split-merge:until=50, and the updates of all "
    "that has a prior]",
)
@click.option(
    "--store", type=click.Choice(sorted(at_least(Detail.SIZES))), default="histogram", show_default=True,
    help="How seating is remembered.",
)  # fmt: skip
@click.option(
    "--kernel", type=click.Choice(["auto", "fused", "generic", "reference"]), default="auto",
    show_default=True, help="Which code runs.",
)  # fmt: skip
@click.option("--sweeps", type=positive, default=500, show_default=True, help="Sweeps to run.")
@click.option(
    "--init", type=Parsed("auto|sequential|one|random:K|clusters:K", parse_init), default="auto",
    show_default=True, help="The start of a chain.",
)  # fmt: skip
@seed_option
@click.option("--chains", type=positive, default=1, show_default=True, help="Chains, a process each.")
@click.option("--thin", type=positive, default=1, show_default=True, help="Record every so many sweeps.")
@click.option("--checkpoint-sweeps", type=positive, help="Save the state after so many sweeps.")
@click.option(
    "--checkpoint-seconds",
    type=click.FloatRange(0, min_open=True),
    help="Save the state after so many seconds.  [default: 60, without the option above]",
)
@click.option("--terms", type=positive, default=10, show_default=True, help="Top terms to print of a topic.")
@quiet_option
def fit(corpus: Path, **options: Any) -> None:
    """Find the topics of a corpus; keep the run in a folder.

    CORPUS is an LDA-C file, a bag-of-words file of the UCI repository or a Matrix Market file (documents x
    terms), plain or gzip; a folder that hdpkit convert made; or a folder of text files (*.txt, UTF-8; needs
    the extra hdpkit[text]).

    A number for a parameter is fixed; gamma(shape,rate) is a prior, and the parameter is resampled. Moves are
    the names of the registry with their arguments and time tables until, after, every, repeat.

    A smaller eta gives more and narrower topics. Give it a number: where it has a prior, eta falls as topics
    multiply, and a smaller eta lets more topics in, until there are hundreds of a few dozen tokens each. The
    command warns when there are more topics at the end than an average topic has tokens.

    With --sparse each topic selects terms of its own, and is spread over these by --smoothing (Wang & Blei
    2009): how sparse topics are and how smooth they are have a parameter each. --eta is not used then.

    Ctrl-C stops the run, and hdpkit resume RUN goes on with it. The same seed gives the same chain.

    \b
    Examples:
      hdpkit fit reports/ --stop-words english --min-documents 5 --out run
      hdpkit fit ap.dat --vocabulary vocab.txt --chains 4 --sweeps 1000 --out run
      hdpkit fit ap.dat --sparse --smoothing "gamma(1,1)" --out run
      hdpkit fit counts.mtx.gz --eta 0.1 --root-concentration "gamma(1,0.1)" --out run
      hdpkit fit ap.dat --moves table-gibbs,split-merge:until=50:repeat=2,concentration --out run
      hdpkit fit --config study.toml --seed 7 --out run-7
    """
    import hdpkit as hk

    folder: Path = options["out"]
    base = base_measure_of(options)
    check_new_folder(folder)
    quiet = options["quiet"]
    if not quiet:
        say(f"reading {shown_path(corpus)}", err=True)
    data = _read(corpus, options)
    if not quiet:
        sizes = f"{data.n_documents:,} documents, {data.n_tokens:,} tokens, {data.n_terms:,} terms"
        say(sizes, err=True)
    priors = {name: options[f"{name}_concentration"] for name in ("document", "root")}
    root = hk.Restaurant(base=base, concentration=priors["root"], name="root")
    documents = hk.Restaurant(base=root, concentration=priors["document"], each="document")
    franchise = hk.Franchise(documents, data, store=options["store"], kernel=options["kernel"])
    scheduler = hk.Scheduler(options["moves"] or default_moves(base, priors.values()))

    def run(progress: Any) -> Any:
        return scheduler.run(
            franchise,
            sweeps=options["sweeps"],
            rng=options["seed"],
            init=options["init"],
            thin=options["thin"],
            chains=options["chains"] if options["chains"] > 1 else None,
            progress=progress,
            folder=folder,
            checkpoint=hk.Checkpoint(options["checkpoint_sweeps"], options["checkpoint_seconds"]),
        )

    carry_out(run, folder, options["terms"], quiet)


def _read(path: Path, options: dict[str, Any]) -> Corpus:
    names = ("min_documents", "max_document_share", "stop_words")
    given = {name: options[name] for name in names if options[name] is not None}
    text = TextOptions(**given) if given else None
    return read_corpus(path, options["format"], options["vocabulary"], text, given_limits(options))
