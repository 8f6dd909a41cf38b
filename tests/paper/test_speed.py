"""Timings are taken over a number of rounds that is fixed before the run."""

import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.errors import InputError
from hamiltone.paper.measure import speed
from hamiltone.paper.measure.study import ROUNDS, Options, Study


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """One small model on a tenth of a second, and one short layer."""
    monkeypatch.setattr(speed, "MODELS", ("qtransformer",))
    monkeypatch.setattr(speed, "make", lambda variant, make=speed.make: make(variant._replace(preset="compact")))
    monkeypatch.setattr(speed, "white_noise", lambda seconds, noise=speed.white_noise: noise(0.1))
    monkeypatch.setattr(speed, "LENGTHS", (8,))


@pytest.mark.parametrize(("given", "rounds"), [([], ROUNDS), (["--rounds", str(ROUNDS + 3)], ROUNDS + 3)])
def test_whole_models_take_turns_as_often_as_asked(tmp_path: Path, given: list[str], rounds: int) -> None:
    done = CliRunner().invoke(app, ["reproduce", "model-speed-15s", *given, "--results", str(tmp_path)])
    assert done.exit_code == 0, done.output
    kept = json.loads((tmp_path / "model-speed-15s.json").read_text())
    assert [one["ratio"]["groups"] for one in kept["result"]["ratios"]] == [rounds] * 4
    assert kept["made"]["command"] == " ".join(["hamiltone reproduce model-speed-15s", *given])
    assert not kept["made"]["quick"]


def test_a_layer_is_timed_at_least_as_often(monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(methods, *, seconds, rounds):
        return {name: [0.1 + 0.01 * number for number in range(rounds[0])] for name in methods}

    monkeypatch.setattr(speed, "interleaved", slow)
    (one,) = speed.layer_speeds(Study(Options(rounds=ROUNDS + 1))).lengths
    assert one.speedup.groups == ROUNDS + 1


def test_a_full_run_never_has_fewer_rounds_than_usual() -> None:
    with pytest.raises(InputError, match=f"--rounds must be at least {ROUNDS}, got {ROUNDS - 1}"):
        speed.model_speeds(1.0, Study(Options(rounds=ROUNDS - 1)))
