"""Plots show their data."""

import builtins
import sys

import attrs
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import errors, moves, plots
from hdpkit.posterior.vectors import ComponentSet

pytest.importorskip("matplotlib").use("agg")


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


@pytest.fixture(autouse=True)
def figures():
    from matplotlib import pyplot

    yield
    pyplot.close("all")


def test_a_trace_is_a_line_a_chain_with_every_sweep(run):
    _, trace = run
    ax = plots.trace(trace, "n_dishes", after=10)
    (line,) = ax.lines
    assert line.get_xdata().tolist() == list(range(11, 31))
    assert line.get_ydata().tolist() == trace["n_dishes"][10:].tolist()
    both = hk.ChainTrace([trace, trace], numbers=(0, 2))
    ax = plots.trace(both)
    assert [line.get_label() for line in ax.lines] == ["chain 0", "chain 2"]
    assert ax.get_legend() is not None


def test_traces_are_of_all_that_changes(run):
    _, trace = run
    figure = plots.traces(trace)
    labels = {ax.get_ylabel() for ax in figure.axes}
    assert {"log probability (nats)", "K", "concentration/root"} <= labels
    assert "base/eta" not in labels  # it is fixed
    assert len(plots.traces(trace, ["n_tables"]).axes) == 1
    panels = plots.traces(hk.ChainTrace([trace, trace], numbers=(0, 2))).axes
    assert [ax.get_legend() is not None for ax in panels] == [True] + [False] * (len(panels) - 1)


def test_shares_of_topics_are_summed_from_the_largest_on():
    ax = plots.topic_shares([Kept(5, [1, 3]), Kept(9, [2, 2, 4])])
    assert [line.get_xdata().tolist() for line in ax.lines] == [[5, 9]] * 3
    assert np.array([line.get_ydata() for line in ax.lines]).T[0, :2].tolist() == [0.75, 1.0]
    assert np.array([line.get_ydata() for line in ax.lines]).T[1].tolist() == [0.5, 0.75, 1.0]
    with pytest.raises(errors.DataError, match="one chain"):
        plots.topic_shares([Kept(5, [1, 3]), Kept(5, [1, 3], chain=1)])


def test_topics_come_by_size_with_their_words(run):
    one, _ = run
    figure = plots.topics(one, n_terms=2)
    assert len(figure.axes) == one.n_dishes
    largest = one.dish_counts[np.argmax(one.dish_counts.sum(axis=1))]
    word = one.data.vocabulary[int(np.argmax(largest))]
    assert figure.axes[0].get_yticklabels()[0].get_text() == word.replace("$", r"\$")
    assert "topic 1" in figure.axes[0].get_title()


def test_similarity_has_a_dot_a_pair():
    topics = np.array([[1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    ax = plots.similarity({"ours": topics, "theirs": topics[:2]})
    assert sorted(ax.lines[0].get_xdata().round(6)) == [0.0, 0.707107, 0.707107]
    assert ax.lines[1].get_xdata().tolist() == [0.0]
    assert [label.get_text() for label in ax.get_yticklabels()] == ["ours", "theirs"]


def test_cosines_of_two_runs_have_their_pairs_on_the_diagonal():
    class Planted:
        def __init__(self, rows):
            self.rows = np.asarray(rows, dtype=float)

        def component_set(self, source):
            names = tuple(f"${k + 1}$" for k in range(len(self.rows)))
            return ComponentSet(
                source=source, names=names, shares=np.ones(len(names)) / len(names), columns=3,
                rows=lambda which: self.rows[which], words=lambda k, n: [],
            )  # fmt: skip

    found = hk.summaries.match_topics(
        Planted([[1, 0, 0], [0, 1, 0]]), Planted([[0, 0, 1], [0, 9, 1], [5, 1, 0]])
    )
    ax = plots.match(found)
    shown = np.asarray(ax.images[0].get_array())
    np.testing.assert_allclose(np.diag(shown), found.cosine)
    assert shown.shape == (2, 3)
    assert [label.get_text() for label in ax.get_xticklabels()] == [r"\$3\$", r"\$2\$", r"\$1\$"]
    assert len(ax.lines) == 2


def test_acceptance_is_accepted_over_tried(run):
    _, trace = run
    ax = plots.acceptance(trace, parts=1)
    own = trace.moves[trace.moves["move"] == trace.moves["move"][1]]
    (line,) = ax.lines
    assert "SplitMerge" in line.get_label()
    assert line.get_ydata().tolist() == [own["accepted"].sum() / own["tried"].sum()]


def test_time_of_moves_is_all_their_time(run):
    _, trace = run
    ax = plots.move_times(trace)
    assert sum(bar.get_width() for bar in ax.patches) == pytest.approx(trace.moves["seconds"].sum())


def test_perplexity_by_time():
    ax = plots.perplexity({"a$b": ([0.1, 1.0], [30.0, 20.0])}, logarithmic=False)
    assert ax.lines[0].get_ydata().tolist() == [30.0, 20.0]
    assert ax.get_legend().get_texts()[0].get_text() == r"a\$b"


def test_posterior_similarity_puts_clusters_together():
    together = np.array([[1, 0, 1, 0], [0, 1, 0, 1], [1, 0, 1, 0], [0, 1, 0, 1]], dtype=float)
    shown = plots.posterior_similarity(together, labels=list("abcd")).images[0].get_array()
    assert shown[:2, :2].all()
    assert shown[2:, 2:].all()
    assert plots.posterior_similarity(together, ordered=False).images[0].get_array()[0].tolist() == [
        1,
        0,
        1,
        0,
    ]


def test_dendrogram_names_its_leaves():
    linkage = np.array([[0.0, 1.0, 0.5, 2.0], [2.0, 3.0, 0.7, 3.0]])
    ax = plots.dendrogram(linkage, labels=["x", "y", "z"])
    assert {label.get_text() for label in ax.get_yticklabels()} == {"x", "y", "z"}


def test_pictures_go_where_they_are_told(run):
    from matplotlib.figure import Figure

    ax = Figure().add_subplot()
    assert plots.trace(run[1], ax=ax) is ax


def test_without_matplotlib_the_extra_is_named(run, monkeypatch):
    real = builtins.__import__

    def missing(name, *more, **named):
        if name.split(".")[0] == "matplotlib":
            raise ImportError(name)
        return real(name, *more, **named)

    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(errors.MissingExtraError, match=r"hdpkit\[plots\]"):
        plots.trace(run[1])


def test_equal_traces_are_one_panel():
    flat = hk.Franchise(
        hk.Restaurant(hk.NormalGamma(0, 0.1, 2, 0.5), concentration=1.0), hk.Groups.from_labels([0.0, 5, 6])
    )
    trace = hk.Scheduler([moves.TableGibbs()]).run(flat, sweeps=20, rng=0)
    assert (trace["n_tables"] == trace["n_dishes"]).all()
    labels = [ax.get_ylabel() for ax in plots.traces(trace).axes]
    assert labels == ["log probability (nats)", "K", "log_likelihood"]
    assert len(plots.traces(trace, ["n_dishes", "n_tables"]).axes) == 2  # those that are asked for


def mixture(X, measure, **options):
    franchise = hk.Franchise(hk.Restaurant(measure, concentration=1.0), hk.Groups.from_labels(X))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()])
    return franchise, schedule.run(franchise, sweeps=30, rng=0, samples=5, **options)


def test_posterior_similarity_in_the_order_of_a_partition():
    together = np.eye(4)
    together[0, 3] = together[3, 0] = 0.75
    ax = plots.posterior_similarity(together, labels=list("abcd"), partition=[1, 0, 2, 1])
    assert [label.get_text() for label in ax.get_yticklabels()] == ["b", "a", "d", "c"]
    assert ax.images[0].get_array()[1, 2] == 0.75
    assert [line.get_ydata()[0] for line in ax.lines[::2]] == [0.5, 2.5]


def test_weights_of_groups_have_intervals():
    rng = np.random.default_rng(0)
    arrays = [rng.normal(m, 0.3, size=30) for m in (0.0, 5.0, [0.0, 5.0] * 15)]
    root = hk.Restaurant(hk.NormalGamma(0.0, 0.1, 2.0, 0.5), concentration=1.0)
    franchise = hk.Franchise(hk.Restaurant(root, each="site"), hk.Groups.from_arrays(arrays, label="site"))
    schedule = hk.Scheduler([moves.TableGibbs(), moves.SplitMerge()])
    aligned = hk.summaries.components(schedule.run(franchise, sweeps=30, rng=0, samples=5))
    ax = plots.group_weights(aligned, groups=[2, 0], components=2)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["2", "0"]
    assert ax.get_ylabel() == "site"
    for k, drawn in enumerate(ax.containers):
        np.testing.assert_allclose(drawn[0].get_xdata(), aligned.group_shares[[2, 0], k])
        for segment, j in zip(drawn[2][0].get_segments(), (2, 0), strict=True):
            ends = aligned.group_shares_lower[j, k], aligned.group_shares_upper[j, k]
            np.testing.assert_allclose(segment[:, 0], ends, atol=1e-12)
    with pytest.raises(errors.DataError, match="groups"):
        plots.group_weights(hk.summaries.components([mixture(arrays[0], root.measure)[0].sample()]))


def test_components_are_points_and_ellipses():
    rng = np.random.default_rng(0)
    X = np.concatenate([rng.normal(m, [0.4, 0.8], size=(n, 2)) for m, n in (([0, 0], 60), ([6, 0], 40))])
    franchise, trace = mixture(X, hk.NormalInverseWishart.weakly_informative(X))
    ax = plots.components(franchise)
    points, ellipses = ax.lines[::2], ax.lines[1::2]
    sizes = np.sort(np.bincount(franchise.dishes))[::-1]
    assert [len(line.get_xdata()) for line in points] == sizes.tolist()
    assert [text.get_text() for text in ax.texts] == [str(k + 1) for k in range(len(sizes))]
    order = np.argsort(-np.bincount(franchise.dishes), kind="stable")
    for line, k in zip(ellipses, order, strict=True):
        mean, covariance = franchise.dish_parameters()[k][0], franchise.dish_parameters()[k][1:]
        away = np.column_stack(line.get_data()) - mean
        squares = np.einsum("ni,ij,nj->n", away, np.linalg.inv(covariance), away)
        np.testing.assert_allclose(squares, 4.0)  # two standard deviations
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("dimension 0", "dimension 1")
    agreed = hk.summaries.components(trace)
    agreed = agreed.selected(agreed.agreed())
    ax = plots.components(franchise, agreed, axes=(1, 0))
    assert ax.get_xlabel() == "dimension 1"
    np.testing.assert_allclose(ax.texts[0].get_position(), agreed.rows[0][0, ::-1])
    with pytest.raises(errors.DataError, match="topics"):
        plots.components(globals()["franchise"]())
    with pytest.raises(errors.StateError, match=r"trace\.franchises"):
        plots.components(
            hk.Franchise(hk.Restaurant(hk.NormalGamma(0, 1, 1, 1), concentration=1.0), franchise.data)
        )


def test_more_dimensions_are_drawn_on_principal_components():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 4)) * [1.0, 50.0, 1.0, 1.0]
    X[:40, 2:] += 8.0
    franchise, _ = mixture(X, hk.NormalInverseWishart.weakly_informative(X))
    ax = plots.components(franchise)
    assert ax.get_xlabel().startswith("first principal component (")
    drawn = np.concatenate([np.column_stack(line.get_data()) for line in ax.lines[::2]])
    scaled = (X - X.mean(axis=0)) / X.std(axis=0)
    values = np.linalg.eigvalsh(np.cov(scaled.T, bias=True))
    np.testing.assert_allclose(np.sort(drawn.var(axis=0)), values[-2:])


def test_numbers_are_drawn_as_rows_of_ticks():
    franchise, _ = mixture([0.0, 0.1, 0.2, 9.0, 9.1], hk.NormalGamma(0, 0.1, 2, 0.5))
    ax = plots.components(franchise)
    assert ax.get_xlabel() == "value"
    assert len(ax.get_yticklabels()) == franchise.n_dishes
    largest = np.argmax(np.bincount(franchise.dishes))
    parameters = franchise.dish_parameters()[largest]
    assert ax.lines[0].get_xdata().tolist() == franchise.data.values[franchise.dishes == largest].tolist()
    ends = ax.lines[1].get_xdata()
    assert np.ptp(ends) == pytest.approx(4.0 * np.sqrt(parameters[1]))


def test_numbers_in_no_component_are_a_grey_row():
    franchise, trace = mixture([0.0, 0.1, 0.2, 9.0, 9.1], hk.NormalGamma(0, 0.1, 2, 0.5))
    agreed = hk.summaries.components(trace)
    agreed = agreed.selected(agreed.agreed())
    one = agreed.selected([0])  # the others are in none
    ax = plots.components(franchise, one)
    assert [label.get_text() for label in ax.get_yticklabels()] == ["1", "none"]
    shown = np.concatenate([line.get_xdata() for line in ax.lines if line.get_marker() == "|"])
    assert sorted(shown) == sorted(franchise.data.values)
