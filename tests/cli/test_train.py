import os
import signal
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hamiltone.cli import app, main

RECIPE = """
task = "speech"
budget = { steps = 2 }
batches = { size = 2 }
optimiser = { lr = 1e-3 }
model = { family = "compact", channels = [2, 2], dilations = [1, 1], heads = 1, layers = 1, kernel_size = 3 }
data = { kind = "synthetic", segment = 2000, length = 4, held_out = 1, held_out_segment = 2000 }
loss = { compressed = 1.0 }
run = { accelerator = "cpu", log_steps = 1 }
"""


@pytest.fixture(autouse=True)
def recipe(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("hamiltone.training.tune_cpu", lambda: None)  # it would outlive the test
    path = tmp_path / "small.toml"
    path.write_text(RECIPE)
    return path


def run(*arguments: str):
    return CliRunner().invoke(app, ["train", "small.toml", *arguments])


def complaint(monkeypatch, capsys, *arguments: str) -> str:
    """The one line on standard error of a command that fails with exit code 2."""
    monkeypatch.setattr("sys.argv", ["hamiltone", "train", *arguments])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    line = capsys.readouterr().err.strip()
    assert "\n" not in line
    return line


def test_train_writes_a_run_folder_named_after_the_recipe_and_is_done_only_once(tmp_path):
    result = run()
    assert result.exit_code == 0, result.output
    assert "runs/small: 2 steps, best sisdr" in result.stdout
    state = tmp_path / "runs" / "small" / "last.safetensors"
    written = state.stat().st_mtime_ns
    assert run().stdout == result.stdout
    assert state.stat().st_mtime_ns == written


def test_a_written_configuration_is_a_recipe():
    assert run("run.folder=runs/other").exit_code == 0
    result = CliRunner().invoke(app, ["train", "runs/other/config.toml", "budget.steps=3"])
    assert "runs/other: 3 steps" in result.stdout, result.output


def test_a_recipe_in_the_run_folder_and_the_model_of_an_older_run_are_kept(tmp_path, recipe, monkeypatch, capsys):
    recipe.rename(tmp_path / "config.toml")
    assert "rename that file" in complaint(monkeypatch, capsys, "config.toml", "run.folder=.")
    assert [(path.name, path.read_text()) for path in tmp_path.iterdir()] == [("config.toml", RECIPE)]
    (tmp_path / "config.toml").rename(recipe)
    assert run().exit_code == 0
    folder = tmp_path / "runs" / "small"
    (folder / "last.safetensors").unlink()
    before = {path: path.read_bytes() for path in folder.iterdir() if path.is_file()}
    assert "holds the best model of a run" in complaint(monkeypatch, capsys, "small.toml")
    assert {path: path.read_bytes() for path in folder.iterdir() if path.is_file()} == before


def test_a_signal_is_the_exit_code_and_the_run_can_go_on(monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr("hamiltone.training.SpeechTask.units", lambda *_: os.kill(os.getpid(), signal.SIGTERM) or 1.0)
        result = run()
    assert result.exit_code == 128 + signal.SIGTERM
    assert "stopped and saved after step 1; the same command resumes from there" in result.stderr
    assert "2 steps" in run().stdout


def test_mistakes_are_one_line(monkeypatch, capsys):
    line = complaint(monkeypatch, capsys, "small.toml", "optimiser.weight_dekay=0")
    assert line == "hamiltone: small.toml: there is no key optimiser.weight_dekay; did you mean weight_decay?"
    assert "cannot read the recipe absent.toml" in complaint(monkeypatch, capsys, "absent.toml")
    assert "run.accelerator" in complaint(monkeypatch, capsys, "small.toml", "run.accelerator=cuda")


def test_recipes_that_cannot_be_meant_are_one_line(tmp_path, monkeypatch, capsys):
    assert "heads must divide the 2 quaternions" in complaint(monkeypatch, capsys, "small.toml", "model.heads=3")
    assert "seed must be less than 2^63" in complaint(monkeypatch, capsys, "small.toml", f"seed={'9' * 23}")
    assert "layers must lie between" in complaint(monkeypatch, capsys, "small.toml", "model.layers=1000000")
    for deep in (f"a = {'[' * 100_000}", ".".join("a" * 100_000) + " = 1", f"a = {'{b=' * 100_000}"):
        (tmp_path / "deep.toml").write_text(deep)
        assert complaint(monkeypatch, capsys, "deep.toml").startswith("hamiltone: ")
    assert "nested too deeply" in complaint(monkeypatch, capsys, "small.toml", f"model={'[' * 100_000}")
    assert "is not a regular file" in complaint(monkeypatch, capsys, "/dev/zero")
    (tmp_path / "large.toml").write_text("#" * 1_000_001)
    assert "larger than 1,000,000 bytes" in complaint(monkeypatch, capsys, "large.toml")


def test_a_folder_that_cannot_be_written_is_one_line(tmp_path, monkeypatch, capsys):
    (tmp_path / "file").write_text("")
    line = complaint(monkeypatch, capsys, "small.toml", "run.folder=file/run")
    assert line == "hamiltone: cannot write file/run/config.toml: Not a directory"


def test_a_missing_extra_names_its_install_command(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "hamiltone.training", None)
    line = complaint(monkeypatch, capsys, "small.toml")
    assert 'pip install "hamiltone[train]"' in line
