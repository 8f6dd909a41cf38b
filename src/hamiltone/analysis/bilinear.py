"""Is the score of a trained layer bilinear in its input, as Theorem C.1 assumes? Doubling the input shows it."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hamiltone.nn import QAttention
from hamiltone.nn.pooling import pooled


@dataclass(frozen=True)
class Homogeneity:
    """‖S(2X)‖ / ‖S(X)‖ of one layer: 4 for a bilinear score, 1 for one that ignores the level of its input."""

    layer: str
    ratio: float


@torch.no_grad()
def homogeneity(attention: QAttention, x: Tensor) -> float:
    """‖S(2X)‖ / ‖S(X)‖.

    Shape:
        x: ``(B, N, 4, C)``
    """

    def size(y: Tensor) -> float:
        q, k, _ = attention.project(y, pooled(y, attention.pooling))
        return float(attention.rule.scores(q, k).norm())

    return size(2 * x) / size(x)


def study_homogeneity(model: nn.Module, *, length: int = 64, seed: int = 0) -> tuple[Homogeneity, ...]:
    """Every quaternion attention of a model, on random input."""
    generator = torch.Generator().manual_seed(seed)
    return tuple(
        Homogeneity(name, homogeneity(module, torch.randn(4, length, 4, module.dim, generator=generator)))
        for name, module in model.named_modules()
        if isinstance(module, QAttention)
    )
