"""Kinds of models: every setting in everything that takes it, and a kind of one's own from end to end."""

import math
import pickle
import shutil
import sys
from pathlib import Path

import numpy as np
import pytest
from fit_command import call, hdpkit
from forged_runs import forge_about
from report_cases import cohort_run
from sklearn.base import clone
from sklearn.utils.estimator_checks import check_estimator

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import (
    CorruptRunError,
    HdpkitError,
    LeftOutColumnsWarning,
    ParameterError,
    RunError,
    StateError,
)  # fmt: skip
from hdpkit.kinds import ESTIMATORS, estimator, values
from hdpkit.kinds.catalog import KINDS, kind_named, kind_of, kind_of_run
from hdpkit.kinds.diagnosis import diagnose
from hdpkit.kinds.numbers import KeptColumns
from hdpkit.kinds.points import Mixture
from hdpkit.kinds.topics import Bursts, Topics, default_moves, topic_measure
from hdpkit.pages.sections import sections_of
from hdpkit.report import SECTIONS, Content, Section, write_report
from hdpkit.signatures import CHANNELS

EXAMPLES = Path(__file__).parents[2] / "examples"
CASES = [
    pytest.param(name, one, id=f"{name}-{one.name}") for name in KINDS for one in kind_named(name).settings()
]
COMMANDS = {"topics": ("fit",), "signatures": ("signatures",), "hmm": ("hmm", "fit"), "mixture": ("mixture",)}


def wrong_of(taken):
    """Values that are none of these."""
    if isinstance(taken, values.Whole):
        return taken.low - 1, taken.high + 1, 1.5, "x", True, [1]
    if isinstance(taken, values.Between):
        inside = () if taken.ends else (taken.low,)
        beyond = () if taken.high is None else (taken.high + 1.0,)
        return taken.low - 1.0, *inside, *beyond, math.nan, math.inf, "x", [0.5]
    return next((wrong for kind, wrong in WRONG.items() if isinstance(taken, kind)), ())


WRONG = {
    Bursts: (-1.0, "x", []),
    values.NumberOrPrior: (-1.0, math.nan, math.inf, "x", [], {}),
    values.OneOf: ("cosine-like", 5, [], True),
    values.Flag: (2, "yes", []),
    values.Name: ("", 5, ["x"]),
    values.Names: (5, "x"),
}


@pytest.mark.parametrize(("name", "one"), CASES)
def test_wrong_values_are_refused_by_name(name, one):
    for wrong in wrong_of(one.values):
        with pytest.raises(ParameterError) as caught:
            kind_named(name)(**{one.name: wrong})
        assert caught.value.parameter == one.name
        assert caught.value.remedy


@pytest.mark.parametrize(("name", "one"), CASES)
def test_options_refuse_what_settings_refuse(name, one, tmp_path):
    """As far as it can be written: lists and such can't."""
    if name not in COMMANDS or one.of == "estimators" or one.default in (True, False):
        return
    data = tmp_path / "data.csv"
    data.write_text("a,b\n1,2\n")
    for wrong in wrong_of(one.values):
        if isinstance(wrong, str | int | float) and not isinstance(wrong, bool) and wrong != 5:
            option = f"--{one.in_commands}={wrong}"
            call(*COMMANDS[name], data, option, "--out", tmp_path / "out", code=2)
            assert not (tmp_path / "out").exists()


SHORT = {"sweeps": 1, "chains": 1}


@pytest.mark.parametrize("made", [
    hk.TopicModel(partial_sweeps=1, **SHORT), hk.SparseTopicModel(partial_sweeps=1, **SHORT),
    hk.HiddenMarkovModel(**SHORT), hk.MixtureModel(sweeps=2),
], ids=lambda made: type(made).__name__)  # fmt: skip
@pytest.mark.filterwarnings("ignore")
def test_scikit_learn_checks(made):
    results = check_estimator(made, on_fail=None)
    # One is skipped by scikit-learn itself unless SCIPY_ARRAY_API is set.
    assert {r["check_name"] for r in results if r["status"] != "passed"} <= {"check_array_api_input"}
    assert len(results) > 35


@pytest.mark.parametrize(
    ("measure", "names"),
    [
        (topic_measure(0.1, False, True), ["Concentration"]),
        (topic_measure(0.1, False, 2.0), []),
        (topic_measure(hk.Gamma(1.0, 1.0), False, 2.0), ["BaseMeasureParameters"]),
        (hk.Bursty(hk.DirichletMultinomial(0.1), 2.0, hk.Beta(1.0, 1.0)), ["Discount"]),
    ],
)
def test_the_default_schedule_of_topics_updates_what_has_a_prior(measure, names):
    restaurant = Topics(concentration=1.0, root_concentration=1.0).restaurants(measure, "document")
    kinds = (moves.BaseMeasureParameters, moves.Concentration, moves.Discount)
    assert [move.name for move in default_moves(restaurant) if isinstance(move, kinds)] == names


@pytest.mark.parametrize("name", ESTIMATORS)
def test_estimators_have_the_settings_of_their_kind(name):
    made = estimator(name)
    own = {one.name: one for one in made.kind.settings() if one.of != "commands"}
    parameters = made().get_params()
    assert own.keys() < parameters.keys()
    for one in own.values():
        assert f"{one.name} : " in made.__doc__
        assert parameters[one.name] == one.default
    assert clone(made(sweeps=7)).sweeps == 7
    with pytest.raises(TypeError):
        made(no_such_thing=1)


@pytest.mark.parametrize("name", ESTIMATORS)
@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("sweeps", 0), ("samples", -1), ("chains", 0), ("until", "soon"), ("at_most", 3),
        ("random_state", "x"), ("init", "none"), ("schedule", [5]), ("store", "cupboard"), ("progress", 5),
    ],
)  # fmt: skip
def test_what_a_fit_refuses_besides_settings(name, parameter, value):
    made = estimator(name)
    if parameter not in made().get_params():
        return
    counts = np.arange(12).reshape(6, 2) % 5
    with pytest.raises(HdpkitError, match={"schedule": "moves"}.get(parameter, parameter)):
        made(**{"sweeps": 2, parameter: value}).fit(counts)


def weeks():
    rng = np.random.default_rng(0)
    means = np.array([[20, 22, 25, 24, 40, 80, 10], [60, 58, 55, 57, 50, 10, 2], [5, 5, 6, 5, 8, 30, 35]])
    shares = [[0.7, 0.2, 0.1], [0.1, 0.8, 0.1], [0.2, 0.1, 0.7]]
    shop = np.arange(90) % 3
    pattern = np.array([rng.choice(3, p=shares[j]) for j in shop])
    return rng.poisson(means[pattern]), shop, pattern


@pytest.fixture
def visits(monkeypatch, tmp_path):
    monkeypatch.syspath_prepend(EXAMPLES)
    monkeypatch.chdir(tmp_path)
    sys.modules.pop("visits", None)
    import visits

    counts, shop, _ = weeks()
    rows = ["shop,mon,tue,wed,thu,fri,sat,sun"]
    rows += [f"shop{j}," + ",".join(map(str, row)) for j, row in zip(shop, counts.tolist(), strict=True)]
    (tmp_path / "visits.csv").write_text("\n".join(rows) + "\n")
    yield visits
    sys.modules.pop("visits", None)


def test_a_kind_of_ones_own_has_everything(visits, tmp_path):
    of_chains = ("--chains", 2, "--sweeps", 30)
    said = call("visits:Visits", "visits.csv", "--group", "shop", *of_chains, "--out", "run")
    assert "90 points in 7 dimensions, 3 groups" in said
    assert "3 patterns of" in said
    assert "Can it be read?" in said
    assert "weeks" in said
    trusted = ("--allow", "visits")
    assert "3 patterns" in call("topics", "run", *trusted)
    call("report", "run", *trusted)
    page = (tmp_path / "run" / "report.html").read_text()
    assert "Patterns of visits of run" in page
    assert "3 patterns of" in call("export", "run", "--to", "csv", "--out", "tables", *trusted)
    assert (tmp_path / "tables" / "weights.csv").read_text().count("\n") > 3
    call("infer", "run", "visits.csv", "--out", "new.csv", *trusted)
    assert (tmp_path / "new.csv").read_text().startswith("point,log_density,component")
    assert "3 patterns in both" in call("match", "run", "run", *trusted)
    assert "weeks/s" in call("resume", "run", "--sweeps", 2, *trusted)
    assert "all is well" in call("verify", "run", *trusted)
    kind = kind_of_run(hk.open_run("run", allow=[visits]))
    assert type(kind).__name__ == "Visits"
    assert kind.groups == "shop"


def test_a_run_of_an_unknown_kind_needs_permission(visits):
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 4, "--out", "run", "--shape", 3)
    said = call("topics", "run", code=2)
    assert "visits:Visits" in said
    assert "allow" in said


def test_the_estimator_of_a_kind_of_ones_own(visits, tmp_path):
    counts, shop, pattern = weeks()
    model = visits.VisitsModel(shape=3.0, sweeps=30, random_state=0).fit(counts, groups=shop)
    assert model.n_components_ == 3
    pairs = {(one, other) for one, other in zip(model.labels_.tolist(), pattern.tolist(), strict=True)}
    assert len(pairs) == 3
    model.save(tmp_path / "saved")
    again = visits.VisitsModel.load(tmp_path / "saved", allow=[visits])
    assert again.get_params()["shape"] == 3.0
    assert np.array_equal(again.predict(counts), model.predict(counts))
    with pytest.raises(ParameterError, match="shape"):
        visits.VisitsModel(shape=-1.0).fit(counts)


def test_a_kind_has_the_sections_of_its_base_and_its_own(visits, tmp_path):
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 4, "--out", "run")
    own = Section(key="own", title="Weeks", template="<p>a week</p>", read=lambda _: Content())

    class More(visits.Visits):
        sections = (own, *visits.Visits.sections)

    assert [one.key for one in sections_of(More())] == ["own", *visits.Visits.sections]
    page = write_report("run", "page.html", sections=[*SECTIONS, own], allow=[visits]).read_text()
    assert page.index('id="mixture"') < page.index('id="weights"') < page.index('id="own"')
    assert 'id="overview"' not in page


def test_verdicts_have_the_words_of_the_kind(visits, tmp_path):
    of_cohort = str(diagnose(cohort_run(tmp_path / "cohort")))
    assert "mutations" in of_cohort
    assert "signatures" in of_cohort
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 50, "--chains", 2, "--out", "run")
    assert "of the weeks" in str(diagnose(hk.open_run("run", allow=[visits])))
    assert "of the observations" in str(diagnose(hk.open_run("run")))  # the class may not be imported


def test_commands_of_other_kinds_say_what_they_take(visits):
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 4, "--out", "run")
    result = hdpkit("labels", "run", "--allow", "visits")
    assert "a run of topics" in result.output
    assert isinstance(result.exception, SystemExit)
    assert "above 0" in call("visits:Visits", "visits.csv", "--shape", -3, "--out", "none", code=2)
    for name in ("visits:", ":Visits", "visits:Nothing", "hdpkit.kinds:Points", "os:system"):
        said = call(name, "visits.csv", "--out", "none", code=2)
        assert "module:Class" in said
        assert "changed" not in said


def test_components_of_numbers_have_no_terms_and_documents(visits, tmp_path):
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 4, "--out", "run")
    found = hk.summaries.components(hk.open_run("run", allow=[visits]))
    for ask in (lambda: found.about(2), lambda: list(found.documents()), lambda: found.n_terms):
        with pytest.raises(StateError):
            ask()
    again = pickle.loads(pickle.dumps(found))
    assert np.array_equal(again.shares, found.shares)
    hk.plots.acceptance(hk.open_run("run").trace).save("none.png")


def test_a_run_of_a_command_is_loaded_as_an_estimator(visits):
    call("visits:Visits", "visits.csv", "--group", "shop", "--sweeps", 20, "--chains", 2, "--out", "run")
    model = visits.VisitsModel.load("run", allow=[visits])
    assert model.schedule is None
    assert model.get_params()["chains"] == 2
    assert model.n_features_in_ == 7
    call("infer", "run", "visits.csv", "--out", "found.csv", "--allow", "visits")
    found = np.loadtxt("found.csv", delimiter=",", skiprows=1, usecols=2)
    shops = [f"shop{j}" for j in weeks()[1]]
    assert np.array_equal(model.predict(weeks()[0], groups=shops), found - 1)
    with pytest.raises(RunError, match="command of its kind"):
        hk.MixtureModel.load("run", allow=[visits])


POINTS = np.random.default_rng(0).normal(size=(12, 2)) + np.repeat([[0.0], [9.0]], 6, axis=0)


TEXT = hk.Corpus.from_documents([["a", "b"]])
DATA = {
    "signatures": hk.Corpus.from_documents([[0]], vocabulary=CHANNELS["SBS96"].names),
    "topics": TEXT, "sparse topics": TEXT, "hmm": hk.Sequences.from_arrays([[0.0, 1.0]]),
    "mixture": hk.Groups.from_labels(POINTS),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds") / "model"
    wide = np.column_stack([POINTS, np.full(12, 3.0)])
    with pytest.warns(LeftOutColumnsWarning):
        hk.MixtureModel(sweeps=4, samples=2, random_state=0).fit(wide).save(folder)
    return folder


FORGED = {
    "kind": [5, "nothing", "os:system", "topics"],
    "settings": [5, {"more": 1}, {"measure": "cosine"},
                 {"measure": {"object": "os:system", "arguments": {}}}],
    "of_the_data": [5, {"kept": {}}, {},
                    {"kept": {"kept": [0, 5], "origin": [0.0] * 3, "slopes": [[0.0] * 2] * 3}},
                    {"kept": {"kept": [0], "origin": [0.0] * 3, "slopes": [[0.0]] * 3}}],
}  # fmt: skip


@pytest.mark.parametrize(
    ("key", "value"), [(key, value) for key, values in FORGED.items() for value in values]
)
def test_a_forged_kind_is_a_typed_error(key, value, saved, tmp_path):
    shutil.copytree(saved, tmp_path / "model")
    forge_about(tmp_path / "model", lambda about: about["model"].update({key: value}))
    with pytest.raises((RunError, CorruptRunError)):
        hk.MixtureModel.load(tmp_path / "model")
    result = hdpkit("verify", tmp_path / "model")
    assert isinstance(result.exception, SystemExit) or result.exit_code == 0
    if key == "of_the_data":
        assert result.exit_code in (0, 1), result.output
    else:
        assert result.exit_code == 1 or "model: not looked at: it needs" in result.output


def test_a_run_is_of_the_kind_that_began_it(saved):
    run = hk.open_run(saved)
    kind = kind_of_run(run)
    assert isinstance(kind, Mixture)
    assert isinstance(kind.kept, KeptColumns)
    assert kind.kept.kept.tolist() == [0, 1]
    for name, data in DATA.items():
        assert kind_of(data).name == name.removeprefix("sparse ")
