"""Bootstrap confidence intervals of a mean and of the difference of two systems on the same files; its significance."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from hamiltone.errors import InputError

_CHUNK = 1 << 20  # draws held in memory at a time
_FEW = 14  # files up to which all sign choices are tried: no more than the resamples of larger sets


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
    """The paired bootstrap of mean(first - second), and the sign-flip test of no difference.

    If the systems were equally good, each difference could just as well have the other sign: the p-value is the share
    of all sign choices whose mean is at least as far from zero as that of the sample. Up to 14 files it is exact, so
    five files never give less than 2 / 2^5; beyond that, signs are drawn at random. Files that lack one of the two
    scores are left out.

    Shape:
        first, second: ``(files,)``, the same files in the same order
    """
    if np.shape(first) != np.shape(second) or np.ndim(first) != 1:
        raise InputError(f"expected scores of the same files, got shapes {np.shape(first)} and {np.shape(second)}")
    values = np.asarray(first, dtype=np.float64) - np.asarray(second, dtype=np.float64)
    values = values[~np.isnan(values)]
    means = _resampled_means(values, rng, resamples)
    low, high = _interval(means, level)
    return Difference(float(values.mean()), low, high, _sign_flip_p_value(values, rng, resamples), len(values))


def _sign_flip_p_value(values: NDArray[np.float64], rng: np.random.Generator, resamples: int) -> float:
    reached = abs(values.sum()) - 1e-12 * np.abs(values).sum()  # sums in another order differ in their last bits
    if len(values) <= _FEW:
        bits = np.arange(2 ** len(values))[:, None] >> np.arange(len(values)) & 1
        return float((np.abs((1 - 2 * bits) @ values) >= reached).mean())
    rows = max(1, _CHUNK // len(values))
    count = 1  # the sample itself is one of the possible choices, so p is never zero
    for start in range(0, resamples, rows):
        signs = 1 - 2 * rng.integers(2, size=(min(rows, resamples - start), len(values)), dtype=np.int8)
        count += int((np.abs(signs @ values) >= reached).sum())
    return count / (resamples + 1)


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
