"""A base measure compiled outside the package: built against the installed header, and run."""

import importlib.util
import os
import shutil
import subprocess
import sys
from pathlib import Path

import attrs
import numpy as np
import pytest

import hdpkit as hk
from hdpkit import moves
from hdpkit.errors import ExtensionError
from hdpkit.franchise.starts import start
from hdpkit.random import RandomStream
from hdpkit.testing import check_base_measure

TESTS = Path(__file__).resolve().parents[1]
EXAMPLE = TESTS.parent / "examples" / "compiled_measure"


def build(source, folder):
    """Build a copy of a package in place, as its own set-up script does."""
    shutil.copytree(source, folder, ignore=shutil.ignore_patterns("build", "*.so", "*.egg-info"))
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    done = subprocess.run(
        [sys.executable, "setup.py", "build_ext", "--inplace"],
        cwd=folder,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return folder


def load(name, folder):
    (path,) = [path for path in folder.glob(f"{name}.*") if path.suffix in (".so", ".pyd")]
    spec = importlib.util.spec_from_file_location(name, path)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def polya_urn(tmp_path_factory):
    folder = build(EXAMPLE, tmp_path_factory.mktemp("outside") / "package")
    sys.path.insert(0, str(folder))
    try:
        import polya_urn

        yield polya_urn
    finally:
        sys.path.remove(str(folder))


@pytest.fixture(scope="module")
def hooked(tmp_path_factory):
    return load("_hooked", build(TESTS / "extension", tmp_path_factory.mktemp("outside") / "hooked"))


def corpus(n_documents=12, length=15, n_terms=4, seed=0):
    generator = np.random.default_rng(seed)
    documents = [generator.integers(0, n_terms, length) % (1 + j % n_terms) for j in range(n_documents)]
    return hk.Corpus.from_documents(documents, n_terms=n_terms)


def franchise_over(measure, data=None, **options):
    root = hk.Restaurant(base=measure, concentration=hk.Gamma(1.0, 1.0))
    document = hk.Restaurant(base=root, concentration=0.7, each="document")
    return hk.Franchise(document, data or corpus(), **options)


SCHEDULE = hk.Scheduler([moves.TableGibbs(), moves.DishGibbs(), moves.SplitMerge(), moves.Concentration()])


def test_the_example_passes_the_contract_of_a_measure(polya_urn):
    report = check_base_measure(polya_urn.PolyaUrn(3, 0.5), shapes=["2+1", "three levels of three"])
    assert any("generic" in line for line in report)


@pytest.mark.parametrize("store", ["explicit", "histogram"])
def test_the_example_runs_on_the_compiled_kernels(polya_urn, store):
    franchise = franchise_over(polya_urn.PolyaUrn(4, 0.5), store=store)
    assert franchise.kernel("reseat") == "generic"
    trace = SCHEDULE.run(franchise, sweeps=60, rng=1, audit_every=5)
    assert trace["n_dishes"].max() > 1
    assert franchise.dish_parameters().shape == (franchise.n_dishes, 4)
    twin = franchise_over(hk.DirichletMultinomial(0.5, n_terms=4), store=store, kernel="generic")
    hk.Scheduler([moves.TableGibbs()]).run(twin, sweeps=1, rng=1, init=franchise.dishes)
    hk.Scheduler([moves.TableGibbs()]).run(franchise, sweeps=1, rng=1, init=franchise.dishes)
    assert np.array_equal(franchise.dishes, twin.dishes)  # one law, one stream: here also one chain
    assert franchise.log_likelihood() == pytest.approx(twin.log_likelihood(), rel=1e-12)


def test_new_documents_over_the_example_have_the_law_of_the_packages_own(polya_urn):
    """The urn is a Dirichlet-multinomial; its predictive may leave a factor out, and scores may not."""
    new = corpus(3, 5, seed=1)
    found = []
    for measure in (polya_urn.PolyaUrn(4, 0.5), hk.DirichletMultinomial(0.5)):
        franchise = franchise_over(measure)
        start(franchise, hk.init.Random(3), RandomStream((1, 1)))
        found.append((franchise.fold_in(new, 5, rng=3), hk.evaluate(franchise, new)))
    (folded, score), (expected, other) = found
    assert folded.proportions == pytest.approx(expected.proportions, abs=1e-12)
    assert score.group_log_probability == pytest.approx(other.group_log_probability, abs=1e-9)


def test_another_version_of_the_struct_is_refused(polya_urn, tmp_path):
    folder = tmp_path / "old"
    shutil.copytree(EXAMPLE, folder)
    header = Path(hk.get_include()) / "hdpkit" / "measure.h"
    old = header.read_text(encoding="utf-8").replace("HDPKIT_MEASURE_VERSION 2", "HDPKIT_MEASURE_VERSION 1")
    (folder / "include" / "hdpkit").mkdir(parents=True)
    (folder / "include" / "hdpkit" / "measure.h").write_text(old, encoding="utf-8")
    script = (folder / "setup.py").read_text(encoding="utf-8").replace("hdpkit.get_include()", "'include'")
    (folder / "setup.py").write_text(script, encoding="utf-8")
    urn = load("_urn", build(folder, tmp_path / "built") / "polya_urn")

    class Old(polya_urn.PolyaUrn):
        def compiled(self, data):
            return urn.make(np.ascontiguousarray(data.values, dtype=np.int32), self.n_colours, self.a)

    with pytest.raises(ExtensionError, match=r"version 1.*must be version 2.*Compile the extension again"):
        franchise_over(Old(4))


def test_what_is_no_capsule_is_refused(polya_urn):
    class Nonsense(polya_urn.PolyaUrn):
        def compiled(self, data):
            return 3

    with pytest.raises(ExtensionError, match=r"PyCapsule named 'hdpkit\.measure'"):
        franchise_over(Nonsense(4))


class PythonFault(Exception):
    """What a user's code raises."""


@pytest.fixture
def faulty(polya_urn, hooked):
    @attrs.frozen(eq=False)
    class Faulty(polya_urn.PolyaUrn):
        """Raises at the n-th call of one of its functions, and at every one after it if ``forever``."""

        fault: dict = attrs.field(factory=dict)

        def compiled(self, data):
            def hook(name):
                if name == self.fault.get("name"):
                    self.fault["left"] -= 1
                    if self.fault["left"] == 0 or (self.fault["forever"] and self.fault["left"] < 0):
                        raise PythonFault(name)

            return hooked.wrap(super().compiled(data), hook)

    return Faulty


@pytest.mark.parametrize("store", ["explicit", "histogram"])
@pytest.mark.parametrize(
    ("name", "move"),
    [
        ("predictive", moves.TableGibbs()),
        ("add", moves.TableGibbs()),
        ("remove", moves.TableGibbs()),
        ("born", moves.TableGibbs()),
        ("log_block", moves.DishGibbs()),
        ("add", moves.DishGibbs()),
        ("remove", moves.DishGibbs()),
        ("born", moves.DishGibbs()),
        ("log_block", moves.SplitMerge()),
        ("add", moves.SplitMerge()),
        ("remove", moves.SplitMerge(scans=1)),
        ("predictive", moves.ReseatGroups()),
        ("log_block", moves.ReseatGroups()),
        ("add", moves.ReseatGroups()),
        ("remove", moves.ReseatGroups()),
        ("born", moves.ReseatGroups(scans=None)),
    ],
    ids=str,
)
def test_a_python_exception_in_a_compiled_sweep_surfaces_as_itself(faulty, store, name, move):
    measure = faulty(4, 0.5)
    franchise = franchise_over(measure, store=store)
    SCHEDULE.run(franchise, sweeps=3, rng=1)
    schedule = hk.Scheduler([move])
    for place in range(1, 40, 3):
        measure.fault.update(name=name, left=place, forever=False)
        try:
            schedule.run(franchise, sweeps=40, rng=place, init=None)
        except PythonFault as error:
            assert error.args == (name,)  # noqa: PT017 - it need not be raised in every place
            raised = True
        measure.fault.clear()
        franchise.audit()
        assert (franchise.dishes >= 0).all()
        SCHEDULE.run(franchise, sweeps=1, rng=2, init=None)
    assert raised
