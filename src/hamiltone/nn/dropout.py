"""Dropout of whole quaternions."""

import torch
from torch import Tensor, nn

from hamiltone.algebra import component_axis


class QDropout(nn.Module):
    """Zero whole quaternions with probability p in training and scale the others by 1 / (1 - p).

    Args:
        p: The probability.
        dim: Where the components are.

    Shape:
        x: any, with the components at `dim`
        returns: the same
    """

    def __init__(self, p: float = 0.5, dim: int = -2) -> None:
        super().__init__()
        if not 0.0 <= p <= 1.0:
            raise ValueError(f"the dropout probability must lie in [0, 1], got {p}")
        self.p, self.dim = p, dim

    def forward(self, x: Tensor) -> Tensor:
        """Drop quaternions in training; return x unchanged in evaluation."""
        axis = component_axis(x, self.dim)
        if not self.training or self.p == 0.0:
            return x
        kept = nn.functional.dropout(torch.ones_like(x.select(axis, 0)), self.p)
        return x * kept.unsqueeze(axis)

    def extra_repr(self) -> str:
        return f"p={self.p}, dim={self.dim}"
