"""Plots of signatures show their data."""

import re

import numpy as np
import pytest

import hdpkit as hk
from hdpkit.errors import DataError, ParameterError
from hdpkit.kinds.signatures.pictures import levels_of
from hdpkit.signatures import (
    CHANNELS,
    KnownSignatures,
    extract_signatures,
    plot_activity,
    plot_cosines,
    plot_exposures,
    plot_spectra,
    write_pages,
)

pytest.importorskip("matplotlib").use("agg")

SBS96 = CHANNELS["SBS96"]


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


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
    from matplotlib.colors import to_hex

    channels = CHANNELS[name]
    n = 1 if len(channels) > 500 else 2  # a bar is an object of matplotlib's
    values = np.random.default_rng(0).dirichlet(np.ones(len(channels)), size=n)
    figure = plot_spectra(values, name, names=["one", "two"][:n])
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["one", "two"][:n]
    bars = figure.axes[-1].containers[0]
    np.testing.assert_allclose([bar.get_height() for bar in bars], values[-1])
    assert [to_hex(bar.get_facecolor()) for bar in bars] == [
        channels.colours[group] for group in channels.groups
    ]
    texts = [text.get_text() for text in figure.axes[0].texts]
    assert [text for text in texts if " " not in text] == [block.label for block in channels.blocks]
    assert len(figure.axes[0].get_xticklabels()) == (len(channels) if len(channels) <= 100 else 0)


def test_channels_of_other_names_are_drawn_as_they_are():
    known = KnownSignatures(("a",), ("oak", "birch"), np.array([[0.25, 0.75]]))
    (ax,) = plot_spectra(known).axes
    assert [bar.get_height() for bar in ax.containers[0]] == [0.25, 0.75]
    assert [label.get_text() for label in ax.get_xticklabels()] == ["oak", "birch"]


def test_where_there_is_no_signature(signatures):
    none = extract_signatures(signatures.components.samples, signatures.corpus, min_samples=10)
    assert (len(none), none.exposures.mean.shape) == (0, (9, 1))
    np.testing.assert_array_equal(none.exposures.mean[:, 0], signatures.corpus.document_lengths)
    for draw in (plot_spectra, plot_cosines):
        with pytest.raises(DataError, match="at least one"):
            draw(none)
    plot_exposures(none)


def test_labels_of_channels_and_blocks_are_those_of_the_field():
    assert [CHANNELS[name].labels[-1] for name in CHANNELS] == ["TTT", "N:TTT", "TTTTT", "GG", "5+"]
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


def test_channels_in_another_order_are_drawn_in_that_of_the_field():
    order = np.random.default_rng(1).permutation(96)
    values = np.random.default_rng(0).dirichlet(np.ones(96))
    known = KnownSignatures(("a",), tuple(SBS96.names[i] for i in order), values[None, order], SBS96)
    (ax,) = plot_spectra(known).axes
    np.testing.assert_allclose([bar.get_height() for bar in ax.containers[0]], values)


def test_signatures_have_intervals(signatures):
    figure = plot_spectra(signatures, most=1)
    (ax,) = figure.axes
    (lines,) = ax.collections
    ends = np.array([segment[:, 1] for segment in lines.get_segments()])
    np.testing.assert_allclose(ends, np.stack([signatures.lower[0], signatures.upper[0]], axis=1))
    assert ax.get_title(loc="left") == signatures.names[0]


def test_exposures_are_stacked_by_level(signatures):
    assert levels_of(signatures, None)[0] == ["b", "a"]
    ax = plot_exposures(signatures)
    totals = sum(np.array([bar.get_height() for bar in container]) for container in ax.containers)
    np.testing.assert_allclose(totals, 1.0)
    assert len(ax.containers) == len(signatures) + 1
    assert [label.get_text() for label in ax.get_xticklabels()] == ["b", "a"]
    mean = plot_exposures(signatures, "type", by="level")
    shares = signatures.exposures.shares
    assert mean.containers[0][1].get_height() == pytest.approx(shares[::3, 0].mean())
    assert len(plot_exposures(signatures, most=3).containers[0]) == 3
    with pytest.raises(ParameterError, match="level"):
        plot_exposures(signatures, "stage")


def test_cosines(signatures):
    known = KnownSignatures(("flat", "first"), SBS96.names, np.stack([np.full(96, 1 / 96), np.eye(96)[0]]))
    ax = plot_cosines(signatures, known)
    row = signatures.matrix[0]
    np.testing.assert_allclose(
        ax.images[0].get_array()[0], [row.sum() / 96**0.5, row[0]] / np.linalg.norm(row)
    )
    assert [label.get_text() for label in plot_cosines(signatures, known, most=1).get_xticklabels()] == [
        "flat"
    ]
    np.testing.assert_allclose(np.diag(plot_cosines(signatures).images[0].get_array()), 1.0)


def test_bad_arguments(signatures):
    for bad in (None, 5, "x", [1.0], [[-1.0]], np.full((1, 96), np.nan)):
        with pytest.raises(ParameterError):
            plot_spectra(bad, "SBS96")
    for call in (
        lambda: plot_spectra(np.ones((1, 96))),
        lambda: plot_spectra(np.ones((1, 96)), "SBS97"),
        lambda: plot_spectra(signatures, most=0),
        lambda: plot_spectra(signatures, names=["a"] * 50),
        lambda: plot_exposures(None),
        lambda: plot_exposures(signatures, by="type"),
        lambda: plot_exposures(signatures, ax=5),
        lambda: plot_cosines(None),
        lambda: plot_cosines(signatures, 5),
    ):
        with pytest.raises(ParameterError):
            call()
    other = KnownSignatures(("a",), CHANNELS["DBS78"].names, np.full((1, 78), 1 / 78))
    for call in (lambda: plot_cosines(signatures, other), lambda: plot_spectra(np.ones((1, 5)), "SBS96")):
        with pytest.raises(DataError):
            call()


def test_activity_is_drawn_as_quartiles_by_level(signatures):
    ax = plot_activity(signatures, 0)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b (6)", "a (3)"]
    shares = signatures.exposures.shares[:, 0]
    medians = [line.get_xdata()[0] for line in ax.lines if line.get_linewidth() > 1.5]
    np.testing.assert_allclose(
        medians, [np.median(np.delete(shares, [0, 3, 6])), np.median(shares[::3])], rtol=1e-12
    )
    by_name = plot_activity(signatures, signatures.names[0], "type", most=1)
    assert len(by_name.get_yticklabels()) == 1
    for call in (
        lambda: plot_activity(None, 0),
        lambda: plot_activity(signatures, len(signatures)),
        lambda: plot_activity(signatures, "SBS99"),
        lambda: plot_activity(signatures, 0, "stage"),
        lambda: plot_activity(signatures, 0, most=0),
    ):
        with pytest.raises(ParameterError):
            call()


@pytest.mark.parametrize("matched", [False, True])
def test_a_pdf_has_a_page_for_each_signature_and_one_for_the_samples(signatures, matched, tmp_path):
    known = KnownSignatures(
        ("a", "b"), SBS96.names, np.random.default_rng(0).dirichlet(np.ones(96), 2), SBS96
    )
    path = write_pages(signatures, tmp_path / "pages.pdf", known=known if matched else None)
    content = path.read_bytes()
    assert content.startswith(b"%PDF")
    assert len(re.findall(rb"/Type /Page\b", content)) == len(signatures) + 1
    none = extract_signatures(signatures.components.samples, signatures.corpus, min_samples=10)
    with pytest.raises(DataError, match="at least one"):
        write_pages(none, tmp_path / "none.pdf")
    assert not (tmp_path / "none.pdf").exists()


def test_a_label_that_no_sample_has_is_left_out():
    counts = np.random.default_rng(0).integers(0, 9, (5, 96))
    corpus = hk.Corpus.from_counts(counts, vocabulary=SBS96.names, groups={"type": [None] * 5})
    root = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="document"), corpus)
    hk.Scheduler([hk.moves.TableGibbs()]).run(franchise, 3, rng=0)
    found = extract_signatures([franchise.sample()], corpus)
    assert levels_of(found, None) == (["all"], [[0, 1, 2, 3, 4]])
    plot_exposures(found)
    plot_activity(found, 0)
    with pytest.raises(ParameterError, match="type"):
        plot_exposures(found, "type")
