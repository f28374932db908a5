"""Bad input for every parameter of every public function raises a typed error with four facts.

Public functions are found by introspection; the values are in `bad_input_rows`. A parameter without a row
fails, and so does a row or an exclusion without a parameter.
"""

import fnmatch
import inspect
import re
import warnings
from collections.abc import Mapping
from importlib import import_module

import bad_input_rows as table
import numpy as np
import pytest

import hdpkit as hk
import hdpkit.testing
from hdpkit import errors
from hdpkit.franchise.proposals import Proposal
from hdpkit.franchise.view import RestaurantView
from hdpkit.registry import Registry
from hdpkit.testing.machines import same

READABLE = import_module("hdpkit.base_measures")  # hk.base_measures is the registry
SPECIAL = ("__call__", "__getitem__")


def public_classes():
    """Public classes by name, bases first; those that one is handed out are public too."""
    found = {"RestaurantView": RestaurantView, "Proposal": Proposal}
    for module in (hk, hk.moves, hk.init):
        prefix = {hk.moves: "moves.", hk.init: "init."}.get(module, "")
        found |= {prefix + name: getattr(module, name) for name in module.__all__}
    found |= {name: thing for name, thing in vars(READABLE).items() if name.endswith("Reference")}
    found = {name: thing for name, thing in found.items() if isinstance(thing, type)}
    return dict(sorted(found.items(), key=lambda item: (len(item[1].__mro__), item[0])))


def ours(function):
    return (getattr(function, "__module__", None) or "").startswith("hdpkit")


def methods(kind):
    for name in dir(kind):
        if name.startswith("_") and name not in SPECIAL:
            continue
        method = inspect.getattr_static(kind, name)
        method = method.__func__ if isinstance(method, classmethod | staticmethod) else method
        if inspect.isfunction(method) and ours(method):
            yield name, method


def parameters(function, bound=False):
    names = [(name, p.kind) for name, p in inspect.signature(function).parameters.items()]
    return dict(names[1:] if bound else names)


def discover():
    """Everything public that takes arguments: name -> {parameter: kind}."""
    found, seen = {}, set()
    for name, kind in public_classes().items():
        if not inspect.isabstract(kind) and not getattr(kind, "_is_protocol", False):
            found[name] = parameters(kind)
        for method_name, method in methods(kind):
            if method not in seen:
                seen.add(method)
                static = isinstance(inspect.getattr_static(kind, method_name), staticmethod)
                found[f"{name}.{method_name}"] = parameters(method, bound=not static)
    for name, method in methods(Registry):
        found[f"Registry.{name}"] = parameters(method, bound=True)
    for name in hk.__all__:
        thing = getattr(hk, name)
        if inspect.isfunction(thing):
            found[name] = parameters(thing)
        else:
            assert isinstance(thing, type | Registry) or inspect.ismodule(thing), f"{name}: of a new kind"
    for name in hk.plots.__all__:
        found[f"plots.{name}"] = parameters(getattr(hk.plots, name))
    for name in hk.summaries.__all__:
        thing = getattr(hk.summaries, name)
        if inspect.isfunction(thing):
            found[f"summaries.{name}"] = parameters(thing)
    for name in hdpkit.testing.__all__:
        if name.startswith("check_"):
            found[f"testing.{name}"] = parameters(getattr(hdpkit.testing, name))
    return found


FOUND = discover()
EXCLUDED = {name for name in FOUND if any(fnmatch.fnmatchcase(name, p) for p in table.EXCLUDED)}
WANTED = {(name, parameter) for name, names in FOUND.items() if name not in EXCLUDED for parameter in names}
for name, row in table.ROWS.items():
    row.bad.update(
        (one, table.BY_NAME[one])
        for one in FOUND.get(name, {})
        if one not in row.bad and one in table.BY_NAME
    )
GIVEN = {(name, parameter) for name, row in table.ROWS.items() for parameter in row.bad}
CASES = [
    pytest.param(name, parameter, values, id=f"{name}-{parameter}")
    for name, row in table.ROWS.items()
    for parameter, values in row.bad.items()
    if not isinstance(values, table.Anything)
]


def test_what_is_public_is_found():
    assert {
        "Gamma",
        "Corpus.from_documents",
        "Franchise.thaw",
        "moves.Move.until",
        "Registry.register",
    } <= set(FOUND)
    assert FOUND["Corpus.from_documents"].keys() == {"docs", "n_terms", "vocabulary", "names", "groups"}


def test_every_parameter_has_a_row():
    assert sorted(WANTED - GIVEN) == []


def test_every_row_has_a_parameter():
    assert sorted(GIVEN - WANTED) == []
    assert sorted(set(table.ROWS) - set(FOUND)) == []


def test_every_exclusion_excludes_something_for_a_reason():
    for pattern, reason in table.EXCLUDED.items():
        assert fnmatch.filter(FOUND, pattern), f"{pattern} excludes nothing"
        assert len(reason) > 10
    for name, row in table.ROWS.items():
        for parameter, values in row.bad.items():
            if isinstance(values, table.Anything):
                assert len(values.reason) > 10, (name, parameter)
            else:
                assert values, f"{name}, {parameter}: no bad value"


def test_a_row_is_missed_when_a_parameter_is_new():
    def grown(self, shape, rate, new):
        """A signature with one parameter more."""

    assert ("Gamma", "new") not in GIVEN
    assert set(parameters(grown, bound=True)) - {p for name, p in GIVEN if name == "Gamma"} == {"new"}


def invoke(name, function, good, changes):
    arguments = {**good}
    for parameter, value in changes.items():
        kind = FOUND[name][parameter]
        if kind is inspect.Parameter.VAR_KEYWORD:
            arguments |= value
        else:
            arguments[parameter] = value
    return function(**arguments)


@pytest.mark.parametrize("name", [name for name, row in table.ROWS.items() if row.bad])
def test_good_values_are_taken(name):
    row = table.ROWS[name]
    franchise = table.tiny()
    function, good = row.build(franchise)
    if row.run is None:
        function(**good)
    else:
        row.run(function, good)
    franchise.audit()


def leaves(value):
    """A value and, where it is a container, all that is in it."""
    yield value
    if isinstance(value, Mapping):
        for key, item in value.items():
            yield key
            yield from leaves(item)
    elif isinstance(value, list | tuple):
        for item in value:
            yield from leaves(item)
    elif isinstance(value, np.ndarray):
        yield from value.ravel().tolist()


@pytest.mark.parametrize(("name", "parameter", "values"), CASES)
def test_bad_values_are_refused(name, parameter, values):
    """All values of a parameter in one test, which lists those that are not refused as they should be."""
    failures = []
    franchise = table.tiny()
    built = table.ROWS[name].build(franchise)  # once: a call that is refused leaves all as it was
    for number, bad in enumerate(values):
        try:
            check_refused(name, parameter, bad, franchise, *built)
        except (Exception, pytest.fail.Exception) as failure:  # whatever a call lets through
            failures.append(f"value {number}, {errors.short_repr(bad)}: {type(failure).__name__}: {failure}")
    assert not failures, f"{len(failures)} of {len(values)}:\n" + "\n".join(failures)


def test_all_values_that_are_not_refused_are_listed():
    with pytest.raises(AssertionError, match=r"(?s)2 of 3.*value 0, 2\.0.*value 2, 3\.0"):
        test_bad_values_are_refused("Gamma", "shape", [2.0, -1.0, 3.0])


def check_refused(name, parameter, bad, franchise, function, good):
    """A bad value is refused by an error with the four facts, and nothing has changed."""
    before = franchise.freeze()
    value = bad.value(franchise) if isinstance(bad, table.Made) else bad
    told = None
    if isinstance(value, table.Told):
        value, told = value.value, value.told
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(errors.HdpkitError) as caught:
            invoke(name, function, good, {parameter: value})
    error = caught.value
    assert not isinstance(error, errors.AuditError | errors.BusyError | errors.ExtensionError)
    for fact in (error.parameter, error.allowed, error.remedy):
        assert isinstance(fact, str)
        assert fact.strip()
    text = str(error)
    names = [parameter, *table.ALIASES.get(parameter, "").split()]
    assert any(word in error.parameter for word in names), f"{text!r} doesn't name {names}"
    assert errors.short_repr(error.value) in text
    if told is None:
        shown = {errors.short_repr(leaf) for leaf in leaves(value)}
        assert errors.short_repr(error.value) in shown, f"{text!r} doesn't show {shown}"
    else:
        assert told in text
    assert same(before, franchise.freeze()), "a refused call changed the franchise"
    franchise.audit()


def masked(value):
    """An array of these values of which the first is masked; None if they are no array of values."""
    if not isinstance(value, list | tuple | np.ndarray):
        return None
    try:
        array = np.array(value)
    except ValueError:  # ragged
        return None
    if not array.ndim or not array.size or array.dtype.kind not in "iufbU":
        return None
    return np.ma.masked_array(array, mask=np.arange(array.size).reshape(array.shape) == 0)


def test_masked_arrays_are_refused_wherever_arrays_are_taken():
    """NumPy uncovers masked entries without a word. Labels of groups may be missing."""
    tried, taken = 0, []
    for name, row in table.ROWS.items():
        function, good = row.build(table.tiny())
        for parameter, value in good.items():
            hidden = masked(value)
            if hidden is None:
                continue
            tried += 1
            try:
                invoke(name, function, good, {parameter: hidden})
            except errors.HdpkitError:
                continue
            except Exception as error:
                taken.append(f"{name}, {parameter}: {error!r}")
            else:
                taken.append(f"{name}, {parameter}")
    assert taken == []
    assert tried > 60


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in table.LEGAL.items()])
def test_edge_cases_are_legal(make):
    made = make()
    if isinstance(made, tuple):
        corpus, measure = made
    else:
        corpus, measure = made, hk.DirichletMultinomial(0.5)
    root = hk.Restaurant(measure, concentration=hk.Gamma(1.0, 1.0))
    restaurant = root if not corpus.label_names else hk.Restaurant(root, each=corpus.label_names[0])
    schedule = [hk.moves.TableGibbs(), hk.moves.SplitMerge(), hk.moves.Concentration()]
    if corpus.label_names:
        schedule.append(hk.moves.DishGibbs())
    for store in ("histogram", "explicit"):
        franchise = hk.Franchise(restaurant, corpus, store=store)
        trace = hk.Scheduler(schedule).run(franchise, sweeps=5, rng=1, audit_every=1)
        assert np.isfinite(trace["log_joint"]).all()


def documented_above(kind, name, arguments):
    """Whether a method takes over the documentation of one that it overrides, or its class has it."""
    of_all = "".join(base.__doc__ or "" for base in kind.__mro__).partition("Arguments of the methods")[2]
    if all(re.search(rf"^ +{one} : |``{one}`` (is|are) ", of_all, re.M) for one in arguments):
        return True
    return any(
        "Parameters\n" in (vars(base)[name].__doc__ or "") for base in kind.__mro__ if name in vars(base)
    )


def test_public_functions_of_several_arguments_say_what_they_take():
    silent = set()
    for name, kind in public_classes().items():
        for method_name, method in methods(kind):
            arguments = parameters(method, bound=True)
            if len(arguments) > 1 and not documented_above(kind, method_name, arguments):
                silent.add(f"{name}.{method_name}")
    for name in hk.__all__:
        thing = getattr(hk, name)
        if inspect.isfunction(thing) and len(parameters(thing)) > 1 and "Parameters\n" not in thing.__doc__:
            silent.add(name)
    assert not silent
