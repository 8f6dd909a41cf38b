import os
import shutil
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch
from click.testing import Result
from typer.testing import CliRunner

from evidence import RESULTS, ROOT
from hamiltone.analysis.gradients import Setting
from hamiltone.analysis.similarity import study_similarity
from hamiltone.cli import app
from hamiltone.data.pairs import FOLDERS
from hamiltone.data.synthetic import speech
from hamiltone.errors import InputError
from hamiltone.evaluation import FileScores, Report, write_report
from hamiltone.models import build, bundled, load_checkpoint
from hamiltone.nn import ComponentScore, QAttention, make_rule
from hamiltone.paper.measure import twins, variants
from hamiltone.paper.measure.study import Options, Study
from hamiltone.paper.measure.twins import Trained, ablation, compare_runs
from hamiltone.paper.measure.variants import VARIANTS, AblationRun, ablation_runs, finish, finish_all, train
from hamiltone.paper.pair import recorded_utterances
from hamiltone.paper.results import METRICS
from hamiltone.paper.store import read_result
from hamiltone.training import load_recipe
from runs import leave_scores
from tasks import TOY


def small_toy(path: Path) -> Path:
    """The toy recipe cut to two steps of small batches."""
    text = TOY.read_text()
    for before, after in (
        ("epochs = 2", "steps = 2"),
        ("segment = 16_000\nlength = 140\nheld_out = 32", "segment = 2000\nlength = 4\nheld_out = 2"),
        ("held_out_segment = 32_000", "held_out_segment = 4000"),
        ("heads = 2", "heads = 1"),
    ):
        assert before in text
        text = text.replace(before, after)
    path.write_text(text + "accelerator = 'cpu'\n")
    return path


def test_variants_differ_in_nothing_but_rule_and_heads():
    x, models = torch.randn(1, 4000), []
    for variant in VARIANTS:
        torch.manual_seed(0)
        models.append(build(load_recipe(TOY, variant.overrides(1)).model).eval())
    with torch.no_grad():
        outputs = [model(x) for model in models]
    first, *others = (model.state_dict() for model in models)
    assert all(one.keys() == first.keys() and all(torch.equal(one[k], first[k]) for k in first) for one in others)
    assert all(not torch.allclose(a, b) for n, a in enumerate(outputs) for b in outputs[:n])


def test_all_but_shared_scores_have_four_maps_for_one():
    maps = {variant.name: variant.times_heads * make_rule(variant.rule).maps for variant in VARIANTS}
    assert maps.pop("shared") == 1 and set(maps.values()) == {4}


def test_runs_come_seed_by_seed():
    wanted = ablation_runs(Path("r"), Path("runs"), Path("data"), 3)
    assert [run.seed for run in wanted[: len(VARIANTS)]] == [0] * len(VARIANTS) and len(wanted) == 3 * len(VARIANTS)
    assert len({run.folder for run in wanted}) == len(wanted)


def test_the_stored_runs_are_picked_up_by_the_recipe_and_no_other_is(monkeypatch):
    pytest.importorskip("lightning_fabric", reason="the recipe needs hamiltone[train]")
    monkeypatch.setattr(variants, "train", None)  # every run has its checkpoint and its scores
    kept, recipe = RESULTS / "ablation-runs", ROOT / "recipes" / "twins.toml"
    wanted = ablation_runs(recipe, kept, Path("VoiceBank"), 4)
    assert {run.folder for run in wanted} == set(kept.iterdir())
    for run in wanted:
        finish(run)
    first = wanted[0]
    for other in (replace(first, seed=1), replace(first, variant=VARIANTS[-1]), replace(first, recipe=TOY)):
        with pytest.raises(InputError, match="holds a run of another recipe"):
            finish(other)


@pytest.mark.filterwarnings("ignore")
def test_a_variant_is_trained_as_such_and_a_finished_run_is_found_again(tmp_path, monkeypatch):
    pytest.importorskip("lightning_fabric", reason="training needs hamiltone[train]")
    monkeypatch.setattr("hamiltone.training.device.tune_cpu", lambda: None)  # it would outlive the test
    (variant,) = (one for one in VARIANTS if one.name == "head-is-component")
    run = AblationRun(variant, 0, small_toy(tmp_path / "toy.toml"), tmp_path / "run", tmp_path)
    train(run)
    before = run.checkpoint.stat().st_mtime_ns
    train(run)
    assert run.checkpoint.stat().st_mtime_ns == before
    trained = Trained(run)
    assert all(isinstance(m.rule, ComponentScore) for m in trained.model.modules() if isinstance(m, QAttention))
    assert trained.header.training["recipe"]["seed"] == 0 and trained.header.config.attention == "headsplit"


class Kept(Trained):
    """A bundled model in place of a run, with scores of its own."""

    def __init__(self, folder: Path, variant, seed: int) -> None:
        run = AblationRun(variant, seed, TOY, folder / f"{variant.name}-{seed}", folder)
        run.folder.mkdir()
        self.run, self.seed = run, seed
        self.model, header = load_checkpoint(bundled()["toy"])
        rule, heads = make_rule(variant.rule), variant.times_heads
        self.header = replace(header, config=replace(header.config, attention=variant.rule, heads=heads))
        for module in self.model.modules():
            if isinstance(module, QAttention):
                module.rule, module.heads = rule, heads
        files = [
            FileScores(f"{n}", 1.0, 1.0, dict.fromkeys(METRICS, n + seed + 0.5 * (variant.name == "shared")))
            for n in range(3)
        ]
        write_report(run.scores, Report(run.folder.name, METRICS, tuple(files)))


def test_differences_are_taken_seed_by_seed_and_file_by_file(tmp_path):
    runs = {variant.name: [Kept(tmp_path, variant, seed) for seed in range(3)] for variant in VARIANTS}
    noisy = [torch.randn(1, 3000) for _ in range(2)]
    found = compare_runs(runs, noisy, Setting(batch=2, length=8, trials=4))
    assert [(one.heads, one.maps) for one in found.variants] == [(1, 1), (1, 4), (1, 4), (1, 4), (4, 4)]
    assert found.files == 3 and [one.name for one in found.variants] == [variant.name for variant in VARIANTS]
    for differences in found.differences.values():
        assert all(one.mean == pytest.approx(0.5) and one.groups == 3 for one in differences.values())
    assert found.same_rule.ks.mean == 0 and found.both_rules.ks.mean > 0
    assert found.ks_beyond_seed.mean == pytest.approx(found.both_rules.ks.mean)
    assert found.both_rules.correlation.mean < found.same_rule.correlation.mean == pytest.approx(1)
    one = study_similarity(runs["shared"][0].model, runs["hamilton"][1].model, noisy)
    for name in ("wasserstein", "quantile_correlation", "correlation"):
        assert getattr(found.both_rules, name).mean == pytest.approx(getattr(one, name).mean, rel=1e-6)
    assert found.both_rules.ks.mean == pytest.approx(one.pooled_ks.mean, abs=1e-3)
    assert found.formulas["hamilton"][0].mean == pytest.approx(one.formulas["hamilton"][0].mean)
    assert found.beyond["hamilton-tay"][1].mean == pytest.approx(one.beyond["hamilton-tay"][1].mean)
    assert 0 < found.maps.entropy.mean < 1
    assert found.coupling.change.mean == pytest.approx(found.coupling.after.mean - found.coupling.before.mean)
    assert found.variants[0].runs[1].scores["pesq"] == pytest.approx(2.5)


def test_runs_side_by_side_have_processes_of_their_own_and_a_fault_is_heard_of(tmp_path, monkeypatch):
    monkeypatch.setattr(variants, "finish", leave_scores)  # the processes get it by its name
    wanted = ablation_runs(Path("r"), tmp_path, Path("data"), 2)
    fine = [run for run in wanted if run.variant.name != "hamilton"][:3]  # more than run at once
    assert {run.folder for run in finish_all(fine, 2)} == {run.folder for run in fine}
    assert len({run.scores.read_text() for run in fine} | {str(os.getpid())}) == 4
    with pytest.raises(InputError, match="no such data"):
        list(finish_all([run for run in wanted if run.variant.name == "hamilton" and run.seed == 1], 2))


@pytest.mark.parametrize(
    ("changes", "message"), [({"quick": True}, "leave out --quick"), ({"seeds": 2}, "at least three seeds")]
)
def test_the_ablation_refuses_what_could_not_decide(tmp_path, changes, message):
    for folder in FOLDERS["test"]:
        (tmp_path / folder).mkdir()
    with pytest.raises(InputError, match=message):
        ablation(Study(Options(data=tmp_path, results=tmp_path, **changes)))


@pytest.fixture
def test_set(tmp_path) -> Path:
    """Three recordings of one second, noisy and clean."""
    rng = np.random.default_rng(0)
    for number in range(3):
        clean = speech(rng, 16_000)
        for folder, signal in zip(FOLDERS["test"], (clean, clean + 0.05 * rng.standard_normal(16_000)), strict=True):
            path = tmp_path / "data" / folder / f"p232_{number:03}.wav"
            path.parent.mkdir(parents=True, exist_ok=True)
            soundfile.write(path, np.clip(signal, -1, 1), 16_000)
    return tmp_path / "data"


@pytest.mark.filterwarnings("ignore")
def test_an_ablation_that_was_stopped_goes_on_and_uses_what_is_finished(tmp_path, test_set, monkeypatch):
    pytest.importorskip("lightning_fabric", reason="training needs hamiltone[train]")
    pytest.importorskip("pesq", reason="scores need hamiltone[metrics]")
    monkeypatch.setattr("hamiltone.training.device.tune_cpu", lambda: None)  # it would outlive the test
    monkeypatch.setattr(twins, "Setting", partial(Setting, batch=2, length=8))
    monkeypatch.setattr(twins, "recorded_utterances", partial(recorded_utterances, seconds=0.5))
    monkeypatch.setattr(twins, "_UTTERANCES", 2)
    monkeypatch.setattr(twins, "_TRIALS", 4)
    for module in (variants, twins):
        monkeypatch.setattr(module, "VARIANTS", VARIANTS[:2])  # every one of them would be trained from three seeds
    runs, given = tmp_path / "runs", ["--data", str(test_set), "--runs", str(tmp_path / "runs"), "--seeds", "3"]
    given += ["--recipe", str(small_toy(tmp_path / "toy.toml")), "--results", str(tmp_path / "results")]

    def reproduce() -> Result:
        return CliRunner().invoke(app, ["reproduce", "ablation", *given])

    trained: list[str] = []

    def stop_at_the_fourth(run: AblationRun) -> None:
        if len(trained) == 3:
            raise KeyboardInterrupt
        finish(run)
        trained.append(run.folder.name)

    monkeypatch.setattr(variants, "finish", stop_at_the_fourth)
    assert reproduce().exit_code != 0 and not (tmp_path / "results").exists()
    finished = {name: (runs / name / "best.safetensors").stat().st_mtime_ns for name in trained}
    assert len(finished) == 3
    for path in runs.glob("*/*"):  # of a finished run only the checkpoint and the scores have to be kept
        if path.parent.name in finished and path.name not in ("best.safetensors", "test.json"):
            shutil.rmtree(path) if path.is_dir() else path.unlink()

    monkeypatch.setattr(variants, "finish", finish)
    assert reproduce().exit_code == 0
    assert {name: (runs / name / "best.safetensors").stat().st_mtime_ns for name in finished} == finished
    kept = shutil.copytree(runs / "shared-0", tmp_path / "kept")
    found = read_result(tmp_path / "results" / "ablation.json")
    assert {one.name for one in found.made.models} == {f"{v.name}-{s}" for v in VARIANTS[:2] for s in range(3)}
    assert found.made.command == "hamiltone reproduce ablation --data data --seeds 3 --jobs 1 --recipe toy.toml"
    assert [len(one.runs) for one in found.result.variants] == [3, 3] and found.result.files == 3
    assert found.result.differences["hamilton"]["pesq"].has_interval

    shutil.copy(runs / "hamilton-0" / "best.safetensors", runs / "shared-0" / "best.safetensors")
    refused = reproduce()
    assert refused.exit_code != 0 and "holds a run of another recipe" in str(refused.exception)
    shutil.rmtree(runs / "shared-0")
    shutil.copytree(kept, runs / "shared-0")

    monkeypatch.setattr(variants, "evaluate", None)  # every run has its scores
    assert reproduce().exit_code == 0
    assert read_result(tmp_path / "results" / "ablation.json").result == found.result
