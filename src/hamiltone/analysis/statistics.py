"""Means with what is known of their uncertainty."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike


@dataclass(frozen=True)
class Spread:
    """A mean, the standard deviation of what it was taken over, and a 95 % interval of the mean over groups.

    The groups are what is independent, utterances or trials; the values within one are not.
    """

    mean: float
    deviation: float
    low: float
    high: float
    groups: int


def spread(values: Sequence[ArrayLike], *, resamples: int = 2000) -> Spread:
    """The mean and deviation of all values, and the bootstrap of the mean over groups.

    Shape:
        values: one array of any shape for each group; a group counts by its own mean in the interval

    >>> result = spread([[1.0, 3.0], [2.0, 2.0]])
    >>> result.mean, result.low, result.high, result.groups
    (2.0, 2.0, 2.0, 2)
    """
    groups = [np.asarray(value, np.float64).ravel() for value in values]
    every = np.concatenate(groups)
    means = np.array([group.mean() for group in groups])
    draws = np.random.default_rng(0).integers(len(means), size=(resamples, len(means)))
    low, high = np.quantile(means[draws].mean(-1), (0.025, 0.975)) if len(means) > 1 else (math.nan, math.nan)
    deviation = float(every.std(ddof=1)) if len(every) > 1 else math.nan
    return Spread(float(every.mean()), deviation, float(low), float(high), len(groups))


def pearson(a: ArrayLike, b: ArrayLike) -> float:
    """The correlation of two arrays of one shape, value by value; NaN where one of them is constant."""
    x, y = (np.asarray(values, np.float64).ravel() for values in (a, b))
    if x.shape != y.shape:
        raise ValueError(f"expected two arrays of one size, got {x.size} and {y.size} values")
    x, y = x - x.mean(), y - y.mean()
    scale = math.sqrt(float(x @ x) * float(y @ y))
    return float(x @ y) / scale if scale else math.nan
