"""What a command cannot do: one message, its exit code, and nothing is written.

Values that a setting of a kind refuses are in `tests/kinds/test_kinds.py`, for every option.
"""

import gzip
import shlex
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from shard_cases import corpus

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.main import main
from hdpkit.signatures import CHANNELS

FIT = "fit corpus.dat --for prediction"
TEXTS = "fit posts.csv --for prediction --out run"
TRAIN = "lm train train.txt"
COHORT = "signatures cohort.tsv --out run --sweeps 2"

# The command, what it tells, and what it reads from standard input.
REFUSED = [
    ("fit absent.dat --out run", "absent.dat"),
    (f"{FIT} --out run --vocabulary absent.txt", "absent.txt"),
    (f"{FIT} --out run --vocabulary short.txt", "at most 1"),
    (f"{FIT} --out run --vocabulary latin.txt", "UTF-8"),
    (f"{FIT} --out run --moves table-gibs", "Did you mean 'table-gibbs'"),
    (f"{FIT} --out run --moves table-gibbs,base-measure-parameters", "something to do"),
    (f"{FIT} --out run --store histogram-reference --kernel generic", "kernel"),
    (f"{FIT} --out run --min-documents 2", "ldac"),
    (f"{FIT} --out run --format matrix-market", "Matrix Market"),
    (f"{FIT} --out run --format ldac --stop-words english", "stop-words"),
    ("fit empty --out run", "text files"),
    ("fit mine --format ldac --out run", "a file (ldac)"),
    (f"{FIT} --out mine", "thesis.tex"),
    (f"{FIT} --out short.txt", "a file"),
    (f"{FIT} --out run --config absent.toml", "absent.toml"),
    (f"{FIT} --out run --config bad.toml", "Did you mean 'sweeps'"),
    ("fit --out run", "CORPUS"),
    (FIT, "--out"),
    (f"{FIT} --out run --smoothing 0.1", "smoothing"),
    (f"{FIT} --out run --selection beta(1,1)", "selection"),
    (f"{FIT} --out run --proportions stored", "proportions"),
    (f"{FIT} --out run --sparse --eta 0.1", "eta"),
    (f"{FIT} --out run --sparse --selection 1", "selection"),
    (f"{FIT} --out run --sparse --smoothing each(0.1)", "smoothing"),
    (f"{FIT} --out run --sparse --selection 0.5 --proportions stored", "proportions"),
    (f"{FIT} --out run --burst-concentration 5", "concentration"),
    (f"{FIT} --out run --topics 3 --root-concentration 1.5", "root-concentration"),
    (f"{FIT} --out run --topics 3 --init random:4", "at most 3"),
    (f"{FIT} --out run --at-most 1min", "left out without --until"),
    (f"{FIT} --out run --until readable --at-most soon", "10min"),
    (f"{FIT} --out run --spool spool", "--shards"),
    (f"{TEXTS} --text-column absent", "text_column = 'absent'"),
    (f"{TEXTS} --text-column body --group-column document", "document"),
    (f"{TEXTS} --text-column body --delimiter ';'", "text_column = 'body'"),
    (f"{TEXTS} --text-column body --stop-words-file absent", "absent"),
    (f"{TEXTS} --text-column body --date-column when", "line 3, when"),
    ("fit --shards shards --out run --sparse", "sparse"),
    ("fit --shards shards --out run --moves table-gibbs", "must be moves over documents"),
    ("fit --shards shards --out run --backend pigeon", "backend"),
    ("fit --shards empty --out run", "manifest"),
    ("hmm fit points.csv --out run --column speeds", "speeds"),
    ("hmm fit points.csv --out run --states 3 --root-concentration 1", "root-concentration"),
    ("hmm fit points.csv --out run --at-most 1min", "at-most"),
    ("mixture points.csv --out run", "'p0'"),
    ("mixture points.csv --out run --columns heights", "heights"),
    ("mixture points.csv --out run --delimiter ';' --columns height", "--delimiter"),
    (f"{COHORT} --only-known", "--known FILE"),
    (f"{COHORT} --levels types.csv", "tree"),
    (f"{COHORT} --levels types.csv --level-column stage", "stage"),
    (f"{COHORT} --channels DBS78", "channels"),
    (f"{COHORT} --known cohort.tsv", "sum to one"),
    (f"{COHORT} --known known.txt --known-names SBS9", "SBS9"),
    (f"{COHORT} --names-from 0.9", "--known FILE"),
    (
        "signatures trees.csv --channels any --samples-in columns --known known.txt --out run",
        "Name them as in",
    ),
    (f"{COHORT} --no-bursty --burst-concentration 100", "--no-bursty"),
    ("lm train absent.txt --into model", "absent.txt"),
    ("lm train . --into model", "file ."),
    ("lm train - --into model", "The text is empty", b"\n \n\t\n"),
    ("lm train - --into model --empty keep --no-end", "token", b"\n\n"),
    ("lm train - --into model", "standard input, line 2, byte 6", b"good\nb\xffd\n"),
    ("lm train - --into model", "standard input, line 2", b"a b\n<s> a </s>\n"),
    ("lm train cut.gz --into model", "a complete gzip file"),
    (f"{TRAIN} --into model --encoding utf-16", "encoding"),
    (f"{TRAIN} --into model --discount 0.1,0.2", "one value, or 3 of them"),
    (f"{TRAIN} --into model --concentration 1,1,-1", "contexts of length 2"),
    (f"{TRAIN} --into model --unknown 'not known'", "one word"),
    ("lm train '' --into model", "an empty string is not a path"),
    (f"{TRAIN} --into ''", "an empty string is not a path"),
    (f"{TRAIN} --into model --min-count 2 --unknown ''", "--min-count"),
    (f"{TRAIN} --into model --min-count 2 --open-vocabulary", "--open-vocabulary"),
    (f"{TRAIN} --into model --min-count 2 --vocabulary train.txt", "--vocabulary"),
    (f"{TRAIN} --into model --vocabulary empty.txt", "no word"),
    ("lm train - --into model --heldout -", "another source", b"a b\n"),
    (f"{TRAIN} --into mine", "thesis.tex"),
    (f"{TRAIN} --into train.txt", "a file"),
    ("lm train --into model", "TEXT"),
    ("lm score trained -", "standard input", b"a\n\xff"),
    ("lm score trained - --per-token --per-sentence", "per-token", b"a\n"),
    ("lm score topics train.txt", "hdpkit lm train"),
    ("lm sample empty", "hdpkit lm train"),
    ("lm export absent model.arpa", "hdpkit lm train"),
    ("lm add trained - --into short.txt", "a file", b"a b\n"),
    ("demo --terms none", "--terms"),
    ("topics empty", "run.json"),
    ("topics topics --chain 2", "chain"),
    ("topics trained", "hdpkit lm sample"),
    ("resume absent", "absent"),
    ("resume topics --until readable", "a run with several chains"),
    ("export topics --to csv --out mine", "new or an empty folder"),
    ("export topics --to arviz --out a.txt", ".nc"),
    ("match topics nowhere", "nowhere"),
    ("match topics topics --plot a.docx", "png"),
    ("check topics --sweeps 40 --chain 1", "chain"),
    ("check trained --sweeps 40", "language model"),
]
# The system refuses these while they run.
FAILED = [
    (f"{FIT} --out corpus.dat/run --sweeps 2", "corpus.dat"),
    (f"{TRAIN} --into train.txt/model", "train.txt"),
    ("lm score trained train.txt --output absent/rows.tsv", "absent"),
    ("lm export trained empty", "empty"),
]


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """Good and bad files, a run of topics and a language model."""
    place = tmp_path_factory.mktemp("refusals")
    for name in ("empty", "mine"):
        (place / name).mkdir()
    names, law = CHANNELS["SBS96"].names, np.full(96, 1 / 96)
    for name, content in {
        "corpus.dat": "2 0:2 1:1\n2 1:1 2:1\n2 0:3 2:2\n",
        "short.txt": "bread\nbutter\n",
        "empty.txt": "",
        "bad.toml": "sweps = 3\n",
        "mine/thesis.tex": "years of work",
        "posts.csv": "post,body,when\n1,ship;salt,1998\n2,sea,5/6/1998\n",
        "points.csv": "id,height\np0,1.5\np1,2\n",
        "train.txt": "the cat sat\nthe dog sat down\n",
        "cohort.tsv": "\n".join(["Type\ta\tb\tc", *(f"{name}\t3\t2\t1" for name in names)]),
        "known.txt": "\n".join(["Type\tSBS1", *(f"{name}\t{p}" for name, p in zip(names, law, strict=True))]),
        "trees.csv": "channel;north;south\noak;3;1\nbirch;0;2\n",
        "types.csv": "sample,type,batch\na,lung,b1\nb,skin,b1\nc,lung,b2\n",
    }.items():
        (place / name).write_text(content)
    (place / "latin.txt").write_bytes("été\n".encode("latin-1"))
    (place / "cut.gz").write_bytes(gzip.compress(b"the cat sat\n" * 9, mtime=0)[:-9])
    hk.ShardedCorpus.write(corpus(), place / "shards", 2)
    topics = hk.Franchise(
        hk.Restaurant(hk.Restaurant(hk.DirichletMultinomial(0.5)), each="document"),
        hk.Corpus.from_ldac(place / "corpus.dat"),
    )
    hk.Scheduler([moves.TableGibbs()]).run(topics, 2, 0, folder=place / "topics")
    text = [["the", "cat"], ["the", "dog"]]
    hk.NGramModel(2).fit(text, sweeps=3, burn_in=1, samples=2, rng=0, folder=place / "trained")
    return place


@pytest.mark.parametrize(
    ("case", "code"),
    [pytest.param(case, code, id=case[0]) for cases, code in ((REFUSED, 2), (FAILED, 1)) for case in cases],
)
def test_what_a_command_cannot_do_is_one_message_and_leaves_nothing(case, code, place, monkeypatch):
    monkeypatch.chdir(place)
    line, told, *given = case
    before = sorted(Path().rglob("*"))
    result = CliRunner().invoke(main, shlex.split(line), input=given[0] if given else None)
    assert result.exit_code == code, result.output
    assert isinstance(result.exception, SystemExit)
    assert told in result.stderr
    assert "Traceback" not in result.stderr
    assert result.stdout == ""
    assert sorted(Path().rglob("*")) == before
