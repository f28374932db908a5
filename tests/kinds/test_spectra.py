"""Counts of mutations by sample and channel, from the tables of other programs."""

import numpy as np
import pytest

from hdpkit.errors import DataError
from hdpkit.signatures import CHANNELS, channels_of, read_signatures, read_spectra

SBS96, DBS78, ID83 = (CHANNELS[name] for name in ("SBS96", "DBS78", "ID83"))
SAMPLES = ["one", "two", "three"]


def counts_of(channels, seed=0):
    return np.random.default_rng(seed).poisson(3.0, size=(len(SAMPLES), len(channels)))


def table(path, channels, counts, *, names=None, separator="\t", order=None, samples=SAMPLES):
    """A table with channels in the rows, in another order than that of pictures."""
    names = list(channels.names) if names is None else names
    order = sorted(range(len(names)), key=lambda i: names[i]) if order is None else order
    rows = [separator.join(["MutationType", *samples])]
    rows += [separator.join([names[i], *map(str, counts[:, i])]) for i in order]
    path.write_text("\n".join(rows) + "\n")
    return path


@pytest.mark.parametrize("name", list(CHANNELS))
def test_tables_of_sigprofiler_are_put_in_order(name, tmp_path):
    channels = CHANNELS[name]
    counts = counts_of(channels)
    order = channels.ordered_for_sigprofiler()
    corpus = read_spectra(table(tmp_path / f"cohort.{name}.all", channels, counts, order=order))
    assert (corpus.vocabulary, corpus.names) == (channels.names, tuple(SAMPLES))
    np.testing.assert_array_equal(corpus.to_counts().toarray(), counts)
    assert corpus.cells is not None  # nothing of the size of the mutations was made


def test_the_sizes_and_groups_of_the_classifications():
    sizes = {name: (len(one), len(one.colours)) for name, one in CHANNELS.items()}
    assert sizes == {
        "SBS96": (96, 6),
        "SBS192": (192, 6),
        "SBS288": (288, 6),
        "SBS384": (384, 6),
        "SBS1536": (1536, 6),
        "DBS78": (78, 10),
        "ID83": (83, 16),
        "CNV48": (48, 10),
        "SV32": (32, 8),
    }
    for name, channels in CHANNELS.items():
        assert len(set(channels.names)) == len(channels) == len(channels.groups)
        assert list(dict.fromkeys(channels.groups)) == list(channels.colours)
        assert channels_of(reversed(channels.names)) is channels, name


OTHERS = {
    "make.names of R": (SBS96, lambda n: n.replace("[", ".").replace("]", ".").replace(">", ".")),
    "in words": (SBS96, lambda n: f"{n[2:5]} in {n[0]}{n[2]}{n[6]}"),
    "in words, make.names": (SBS96, lambda n: f"{n[2]}.{n[4]}.in.{n[0]}{n[2]}{n[6]}"),
    "ICAMS": (SBS96, lambda n: f"{n[0]}{n[2]}{n[6]}{n[4]}"),
    "doublets of MutationalPatterns": (DBS78, lambda n: n.replace(">", "_")),
    "doublets of ICAMS": (DBS78, lambda n: n.replace(">", "")),
    "indels of COSMIC": (
        ID83,
        lambda n: "_".join(
            [(p := n.split(":"))[1].upper(), {"R": "repeats", "M": "MH"}.get(p[2], p[2]),
             p[0].replace("5", "5+"), p[3].replace("5", "5+")]
        ),
    ),
}  # fmt: skip


@pytest.mark.parametrize("how", list(OTHERS))
def test_other_names_of_channels(how, tmp_path):
    channels, rename = OTHERS[how]
    counts = counts_of(channels)
    names = [rename(name) for name in channels.names]
    corpus = read_spectra(table(tmp_path / "m.csv", channels, counts, names=names, separator=","))
    assert corpus.vocabulary == channels.names
    np.testing.assert_array_equal(corpus.to_counts().toarray(), counts)


def test_indels_as_mutational_patterns_counts_them():
    # A deletion is counted with the one that is gone, an insertion by what was there.
    named = {
        "C_deletion_1": "1:Del:C:0",
        "T_deletion_6+": "1:Del:T:5",
        "C_insertion_0": "1:Ins:C:0",
        "2bp_deletion_1": "2:Del:R:0",
        "5+bp_insertion_5+": "5:Ins:R:5",
        "5+bp_deletion_with_microhomology_5+": "5:Del:M:5",
        "2bp_deletion_with_microhomology_1": "2:Del:M:1",
    }
    assert {name: ID83.names[ID83.find(name)] for name in named} == named


def test_channels_in_two_columns(tmp_path):
    counts = counts_of(SBS96)
    rows = ["Mutation type,Trinucleotide," + ",".join(SAMPLES)]
    rows += [
        ",".join([name[2:5], name[0] + name[2] + name[6], *map(str, counts[:, i])])
        for i, name in enumerate(SBS96.names)
    ]
    path = tmp_path / "WGS.csv"
    path.write_text("\n".join(rows))
    np.testing.assert_array_equal(read_spectra(path).to_counts().toarray(), counts)


def test_groups_follow_the_samples_that_stay(tmp_path):
    counts = counts_of(SBS96)
    counts[1] = 0
    path = table(tmp_path / "m.tsv", SBS96, counts)
    groups = {"type": ["lung", "skin", "skin"]}
    corpus = read_spectra(path, drop_empty=True, groups=groups)
    assert corpus.names == ("one", "three")
    assert corpus.document_labels["type"][1] == ["lung", "skin"]


def spoiled(tmp_path, change, channels=SBS96, **more):
    counts, names = counts_of(channels).astype(object), list(channels.names)
    samples, order = list(SAMPLES), list(range(len(channels)))
    change(counts, names, samples, order)
    return table(tmp_path / "m.tsv", channels, counts, names=names, samples=samples, order=order)


def put(where, value):
    """A change of the counts: counts[where] = value."""
    return lambda counts, names, samples, order: counts.__setitem__(where, value)


CELL = "line 5, row 'A[C>A]T', column 'two'"
BAD = {
    "a channel that there is none": (lambda c, n, s, o: n.__setitem__(3, "A[C>C]T"), "line 5", "A[C>C]T"),
    "a channel twice": (lambda c, n, s, o: n.__setitem__(3, n[4]), "line 6, channel", "line 5 has it"),
    "a channel missing": (lambda c, n, s, o: o.pop(7), "channels", "without C"),
    "a fraction": (put((1, 3), 0.25), CELL, "0.25"),
    "no number": (put((1, 3), "NA"), CELL, "finite"),
    "a sample of zero": (put(1, 0), "line 1, sample 'two'", "drop_empty"),
    "a sample twice": (lambda c, n, s, o: s.__setitem__(1, "one"), "sample", "different name"),
    "too many in all": (put((slice(None), slice(2)), 2**30), "tokens", "2^31"),
}


@pytest.mark.parametrize("what", list(BAD))
def test_what_is_wrong_is_told_with_its_cell(what, tmp_path):
    change, place, told = BAD[what]
    with pytest.raises(DataError) as caught:
        read_spectra(spoiled(tmp_path, change))
    assert place in caught.value.parameter
    assert told in str(caught.value)


def test_the_layout_of_version_2_of_cosmic(tmp_path):
    shares = np.random.default_rng(1).dirichlet(np.ones(96), size=2)
    rows = ["Substitution Type\tTrinucleotide\tSomatic Mutation Type\tSignature 1\tSignature 2\t\t\t"]
    for i, name in enumerate(SBS96.names):
        cells = (name[2:5], f"{name[0]}{name[2]}{name[6]}", name, *shares[:, i].tolist(), "", "", "")
        rows.append("\t".join(map(str, cells)))
    path = tmp_path / "signatures_probabilities.txt"
    for ends in ("\n", "\r\n"):
        path.write_bytes(ends.join(rows).encode("utf-8-sig"))
        found = read_signatures(path)
        assert found.names == ("Signature 1", "Signature 2")
        np.testing.assert_allclose(found.matrix, shares)


@pytest.mark.parametrize("strands", ["BTU"])
def test_advice_on_strands(tmp_path, strands):
    names = [f"{strand}:{name}" for strand in strands for name in SBS96.names]
    counts = np.ones((3, len(names)), np.int64)
    path = table(tmp_path / "t.txt", SBS96, counts, names=names)
    with pytest.raises(DataError, match=r"Add up the strands.*--channels any --samples-in columns"):
        read_spectra(path)
    assert read_spectra(path, channels="any", samples="columns").n_terms == len(names)


def test_channels_of_any_names(tmp_path):
    path = tmp_path / "species.csv"
    path.write_text("site,oak,birch\nnorth,3,0\nsouth,1,2\n")
    corpus = read_spectra(path, channels="any", samples="rows")
    assert (corpus.names, corpus.vocabulary) == (("north", "south"), ("oak", "birch"))
    with pytest.raises(DataError, match="channels"):
        read_spectra(path)
