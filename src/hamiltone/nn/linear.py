"""The quaternion linear layer (Eq. 21-28)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn.init import Init, polar_
from hamiltone.nn.weight import RealWeightCache, real_weight


class QLinear(nn.Module):
    """Y = X ⊗ W + b, with a quarter of the weights of the real layer of the same width (Eq. 21-28).

    Component by component, with W = W_0 + W_1 i + W_2 j + W_3 k::

        Y_0 = X_0 W_0 - X_1 W_1 - X_2 W_2 - X_3 W_3 + b_0
        Y_1 = X_0 W_1 + X_1 W_0 + X_2 W_3 - X_3 W_2 + b_1
        Y_2 = X_0 W_2 - X_1 W_3 + X_2 W_0 + X_3 W_1 + b_2
        Y_3 = X_0 W_3 + X_1 W_2 - X_2 W_1 + X_3 W_0 + b_3

    It runs as one real matrix product.

    Args:
        in_dim: Quaternions of the input.
        out_dim: Quaternions of the output.
        bias: Whether to add b.
        init: How the weight is drawn: `polar_` or `isotropic_`.

    Shape:
        x: ``(..., 4, in_dim)``
        returns: ``(..., 4, out_dim)``
        weight: ``(4, out_dim, in_dim)``, bias: ``(4, out_dim)``

    >>> QLinear(3, 5)(torch.randn(2, 7, 4, 3)).shape
    torch.Size([2, 7, 4, 5])
    """

    def __init__(self, in_dim: int, out_dim: int, bias: bool = True, *, init: Init = polar_) -> None:
        super().__init__()
        self.in_dim, self.out_dim, self.init = in_dim, out_dim, init
        self.weight = nn.Parameter(torch.empty(4, out_dim, in_dim))
        self.bias = nn.Parameter(torch.empty(4, out_dim)) if bias else None
        self._cache = RealWeightCache()
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Reinitialise the weight and zero the bias."""
        self.init(self.weight, self.in_dim, self.out_dim)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def real_weight(self) -> Tensor:
        """The ``(4 out_dim, 4 in_dim)`` matrix that acts on the flattened input."""
        return self._cache.get(self.weight, real_weight)

    def forward(self, x: Tensor) -> Tensor:
        """Multiply every row of quaternions by W from the right."""
        if x.dim() < 2 or x.shape[-2] != 4 or x.shape[-1] != self.in_dim:
            raise ValueError(f"QLinear expected (..., 4, {self.in_dim}), got shape {tuple(x.shape)}")
        bias = None if self.bias is None else self.bias.flatten()
        return unflatten(F.linear(flatten(x), self.real_weight(), bias))

    def extra_repr(self) -> str:
        return f"{self.in_dim}, {self.out_dim}, bias={self.bias is not None}"
