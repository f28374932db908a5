"""Damaged, hostile and oversized files: a typed error or healthy data, quickly and in little memory."""

import gzip
import json
import os
import resource
import textwrap

import numpy as np
import pytest
import scipy.sparse as sp
from fit_command import call
from programs import TRIALS, python

import hdpkit as hk
from hdpkit.data.files import text_files
from hdpkit.data.files.corpora import convert_corpus, read_corpus
from hdpkit.data.files.count_files import read_matrix_market, read_vocabulary
from hdpkit.data.files.sentences import read_sentences
from hdpkit.errors import DataError

BANNER = b"%%MatrixMarket matrix coordinate integer general\n"


@pytest.mark.parametrize("count", [100, pytest.param(5000, marks=pytest.mark.long)])
def test_damaged_files_are_refused_or_read_whole(count):
    told = json.loads(python(TRIALS / "reader_trials.py", count, 0, check=True).stdout)
    assert told["failures"] == []
    outcomes = {kind: sum(counts.values()) for kind, counts in told["found"].items()}
    assert len(outcomes) >= 13
    assert sum(outcomes.values()) == count


def in_little_memory(code, limit=2**30):
    """Run code in a process that may have so much memory; its output."""

    def limited():
        resource.setrlimit(resource.RLIMIT_AS, (limit, limit))

    code = "import hdpkit as hk\n" + textwrap.dedent(code)
    return python("-c", code, check=True, preexec_fn=limited, timeout=60).stdout


GREEDY = [
    ("a.dat", b"1 2147483646:1\n", "max_terms=2147483647"),
    ("a.dat", b"1 0:2147483646\n", "max_tokens=2147483646"),
    ("docword.txt", b"1000000000\n5\n20000000\n", "20000000 entries"),
    ("docword.txt", b"1000000000\n5\n20000000\n1 1 1\n999999999 1 1\n", "max_documents=999999998"),
    ("docword.txt", b"3\n2000000000\n1\n1 1 1\n", "max_terms=2000000000"),
    ("a.mtx", BANNER + b"2 2000000000 1\n1 1 1\n", "max_terms=2000000000"),
    ("a.mtx", BANNER + b"2000000000 2 1\n1 1 1\n", "max_documents=2000000000"),
    ("a.mtx", BANNER + b"2 2 1\n1 1 2147483646\n", "max_tokens=2147483646"),
    (
        "a.mtx",
        BANNER.replace(b"coordinate", b"array") + b"16000000 16000000\n1\n",
        "entries, as its line of sizes says",
    ),
]


def test_few_bytes_do_not_ask_for_much_memory(tmp_path):
    for number, (name, content, _) in enumerate(GREEDY):
        (tmp_path / f"{number}-{name}").write_bytes(content)
    out = in_little_memory(
        f"""
        import json, pathlib
        from hdpkit.data.files.corpora import convert_corpus, read_corpus
        told = {{}}
        for path in sorted(pathlib.Path({str(tmp_path)!r}).iterdir()):
            for read in (read_corpus, lambda path: convert_corpus(path, {str(tmp_path / "folder")!r})):
                try:
                    read(path)
                except hk.errors.DataError as error:
                    told.setdefault(path.name, []).append(str(error))
        print(json.dumps(told))
        """
    )
    found = json.loads(out)
    for number, (name, _, told) in enumerate(GREEDY):
        assert sum(told in message for message in found[f"{number}-{name}"]) == 2, (name, told, found)
    assert not (tmp_path / "folder").exists()


def test_limits_are_lifted_by_their_parameter_and_option(tmp_path, monkeypatch):
    path = tmp_path / "a.dat"
    path.write_bytes(b"1 16777216:2\n1 0:1\n1 3:1\n")
    with pytest.raises(DataError, match="max_terms=16777217"):
        hk.Corpus.from_ldac(path)
    assert hk.Corpus.from_ldac(path, limits=hk.Limits(max_terms=2**25)).n_terms == 2**24 + 1
    assert hk.Corpus.from_ldac(path, n_terms=2**24 + 1).n_terms == 2**24 + 1
    for limits, told in (
        (hk.Limits(max_documents=2), "max_documents=3"),
        (hk.Limits(max_tokens=3), "tokens=4"),
    ):
        with pytest.raises(DataError, match=told):
            hk.Corpus.from_ldac(path, n_terms=2**25, limits=limits)
    convert = ("convert", path, tmp_path / "folder")
    assert "--max-terms 16777217" in call(*convert, code=2)
    call(*convert, "--max-terms", 16777217, "--max-documents", 3, "--max-tokens", 4)


def test_a_line_has_a_limit_and_an_archive_may_not_expand_without_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text_files, "_FREE", 2**30)
    path = tmp_path / "a.dat.gz"
    with gzip.open(path, "wb", 1) as file:
        for _ in range(70):
            file.write(b" " * 2**20)
    for read in (lambda: read_corpus(path), lambda: list(read_sentences(path))):
        with pytest.raises(DataError, match="line 1 = 'more than 67108864 bytes'"):
            read()
    with pytest.raises(DataError, match="line 1 = 'more than 1048576 bytes'"):
        read_vocabulary(path)
    monkeypatch.setattr(text_files, "_FREE", 2**20)
    path.write_bytes(gzip.compress(b"the lord said\n" * 10**6, mtime=0))
    for read in (
        lambda: read_corpus(path, "ldac"),
        lambda: read_vocabulary(path),
        lambda: list(read_sentences(path)),
    ):
        with pytest.raises(DataError, match=r"unpack it first|valid|different"):
            read()
    with pytest.raises(DataError, match="unpack it first"):
        list(read_sentences(path))


@pytest.mark.parametrize(
    ("text", "place", "told"),
    [
        (b"2 2 1\n1 1 1\n ", None, None),  # an end that ended the process
        (b"2 2 1\n1 1 1\n\n \t\n", None, None),
        (b"% more\n\n2 2 1\r\n1 1 1\r\n", None, None),
        (b"2 2 1\n1 1 1\0", "line 3", "row, column and value"),
        (b"2 2 1\n1 1 1\n\0", "line 4", "row, column and value"),
        (b"2 2 2\n1 1 1\n\n2 3 1\n", "line 5, column", "index from 1 to 2"),
        (b"2 2 2\n1 1 1\n0 1 1\n", "line 4, row", "index from 1 to 2"),
        (b"2 2 1\n1 1 1\n2 2 1\n", "file", "1 entries, as its line of sizes says"),
        (b"2 2 2\n1 1 -3\n2 2 1\n", "line 3", "whole number"),
        (b"2 2 1 1\n1 1 1\n", "line 2", "numbers of rows and columns"),
        (b"2 2 1\n1 1 99999999999999999999\n", "line 3", "range"),
        (b"2 3 0\n", "corpus", "empty"),
        (b"%" * 2**20 + b"\n2 2 1\n1 1 1\n", "line 2", "comments"),
    ],
)
def test_matrix_market_is_checked_to_the_byte(tmp_path, text, place, told):
    files = {"by its first line": BANNER + text, "packed.mtx": gzip.compress(BANNER + text, mtime=0)}
    for name, content in files.items():
        path = tmp_path / name
        path.write_bytes(content)
        if told is None:
            assert read_corpus(path).to_counts().toarray().tolist() == [[1, 0], [0, 0]]
            continue
        with pytest.raises(DataError) as caught:
            read_corpus(path)
        assert place in caught.value.parameter
        assert told in str(caught.value)


@pytest.mark.parametrize("symmetry", ["general", "symmetric"])
@pytest.mark.parametrize("field", ["integer", "real", "pattern", None])
def test_matrix_market_is_read_as_scipy_reads_it(tmp_path, field, symmetry):
    import scipy.io

    rng = np.random.default_rng(3)
    for trial in range(10):
        n, m = rng.integers(1, 9, size=2)
        counts = rng.integers(0, 3, size=(n, n if symmetry == "symmetric" else m))
        if symmetry == "symmetric":
            counts = counts + counts.T
        counts[0, 0] = 1
        matrix = counts if field is None else sp.coo_array(counts)
        if field == "pattern":
            matrix = sp.coo_array((counts > 0).astype(int))
        scipy.io.mmwrite(tmp_path / "a.mtx", matrix, field=field, symmetry=symmetry, comment=" a\n b")
        found, expected = read_matrix_market(tmp_path / "a.mtx").matrix(), scipy.io.mmread(tmp_path / "a.mtx")
        made = [each.toarray() if sp.issparse(each) else each for each in (found, expected)]
        assert np.array_equal(*made), (trial, made)


@pytest.fixture
def folder(tmp_path):
    made = hk.Corpus.from_documents(
        [["a", "b"], ["b"], []], names=["x", "y", "z"], groups={"year": [1, 2.5, None]}
    )
    made.save(tmp_path / "folder")
    return tmp_path / "folder"


def test_pipes_are_not_waited_for(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for read in (hk.Corpus.from_ldac, hk.Corpus.from_uci, read_vocabulary, read_matrix_market, convert_pipe):
        with pytest.raises(DataError, match="pipe"):
            read(pipe)


def convert_pipe(path):
    return convert_corpus(path, path.with_name("folder"))


def test_half_of_a_surrogate_pair_is_refused_before_anything_is_written(tmp_path):
    for number, options in enumerate(
        (
            {"vocabulary": ["a", "\ud800"]},
            {"names": ["\udfff"]},
            {"groups": {"\ud800": [1]}},
            {"groups": {"year": ["\ud800"]}},
        )
    ):
        corpus = hk.Corpus.from_counts([[1, 2]], **options)
        with pytest.raises(DataError, match="UTF-8"):
            corpus.save(tmp_path / f"folder-{number}")
    assert list(tmp_path.iterdir()) == []


def test_a_forged_vocabulary_of_a_run_is_refused_and_one_too_large_is_not_begun(tmp_path):
    from data_files import read_data, write_data

    from hdpkit.errors import CorruptRunError, RunError
    from hdpkit.run.data_file import tree_of_data

    tree = tree_of_data(hk.Corpus.from_documents([[0, 1], [1]], n_terms=3))
    tree["n_terms"] = 2**31 - 1
    write_data(tmp_path / "data.npz", tree)
    with pytest.raises(CorruptRunError):
        read_data(tmp_path / "data.npz")
    with pytest.raises(RunError, match="n_terms"):
        tree_of_data(hk.Corpus.from_documents([[0, 1], [1]], n_terms=2**31 - 1))
