"""Quaternion multi-head attention (Eq. 8-18): projections, heads, masks and cache around a score rule."""

from typing import TYPE_CHECKING, Literal, overload

import torch
from torch import Tensor, nn

from hamiltone.nn.linear import QLinear
from hamiltone.nn.masks import combine_masks
from hamiltone.nn.norm import QRMSNorm
from hamiltone.nn.pooling import pooled
from hamiltone.nn.rotary import Positions
from hamiltone.nn.scores import HamiltonScore, ScoreRule, SharedScore, check_shape


class KVCache:
    """The keys and values seen so far, for step-by-step decoding; pass a new one to each layer for each sequence.

    >>> attention, cache = SharedScoreAttention(8, heads=2), KVCache()
    >>> for token in torch.randn(5, 1, 1, 4, 8):
    ...     y = attention(token, causal=True, cache=cache)
    >>> len(cache), y.shape
    (5, torch.Size([1, 1, 4, 8]))
    """

    def __init__(self) -> None:
        self.keys: Tensor | None = None
        self.values: Tensor | None = None

    def __len__(self) -> int:
        return 0 if self.keys is None else self.keys.shape[2]

    def append(self, k: Tensor, v: Tensor) -> tuple[Tensor, Tensor]:
        """Add the new positions of ``(B, H, N, 4, D)`` and return all of them."""
        if self.keys is not None and self.values is not None:
            if self.keys.shape[0] != k.shape[0]:
                raise ValueError(f"the cache holds a batch of {self.keys.shape[0]}, got a batch of {k.shape[0]}")
            k, v = torch.cat([self.keys, k], dim=2), torch.cat([self.values, v], dim=2)
        self.keys, self.values = k, v
        return k, v

    def crop(self, length: int) -> None:
        """Keep the first `length` positions only, to undo tentative tokens."""
        if not 0 <= length <= len(self):
            raise ValueError(f"cannot crop a cache of {len(self)} positions to {length}")
        if self.keys is None or self.values is None:
            return
        kept = length > 0
        self.keys = self.keys[:, :, :length] if kept else None
        self.values = self.values[:, :, :length] if kept else None

    def reorder(self, index: Tensor) -> None:
        """Select sequences of the batch by `index`, which may reorder and repeat them: a step of beam search.

        Shape:
            index: ``(B',)``, rows of the batch so far
        """
        if index.dim() != 1 or index.dtype not in (torch.int32, torch.int64):
            raise ValueError(f"expected a row of integers, got {index.dtype} of shape {tuple(index.shape)}")
        if self.keys is None or self.values is None:
            raise ValueError("the cache is still empty: there is nothing to reorder")
        self.keys, self.values = self.keys.index_select(0, index), self.values.index_select(0, index)


class QAttention(nn.Module):
    """Multi-head attention over quaternion sequences with the given score rule.

    With learned quaternion weights (Eq. 8) and a norm per quaternion (Eq. 17-18)::

        Q = norm(X ⊗ W_Q + b_Q)     K = norm(X ⊗ W_K + b_K)     V = X ⊗ W_V + b_V
        Y = concat(O_1, ..., O_H) ⊗ W_O + b_O                   O_h: the rule's output for head h

    Heads are cut along the channels, so that every head holds whole quaternions. Positions, if any, are encoded in
    queries and keys before they are scored: see `hamiltone.nn.rotary`.

    Args:
        dim: Quaternions of a position.
        heads: Heads; they must divide `dim`, and each has ``D = dim / heads`` quaternions.
        rule: How queries and keys become attention maps: `SharedScore`, `HamiltonScore`, or one of your own.
        bias: Whether the four projections have a bias.
        qk_norm: Whether queries and keys pass through `QRMSNorm` (Eq. 17-18).
        dropout: The probability with which an attention weight is dropped in training.
        positions: Encodes positions in queries and keys, such as `QRotary`; none by default.
        pooling: Keys and values of self-attention come from the means of this many neighbouring positions, which makes
            long sequences cheaper; with more than 1 there are no masks, causality or cache.

    Shape:
        x: ``(B, N, 4, dim)``, context, value: ``(B, M, 4, dim)``
        returns: ``(B, N, 4, dim)``, with `need_weights` also the maps: ``(B, H, N, M)`` or ``(B, H, 4, N, M)``
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        rule: ScoreRule,
        *,
        bias: bool = True,
        qk_norm: bool = True,
        dropout: float = 0.0,
        positions: Positions | None = None,
        pooling: int = 1,
    ) -> None:
        super().__init__()
        if heads < 1 or dim < 1 or dim % heads:
            raise ValueError(f"heads must divide dim, got {heads} heads for {dim} quaternions")
        if not 0.0 <= dropout < 1.0:
            raise ValueError(f"dropout must lie in [0, 1), got {dropout}")
        if pooling < 1 or (pooling > 1 and positions is not None):
            raise ValueError(f"pooling must be at least 1, and exactly 1 where positions are encoded, got {pooling}")
        self.dim, self.heads, self.rule, self.dropout = dim, heads, rule, dropout
        self.positions, self.pooling = positions, pooling
        self.query = QLinear(dim, dim, bias)
        self.key = QLinear(dim, dim, bias)
        self.value = QLinear(dim, dim, bias)
        self.out = QLinear(dim, dim, bias)
        self.query_norm: nn.Module = QRMSNorm(dim) if qk_norm else nn.Identity()
        self.key_norm: nn.Module = QRMSNorm(dim) if qk_norm else nn.Identity()

    def project(self, x: Tensor, source: Tensor, value: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Eq. 8 and the query-key normalisation: queries ``(B, H, N, 4, D)``, keys and values ``(B, H, M, 4, D)``.

        Keys are computed from `source`, and so are values unless `value` is given.
        """
        q = self.split_heads(self.query_norm(self.query(x)))
        k = self.split_heads(self.key_norm(self.key(source)))
        return q, k, self.split_heads(self.value(source if value is None else value))

    def place(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        """Encode the positions from `start` on in queries and keys, if the attention has positions."""
        return (q, k) if self.positions is None else self.positions(q, k, start)

    def split_heads(self, x: Tensor) -> Tensor:
        """``(B, N, 4, C)`` to ``(B, H, N, 4, D)``: every component is cut, so every head sees all four."""
        return x.unflatten(-1, (self.heads, -1)).permute(0, 3, 1, 2, 4)

    def merge(self, heads: Tensor) -> Tensor:
        """``(B, H, N, 4, D)`` to ``(B, N, 4, C)`` and through the output projection."""
        return self.out(heads.permute(0, 2, 3, 1, 4).flatten(-2))

    @overload
    def forward(
        self,
        x: Tensor,
        context: Tensor | None = ...,
        *,
        value: Tensor | None = ...,
        mask: Tensor | None = ...,
        key_padding_mask: Tensor | None = ...,
        causal: bool = ...,
        cache: KVCache | None = ...,
        need_weights: Literal[False] = ...,
    ) -> Tensor: ...

    @overload
    def forward(
        self,
        x: Tensor,
        context: Tensor | None = ...,
        *,
        value: Tensor | None = ...,
        mask: Tensor | None = ...,
        key_padding_mask: Tensor | None = ...,
        causal: bool = ...,
        cache: KVCache | None = ...,
        need_weights: Literal[True],
    ) -> tuple[Tensor, Tensor]: ...

    def forward(
        self,
        x: Tensor,
        context: Tensor | None = None,
        *,
        value: Tensor | None = None,
        mask: Tensor | None = None,
        key_padding_mask: Tensor | None = None,
        causal: bool = False,
        cache: KVCache | None = None,
        need_weights: bool = False,
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend from x to itself or to `context`; values come from `value` if it is given.

        Boolean masks mean True = may attend, float masks are added to the scores; `mask` is broadcastable to
        ``(B, H, N, M)``, `key_padding_mask` is ``(B, M)`` with True = a real token. With a `cache`, x holds the new
        positions only and M counts the old ones too. A query that may attend to no key gives zero before the output
        projection.
        """
        if self.pooling > 1 and context is None:
            if causal or any(given is not None for given in (mask, key_padding_mask, value, cache)):
                raise ValueError("an attention that pools its keys takes no mask, value, causality or cache")
            context = pooled(x, self.pooling)
        source = x if context is None else context
        self._check(x, source, value, causal, cache)
        start = 0 if cache is None else len(cache)
        q, k, v = self.project(x, source) if value is None else self.project(x, source, value)
        q, k = self.place(q, k, start)
        shape = (q.shape[0], self.heads, q.shape[2], start + k.shape[2])
        combined = combine_masks(mask, key_padding_mask, causal, shape, q)
        if cache is not None:
            k, v = cache.append(k, v)
        dropout = self.dropout if self.training else 0.0
        maps = None
        if need_weights:
            y, maps = self.rule.explicit(q, k, v, mask=combined.mask, causal=combined.causal, dropout=dropout)
        else:
            y = self.rule.attend(q, k, v, mask=combined.mask, causal=combined.causal, dropout=dropout)
            check_shape(f"{type(self.rule).__name__}.attend", "(B, H, N, 4, D)", y, tuple(q.shape))
        if combined.live is not None:
            y = y.masked_fill(~combined.live[..., None], 0.0)
            maps = None if maps is None else maps.masked_fill(~combined.live[:, :, None], 0.0)
        y = self.merge(y)
        if maps is None:
            return y
        return y, maps[:, :, 0] if self.rule.maps == 1 else maps

    if TYPE_CHECKING:
        __call__ = forward  # nn.Module types a call as Any

    def _check(self, x: Tensor, source: Tensor, value: Tensor | None, causal: bool, cache: KVCache | None) -> None:
        value = source if value is None else value
        for name, tensor in (("x", x), ("context", source), ("value", value)):
            if tensor.dim() != 4 or tensor.shape[2] != 4 or tensor.shape[3] != self.dim:
                raise ValueError(f"{name} must be (B, N, 4, {self.dim}), got shape {tuple(tensor.shape)}")
            if tensor.shape[1] == 0:
                raise ValueError(f"{name} must hold at least one position, got an empty sequence {tuple(tensor.shape)}")
        if value.shape[:2] != source.shape[:2]:
            raise ValueError(
                f"value must have a position for each key, got {tuple(value.shape)} for keys {tuple(source.shape)}"
            )
        if source is x:
            return
        if source.shape[0] != x.shape[0]:
            raise ValueError(f"x and context must have the same batch size, got {x.shape[0]} and {source.shape[0]}")
        if cache is not None:
            raise ValueError("a cache extends self-attention step by step; leave it out when context is given")
        if causal and source.shape[1] != x.shape[1]:
            raise ValueError(
                f"causal attention to a context needs equal lengths, got {x.shape[1]} queries and "
                f"{source.shape[1]} keys; pass a mask to say how they align"
            )

    def extra_repr(self) -> str:
        return f"{self.dim}, heads={self.heads}, rule={type(self.rule).__name__}, dropout={self.dropout}"


class SharedScoreAttention(QAttention):
    """The paper's attention: one map per head, shared by the four components of the values (Eq. 9-13).

    In every head, with D quaternions::

        A = softmax(Re(Q ⊗ K†) / √(4D))
        O = A V_0 + A V_1 i + A V_2 j + A V_3 k

    Args:
        dim: Quaternions of a position.
        heads: Heads; they must divide `dim`, and each has ``D = dim / heads`` quaternions.
        bias: Whether the four projections have a bias.
        qk_norm: Whether queries and keys pass through `QRMSNorm` (Eq. 17-18).
        dropout: The probability with which an attention weight is dropped in training.
        positions: Encodes positions in queries and keys, such as `QRotary`; none by default.
        pooling: How many neighbouring positions make one key and value of self-attention, see `QAttention`.

    Shape:
        x: ``(B, N, 4, dim)``, context, value: ``(B, M, 4, dim)``
        returns: ``(B, N, 4, dim)``, with `need_weights` also the maps ``(B, H, N, M)``

    >>> attention = SharedScoreAttention(16, heads=4)
    >>> y, maps = attention(torch.randn(2, 10, 4, 16), need_weights=True)
    >>> y.shape, maps.shape
    (torch.Size([2, 10, 4, 16]), torch.Size([2, 4, 10, 10]))
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        bias: bool = True,
        qk_norm: bool = True,
        dropout: float = 0.0,
        positions: Positions | None = None,
        pooling: int = 1,
    ) -> None:
        super().__init__(
            dim,
            heads,
            SharedScore(),
            bias=bias,
            qk_norm=qk_norm,
            dropout=dropout,
            positions=positions,
            pooling=pooling,
        )


class HamiltonAttention(QAttention):
    """The rival (Tay et al. 2019): one map per head and component, from the Hamilton product (Eq. 14-16).

    In every head, with D quaternions and c running over the four components::

        S = Q ⊗ Kᵀ / √D          A_c = softmax(S_c)
        O = A_0 V_0 + A_1 V_1 i + A_2 V_2 j + A_3 V_3 k

    Args:
        dim: Quaternions of a position.
        heads: Heads; they must divide `dim`, and each has ``D = dim / heads`` quaternions.
        bias: Whether the four projections have a bias.
        qk_norm: Whether queries and keys pass through `QRMSNorm` (Eq. 17-18).
        dropout: The probability with which an attention weight is dropped in training.
        positions: Encodes positions in queries and keys, such as `QRotary`; none by default.
        pooling: How many neighbouring positions make one key and value of self-attention, see `QAttention`.

    Shape:
        x: ``(B, N, 4, dim)``, context, value: ``(B, M, 4, dim)``
        returns: ``(B, N, 4, dim)``, with `need_weights` also the maps ``(B, H, 4, N, M)``
    """

    def __init__(
        self,
        dim: int,
        heads: int,
        *,
        bias: bool = True,
        qk_norm: bool = True,
        dropout: float = 0.0,
        positions: Positions | None = None,
        pooling: int = 1,
    ) -> None:
        super().__init__(
            dim,
            heads,
            HamiltonScore(),
            bias=bias,
            qk_norm=qk_norm,
            dropout=dropout,
            positions=positions,
            pooling=pooling,
        )
