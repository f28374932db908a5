"""Plots show their data."""

import attrs
import numpy as np
import pytest
from pictures import column, encoded, panels, rows

import hdpkit as hk
from hdpkit import errors, moves, plots
from hdpkit.canvas import PALETTE, colour, colours, save_picture

pytest.importorskip("altair")


@attrs.frozen
class Kept:
    """What pictures read of a sample."""

    sweep: int
    sizes: object
    chain: int = 0


def franchise():
    words = [["bread", "salt", "bread"], ["ship", "sail", "$alt"], ["bread", "wine"]]
    root = hk.Restaurant(hk.DirichletMultinomial(eta=0.1), concentration=hk.Gamma(1.0, 1.0))
    return hk.Franchise(hk.Restaurant(root, each="document"), hk.Corpus.from_documents(words))


@pytest.fixture(scope="module")
def run():
    one = franchise()
    schedule = [moves.TableGibbs(), moves.SplitMerge(), moves.Concentration()]
    return one, hk.Scheduler(schedule).run(one, sweeps=30, rng=0, init=np.arange(8) % 3)


def test_a_trace_is_a_line_a_chain_with_every_sweep(run):
    _, trace = run
    drawn = plots.trace(trace, "n_dishes", after=10)
    assert column(rows(drawn), "sweep") == list(range(11, 31))
    assert column(rows(drawn), "value") == trace["n_dishes"][10:].tolist()
    both = plots.trace(hk.ChainTrace([trace, trace], numbers=(0, 2)))
    assert list(dict.fromkeys(column(rows(both), "chain"))) == ["chain 0", "chain 2"]
    assert encoded(both, "color")["legend"] is not None
    assert encoded(both, "strokeDash")["field"] == "chain"


def test_shares_of_topics_are_summed_from_the_largest_on():
    drawn = rows(plots.topic_shares([Kept(5, [1, 3]), Kept(9, [2, 2, 4])]))
    assert [(row["sweep"], row["topics"], row["share"]) for row in drawn] == [
        (5, 1, 0.75), (5, 2, 1.0), (9, 1, 0.5), (9, 2, 0.75), (9, 3, 1.0)
    ]  # fmt: skip
    with pytest.raises(errors.DataError, match="one chain"):
        plots.topic_shares([Kept(5, [1, 3]), Kept(5, [1, 3], chain=1)])


def test_topics_come_by_size_with_their_words(run):
    one, _ = run
    shown = panels(plots.topics(one, n_terms=2))
    assert len(shown) == one.n_dishes
    largest = one.dish_counts[np.argmax(one.dish_counts.sum(axis=1))]
    assert rows(shown[0])[0]["term"] == one.data.vocabulary[int(np.argmax(largest))]
    assert "topic 1" in shown[0]["title"]
    assert [panel["mark"]["color"] for panel in shown] == [colour(k + 1) for k in range(len(shown))]


def cells(drawn):
    """The matrix that a chart of posterior similarities shows."""
    held = rows(drawn)
    n = 1 + max(column(held, "row"))
    matrix = np.zeros((n, n))
    matrix[column(held, "row"), column(held, "column")] = column(held, "probability")
    return matrix


def test_pictures_are_saved_in_four_formats(run, tmp_path):
    pytest.importorskip("vl_convert")
    drawn = plots.trace(run[1])
    for ending, begin in (
        ("png", b"\x89PNG"),
        ("svg", b"<svg"),
        ("pdf", b"%PDF"),
        ("html", b"<!DOCTYPE html>"),
    ):
        path = tmp_path / f"trace.{ending}"
        drawn.save(path)
        assert path.read_bytes().lstrip().startswith(begin)
        save_picture(drawn, path)
        assert path.read_bytes().lstrip().startswith(begin)
    assert b'src="http' not in (tmp_path / "trace.html").read_bytes()  # it needs no network
    with pytest.raises(errors.ParameterError, match="png"):
        save_picture(drawn, tmp_path / "trace.docx")


def test_a_component_has_the_same_colour_in_all_pictures():
    assert colours(3, rest=True) == [colour(1), colour(2), colour(3), colour(None)]
    assert len(set(PALETTE)) == len(PALETTE) == 20
    assert colour(21) == colour(1)

    def luminance(text):
        parts = [int(text[i : i + 2], 16) / 255 for i in (1, 3, 5)]
        linear = [p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts]
        return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]

    for one in PALETTE:  # on white, and on the paper of the dark page
        assert 1.05 / (luminance(one) + 0.05) > 1.8
        assert (luminance(one) + 0.05) / (luminance("#1c2027") + 0.05) > 1.4


def mixture(X, measure, **options):
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1.0), hk.Groups.from_labels(X))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()])
    return franchise, schedule.run(franchise, sweeps=30, rng=0, samples=5, **options)


def test_posterior_similarity_in_the_order_of_a_partition():
    together = np.eye(4)
    together[0, 3] = together[3, 0] = 0.75
    drawn = plots.posterior_similarity(together, labels=list("abcd"), partition=[1, 0, 2, 1])
    assert column(rows(drawn, 3), "text") == ["b", "a", "d", "c"]
    assert cells(drawn)[1, 2] == 0.75
    assert column(rows(drawn, 1), "end") == [1, 3]


def test_weights_of_groups_have_intervals():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(m, 0.3, size=30) for m in (0.0, 5.0, [0.0, 5.0] * 15)]
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="site"), hk.Groups.from_arrays(arrays, label="site"))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()])
    aligned = hk.summaries.components(schedule.run(franchise, sweeps=30, rng=0, samples=5))
    drawn = plots.group_weights(aligned, groups=[2, 0], components=2)
    found = rows(drawn)
    assert list(dict.fromkeys(column(found, "group"))) == ["2", "0"]
    assert encoded(drawn, "y", 1)["axis"]["title"] == "site"
    ends = (aligned.group_shares, aligned.group_shares_lower, aligned.group_shares_upper)
    for name, values in zip(("weight", "lower", "upper"), ends, strict=True):
        np.testing.assert_allclose(np.reshape(column(found, name), (2, 2)), values[[2, 0], :2])
    with pytest.raises(errors.DataError, match="groups"):
        plots.group_weights(hk.summaries.components([mixture(arrays[0], root.measure)[0].sample()]))


def test_components_are_points_and_ellipses():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, [0.4, 0.8], size=(n, 2)) for m, n in (([0, 0], 60), ([6, 0], 40))])
    franchise, trace = mixture(X, hk.NormalInverseWishart.weakly_informative(X))
    drawn = plots.components(franchise)
    sizes = np.sort(np.bincount(franchise.dishes))[::-1]
    numbers = [str(k + 1) for k in range(len(sizes))]
    shown = column(rows(drawn), "component")
    assert [shown.count(number) for number in numbers] == sizes.tolist()
    assert column(rows(drawn, 2), "component") == numbers
    assert encoded(drawn, "color", 0)["scale"] == {"domain": numbers, "range": colours(len(sizes))}
    order = np.argsort(-np.bincount(franchise.dishes), kind="stable")
    for number, k in zip(numbers, order, strict=True):
        mean, covariance = franchise.dish_parameters()[k][0], franchise.dish_parameters()[k][1:]
        around = [[row["x"], row["y"]] for row in rows(drawn, 1) if row["component"] == number]
        away = np.array(around) - mean
        squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squares, 4.0, rtol=1e-4)  # two standard deviations; six digits are drawn
    assert [encoded(drawn, one, 0)["axis"]["title"] for one in "xy"] == ["dimension 0", "dimension 1"]
    agreed = hk.summaries.components(trace)
    agreed = agreed.selected(agreed.agreed())
    drawn = plots.components(franchise, agreed, axes=(1, 0))
    assert encoded(drawn, "x", 0)["axis"]["title"] == "dimension 1"
    middle = rows(drawn, 2)[0]
    np.testing.assert_allclose([middle["x"], middle["y"]], agreed.rows[0][0, ::-1], rtol=1e-5)
    with pytest.raises(errors.DataError, match="topics"):
        plots.components(globals()["franchise"]())
    with pytest.raises(errors.StateError, match=r"trace\.franchises"):
        plots.components(
            hk.Franchise(hk.Restaurant(hk.NormalGamma(0, 1, 1, 1), concentration=1.0), franchise.data)
        )


def test_numbers_are_drawn_as_rows_of_ticks():
    franchise, _ = mixture([0.0, 0.1, 0.2, 9.0, 9.1], hk.NormalGamma(0, 0.1, 2, 0.5))
    drawn = plots.components(franchise)
    assert encoded(drawn, "x", 0)["axis"]["title"] == "value"
    assert len(encoded(drawn, "y", 0)["scale"]["domain"]) == franchise.n_dishes
    largest = np.argmax(np.bincount(franchise.dishes))
    parameters = franchise.dish_parameters()[largest]
    own = [row["x"] for row in rows(drawn) if row["component"] == "1"]
    assert own == franchise.data.values[franchise.dishes == largest].tolist()
    span = rows(drawn, 1)[0]
    assert span["high"] - span["low"] == pytest.approx(4.0 * np.sqrt(parameters[1]))
