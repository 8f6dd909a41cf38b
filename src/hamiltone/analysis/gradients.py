"""From the loss back to the scores: norms of dL/dS and how they vary together (Tables 6-8 and 14)."""

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import ArrayLike
from torch import Tensor, nn

from hamiltone.analysis.statistics import Spread, spread
from hamiltone.nn import QAttention
from hamiltone.nn.pooling import pooled
from hamiltone.nn.rules import SCALES, make_rule

Loss = Callable[[Tensor], Tensor]


@dataclass(frozen=True)
class Setting:
    """Table 6, with what it leaves open: 64 reals are 16 quaternions as in the speech models, with their four heads.

    `rivals` are the rules with four maps that the shared score is compared with; their scale decides Table 7.
    """

    batch: int = 32
    length: int = 128
    dim: int = 16
    heads: int = 4
    trials: int = 100
    seed: int = 0
    rivals: tuple[str, ...] = SCALES

    def __post_init__(self) -> None:
        for name in self.rivals:
            if make_rule(name).maps != 4:
                raise ValueError(f"expected a rule with a map for each component, {name} has one for all")

    @property
    def shape(self) -> tuple[int, int, int, int]:
        """The shape of the input, ``(B, N, 4, C)``."""
        return self.batch, self.length, 4, self.dim


@dataclass(frozen=True)
class TrialNorms:
    """‖dL/dS‖ of the shared score in each trial, and of the four scores of each rival, ``(trials, 4)``."""

    setting: Setting
    shared: list[float]
    hamilton: dict[str, list[list[float]]]


@dataclass(frozen=True)
class NormStudy:
    """‖dL/dS‖ of the shared score and of the four scores of each rival, over trials with new weights and input.

    `ratio` is the shared norm over the sum of the four, trial by trial: about one if the gradients add up without
    cancelling.
    """

    setting: Setting
    shared: Spread
    hamilton: dict[str, tuple[Spread, ...]]
    ratio: dict[str, Spread]


@dataclass(frozen=True)
class Correlation:
    """The correlation matrix of the four norms over `trials`, with the standard error of each entry."""

    matrix: tuple[tuple[float, ...], ...]
    errors: tuple[tuple[float, ...], ...]
    trials: int

    @property
    def off_diagonal(self) -> float:
        """The mean of the six correlations."""
        return float(np.asarray(self.matrix)[np.triu_indices(4, 1)].mean())


def mean_square(y: Tensor) -> Tensor:
    """The loss we take where the paper names none: the mean square of the layer's output."""
    return y.square().mean()


def score_gradient(attention: QAttention, x: Tensor, loss: Loss = mean_square) -> Tensor:
    """dL/dS of one attention layer on its own.

    Shape:
        x: ``(B, N, 4, C)``
        returns: ``(B, H, S, N, M)``, S = 1 or 4, M = N unless keys are pooled
    """
    q, k, v = attention.project(x, pooled(x, attention.pooling))
    q, k = attention.place(q, k)
    scores = attention.rule.scores(q, k).detach().requires_grad_()
    maps = scores.softmax(-1)
    heads = (maps.expand(-1, -1, 4, -1, -1) @ v.transpose(2, 3)).transpose(2, 3)  # Eq. 13 and 16 at once
    (gradient,) = torch.autograd.grad(loss(attention.merge(heads)), scores)
    return gradient


def gradient_norms(attention: QAttention, x: Tensor, loss: Loss = mean_square) -> Tensor:
    """The Frobenius norm of dL/dS for each map, over the whole batch and all heads.

    Shape:
        x: ``(B, N, 4, C)``
        returns: ``(S,)``
    """
    return torch.linalg.vector_norm(score_gradient(attention, x, loss), dim=(0, 1, 3, 4))


def norms_at_start(setting: Setting) -> TrialNorms:
    """All attentions with the same fresh weights on the same random input, trial after trial."""
    shared: list[float] = []
    hamilton: dict[str, list[list[float]]] = {rival: [] for rival in setting.rivals}
    for generator in _trials(setting):
        attention = _fresh(setting, "shared")
        x = torch.randn(setting.shape, generator=generator)
        shared += gradient_norms(attention, x).tolist()
        for scale, rows in hamilton.items():
            attention.rule = make_rule(scale)
            rows.append(gradient_norms(attention, x).tolist())
    return TrialNorms(setting, shared, hamilton)


def study_norms(trials: TrialNorms) -> NormStudy:
    """The means over trials (Table 7)."""
    return NormStudy(
        trials.setting,
        spread(trials.shared),
        {name: tuple(spread(column) for column in zip(*rows, strict=True)) for name, rows in trials.hamilton.items()},
        {
            name: spread([one / sum(row) for one, row in zip(trials.shared, rows, strict=True)])
            for name, rows in trials.hamilton.items()
        },
    )


def correlation_with_same_weights(setting: Setting, rival: str = "hamilton") -> Correlation:
    """The four norms of a rival over random inputs with one set of fresh weights.

    After training the weights are the same in each trial, so this is the fair comparison with `correlation_after`.
    """
    attention, rows = None, []
    for generator in _trials(setting):
        attention = attention or _fresh(setting, rival)
        rows.append(gradient_norms(attention, torch.randn(setting.shape, generator=generator)).tolist())
    return correlation(rows)


def correlation_after(model: nn.Module, setting: Setting) -> dict[str, Correlation]:
    """The four norms of each Hamilton attention of a model over random inputs (Table 8b), by layer.

    The scale is that of the model's own rule: another one would be another model.
    """
    layers = {
        name: module
        for name, module in model.named_modules()
        if isinstance(module, QAttention) and module.rule.maps == 4
    }
    if not layers:
        raise ValueError("the model has no attention with one map for each component")
    found = {}
    for name, attention in layers.items():
        shape = (setting.batch, setting.length, 4, attention.dim)
        inputs = (torch.randn(shape, generator=generator) for generator in _trials(setting))
        found[name] = correlation([gradient_norms(attention, x).tolist() for x in inputs])
    return found


def correlation(norms: ArrayLike) -> Correlation:
    """The Pearson correlations of norms ``(trials, 4)``; the standard error of r is (1 - r²) / √(trials - 1)."""
    values = np.asarray(norms, np.float64)
    matrix = np.asarray(np.corrcoef(values, rowvar=False))
    errors = (1 - np.square(matrix)) / math.sqrt(len(values) - 1)
    return Correlation(_rows(matrix), _rows(errors), len(values))


def _rows(matrix: np.ndarray) -> tuple[tuple[float, ...], ...]:
    return tuple(tuple(row) for row in matrix.tolist())


def _fresh(setting: Setting, rule: str) -> QAttention:
    return QAttention(setting.dim, setting.heads, make_rule(rule))


def _trials(setting: Setting) -> Iterator[torch.Generator]:
    """A generator for the input of each trial; weights come from torch's own, seeded alike and then left as it was."""
    for trial in range(setting.trials):
        seed = setting.seed * 1_000_003 + trial
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            yield torch.Generator().manual_seed(seed + 2**31)
