"""Bootstrap confidence intervals of a mean, and of the difference between two systems on the same files."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hamiltone.errors import InputError

_CHUNK = 1 << 20  # draws held in memory at a time


@dataclass(frozen=True)
class Interval:
    """A mean, its confidence interval and the number of files behind it."""

    mean: float
    low: float
    high: float
    files: int


@dataclass(frozen=True)
class Difference:
    """A mean difference, its confidence interval, the two-sided p-value of no difference, and the number of files."""

    mean: float
    low: float
    high: float
    p_value: float
    files: int


def mean_interval(
    scores: ArrayLike, rng: np.random.Generator, *, level: float = 0.95, resamples: int = 10_000
) -> Interval:
    """The percentile bootstrap of a mean. Files without a score (NaN) are left out, and `files` says how many remain.

    Shape:
        scores: ``(files,)``

    >>> interval = mean_interval([1.0, 2.0, 3.0, float("nan")], np.random.default_rng(0))
    >>> interval.mean, interval.files
    (2.0, 3)
    """
    values = np.asarray(scores, dtype=np.float64)
    if values.ndim != 1:
        raise InputError(f"expected one score per file, got shape {values.shape}")
    values = values[~np.isnan(values)]
    low, high = _interval(_resampled_means(values, rng, resamples), level)
    return Interval(float(values.mean()), low, high, len(values))


def paired_difference(
    first: ArrayLike, second: ArrayLike, rng: np.random.Generator, *, level: float = 0.95, resamples: int = 10_000
) -> Difference:
    """The paired bootstrap of mean(first - second). Files that lack one of the two scores are left out.

    Shape:
        first, second: ``(files,)``, the same files in the same order
    """
    if np.shape(first) != np.shape(second) or np.ndim(first) != 1:
        raise InputError(f"expected scores of the same files, got shapes {np.shape(first)} and {np.shape(second)}")
    values = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    values = values[~np.isnan(values)]
    means = _resampled_means(values, rng, resamples)
    low, high = _interval(means, level)
    # One is added because the sample itself is one of the possible resamples: no p-value of zero.
    tail = 1 + min((means <= 0).sum(), (means >= 0).sum())
    return Difference(float(values.mean()), low, high, float(min(1.0, 2 * tail / (resamples + 1))), len(values))


def _resampled_means(values: NDArray[np.float64], rng: np.random.Generator, resamples: int) -> NDArray[np.float64]:
    """Means of `resamples` draws with replacement, each as large as the sample."""
    if not len(values):
        raise InputError("expected at least one file with a score, got none")
    rows = max(1, _CHUNK // len(values))
    starts = range(0, resamples, rows)
    sizes = [(min(rows, resamples - start), len(values)) for start in starts]
    return np.concatenate([values[rng.integers(len(values), size=size)].mean(-1) for size in sizes])


def _interval(means: NDArray[np.float64], level: float) -> tuple[float, float]:
    low, high = np.quantile(means, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)
