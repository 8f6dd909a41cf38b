"""The progress and the speed of a run, and its learning rate."""

import math
import time

from hamiltone.training.config import Budget, Schedule


def position(budget: Budget, steps_per_epoch: int, step: int, elapsed: float) -> float:
    """The share of the budget that is spent, from 0 to 1: the largest share among its limits.

    For a budget in steps or epochs this is a function of the step alone, so a resumed run repeats it exactly.

    >>> position(Budget(epochs=2, minutes=10), steps_per_epoch=100, step=20, elapsed=300.0)
    0.5
    """
    shares = [0.0]
    if budget.epochs is not None:
        shares.append(step / (budget.epochs * steps_per_epoch))
    if budget.steps is not None:
        shares.append(step / budget.steps)
    if budget.minutes is not None:
        shares.append(elapsed / (60 * budget.minutes))
    return min(max(shares), 1.0)


def rate_factor(schedule: Schedule, step: int, position: float) -> float:
    """The factor of the learning rate in the step that follows `step` others.

    >>> [rate_factor(Schedule(warmup=4), step, 0.0) for step in range(5)]
    [0.25, 0.5, 0.75, 1.0, 1.0]
    """
    warm = min(1.0, (step + 1) / schedule.warmup) if schedule.warmup else 1.0
    if schedule.kind == "constant":
        return warm
    return warm * (schedule.final + (1 - schedule.final) * 0.5 * (1 + math.cos(math.pi * position)))


class Pace:
    """Time and speed of a run, including its earlier sessions."""

    def __init__(self, elapsed: float) -> None:
        self._start = time.monotonic() - elapsed
        self._saved = time.monotonic()
        self.restart()

    @property
    def elapsed(self) -> float:
        """Seconds of the whole run."""
        return time.monotonic() - self._start

    @property
    def since_save(self) -> float:
        """Seconds since `saved` was called."""
        return time.monotonic() - self._saved

    @property
    def rate(self) -> float:
        """Units per second since `restart` was called."""
        return self.units / max(time.monotonic() - self._since, 1e-9)

    def saved(self) -> None:
        """Remember the time of a save."""
        self._saved = time.monotonic()

    def restart(self) -> None:
        self.units, self._since = 0.0, time.monotonic()
