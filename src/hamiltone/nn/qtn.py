"""Convolution-based local attention, our reading of the QTN baseline (docs/deviations.md)."""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn.conv import QConv1d
from hamiltone.nn.linear import QLinear
from hamiltone.nn.norm import QRMSNorm


class QTNAttention(nn.Module):
    """Queries, keys and values from quaternion convolutions, attention within `radius` positions: linear in N.

    Within the window a pair is scored by the quaternion inner product with one softmax, as in the shared rule, so that
    the comparison is between local and global context.

    Args:
        dim: Quaternions of a position.
        heads: Heads; they must divide `dim`.
        kernel_size: Kernel length of the convolutions that compute queries, keys and values; odd.
        radius: How many positions a query sees to either side.
        bias: Whether convolutions and output projection have a bias.
        qk_norm: Whether queries and keys pass through `QRMSNorm` (Eq. 17-18).
        dropout: The probability with which an attention weight is dropped in training.

    Shape:
        x: ``(B, N, 4, dim)``, key_padding_mask: ``(B, N)``, True = a real token
        returns: ``(B, N, 4, dim)``
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        kernel_size: int = 3,
        radius: int = 8,
        bias: bool = True,
        qk_norm: bool = True,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        if heads < 1 or dim < 1 or dim % heads:
            raise ValueError(f"heads must divide dim, got {heads} heads for {dim} quaternions")
        if kernel_size % 2 == 0 or radius < 1:
            raise ValueError(f"expected an odd kernel and a positive radius, got {kernel_size} and {radius}")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        self.dim, self.heads, self.radius, self.dropout = dim, heads, radius, dropout
        self.query = QConv1d(dim, dim, kernel_size, padding=kernel_size // 2, bias=bias)
        self.key = QConv1d(dim, dim, kernel_size, padding=kernel_size // 2, bias=bias)
        self.value = QConv1d(dim, dim, kernel_size, padding=kernel_size // 2, bias=bias)
        self.out = QLinear(dim, dim, bias)
        self.query_norm: nn.Module = QRMSNorm(dim) if qk_norm else nn.Identity()
        self.key_norm: nn.Module = QRMSNorm(dim) if qk_norm else nn.Identity()

    def forward(self, x: Tensor, *, key_padding_mask: Tensor | None = None) -> Tensor:
        """Attend from every position to its neighbours."""
        if x.dim() != 4 or x.shape[2] != 4 or x.shape[3] != self.dim or x.shape[1] == 0:
            raise ValueError(f"x must be (B, N > 0, 4, {self.dim}), got shape {tuple(x.shape)}")
        batch, length = x.shape[:2]
        valid = x.new_ones(batch, length, dtype=torch.bool) if key_padding_mask is None else key_padding_mask
        if tuple(valid.shape) != (batch, length) or valid.dtype != torch.bool:
            raise ValueError(
                f"key_padding_mask must be boolean of shape (B, N) = {(batch, length)}, got {valid.dtype} "
                f"of shape {tuple(valid.shape)}"
            )
        blocks = (length + self.radius - 1) // self.radius
        missing = blocks * self.radius - length  # in this form torch.export sees that blocks divide the padded length
        valid = F.pad(valid, (0, missing))
        signal = F.pad(x, (0, 0, 0, 0, 0, missing)) * valid[:, :, None, None]
        signal = signal.permute(0, 2, 3, 1)  # (B, 4, C, K·R): K blocks of R = radius positions
        q = self._blocks(self.query_norm(self.query(signal).permute(0, 3, 1, 2)))
        k = self._blocks(self.key_norm(self.key(signal).permute(0, 3, 1, 2)), around=True)
        v = self._blocks(self.value(signal).permute(0, 3, 1, 2), around=True)
        allowed = self._band(valid)
        live = allowed.any(-1, keepdim=True)
        dropout = self.dropout if self.training else 0.0
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed | ~live, dropout_p=dropout)
        y = y.masked_fill(~live, 0.0)  # (B·K, H, R, 4D)
        y = y.unflatten(0, (batch, -1)).transpose(2, 3).flatten(1, 2)  # (B, K·R, H, 4D)
        y = unflatten(y).transpose(2, 3).flatten(-2)  # (B, K·R, 4, C)
        return self.out(y.narrow_copy(1, 0, length))  # a view would keep the strides of K·R, which export guards

    def _blocks(self, x: Tensor, *, around: bool = False) -> Tensor:
        """``(B, K·R, 4, C)`` to heads of blocks of R positions, with both neighbouring blocks if `around`.

        Shape:
            returns: ``(B·K, H, R, 4D)`` or ``(B·K, H, 3R, 4D)``
        """
        heads = flatten(x.unflatten(-1, (self.heads, -1)).transpose(2, 3))  # (B, K·R, H, 4D)
        blocks = heads.flatten(2).unflatten(1, (-1, self.radius))  # (B, K, R, H·4D)
        blocks = (with_neighbours(blocks) if around else blocks).flatten(0, 1)
        return blocks.unflatten(-1, (self.heads, -1)).transpose(1, 2)

    def _band(self, valid: Tensor) -> Tensor:
        """Which key of the three blocks each query may see: real tokens at most `radius` away. ``(B·K, 1, R, 3R)``."""
        keys = with_neighbours(valid.unflatten(1, (-1, self.radius))[..., None])[..., 0]  # (B, K, 3R)
        distance = torch.arange(3 * self.radius, device=valid.device) - self.radius
        near = (distance - torch.arange(self.radius, device=valid.device)[:, None]).abs() <= self.radius
        return (keys[:, :, None] & near).flatten(0, 1)[:, None]

    def extra_repr(self) -> str:
        return f"{self.dim}, heads={self.heads}, radius={self.radius}, dropout={self.dropout}"


def with_neighbours(blocks: Tensor) -> Tensor:
    """Each block between the one before and the one after, ``(B, K, R, E)`` to ``(B, K, 3R, E)``; zeros at the ends."""
    padded = F.pad(blocks, (0, 0, 0, 0, 1, 1))
    return torch.cat([padded[:, :-2], blocks, padded[:, 2:]], dim=2)
