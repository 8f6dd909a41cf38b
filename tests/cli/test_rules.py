"""A rule that hamiltone has never heard of is trained, benchmarked, analysed and evaluated by the command line."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import soundfile
from typer.testing import CliRunner

from children import measure_in_child
from hamiltone.cli import app
from hamiltone.errors import InputError
from hamiltone.models import load_checkpoint
from hamiltone.nn.rules import RULES
from tasks import SMALL, TOY

RULE = "my_rules:Conjugated"
SOURCE = '''
from pathlib import Path

from hamiltone.algebra import conjugate
from hamiltone.nn import HamiltonScore, ScoreRule

Path("imported").touch()


class Conjugated(ScoreRule):
    """The four components of q ⊗ k*; the first is the shared score."""

    maps, products = 4, 16

    def scores(self, q, k):
        return HamiltonScore().scores(q, conjugate(k))
'''


def forget() -> None:
    RULES.pop(RULE, None)
    sys.modules.pop("my_rules", None)


def run(*arguments: str) -> str:
    result = CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return result.stdout


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Where the user works: a module with the rule, and a model that two steps have trained with it."""
    folder, before = tmp_path_factory.mktemp("user"), Path.cwd()
    (folder / "my_rules.py").write_text(SOURCE)
    os.chdir(folder)
    try:
        run("train", str(TOY), *SMALL, "budget={steps=2}", f"model.attention={RULE}", "run.folder=run")
        forget()
        (folder / "imported").unlink()
        yield folder
    finally:
        os.chdir(before)
        forget()


@pytest.fixture(autouse=True)
def _inside(folder, monkeypatch):
    monkeypatch.chdir(folder)
    yield
    forget()


def test_the_checkpoint_names_the_rule_and_loading_it_imports_nothing(folder):
    with pytest.raises(InputError, match=f"use hamiltone --rule {RULE} ..., or call hamiltone.nn.register_rule"):
        load_checkpoint(folder / "run/best.safetensors")
    command = [sys.executable, "-m", "hamiltone", "analyse", "agreement", "--model", "run/best.safetensors"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 2 and done.stderr.count("\n") == 1 and f"--rule {RULE}" in done.stderr
    assert not (folder / "imported").exists()


def test_a_run_with_it_is_resumed():
    again = ["train", str(TOY), *SMALL, "budget={steps=4}", "run.folder=run"]
    assert "run: 4 steps" in run(*again, f"model.attention={RULE}")
    with pytest.raises(InputError, match=f"was started with model.attention = {RULE}, not shared"):
        run(*again)


def test_it_is_benchmarked(monkeypatch):
    for module in ("hamiltone.benchmark.attention", "hamiltone.benchmark.model"):
        measure_in_child(monkeypatch, module, RULE)
    rows = json.loads(run("bench", "attention", "--attention", RULE, "--lengths", "16", "--seconds", "0", "--json"))
    (mine,) = [row for row in rows if row["method"] == RULE]
    hamilton = 20 * 16**2 * 64
    assert mine["path"] == "explicit" and mine["macs"] == hamilton and mine["ms"] > 0
    rows = json.loads(run("bench", "model", "--preset", "compact", "--attention", RULE, "--seconds", "0.3", "--json"))
    assert [(row["attention"], row["path"], row["folded"]) for row in rows] == [
        (RULE, "explicit", True),
        (RULE, "explicit", False),
    ]


def test_it_is_timed_over_a_folder(tmp_path):
    soundfile.write(tmp_path / "a.wav", np.zeros(4000, np.float32), 16_000)
    chosen = ["--preset", "compact", "--attention", RULE, "--path", "explicit"]
    (row,) = json.loads(run("bench", "folder", str(tmp_path), *chosen, "--json"))
    assert row["attention"] == RULE and row["rtf"] > 0


def test_it_is_analysed():
    model = ["--model", "run/best.safetensors"]
    top1, _ = json.loads(run("--rule", RULE, "analyse", "agreement", *model, "--samples", "2", "--json"))
    assert 0 < top1["overall"]["mean"] <= 1
    small = ["--trials", "3", "--dim", "2", "--heads", "2", "--length", "8"]
    found = json.loads(run("--rule", RULE, "analyse", "gradients", *model, *small, "--json"))
    assert found["norms"]["setting"]["rivals"][0] == RULE and RULE in found["norms"]["ratio"]
    assert [name for name in found["correlations"] if name.startswith("after")]
    pair = ["--first", "run/best.safetensors", "--second", "run/best.safetensors", "--formulas", RULE]
    found = json.loads(run("--rule", RULE, "analyse", "similarity", *pair, "--samples", "2", "--json"))
    assert found["ks"]["mean"] == 0 and 0 < found["formulas"][RULE][0]["mean"] < 1
    names = ["--attention", f"shared,hamilton,{RULE}", "--presets", "compact"]
    cost = json.loads(run("analyse", "cost", *names, "--lengths", "8", "--json"))
    _, hamilton, mine = cost["scores"]
    assert mine == hamilton | {"attention": RULE, "scale": ""}
    shared, hamilton, mine = (row["macs_per_second"] for row in cost["models"])
    assert mine == hamilton > shared


def test_it_is_evaluated_also_by_several_processes(folder):
    rng = np.random.default_rng(0)
    for kind in ("clean", "noisy"):
        (folder / kind).mkdir()
    for name in ("a.wav", "b.wav"):
        clean = 0.1 * rng.standard_normal(4000)
        soundfile.write(folder / "clean" / name, clean, 16_000)
        soundfile.write(folder / "noisy" / name, clean + 0.03 * rng.standard_normal(4000), 16_000)
    where = ["--noisy", "noisy", "--clean", "clean", "--model", "run/best.safetensors", "--metrics", "sisdr"]
    run("--rule", RULE, "evaluate", *where, "--workers", "2", "--out", "report.json")
    files = json.loads((folder / "report.json").read_text())["files"]
    assert len(files) == 2 and all(np.isfinite(file["scores"]["sisdr"]) for file in files)


def test_other_rules_of_the_table_are_named_by_recipes_too(folder):
    run("train", str(TOY), *SMALL, "budget={steps=1}", "model.attention=hamilton-tay", "run.folder=tay")
    _, header = load_checkpoint(folder / "tay/best.safetensors")
    assert header.config.attention == "hamilton-tay"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--rule", "hamilton", "presets"], "--rule takes package.module:Name"),
        (["--rule", "my_rules:Missing", "presets"], "the module my_rules has no rule Missing"),
        (["train", str(TOY), "model.attention=no_such:Rule"], "model: the rule no_such:Rule cannot be imported"),
        (["bench", "attention", "--attention", "telepathy"], "--attention: attention must be one of shared"),
        (["bench", "model", "--attention", "no_such:Rule"], "the rule no_such:Rule cannot be imported"),
        (["analyse", "gradients", "--attention", "shared"], "shared has one for all"),
        (["analyse", "similarity", "--formulas", "telepathy"], "--formulas: attention must be one of shared"),
    ],
)
def test_what_is_no_rule_is_refused_in_one_line(arguments, message):
    with pytest.raises(InputError, match=message) as error:
        CliRunner().invoke(app, arguments, catch_exceptions=False)
    assert "\n" not in str(error.value)
