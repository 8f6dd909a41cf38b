"""The training loop: one for every task, on one device or many."""

import math
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, NoReturn

import torch
from lightning_fabric import Fabric
from torch import Tensor, distributed

from hamiltone.errors import InputError
from hamiltone.nn.batch_norm import synchronise_batch_norms
from hamiltone.training.config import Recipe
from hamiltone.training.ema import MovingAverage
from hamiltone.training.folder import RunFolder
from hamiltone.training.interrupt import StopSignal
from hamiltone.training.log import Log, RunLog
from hamiltone.training.optimiser import make_optimiser
from hamiltone.training.order import BatchOrder, stream
from hamiltone.training.schedule import Pace, position, rate_factor
from hamiltone.training.state import (
    RunProgress,
    load_state,
    random_states,
    restore_random_states,
    save_state,
    seed_process,
)
from hamiltone.training.task import Ragged, Task


@dataclass(frozen=True)
class Outcome:
    """How a run ended: `stopped` is the signal that ended it early, or zero. The process that `leads` reports it."""

    step: int
    select_by: str
    best: float | None
    best_step: int
    stopped: int
    leads: bool


def train(task: Task, recipe: Recipe, fabric: Fabric) -> Outcome:
    """Train until the budget is spent, resuming from the run folder; a signal saves the run and ends it early."""
    folder = RunFolder(recipe.run.folder)
    folder.check(recipe)
    fabric.barrier()
    if fabric.is_global_zero:
        folder.prepare(recipe)
    with StopSignal() as stop:  # from here on, as torch turns what a handler raises into other errors, or drops it
        loop = Loop(task, recipe, fabric, folder)
        log = RunLog(folder, loop.progress.step, loop.position) if fabric.is_global_zero else Log()
        with log:
            return loop.run(log, stop)


class Loop:
    """A run: the model, its average, the optimiser, and its progress."""

    def __init__(self, task: Task, recipe: Recipe, fabric: Fabric, folder: RunFolder) -> None:
        self.task, self.recipe, self.fabric, self.folder = task, recipe, fabric, folder
        torch.manual_seed(recipe.seed)
        self.bare = fabric.to_device(task.build())  # without Fabric's wrapper
        self.average = MovingAverage(self.bare, recipe.optimiser.ema)
        if recipe.batches.synchronise:
            synchronise_batch_norms(self.bare)
        if recipe.run.compile:
            task.compile(self.bare)
        optimiser = make_optimiser(self.bare.parameters(), recipe.optimiser)
        self.model, self.optimiser = fabric.setup(self.bare, optimiser)
        seed_process(recipe.seed, fabric.global_rank)
        self.progress = RunProgress(samples=len(task.training))
        if folder.started:
            self._resume()
        share = (fabric.global_rank, fabric.world_size)
        if len(task.validation) < fabric.world_size:
            raise InputError(f"{len(task.validation)} held-out batches are too few for {fabric.world_size} processes")
        lengths = task.training.lengths if isinstance(task.training, Ragged) else None
        self.order = BatchOrder(self.progress.samples, recipe.batches, recipe.seed, self.progress.step, share, lengths)
        self._pace = Pace(self.progress.elapsed)
        self._stopped = 0.0

    @property
    def position(self) -> float:
        """The share of the budget that is spent."""
        return position(self.recipe.budget, self.order.steps_per_epoch, self.progress.step, self.progress.elapsed)

    def run(self, log: Log, stop: StopSignal) -> Outcome:
        """Step, validate and save until the budget is spent or a signal comes."""
        progress, batches = self.progress, stream(self.task.training, self.order, self.fabric.device)
        while not self._stopped:
            if self._validation_is_due():
                self._validate(log, stop)
                continue
            if self.position >= 1:
                break
            self._log_step(log, *self._step(batches))
            late = self._pace.since_save > 60 * self.recipe.run.save_minutes
            progress.elapsed, self._stopped, save = self._agree(self._pace.elapsed, stop.received, late)
            if save or self._stopped or self.position >= 1 or progress.step % self.order.steps_per_epoch == 0:
                self._save()
        batches.close()
        leads = self.fabric.is_global_zero
        return Outcome(progress.step, self.task.select_by, progress.best, progress.best_step, int(self._stopped), leads)

    def _step(self, batches: Generator[Any]) -> tuple[dict[str, float], float]:
        """One optimiser step; returns the figures for the log and the units that all processes consumed."""
        progress, settings = self.progress, self.recipe.optimiser
        lr = settings.lr * rate_factor(self.recipe.schedule, progress.step, self.position)
        for group in self.optimiser.param_groups:
            group["lr"] = lr
        self.model.train()
        self.optimiser.zero_grad()
        losses, units = self._backward(batches)
        norm: Any = self.fabric.clip_gradients(
            self.model, self.optimiser, max_norm=settings.clip, error_if_nonfinite=False
        )
        values = self._reduced(torch.stack([*losses.values(), norm]), "mean")
        figures = dict(zip([*losses, "gradient_norm"], values, strict=True))
        self._check(figures)
        self.optimiser.step()
        self.average.update(self.bare, progress.step)
        progress.step += 1
        return figures | {"lr": lr}, units * self.fabric.world_size

    def _backward(self, batches: Generator[Any]) -> tuple[dict[str, Tensor], float]:
        """Accumulate the gradients of all parts of a batch; returns the means of the losses, and the units."""
        parts, units = self.recipe.batches.accumulate, 0.0
        losses: dict[str, Tensor] = {}
        for part in range(parts):
            batch = self.fabric.to_device(next(batches))
            with self.fabric.no_backward_sync(self.model, enabled=part + 1 < parts):
                loss, terms = self.task.loss(self.model, batch)
                self.fabric.backward(loss / parts)
            for name, term in {"loss": loss, **terms}.items():
                losses[name] = losses.get(name, 0) + term.detach() / parts
            units += self.task.units(batch)
        return losses, units

    def _check(self, figures: dict[str, float]) -> None:
        """Stop before a NaN or an infinity reaches the weights."""
        for name, value in figures.items():
            if not math.isfinite(value):
                self._diverged(f"{name} is {value} in step {self.progress.step + 1}")

    def _check_weights(self) -> None:
        """Stop before weights are saved that a step has made NaN or infinite."""
        for model in (self.bare, self.average.model):
            for name, tensor in model.state_dict().items():
                if not tensor.isfinite().all():
                    self._diverged(f"{name} holds NaN or infinite values after step {self.progress.step}")

    def _diverged(self, what: str) -> NoReturn:
        last = f"the last good state is {self.folder.last}"
        good = last if self.folder.started else "nothing has been saved yet"
        raise InputError(f"training diverged: {what}; {good}; try a lower optimiser.lr, or check the data")

    def _log_step(self, log: Log, figures: dict[str, float], units: float) -> None:
        """Move the bar, and write the means of the figures every `log_steps`."""
        progress = self.progress
        self._pace.units += units
        for name, value in {**figures, "steps": 1}.items():
            progress.sums[name] = progress.sums.get(name, 0.0) + value
        epoch = (progress.step - 1) // self.order.steps_per_epoch + 1
        steps, rate = progress.sums["steps"], self._pace.rate
        means = {name: total / steps for name, total in progress.sums.items() if name != "steps"}
        log.show(self.position, f"epoch {epoch} · loss {means['loss']:.4g} · {rate:.1f} {self.task.unit}/s")
        if progress.step % self.recipe.run.log_steps == 0:
            means |= {"epoch": epoch, "elapsed": self._pace.elapsed, "units_per_second": rate}
            log.record("train", progress.step, means)
            progress.sums = {}
            self._pace.restart()

    def _validation_is_due(self) -> bool:
        """At the ends of epochs and of the budget, once each."""
        step, interval = self.progress.step, self.recipe.run.validate_epochs * self.order.steps_per_epoch
        return self.progress.validated != step and (step % interval == 0 or self.position >= 1)

    @torch.no_grad()
    def _validate(self, log: Log, stop: StopSignal) -> None:
        """Measure the averaged model, keep it if it is the best, and save; an interrupted validation is repeated."""
        self._check_weights()
        task, progress, model = self.task, self.progress, self.average.model
        if self.fabric.world_size > 1:  # statistics that each process has of its own batches
            for buffer in model.buffers():
                distributed.broadcast(buffer, 0)
        totals: dict[str, Tensor] = {}
        for index in range(self.fabric.global_rank, len(task.validation), self.fabric.world_size):
            if stop.received:
                break
            for name, values in task.measure(model, self.fabric.to_device(task.validation[index])).items():
                defined = values[~values.isnan()]
                total = torch.tensor([defined.sum(), len(defined)])
                totals[name] = totals.get(name, 0) + total
        progress.elapsed, self._stopped = self._agree(self._pace.elapsed, stop.received)
        if self._stopped:
            return
        sums = self._reduced(torch.stack([*totals.values()]), "sum")
        metrics = {
            name: total / count if count else math.nan for name, (total, count) in zip(totals, sums, strict=True)
        }
        progress.validated = progress.step
        self._keep_best(metrics)
        if self.fabric.is_global_zero:
            log.record("validation", progress.step, metrics)
            log.say(f"step {progress.step}: " + ", ".join(f"{name} {value:.4g}" for name, value in metrics.items()))
            log.media(progress.step, task.media(model))
        self._save()
        self._pace.restart()

    def _keep_best(self, metrics: dict[str, float]) -> None:
        progress, select_by = self.progress, metrics[self.task.select_by]
        sign = 1 if self.task.higher_is_better else -1
        if math.isnan(select_by) or (progress.best is not None and sign * select_by <= sign * progress.best):
            return
        progress.best, progress.best_step = select_by, progress.step
        if self.fabric.is_global_zero:
            facts = {"step": progress.step, "metrics": metrics, "recipe": self.recipe.experiment()}
            with self.folder.writing(self.folder.best):
                self.task.export(self.folder.best, self.average.model, facts)

    def _agree(self, *values: float) -> list[float]:
        """The maximum of each value over all processes, so that all of them decide alike."""
        return self._reduced(torch.tensor(values, dtype=torch.float64), "max")

    def _reduced(self, values: Tensor, how: str) -> Any:
        """The mean, sum or maximum of numbers over all processes, as nested lists."""
        result: Any = values
        if self.fabric.world_size > 1:
            result = self.fabric.all_reduce(values.to(self.fabric.device), reduce_op=how)
        return result.tolist()

    def _save(self) -> None:
        self._check_weights()
        random: Any = random_states(self.fabric.device)
        if self.fabric.world_size > 1:
            random = self.fabric.all_gather(self.fabric.to_device(random))
        if self.fabric.is_global_zero:
            random = {name: state.reshape(self.fabric.world_size, -1) for name, state in random.items()}
            with self.folder.writing(self.folder.last):
                save_state(self.folder.last, self.bare, self.average, self.optimiser.optimizer, self.progress, random)
        self._pace.saved()

    def _resume(self) -> None:
        """Resume from the last state; with another number of processes the random states start afresh."""
        path = self.folder.last
        progress, random = load_state(path, self.bare, self.average, self.optimiser.optimizer)
        if progress.samples != self.progress.samples:
            raise InputError(
                f"{path} was trained on {progress.samples} samples, now there are {self.progress.samples}; "
                "restore the data, or choose another run.folder"
            )
        self.progress = progress
        if len(random["torch"]) == self.fabric.world_size:
            own = {name: states[self.fabric.global_rank] for name, states in random.items()}
            restore_random_states(own, self.fabric.device)
