"""Plots of signatures show their data."""

import re

import numpy as np
import pytest
from pictures import column, encoded, panels, rows

import hdpkit as hk
from hdpkit.canvas import colours
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.signatures.pictures import in_order as signatures_order
from hdpkit.kinds.signatures.pictures import levels_of
from hdpkit.signatures import (
    CHANNELS,
    KnownSignatures,
    extract_signatures,
    plot_cosines,
    plot_decomposition,
    plot_exposures,
    plot_spectra,
    write_pages,
)

pytest.importorskip("altair")

SBS96 = CHANNELS["SBS96"]


@pytest.fixture(scope="module")
def signatures():
    counts = np.random.default_rng(0).poisson(3.0, size=(9, 96))
    corpus = hk.Corpus.from_counts(
        counts, vocabulary=SBS96.names, groups={"type": ["a", "b", "b"] * 3, "$x$": [0] * 9}
    )
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="document", concentration=1.0), corpus, store="counts",
                             root="weights")  # fmt: skip
    trace = hk.Scheduler([hk.moves.CountGibbs(), hk.moves.TableCounts(), hk.moves.RootWeights()]).run(
        franchise, 4, rng=0, init=hk.init.Random(2), samples=2
    )
    return extract_signatures(trace, corpus)


@pytest.mark.parametrize("name", list(CHANNELS))
def test_bars_stand_in_the_order_and_the_colours_of_the_field(name):
    channels = CHANNELS[name]
    values = np.random.default_rng(0).dirichlet(np.ones(len(channels)), size=2)
    shown = panels(plot_spectra(values, name, names=["one", "two"]))
    assert [panel["title"]["text"] for panel in shown] == ["one", "two"]
    bars = rows(shown[-1])
    np.testing.assert_allclose(column(bars, "share"), values[-1], rtol=1e-3)
    assert column(bars, "colour") == [channels.colours[group] for group in channels.groups]
    strips = rows(shown[0], 2)
    assert column(strips, "label") == [block.label for block in channels.blocks]
    assert column(strips, "colour") == [block.colour for block in channels.blocks]
    labelled = [row for row in bars if row["label"]]
    assert len(labelled) == (len(channels) if len(channels) <= 100 else 0)


def test_where_there_is_no_signature(signatures):
    none = extract_signatures(signatures.samples, signatures.data, min_samples=10)
    assert (len(none), none.exposures.shape) == (0, (9, 1))
    np.testing.assert_array_equal(none.exposures[:, 0], signatures.data.document_lengths)
    for draw in (plot_spectra, plot_cosines):
        with pytest.raises(DataError, match="at least one"):
            draw(none)
    plot_exposures(none)


def test_exposures_are_stacked_by_level(signatures):
    assert levels_of(signatures, None)[0] == ["b", "a"]
    drawn = plot_exposures(signatures)
    parts = [*signatures.titles, "component 0"]
    assert column(rows(drawn)[: len(parts)], "signature") == parts  # so that colours are in their order
    assert encoded(drawn, "color", 0)["scale"]["range"] == colours(len(signatures), rest=True)
    totals = {}
    for row in rows(drawn):
        totals[row["left"]] = totals.get(row["left"], 0.0) + row["share"]
    np.testing.assert_allclose(list(totals.values()), 1.0, atol=0.01)  # small shares aren't drawn
    assert column(rows(drawn, 2), "level") == ["b", "a"]
    mean = rows(plot_exposures(signatures, "type", by="level"))
    shares = signatures.group_shares
    first = [row["share"] for row in mean if row["signature"] == parts[0]]
    assert first == pytest.approx([np.delete(shares[:, 0], [0, 3, 6]).mean(), shares[::3, 0].mean()])
    assert len(set(column(rows(plot_exposures(signatures, most=3)), "left"))) == 3
    with pytest.raises(ParameterError, match="level"):
        plot_exposures(signatures, "stage")


def test_cosines(signatures):
    known = KnownSignatures(("flat", "first"), SBS96.names, np.stack([np.full(96, 1 / 96), np.eye(96)[0]]))
    row = signatures.rows[0]
    expected = [row.sum() / 96**0.5, row[0]] / np.linalg.norm(row)
    drawn = rows(plot_cosines(signatures, known))
    np.testing.assert_allclose(column(drawn[:2], "cosine"), expected, rtol=1e-2)
    assert set(column(rows(plot_cosines(signatures, known, most=1)), "known")) == {"flat"}
    own = [one["cosine"] for one in rows(plot_cosines(signatures)) if one["signature"] == one["known"]]
    np.testing.assert_allclose(own, 1.0)


def test_a_signature_is_drawn_as_the_sum_of_known_ones(signatures):
    mean = signatures.rows[0]
    spike = np.eye(96)[5]
    other = np.maximum(mean - 0.1 * spike, 0.0)  # whose sum with a tenth of the spike is nearly the signature
    matrix = np.stack([other / other.sum(), spike, np.eye(96)[7]])
    known = KnownSignatures(("other", "spike", "nothing"), SBS96.names, matrix)
    shown = panels(plot_decomposition(signatures, signatures.titles[0], known, least=0.01))
    parts = known.decompose(signatures, least=0.01).parts(0)
    assert parts[0][0] == "other"
    assert [panel["title"]["text"] for panel in shown] == [
        signatures.titles[0],
        f"sum of known signatures (cosine {known.decompose(signatures, least=0.01).cosine[0]:.3f})",
        *(f"{share:.2f} of {name}" for name, share in parts),
    ]
    drawn = [column(rows(panel), "share") for panel in shown]
    np.testing.assert_allclose(drawn[0], mean[signatures_order(signatures)], rtol=1e-3)
    np.testing.assert_allclose(np.sum(drawn[2:], axis=0), drawn[1], atol=1e-4)


@pytest.mark.parametrize("matched", [False, True])
def test_a_pdf_has_a_page_for_each_signature_and_one_for_the_samples(signatures, matched, tmp_path):
    known = KnownSignatures(
        ("a", "b"), SBS96.names, np.random.default_rng(0).dirichlet(np.ones(96), 2), SBS96
    )
    path = write_pages(signatures, tmp_path / "pages.pdf", known=known if matched else None)
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", content)) == len(signatures) + 1
    none = extract_signatures(signatures.samples, signatures.data, min_samples=10)
    with pytest.raises(DataError, match="at least one"):
        write_pages(none, tmp_path / "none.pdf")
    assert not (tmp_path / "none.pdf").exists()


def test_labels_of_channels_and_blocks_are_those_of_the_field():
    assert [CHANNELS[name].labels[-1] for name in CHANNELS] == [
        "TTT", "U:TTT", "N:TTT", "B:TTT", "TTTTT", "GG", "5+", ">40Mb", "any",
    ]  # fmt: skip
    assert CHANNELS["CNV48"].labels[:2] == ("0-100kb", "100kb-1Mb")
    for name, first, last in (
        ("CNV48", ("0", "homdel"), ("9+", "het")),
        ("SV32", ("del", "clustered"), ("trans", "non-clustered")),
    ):
        shown = [(block.label, block.heading) for block in CHANNELS[name].blocks]
        assert (shown[0], shown[-1]) == (first, last)
    assert CHANNELS["ID83"].labels[:12:5] == ("1", "6+", "5")  # units of C before their deletion
    blocks = CHANNELS["ID83"].blocks
    assert [block.label for block in blocks] == [*"CTCT", *(["2", "3", "4", "5+"] * 3)]
    assert list(dict.fromkeys(block.heading for block in blocks)) == [
        "1 bp deletion", "1 bp insertion", ">1 bp deletion at repeats", ">1 bp insertion at repeats",
        "microhomology deletion",
    ]  # fmt: skip
    assert [block.label for block in CHANNELS["DBS78"].blocks][:2] == ["AC>NN", "AT>NN"]
    for channels in CHANNELS.values():
        assert sum(block.width for block in channels.blocks) == len(channels)


def test_channels_of_other_names_are_drawn_as_they_are():
    known = KnownSignatures(("a",), ("oak", "birch"), np.array([[0.25, 0.75]]))
    (panel,) = panels(plot_spectra(known))
    assert column(rows(panel), "share") == [0.25, 0.75]
    assert column(rows(panel), "label") == ["oak", "birch"]
