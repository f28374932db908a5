"""Runs with user-defined classes: the output of commands with and without permission to import them."""

import sys

import pytest
from fit_command import hdpkit

import hdpkit as hk
from hdpkit import moves
from hdpkit.cli.verification import verify_run

TEXT = """
import hdpkit as hk
class Half(hk.moves.Move):
    def apply(self, state, rng, steps=None):
        state.reseat(0, state.topology.n_customers // 2, rng)
        return hk.moves.MoveInfo()
class Eta:
    mean = 0.5
    def log_density(self, x): return 0.0
    def draw(self, generator, size=None): return 0.5
"""


@pytest.fixture
def module(tmp_path, monkeypatch):
    (tmp_path / "halves_of_a_user.py").write_text(TEXT)
    monkeypatch.syspath_prepend(str(tmp_path))
    import halves_of_a_user

    yield halves_of_a_user
    del sys.modules["halves_of_a_user"]


def begun(folder, schedule, concentration=1.0):
    corpus = hk.Corpus.from_documents([["bread", "salt"], ["ship", "sail", "salt"]])
    restaurant = hk.Restaurant(hk.DirichletMultinomial(0.5), concentration=concentration)
    hk.Scheduler(schedule).run(hk.Franchise(restaurant, corpus), 3, rng=0, folder=folder)
    return folder


@pytest.mark.parametrize("kind", ["move", "prior"])
def test_a_healthy_run_does_not_fail_for_want_of_leave(module, tmp_path, kind):
    if kind == "move":
        folder = begun(tmp_path / "run", [moves.TableGibbs(), module.Half()])
    else:
        folder = begun(tmp_path / "run", [moves.TableGibbs()], module.Eta())
    checks = list(verify_run(folder))
    assert all(check.passed for check in checks)
    assert [check.name for check in checks if not check.looked] == [
        "moves" if kind == "move" else "chain-000"
    ]
    result = hdpkit("verify", folder)
    assert result.exit_code == 0, result.output
    assert "FAILED" not in result.stdout
    assert "need --allow" in result.stdout
    assert "halves_of_a_user" in result.stdout
    result = hdpkit("verify", folder, "--allow", "halves_of_a_user")
    assert result.exit_code == 0, result.output
    assert "all is well\n" in result.stdout
    assert all(check.looked for check in verify_run(folder, ["halves_of_a_user"]))
