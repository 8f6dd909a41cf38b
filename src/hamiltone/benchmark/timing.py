"""Interleaved wall-clock timing, so that load on the machine affects every method alike."""

import statistics
import time
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

Name = TypeVar("Name", bound=Hashable)


def interleaved(
    methods: Mapping[Name, Callable[[], object]],
    *,
    seconds: float = 10.0,
    rounds: tuple[int, int] = (3, 50),
    warm_up: bool = True,
    tick: Callable[[], None] = lambda: None,
) -> dict[Name, list[float]]:
    """Run all methods in turn, round after round, and return each one's times in seconds.

    One warm-up round comes first and sets how many rounds fit into `seconds`, within the limits `rounds`; it counts as
    a round where the methods are warm already, without `warm_up`. `tick` is called after every single run.
    """

    def round_of_times() -> dict[Name, float]:
        times = {}
        for name, run in methods.items():
            start = time.perf_counter()
            run()
            times[name] = time.perf_counter() - start
            tick()
        return times

    first = round_of_times()
    count = max(rounds[0], min(rounds[1], int(seconds / sum(first.values()))))
    measured = [] if warm_up else [first]
    measured += [round_of_times() for _ in range(count - len(measured))]
    return {name: [times[name] for times in measured] for name in methods}


def percentiles(times: Sequence[float], *, per: float = 1.0) -> tuple[float, float, float]:
    """The 10th, the 50th and the 90th percentile of times, divided by `per`."""
    low, middle, high = (float(value) / per for value in np.percentile(times, (10, 50, 90)))
    return low, middle, high


def median_ms(times: list[float]) -> float:
    """The median of times in seconds, in milliseconds."""
    return 1e3 * statistics.median(times)


def white_noise(seconds: float) -> NDArray[np.float32]:
    """Audio to time a model on: ``(L,)`` at 16 kHz, always the same."""
    return np.random.default_rng(0).standard_normal(round(16_000 * seconds)).astype(np.float32)
