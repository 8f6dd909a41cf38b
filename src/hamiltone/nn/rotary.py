"""Rotary positions for quaternions: each position turns its queries and keys by a unit quaternion (Su et al. 2021).

Position n has the unit quaternion u_n = cos(nθ) + μ sin(nθ), with an axis μ that all positions share, so that
u_n u_m* = u_(n-m). The side from which it multiplies decides which properties hold:

- **right**, q u_n and k u_m: Re(q u_n (k u_m)*) = Re(q u_(n-m) k*), so shared scores depend on the distance n - m.
  What multiplies the input from the left passes X ⊗ W and u_n alike, p(xW)u_n = ((px)W)u_n: shared-score attention
  stays equivariant to a unit quaternion p from the left, as it is without positions.
- **left**, u_n q and u_m k: Re(u_n q k* u_m*) = Re(u_(n-m) q k*), so shared scores depend on n - m too. u_n passes
  X ⊗ W: with one θ for all channels (``base=1``) it makes no difference whether the input or the query is turned. The
  equivariance is lost, except for p that turn about μ themselves.
- **between**, q u_n and u_m* k: q u_n u_m* k = q u_(n-m) k, so all four Hamilton scores depend on n - m alone. With the
  other two sides none of them does, and here shared scores do not.
"""

import math
from collections.abc import Callable
from typing import Literal, get_args

import torch
from torch import Tensor

from hamiltone.algebra import conjugate, hamilton_product

Positions = Callable[[Tensor, Tensor, int], tuple[Tensor, Tensor]]
"""The `positions` of `QAttention`: takes queries ``(B, H, N, 4, D)``, keys ``(B, H, M, 4, D)`` and the number of the
first position, and returns both with their positions encoded."""

Side = Literal["right", "left", "between"]


class QRotary:
    """Rotates queries and keys by their positions; the module's docstring explains the choice of `side`.

    Args:
        side: Which side to multiply from: `right` or `left` for shared scores, `between` for Hamilton scores.
        base: θ falls geometrically from 1 in the first channel of a head to almost 1/base in the last.
        axis: The imaginary direction μ; by default i, j and k are treated alike.

    Shape:
        q: ``(B, H, N, 4, D)``, k: ``(B, H, M, 4, D)``
        returns: the same

    >>> from hamiltone.nn import SharedScoreAttention
    >>> attention = SharedScoreAttention(16, heads=4, positions=QRotary())
    >>> attention(torch.randn(2, 10, 4, 16)).shape
    torch.Size([2, 10, 4, 16])
    """

    def __init__(
        self, side: Side = "right", *, base: float = 10_000.0, axis: tuple[float, float, float] = (1.0, 1.0, 1.0)
    ) -> None:
        if side not in get_args(Side):
            raise ValueError(f"side must be one of {', '.join(get_args(Side))}, got {side!r}")
        length = math.hypot(*axis)
        if len(axis) != 3 or not 0 < length < math.inf:
            raise ValueError(f"axis must be three numbers, not all zero, got {axis}")
        if not 1 <= base < math.inf:
            raise ValueError(f"base must be at least 1 and finite, got {base}")
        self.side, self.base, self.axis = side, base, tuple(part / length for part in axis)

    def __call__(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """Queries and keys rotated by their positions, which begin at `start` for both."""
        u, w = self.units(q, start), self.units(k, start)  # (N, 4, D), (M, 4, D)
        if self.side == "right":
            return hamilton_product(q, u), hamilton_product(k, w)
        if self.side == "left":
            return hamilton_product(u, q), hamilton_product(w, k)
        return hamilton_product(q, u), hamilton_product(conjugate(w), k)

    def units(self, heads: Tensor, start: int = 0) -> Tensor:
        """The unit quaternions ``(N, 4, D)`` of the positions of heads ``(B, H, N, 4, D)``."""
        length, dim = heads.shape[2], heads.shape[-1]
        device, exact = heads.device, torch.promote_types(heads.dtype, torch.float32)
        rates = self.base ** (-torch.arange(dim, device=device, dtype=exact) / dim)
        angles = torch.arange(start, start + length, device=device, dtype=exact)[:, None] * rates
        sine = angles.sin()
        return torch.stack([angles.cos(), *(part * sine for part in self.axis)], dim=1).to(heads.dtype)

    def __repr__(self) -> str:
        return f"QRotary({self.side!r}, base={self.base:g})"
