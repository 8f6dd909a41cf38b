"""How alike are attention outputs: of two models, and of both formulas on one input? (Figures 3 and 4, Table 5)"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import itemgetter

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor, nn

from hamiltone.analysis.capture import AttentionCall, record
from hamiltone.analysis.statistics import Spread, pearson, spread
from hamiltone.nn import ScoreRule
from hamiltone.nn.rules import SCALES, make_rule

LEVELS = 1000
"""Quantiles that the quantile correlation compares."""
_GRID = 4096


@dataclass(frozen=True)
class Similarity:
    """Two models on the same utterances, and both formulas on the queries, keys and values of each.

    `ks`, `wasserstein` and `quantile_correlation` compare distributions of all output values, utterance by utterance;
    `pooled_ks` is the statistic of the values of all utterances together, which is never larger than the mean of
    theirs. `wasserstein_scaled` is the distance in deviations of the first model's values. `correlation` pairs the
    outputs of the models, value by value; `formulas` those of shared and Hamilton scores, by the name of the latter's
    scale, on what was captured in the first and in the second model. `uniform` is a control: the shared formula there
    against a plain mean of the values, which has no scores at all. `beyond` is how far a formula's correlation exceeds
    it, utterance by utterance.
    """

    ks: Spread
    pooled_ks: Spread
    wasserstein: Spread
    wasserstein_scaled: Spread
    quantile_correlation: Spread
    correlation: Spread
    formulas: dict[str, tuple[Spread, Spread]]
    uniform: tuple[Spread, Spread]
    beyond: dict[str, tuple[Spread, Spread]]


def ks_statistic(a: ArrayLike, b: ArrayLike) -> float:
    """The largest distance between the empirical distribution functions of two samples.

    >>> ks_statistic([0.0, 1.0], [2.0, 3.0])
    1.0
    """
    x, y = _sorted(a), _sorted(b)
    every = np.concatenate([x, y])
    below = np.searchsorted(x, every, "right") / len(x) - np.searchsorted(y, every, "right") / len(y)
    return float(np.abs(below).max())


class Pool:
    """The distributions of several models' values over all inputs, known at the quantiles of the first input's.

    There are 4096 of these, so that the distance of two distributions is found to about 1/4096.
    """

    def __init__(self) -> None:
        self._at: NDArray[np.float64] | None = None
        self._counts: list[list[NDArray[np.int64]]] = []

    def add(self, rows: Sequence[ArrayLike]) -> None:
        """The values of every model for the next input."""
        if self._at is None:
            self._at = np.append(quantiles(np.concatenate([np.ravel(one) for one in rows]), _GRID), np.inf)
        self._counts.append([np.searchsorted(_sorted(one), self._at, "right") for one in rows])

    def ks(self, first: int, second: int, *, resamples: int = 1000) -> Spread:
        """The largest distance of two models' distributions; the interval is twice the bootstrap's error over inputs.

        A percentile interval would not do: the statistic of a resample is larger than that of the sample.
        """
        a, b = (np.array([one[which] for one in self._counts]) for which in (first, second))
        inputs = len(a)
        found = self._distance(a.sum(0), b.sum(0))
        if inputs < 2:
            return Spread(found, math.nan, math.nan, math.nan, inputs)
        rng = np.random.default_rng(0)
        weights = rng.multinomial(inputs, np.full(inputs, 1 / inputs), size=resamples)
        error = float(np.std([self._distance(weight @ a, weight @ b) for weight in weights]))
        return Spread(found, error * math.sqrt(inputs), found - 2 * error, found + 2 * error, inputs)

    @staticmethod
    def _distance(a: NDArray[np.int64], b: NDArray[np.int64]) -> float:
        return float(np.abs(a / a[-1] - b / b[-1]).max())


def wasserstein(a: ArrayLike, b: ArrayLike) -> float:
    """The earth mover's distance W₁ between two samples: the area between their distribution functions.

    >>> wasserstein([0.0, 1.0], [2.0, 3.0])
    2.0
    """
    x, y = _sorted(a), _sorted(b)
    every = np.sort(np.concatenate([x, y]))
    below = np.searchsorted(x, every[:-1], "right") / len(x) - np.searchsorted(y, every[:-1], "right") / len(y)
    return float(np.abs(below) @ np.diff(every))


def quantiles(a: ArrayLike, levels: int = LEVELS) -> NDArray[np.float64]:
    """The quantiles of a sample at the middles of `levels` equal shares."""
    return np.quantile(np.asarray(a, np.float64).ravel(), (np.arange(levels) + 0.5) / levels)


def quantile_correlation(a: ArrayLike, b: ArrayLike, levels: int = LEVELS) -> float:
    """The correlation of the quantiles of two samples: one if they differ by location and scale alone."""
    return pearson(quantiles(a, levels), quantiles(b, levels))


def both_formulas(call: AttentionCall, rival: str = "hamilton") -> tuple[Tensor, Tensor]:
    """The outputs of the shared and of another formula on the same queries, keys and values.

    `rival` is the name of the other rule.

    Shape:
        returns: ``(B, H, N, 4, D)`` each
    """
    return _outputs(call, make_rule("shared")), _outputs(call, make_rule(rival))


def uniform_outputs(layers: Mapping[str, AttentionCall]) -> NDArray[np.float32]:
    """The output of all layers if every query attended to all keys equally, in one row."""
    return _row(call.v.mean(2, keepdim=True).expand_as(call.q) for call in layers.values())


def _outputs(call: AttentionCall, rule: ScoreRule) -> Tensor:
    return rule.attend(call.q, call.k, call.v, mask=call.mask, causal=call.causal)


def all_outputs(layers: Mapping[str, AttentionCall]) -> NDArray[np.float32]:
    """The output values of all layers in one row."""
    return _row(call.outputs for call in layers.values())


def formula_outputs(
    layers: Mapping[str, AttentionCall], rival: str = "hamilton"
) -> tuple[NDArray[np.float32], NDArray[np.float32]]:
    """`both_formulas` of all layers, in one row each."""
    pairs = [both_formulas(call, rival) for call in layers.values()]
    return _row(shared for shared, _ in pairs), _row(hamilton for _, hamilton in pairs)


@torch.no_grad()
def study_similarity(
    first: nn.Module, second: nn.Module, inputs: Iterable[Tensor], rivals: Sequence[str] = SCALES
) -> Similarity:
    """Run two models of one architecture on inputs one by one and compare the outputs of their attentions.

    `rivals` are the rules that the shared one is compared with on what was captured.

    Shape:
        inputs: whatever the models take; waveforms ``(1, L)`` for an enhancer
    """
    between: list[tuple[float, ...]] = []
    pool = Pool()
    captured: list[tuple[dict[str, float], dict[str, float]]] = []
    for x in inputs:
        ours, theirs = record(first, x), record(second, x)
        a, b = all_outputs(ours), all_outputs(theirs)
        pool.add((a, b))
        distance = wasserstein(a, b)
        scaled = distance / float(a.std(dtype=np.float64))
        between.append((ks_statistic(a, b), distance, scaled, quantile_correlation(a, b), pearson(a, b)))
        captured.append((formula_correlations(ours, rivals), formula_correlations(theirs, rivals)))

    def each(value: Callable[[dict[str, float]], float]) -> tuple[Spread, Spread]:
        ours, theirs = (spread([value(pair[which]) for pair in captured]) for which in (0, 1))
        return ours, theirs

    ks, distances, scaled_distances, shapes, pairs = (spread(column) for column in zip(*between, strict=True))
    formulas = {rival: each(itemgetter(rival)) for rival in rivals}
    beyond = {rival: each(lambda found, rival=rival: found[rival] - found["uniform"]) for rival in rivals}  # type: ignore[misc]
    uniform = each(itemgetter("uniform"))
    return Similarity(ks, pool.ks(0, 1), distances, scaled_distances, shapes, pairs, formulas, uniform, beyond)


def formula_correlations(layers: Mapping[str, AttentionCall], rivals: Sequence[str] = SCALES) -> dict[str, float]:
    """The shared formula with that of each rival, and, as ``uniform``, with a plain mean of the values."""
    shared, *others = (
        _row(_outputs(recording, make_rule(name)) for recording in layers.values()) for name in ("shared", *rivals)
    )
    found = {rival: pearson(shared, other) for rival, other in zip(rivals, others, strict=True)}
    return found | {"uniform": pearson(shared, uniform_outputs(layers))}


def _row(tensors: Iterable[Tensor]) -> NDArray[np.float32]:
    return np.concatenate([tensor.float().flatten().numpy() for tensor in tensors])


def _sorted(a: ArrayLike) -> NDArray[np.float64]:
    values = np.sort(np.asarray(a, np.float64).ravel())
    if not len(values):
        raise ValueError("expected a sample with at least one value")
    return values
