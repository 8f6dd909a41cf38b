"""Means with their uncertainty: over utterances or trials, over seeds, and over both."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.metrics import mean_interval

LEVEL = 0.95
"""Of every interval."""


@dataclass(frozen=True)
class Spread:
    """A mean, the standard deviation of the values, and a 95 % interval of the mean over groups.

    Groups are the independent units (utterances, trials, rounds or seeds); values within a group are not independent.
    With only one group the ends of the interval are NaN.
    """

    mean: float
    deviation: float
    low: float
    high: float
    groups: int

    @property
    def has_interval(self) -> bool:
        """Whether both ends are known."""
        return math.isfinite(self.low) and math.isfinite(self.high)


def spread(values: Sequence[ArrayLike], *, resamples: int = 2000) -> Spread:
    """The mean and deviation of all values, and the bootstrap of the mean over many groups.

    For few groups, such as seeds of training, take `student`: a bootstrap of three values returns their extremes.

    Shape:
        values: one array of any shape for each group; a group counts by its own mean in the interval

    >>> result = spread([[1.0, 3.0], [2.0, 2.0]])
    >>> result.mean, result.low, result.high, result.groups
    (2.0, 2.0, 2.0, 2)
    """
    groups = [np.asarray(value, np.float64).ravel() for value in values]
    every = np.concatenate(groups)
    deviation = float(every.std(ddof=1)) if len(every) > 1 else math.nan
    if len(groups) < 2:
        return Spread(float(every.mean()), deviation, math.nan, math.nan, len(groups))
    means = [float(group.mean()) for group in groups]
    interval = mean_interval(means, np.random.default_rng(0), resamples=resamples)
    return Spread(float(every.mean()), deviation, interval.low, interval.high, len(groups))


def student(values: Sequence[float]) -> Spread:
    """The mean of a few independent values, such as one for each seed, with Student's 95 % interval.

    >>> result = student([1.0, 2.0, 3.0])
    >>> result.mean, round(result.low, 2), round(result.high, 2)
    (2.0, -0.48, 4.48)
    """
    sample = np.asarray(values, np.float64)
    if len(sample) < 2:
        return Spread(float(sample.mean()), math.nan, math.nan, math.nan, len(sample))
    deviation = float(sample.std(ddof=1))
    half = t_quantile(len(sample) - 1) * deviation / math.sqrt(len(sample))
    mean = float(sample.mean())
    return Spread(mean, deviation, mean - half, mean + half, len(sample))


def jackknife(statistic: Callable[[Sequence[int]], float], seeds: int) -> Spread:
    """A number that is computed from several seeds at once, such as a mean over pairs, with Student's 95 % interval.

    `statistic` takes the seeds to compute it from. Each seed in turn is left out with all pairs that it is in, so that
    pairs with a seed in common are not mistaken for independent ones.

    >>> jackknife(lambda kept: float(np.mean(kept)), 4) == student([0.0, 1.0, 2.0, 3.0])
    True
    """
    every = range(seeds)
    whole = statistic(every)
    return student([seeds * whole - (seeds - 1) * statistic([one for one in every if one != left]) for left in every])


def nested(scores: ArrayLike, *, resamples: int = 2000) -> Spread:
    """The mean over seeds and files, with an interval in which both vary.

    Seeds and files are drawn anew, both with replacement, and the standard error of the mean is that of the draws,
    widened by √(S / (S - 1)) because S seeds underestimate their own deviation. The interval takes Student's
    quantile with S - 1 degrees of freedom, so that four seeds are not mistaken for many.

    Shape:
        scores: ``(seeds, files)``, the same files for every seed; NaN where a file has no score
    """
    table = np.asarray(scores, np.float64)
    if table.ndim != 2:
        raise ValueError(f"expected scores of shape (seeds, files), got {table.shape}")
    table = table[:, ~np.isnan(table).any(0)]
    seeds, files = table.shape
    if not files:
        raise ValueError("expected at least one file that has a score from every seed")
    mean, deviation = float(table.mean()), float(table.mean(1).std(ddof=1)) if seeds > 1 else math.nan
    if seeds < 2:
        return Spread(mean, deviation, math.nan, math.nan, seeds)
    rng = np.random.default_rng(0)
    draws = [
        table[rng.integers(seeds, size=seeds)][:, rng.integers(files, size=files)].mean() for _ in range(resamples)
    ]
    half = t_quantile(seeds - 1) * float(np.std(draws)) * math.sqrt(seeds / (seeds - 1))
    return Spread(mean, deviation, mean - half, mean + half, seeds)


def t_quantile(freedom: int, level: float = LEVEL) -> float:
    """Student's two-sided quantile: the t that |T| exceeds with the probability 1 - level.

    >>> round(t_quantile(2), 3), round(t_quantile(1000), 3)
    (4.303, 1.962)
    """
    if freedom < 1:
        raise ValueError(f"expected at least one degree of freedom, got {freedom}")
    # With t = √freedom · tan θ the density becomes cos^(freedom - 1) θ, which is smooth on [0, π/2].
    nodes, weights = np.polynomial.legendre.leggauss(200)

    def mass(angle: float) -> float:
        return float(weights @ np.cos(angle * (nodes + 1) / 2) ** (freedom - 1)) * angle / 2

    low, high, whole = 0.0, math.pi / 2, mass(math.pi / 2)
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if mass(middle) < level * whole else (low, middle)
    return math.sqrt(freedom) * math.tan((low + high) / 2)


def pearson(a: ArrayLike, b: ArrayLike) -> float:
    """The correlation of two arrays of one shape, value by value; NaN where one of them is constant."""
    x, y = (np.asarray(values, np.float64).ravel() for values in (a, b))
    if x.shape != y.shape:
        raise ValueError(f"expected two arrays of one size, got {x.size} and {y.size} values")
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale else math.nan
