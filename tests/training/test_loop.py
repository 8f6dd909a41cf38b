import errno
import json
import math
import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import nn

from hamiltone.errors import InputError
from hamiltone.models.checkpoint import read_tensors
from hamiltone.training.device import make_fabric
from hamiltone.training.loop import Outcome, train
from tasks import TinyTask, signal_at, tiny_recipe

pytestmark = pytest.mark.usefixtures("signals_are_heard")
CHILD = Path(__file__).parent / "child.py"
STEPS_PER_EPOCH = 4


def run(folder: Path, task: TinyTask | None = None, **changes: object) -> Outcome:
    recipe = tiny_recipe(folder, **changes)
    return train(task or TinyTask(), recipe, make_fabric(recipe.run))


def weights(folder: Path, name: str = "last") -> dict[str, torch.Tensor]:
    return read_tensors(folder / f"{name}.safetensors")[0]


def assert_equal_runs(first: Path, second: Path) -> None:
    """Everything in the state, random states too, and all figures of the log that are not about time."""
    left, right = weights(first), weights(second)
    assert left.keys() == right.keys()
    for name in left:
        assert torch.equal(left[name], right[name]), name
    assert figures(first) == figures(second)


def figures(folder: Path) -> list[dict[str, float]]:
    records = [json.loads(line) for line in (folder / "log.jsonl").read_text().splitlines()]
    return [
        {key: value for key, value in record.items() if "second" not in key and key != "elapsed"} for record in records
    ]


@pytest.fixture(scope="module", autouse=True)
def children(tmp_path_factory) -> Iterator[dict[str, tuple[subprocess.Popen[str], Path]]]:
    """Runs in processes of their own, started early: most of their time goes into imports.

    Some virtual machines advertise AMX and then refuse it: bfloat16 makes do without.
    """
    folder = tmp_path_factory.mktemp("children")
    launcher = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    commands = {
        "killed": [CHILD, folder / "killed", "killed"],
        "two": [*launcher, CHILD, folder / "two", "two"],
        "apart": [*launcher, CHILD, folder / "apart", "apart"],
        "bfloat16": [CHILD, folder / "bfloat16", "bfloat16"],
    }
    environment = os.environ | {
        "OMP_NUM_THREADS": "1",
        "ONEDNN_MAX_CPU_ISA": "AVX512_CORE_BF16",
        "PYTHONPATH": str(CHILD.parents[1]),
    }
    started = {
        name: subprocess.Popen([sys.executable, *command], stderr=subprocess.PIPE, text=True, env=environment)
        for name, command in commands.items()
    }
    yield {name: (child, folder / name) for name, child in started.items()}
    for child in started.values():
        child.kill()
        child.communicate()


@pytest.fixture(scope="module")
def whole_run(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("runs") / "whole"
    run(folder, TinyTask(dropout=0.2))
    return folder


def test_training_learns_and_leaves_a_complete_folder(whole_run):
    assert {path.name for path in whole_run.iterdir()} == {
        "config.toml",
        "last.safetensors",
        "best.safetensors",
        "log.jsonl",
        "tensorboard",
    }
    records = figures(whole_run)
    assert [record["step"] for record in records if record["kind"] == "train"] == [3, 6, 9, 12]
    assert [record["step"] for record in records if record["kind"] == "validation"] == [4, 8, 12]
    errors = [record["error"] for record in records if record["kind"] == "validation"]
    assert errors[-1] < errors[0]
    assert all(record["half"] == pytest.approx(record["loss"] / 2) for record in records if record["kind"] == "train")
    assert list((whole_run / "tensorboard").iterdir())


def test_the_best_model_is_the_average_of_the_best_validation(whole_run):
    best, last = weights(whole_run, "best"), weights(whole_run)
    for name, tensor in best.items():
        assert torch.equal(tensor, last[f"average.{name}"])
    assert any(not torch.equal(tensor, last[f"model.{name}"]) for name, tensor in best.items())


@pytest.fixture
def hangup() -> Iterator[None]:
    """Under nohup SIGHUP would be ignored."""
    before = signal.signal(signal.SIGHUP, signal.SIG_DFL)
    yield
    signal.signal(signal.SIGHUP, before)


@pytest.mark.usefixtures("hangup")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
def test_a_signal_saves_in_the_middle_of_an_epoch_and_the_run_goes_on_exactly(number, whole_run, tmp_path):
    handler = signal.getsignal(signal.SIGTERM)
    outcome = run(tmp_path, TinyTask(dropout=0.2, before=signal_at(number, (1, 11))))
    assert outcome.stopped == number
    assert STEPS_PER_EPOCH < outcome.step < 2 * STEPS_PER_EPOCH
    assert signal.getsignal(signal.SIGTERM) == handler
    assert run(tmp_path, TinyTask(dropout=0.2)).step == 12
    assert_equal_runs(tmp_path, whole_run)


@pytest.mark.usefixtures("hangup")
def test_a_closed_terminal_that_cannot_be_written_to_does_not_keep_the_run_from_being_saved(tmp_path, monkeypatch):
    def closed(*args: object, **options: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("hamiltone.training.log.Console.print", closed)
    monkeypatch.setattr("hamiltone.training.log.Progress.stop", closed)
    outcome = run(tmp_path, TinyTask(dropout=0.2, before=signal_at(signal.SIGHUP, (0, 3))), run__log_steps=1)
    assert outcome.stopped == signal.SIGHUP
    assert (tmp_path / "last.safetensors").exists()


def test_under_nohup_a_closed_terminal_does_not_end_the_run(tmp_path):
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)
    try:
        outcome = run(tmp_path, TinyTask(before=signal_at(signal.SIGHUP, (1, 11))))
    finally:
        signal.signal(signal.SIGHUP, before)
    assert (outcome.step, outcome.stopped) == (12, 0)


@pytest.mark.parametrize(("budget", "validation", "step"), [({"epochs": 3}, 1, 4), ({"steps": 6}, 2, 6)])
def test_a_signal_breaks_off_validation_which_is_then_repeated(budget, validation, step, tmp_path):
    class Interrupted(TinyTask):
        measured = 0

        def measure(self, model, batch):
            self.measured += 1
            if self.measured == 3 * validation:  # its last batch
                signal.raise_signal(signal.SIGTERM)
            return super().measure(model, batch)

    outcome = run(tmp_path / "broken", Interrupted(), budget=budget)
    assert (outcome.step, outcome.stopped) == (step, signal.SIGTERM)
    run(tmp_path / "broken", budget=budget)
    run(tmp_path / "whole", budget=budget)
    assert_equal_runs(tmp_path / "broken", tmp_path / "whole")


def test_soap_goes_on_exactly_with_its_factors(tmp_path):
    pytest.importorskip("pytorch_optimizer")
    soap = {"kind": "soap", "lr": 0.01, "betas": (0.95, 0.95), "precondition_steps": 2}
    run(tmp_path / "whole", TinyTask(dropout=0.2), optimiser=soap)
    run(tmp_path / "broken", TinyTask(dropout=0.2, before=signal_at(signal.SIGTERM, (1, 11))), optimiser=soap)
    assert run(tmp_path / "broken", TinyTask(dropout=0.2), optimiser=soap).step == 12
    assert_equal_runs(tmp_path / "broken", tmp_path / "whole")
    assert any(".GG." in name for name in weights(tmp_path / "whole"))


def test_workers_change_nothing(whole_run, tmp_path):
    run(tmp_path, TinyTask(dropout=0.2), batches__workers=2)
    assert_equal_runs(tmp_path, whole_run)


def test_a_larger_budget_lets_a_finished_run_go_on(tmp_path):
    assert run(tmp_path, budget__epochs=1).step == 4
    assert run(tmp_path, budget__epochs=1).step == 4
    assert run(tmp_path, budget__epochs=2).step == 8


def test_a_budget_of_steps_ends_within_an_epoch_and_validates_there(tmp_path):
    run(tmp_path, budget__epochs=None, budget__steps=6)
    assert [record["step"] for record in figures(tmp_path) if record["kind"] == "validation"] == [4, 6]


def test_a_budget_of_minutes_ends_by_the_clock(tmp_path):
    outcome = run(tmp_path, budget__epochs=None, budget__minutes=0.5 / 60)
    assert outcome.step >= 1
    last = json.loads(read_tensors(tmp_path / "last.safetensors")[1]["hamiltone-run"])
    assert 0.5 <= last["progress"]["elapsed"] < 60


def test_nan_stops_the_run_and_names_the_last_good_state(tmp_path):
    class Diverging(TinyTask):
        def loss(self, model, batch):
            loss, parts = super().loss(model, batch)
            return loss * (float("nan") if self.broken else 1.0), parts

    task = Diverging()
    task.broken = False
    task.training.before = lambda key: setattr(task, "broken", key[0] == 2)
    with pytest.raises(InputError, match=r"diverged: loss is nan in step 9; the last good state is .*last.safetensors"):
        run(tmp_path, task)
    assert all(tensor.isfinite().all() for tensor in weights(tmp_path).values())


def test_weights_that_a_step_has_made_infinite_are_never_saved(tmp_path, monkeypatch):
    def overflow(optimiser, closure=None):
        for group in optimiser.param_groups:
            for weight in group["params"]:
                weight.data.fill_(math.inf)

    monkeypatch.setattr(torch.optim.AdamW, "step", overflow)
    with pytest.raises(InputError, match=r"diverged: .* holds NaN or infinite values after step 1; nothing has been"):
        run(tmp_path, budget__steps=1)
    assert not list(tmp_path.rglob("*.safetensors"))


def test_parts_of_a_batch_accumulate_to_the_whole(tmp_path):
    run(tmp_path / "whole", TinyTask(norm=False))
    run(tmp_path / "parts", TinyTask(norm=False), batches__accumulate=4)
    whole, parts = weights(tmp_path / "whole"), weights(tmp_path / "parts")
    for name in whole:
        torch.testing.assert_close(parts[name], whole[name], rtol=1e-5, atol=1e-6)


def test_compiling_hands_the_task_s_modules_to_the_compiler(tmp_path, monkeypatch):
    compiled = []
    monkeypatch.setattr(nn.Module, "compile", lambda module: compiled.append(module))
    run(tmp_path, run__compile=True, budget__epochs=1)
    assert len(compiled) == 1
    assert isinstance(compiled[0], nn.Sequential)


def test_a_full_disk_is_one_line_and_the_old_state_survives(tmp_path, monkeypatch):
    run(tmp_path, budget__epochs=1)
    before = (tmp_path / "last.safetensors").read_bytes()

    def full(*args: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("hamiltone.models.checkpoint.save_file", full)
    with pytest.raises(InputError, match=r"cannot write .*last\.safetensors: No space left on device; .* is unchanged"):
        run(tmp_path)
    assert (tmp_path / "last.safetensors").read_bytes() == before
    assert not list(tmp_path.glob(".*"))
    monkeypatch.undo()
    assert run(tmp_path).step == 12


def test_a_file_that_cannot_grow_is_one_line_and_the_old_state_survives(tmp_path):
    resource = pytest.importorskip("resource")
    run(tmp_path, budget__epochs=1)
    before = (tmp_path / "last.safetensors").read_bytes()
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (4096, limits[1]))
    try:
        with pytest.raises(InputError, match=r"cannot write .*last\.safetensors: .*File too large.*; .* is unchanged"):
            run(tmp_path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert (tmp_path / "last.safetensors").read_bytes() == before
    assert not list(tmp_path.glob(".*"))


def test_another_recipe_is_refused_and_nothing_is_touched(tmp_path):
    run(tmp_path, budget__epochs=1)
    before = {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()}
    with pytest.raises(InputError, match=r"was started with optimiser\.lr = 0\.01, not 0\.02"):
        run(tmp_path, optimiser__lr=0.02)
    assert {path.name: path.read_bytes() for path in tmp_path.iterdir() if path.is_file()} == before


def test_another_number_of_samples_is_refused(tmp_path):
    run(tmp_path, budget__epochs=1)
    task = TinyTask()
    task.training.__class__ = type("Fewer", (type(task.training),), {"__len__": lambda self: 16})
    with pytest.raises(InputError, match="was trained on 32 samples, now there are 16"):
        run(tmp_path, task)


def test_a_foreign_or_damaged_state_is_refused(tmp_path):
    run(tmp_path, budget__epochs=1)
    last = tmp_path / "last.safetensors"
    content = last.read_bytes()
    last.write_bytes((tmp_path / "best.safetensors").read_bytes())
    with pytest.raises(InputError, match="not the state of a run"):
        run(tmp_path)
    last.write_bytes(content[: len(content) // 2])
    with pytest.raises(InputError, match="not a readable safetensors file"):
        run(tmp_path)


def test_training_does_not_depend_on_what_was_random_before(whole_run, tmp_path):
    torch.manual_seed(123)
    np.random.seed(5)
    torch.rand(7)
    run(tmp_path, TinyTask(dropout=0.2))
    assert_equal_runs(tmp_path, whole_run)


def test_killed_and_started_again_a_run_ends_with_the_same_weights(whole_run, children):
    child, folder = children["killed"]
    _, errors = child.communicate(timeout=120)
    assert child.returncode == -signal.SIGKILL, errors
    assert 0 < json.loads((folder / "log.jsonl").read_text().splitlines()[-1])["step"] < 12
    (folder / ".last.safetensors.abc.part").write_text("left behind by a killed save")
    with (folder / "log.jsonl").open("a") as log:
        log.write('{"kind": "train", "step": 9, "los')
    run(folder, TinyTask(dropout=0.2))
    assert_equal_runs(folder, whole_run)
    assert not list(folder.glob(".*"))


def test_two_processes_equal_one(children, tmp_path):
    run(tmp_path)
    child, folder = children["two"]
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    one, two = weights(tmp_path), weights(folder)
    for name in one:
        if name.startswith("random."):
            assert (len(one[name]), len(two[name])) == (1, 2)
        else:
            torch.testing.assert_close(two[name], one[name], rtol=1e-5, atol=1e-5)
    for left, right in zip(figures(tmp_path), figures(folder), strict=True):
        assert left.pop("kind") == right.pop("kind")
        assert left == pytest.approx(right, rel=1e-4)


def test_processes_that_normalise_apart_resume_exactly_and_differ_from_those_that_do_it_together(children):
    child, folder = children["apart"]
    _, errors = child.communicate(timeout=240)
    assert child.returncode == 0, errors
    assert_equal_runs(folder / "whole", folder / "cut")
    children["two"][0].wait(timeout=120)
    together, apart = weights(children["two"][1]), weights(folder / "whole")
    assert any(not torch.allclose(together[name], apart[name]) for name in together if name.endswith("running_var"))


def test_bfloat16_trains(children):
    child, folder = children["bfloat16"]
    _, errors = child.communicate(timeout=120)
    assert child.returncode == 0, errors
    state = weights(folder)
    assert all(tensor.isfinite().all() for tensor in state.values())
    assert all(tensor.dtype == torch.float32 for name, tensor in state.items() if name.endswith(".weight"))
