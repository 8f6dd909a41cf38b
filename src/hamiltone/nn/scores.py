"""Score rules: from queries and keys to attention maps, and from maps and values to outputs.

A rule sees heads with the component axis still visible, ``(B, H, N, 4, D)``. It must define `scores`; it may also
define a fused `attend`. For a rule of your own, subclass `ScoreRule` and pass it to `QAttention`; `hamiltone.nn.rules`
gives rules names.
"""

import math
from abc import ABC, abstractmethod
from enum import Enum

import torch
from torch import Tensor
from torch.nn import functional as F

from hamiltone.algebra import flatten, real_matrix, unflatten
from hamiltone.nn.tracing import is_traced


class Scale(Enum):
    """What a score is divided by: the root of the number of quaternions, or of reals, in a head.

    >>> Scale.QUATERNIONS.factor(16), Scale.REALS.factor(16)
    (0.25, 0.125)
    """

    QUATERNIONS = "1/√d_h"
    REALS = "1/√(4·d_h)"

    def factor(self, head_dim: int) -> float:
        """The factor for heads of `head_dim` quaternions."""
        return 1 / math.sqrt(head_dim if self is Scale.QUATERNIONS else 4 * head_dim)


class ScoreRule(ABC):
    """One way to score query-key pairs of quaternions.

    `maps` is the number S of maps a head has: 1 (shared by the four components) or 4 (one for each). `products` is the
    number of real products that scoring one pair of quaternions takes; only cost counts need it. `scale` says how
    scores are scaled, if that is one of the usual ways.
    """

    maps: int = 1
    products: int
    scale: Scale | None = None

    @property
    def fused(self) -> bool:
        """Whether the rule has its own `attend` instead of the explicit path."""
        return type(self).attend is not ScoreRule.attend

    @abstractmethod
    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The scaled scores before the softmax.

        Shape:
            q: ``(B, H, N, 4, D)``, k: ``(B, H, M, 4, D)``
            returns: ``(B, H, S, N, M)``
        """

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """softmax(scores + mask) applied to the values, as fast as the rule can; by default by the explicit path.

        `causal` means the plain causal mask of a square problem, N = M; other alignments are passed as a mask.

        Shape:
            q: ``(B, H, N, 4, D)``, k, v: ``(B, H, M, 4, D)``, mask: ``(B|1, H|1, N|1, M|1)``, boolean or additive
            returns: ``(B, H, N, 4, D)``
        """
        return self.explicit(q, k, v, mask=mask, causal=causal, dropout=dropout)[0]

    def explicit(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> tuple[Tensor, Tensor]:
        """The same by batched matrix products, with the maps ``(B, H, S, N, M)`` (before dropout) for analysis."""
        scores = self.scores(q, k)
        expected = (*q.shape[:2], self.maps, q.shape[2], k.shape[2])
        check_shape(f"{type(self).__name__}.scores", "(B, H, S, N, M)", scores, expected)
        if causal:
            scores = scores.masked_fill(~causal_mask(q.shape[2], k.shape[2], q.device), -math.inf)
        if mask is not None:
            mask = mask[:, :, None]
            scores = scores.masked_fill(~mask, -math.inf) if mask.dtype == torch.bool else scores + mask
        maps = scores.softmax(-1)
        weights = F.dropout(maps, dropout) if dropout else maps
        if self.maps == 1:  # Eq. 13: one map, the four components side by side
            return unflatten(weights[:, :, 0] @ flatten(v)), maps
        return (weights @ v.transpose(2, 3)).transpose(2, 3), maps  # Eq. 16: (B, H, 4, N, D) -> (B, H, N, 4, D)


class SharedScore(ScoreRule):
    """One map for all four components (Eq. 9-13): ordinary attention in R^{4D}.

    The real part of Q ⊗ K† is the inner product of real vectors, so four real products score a pair::

        S = Re(Q ⊗ K†) / √(4D) = (Q_0 K_0ᵀ + Q_1 K_1ᵀ + Q_2 K_2ᵀ + Q_3 K_3ᵀ) / √(4D)
        A = softmax(S)
        O_c = A V_c                                          for each component c
    """

    maps = 1
    products = 4
    scale = Scale.REALS

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The four real products of Eq. 10, as one in R^{4D} (Eq. 38)."""
        return (flatten(q) @ flatten(k).mT)[:, :, None] * self.scale.factor(q.shape[-1])

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """One fused kernel; its default scale 1/√(4D) is the paper's."""
        y = F.scaled_dot_product_attention(
            flatten(q), flatten(k), flatten(v), attn_mask=mask, dropout_p=dropout, is_causal=causal
        )
        return unflatten(y)


class HamiltonScore(ScoreRule):
    """One map and one softmax for each component of the Hamilton product (Tay et al. 2019; Eq. 14-16).

    Sixteen real products score a pair::

        S_0 = (Q_0 K_0ᵀ - Q_1 K_1ᵀ - Q_2 K_2ᵀ - Q_3 K_3ᵀ) · scale
        S_1 = (Q_0 K_1ᵀ + Q_1 K_0ᵀ + Q_2 K_3ᵀ - Q_3 K_2ᵀ) · scale
        S_2 = (Q_0 K_2ᵀ - Q_1 K_3ᵀ + Q_2 K_0ᵀ + Q_3 K_1ᵀ) · scale
        S_3 = (Q_0 K_3ᵀ + Q_1 K_2ᵀ - Q_2 K_1ᵀ + Q_3 K_0ᵀ) · scale
        A_c = softmax(S_c)          O_c = A_c V_c            for each component c

    Args:
        scale: The factor that scores are multiplied by.

    The paper prints the scale 1/√d_h (Eq. 14), which is the default; Tay et al.'s code divides by √(4·d_h), as the
    shared score does: ``HamiltonScore(Scale.REALS)``.
    """

    maps = 4
    products = 16

    def __init__(self, scale: Scale = Scale.QUATERNIONS) -> None:
        self.scale: Scale = scale

    def scores(self, q: Tensor, k: Tensor) -> Tensor:
        """The sixteen real products of Eq. 14, as four in R^{4D} with sign-permuted keys."""
        return flatten(q)[:, :, None] @ _component_keys(k).mT * self.scale.factor(q.shape[-1])

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, *, mask: Tensor | None = None, causal: bool = False, dropout: float = 0.0
    ) -> Tensor:
        """One fused kernel over the four maps of every head.

        Queries are broadcast, not copied; values are padded with zeros to the keys' width because the fast kernel
        requires equal widths.
        """
        (batch, heads), dim = q.shape[:2], q.shape[-1]
        queries = flatten(q).flatten(0, 1)[:, None].expand(-1, 4, -1, -1)  # (B·H, 4, N, 4D)
        keys = _component_keys(k).flatten(0, 1)  # (B·H, 4, M, 4D)
        values = F.pad(v.transpose(2, 3), (0, 3 * dim)).flatten(0, 1)  # (B·H, 4, M, 4D)
        if mask is not None:
            mask = mask.expand(batch, heads, -1, -1).flatten(0, 1)[:, None]  # (B·H, 1, N|1, M|1)
        scale = self.scale.factor(dim)
        y = F.scaled_dot_product_attention(
            queries, keys, values, attn_mask=mask, dropout_p=dropout, is_causal=causal, scale=scale
        )
        return y[..., :dim].unflatten(0, (batch, heads)).transpose(2, 3)


def _component_keys(k: Tensor) -> Tensor:
    """Keys ``(B, H, M, 4, D)`` to ``(B, H, 4, M, 4D)`` such that q · key[α] is component α of q ⊗ k (Eq. 4)."""
    return real_matrix(k, dim=3).flatten(4, 5).transpose(2, 3)


def check_shape(method: str, axes: str, result: Tensor, expected: tuple[int, ...]) -> None:
    """Raise an error if a rule returns another shape, which broadcasting could turn into a wrong output."""
    if not is_traced() and tuple(result.shape) != expected:
        raise ValueError(f"{method} must return {axes} = {expected}, got shape {tuple(result.shape)}")


def causal_mask(n: int, m: int, device: torch.device) -> Tensor:
    """True where query i of the last n positions may see key j of m: j <= i + (m - n)."""
    return torch.arange(m, device=device) <= torch.arange(m - n, m, device=device)[:, None]
