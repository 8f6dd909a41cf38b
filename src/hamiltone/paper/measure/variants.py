"""The score rules of the ablation, and how one of them is trained from one seed and scored."""

import json
import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor, as_completed
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch

from hamiltone.data.pairs import FOLDERS
from hamiltone.errors import InputError
from hamiltone.evaluation import ModelName, Report, evaluate, write_report
from hamiltone.models import Header, load_checkpoint
from hamiltone.paper.results import METRICS

if TYPE_CHECKING:
    from hamiltone.training import SpeechRecipe


@dataclass(frozen=True)
class Variant:
    """The name of a score rule, and how many times as many heads as the recipe says it has."""

    name: str
    rule: str
    times_heads: int = 1

    def overrides(self, heads: int) -> list[str]:
        """What it changes in a recipe with `heads` heads; its checkpoints record it. All have the same parameters."""
        return [f"model.attention={self.rule!r}", f"model.heads={self.times_heads * heads}"]


VARIANTS = (
    Variant("shared", "shared"),
    Variant("hamilton", "hamilton"),
    Variant("hamilton-tay", "hamilton-tay"),
    Variant("head-is-component", "headsplit"),
    Variant("shared-4-heads", "shared", times_heads=4),
)
"""The last has as many maps as Hamilton scores; head-is-component is what the released code computes."""


@dataclass(frozen=True)
class AblationRun:
    """One run of the ablation."""

    variant: Variant
    seed: int
    recipe: Path
    folder: Path
    data: Path

    @property
    def checkpoint(self) -> Path:
        """The checkpoint of the best model."""
        return self.folder / "best.safetensors"

    @property
    def scores(self) -> Path:
        """The report on the test set; a run that has it is finished."""
        return self.folder / "test.json"


def ablation_runs(recipe: Path, runs: Path, data: Path, seeds: int) -> list[AblationRun]:
    """All runs, seed by seed, so that what is finished first can be compared first."""
    return [
        AblationRun(variant, seed, recipe, runs / f"{variant.name}-{seed}", data)
        for seed in range(seeds)
        for variant in VARIANTS
    ]


def finish(run: AblationRun) -> None:
    """Train and score a run on one thread, or what is missing of it.

    A finished run needs only its checkpoint and its report: the rest of its folder can be deleted, and neither is made
    again. One of another recipe, seed or rule is refused.
    """
    if run.checkpoint.exists() and run.scores.exists():
        if not _is_of(run, load_checkpoint(run.checkpoint)[1]):
            raise InputError(f"{run.folder} holds a run of another recipe; move it away, or give another --runs")
        return
    train(run)
    clean, noisy = (run.data / folder for folder in FOLDERS["test"])
    system = ModelName(str(run.checkpoint))
    files = evaluate(noisy, clean, system, metrics=METRICS)
    write_report(run.scores, Report(run.folder.name, METRICS, tuple(files), system.checkpoint))


def _is_of(run: AblationRun, header: Header) -> bool:
    """Whether a checkpoint was trained by the recipe of a run.

    Models are compared as they are built: a checkpoint does not know keys of `model` that are younger than itself.
    """
    wanted, found = recipe_of(run), header.training.get("recipe", {})
    rest = json.loads(json.dumps(wanted.experiment()))
    return header.config == wanted.model and {**found, "model": None} == {**rest, "model": None}


def recipe_of(run: AblationRun) -> "SpeechRecipe":
    """The recipe of a run: that of the ablation with the seed and the rule."""
    try:
        from hamiltone.training import SpeechRecipe, load_recipe
    except ModuleNotFoundError as error:
        raise InputError(f'training needs {error.name}: pip install "hamiltone[train]"') from None

    settings = [f"seed={run.seed}", f"run.folder={str(run.folder)!r}"]
    plan = load_recipe(run.recipe, settings)
    if not isinstance(plan, SpeechRecipe) or plan.model is None:
        raise InputError(f"{run.recipe} is not a recipe that trains a speech model from random weights")
    settings += run.variant.overrides(plan.model.heads)
    if "root" in type(plan.data).model_fields:
        settings += [f"data.root={str(run.data)!r}", f"data.cache={str(run.folder.parent / 'cache')!r}"]
    plan = load_recipe(run.recipe, settings)
    assert isinstance(plan, SpeechRecipe)
    return plan


def train(run: AblationRun) -> None:
    """Train on one thread, resume, or return at once if the training is complete."""
    plan = recipe_of(run)
    from hamiltone.training import SpeechTask
    from hamiltone.training import train as train_task
    from hamiltone.training.device import make_fabric, tune_cpu

    torch.set_num_threads(1)
    tune_cpu()
    outcome = train_task(SpeechTask(plan), plan, make_fabric(plan.run))
    if outcome.stopped:
        raise InputError(f"stopped; the same command resumes from {run.folder}")


def finish_all(wanted: list[AblationRun], workers: int) -> Iterator[AblationRun]:
    """Train and score side by side, `workers` at a time, each in a process of its own; yields what is done."""
    if workers == 1:
        for run in wanted:
            finish(run)
            yield run
        return
    with ProcessPoolExecutor(workers, multiprocessing.get_context("spawn"), max_tasks_per_child=1) as pool:
        running = {pool.submit(finish, run): run for run in wanted}
        try:
            for done in as_completed(running):
                done.result()
                yield running[done]
        except BaseException:
            pool.shutdown(wait=True, cancel_futures=True)  # running ones got the signal too, and save
            raise
