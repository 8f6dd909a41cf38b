"""Shared-score attention with the call, the shapes and the mask polarity of ``nn.MultiheadAttention``."""

from typing import Any

import torch
from torch import Tensor, nn

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn.attention import SharedScoreAttention
from hamiltone.nn.rotary import Positions


class SharedScoreMultihead(nn.Module):
    """`SharedScoreAttention` for code that was written for ``nn.MultiheadAttention``.

    Features are real vectors of `embed_dim`, read as [r | i | j | k]; it must be a multiple of 4 · `num_heads`. Masks
    have the **opposite polarity** of `QAttention`'s: boolean ones are True where attention is forbidden, and
    `key_padding_mask` where there is no token. Projections are quaternion layers with a quarter of the weights; with
    ``qk_norm=False`` it computes what ``nn.MultiheadAttention`` would with the real form of these.

    It differs in two points: a query that may attend to no key gives zero before the output projection instead of NaN,
    and weights are returned as they were before dropout.

    Args:
        embed_dim: Real width of queries, keys, values and outputs.
        num_heads: Heads; each has ``embed_dim / num_heads`` reals.
        dropout: The probability with which an attention weight is dropped in training.
        bias: Whether the four projections have a bias.
        batch_first: Whether inputs are ``(B, N, E)`` instead of ``(N, B, E)``.
        qk_norm: Whether queries and keys pass through `QRMSNorm` (Eq. 17-18).
        positions: Rotary positions or others, see `hamiltone.nn.rotary`.

    Shape:
        query: ``(N, B, E)``, key, value: ``(M, B, E)``, or without the batch axis
        attn_mask: ``(N, M)`` or ``(B · num_heads, N, M)``, key_padding_mask: ``(B, M)``
        returns: as the query, and the maps: ``(B, N, M)``, or ``(B, num_heads, N, M)`` if not averaged, or None

    >>> attention = SharedScoreMultihead(64, 4, batch_first=True)
    >>> x = torch.randn(2, 10, 64)
    >>> y, weights = attention(x, x, x)
    >>> y.shape, weights.shape
    (torch.Size([2, 10, 64]), torch.Size([2, 10, 10]))
    """

    in_proj_bias = None
    """None makes nn.TransformerEncoderLayer call this module; it would use nn.MultiheadAttention's weights itself."""
    _qkv_same_embed_dim = False
    """False tells nn.TransformerEncoder the same."""

    def __init__(
        self,
        embed_dim: int,
        num_heads: int,
        dropout: float = 0.0,
        bias: bool = True,
        *,
        batch_first: bool = False,
        qk_norm: bool = True,
        positions: Positions | None = None,
    ) -> None:
        super().__init__()
        if num_heads < 1 or embed_dim < 1 or embed_dim % (4 * num_heads):
            raise ValueError(f"embed_dim must be a multiple of 4 * num_heads, got {embed_dim} and {num_heads} heads")
        self.embed_dim, self.num_heads, self.batch_first = embed_dim, num_heads, batch_first
        self.attention = SharedScoreAttention(
            embed_dim // 4, num_heads, bias=bias, qk_norm=qk_norm, dropout=dropout, positions=positions
        )

    def forward(
        self,
        query: Tensor,
        key: Tensor,
        value: Tensor,
        key_padding_mask: Tensor | None = None,
        need_weights: bool = True,
        attn_mask: Tensor | None = None,
        average_attn_weights: bool = True,
        is_causal: bool = False,
    ) -> tuple[Tensor, Tensor | None]:
        """Attend from queries to keys.

        Boolean masks mean True = forbidden, float masks are added to the scores. `is_causal` is a hint that `attn_mask`
        is the causal mask, as in ``nn.MultiheadAttention``: the mask is still needed.
        """
        self._check(query, key, value)
        if is_causal and attn_mask is None:
            raise ValueError("is_causal is only a hint that attn_mask is causal: pass attn_mask, too")
        batched = query.dim() == 3
        x = self._quaternions(query)
        source = x if key is query else self._quaternions(key)
        values = None if value is key else self._quaternions(value)
        causal = is_causal and x.shape[1] == source.shape[1] and key_padding_mask is None and not need_weights
        mask, padding = self._masks(None if causal else attn_mask, key_padding_mask, x, source)
        options: dict[str, Any] = {"value": values, "mask": mask, "key_padding_mask": padding, "causal": causal}
        maps = None
        if need_weights:
            y, maps = self.attention(x, None if source is x else source, **options, need_weights=True)
            maps = maps.mean(1) if average_attn_weights else maps
            maps = maps if batched else maps[0]
        else:
            y = self.attention(x, None if source is x else source, **options)
        y = flatten(y)
        if not batched:
            return y[0], maps
        return y if self.batch_first else y.transpose(0, 1), maps

    def _quaternions(self, x: Tensor) -> Tensor:
        """Real features in any of the layouts to ``(B, N, 4, C)``."""
        if x.dim() == 2:
            x = x[None]
        elif not self.batch_first:
            x = x.transpose(0, 1)
        return unflatten(x)

    def _masks(
        self, attn_mask: Tensor | None, key_padding_mask: Tensor | None, x: Tensor, source: Tensor
    ) -> tuple[Tensor | None, Tensor | None]:
        """The masks in the polarity of `QAttention`, where True means that a query may attend, or a token is real."""
        batch, n, m = x.shape[0], x.shape[1], source.shape[1]
        for name, mask in (("attn_mask", attn_mask), ("key_padding_mask", key_padding_mask)):
            if mask is not None and mask.dtype != torch.bool and not mask.is_floating_point():
                raise ValueError(f"{name} must be boolean (True = forbidden) or floating (added), got {mask.dtype}")
        if attn_mask is not None:
            shapes = {(n, m), (batch * self.num_heads, n, m)}
            if tuple(attn_mask.shape) not in shapes:
                raise ValueError(f"attn_mask must have one of the shapes {shapes}, got {tuple(attn_mask.shape)}")
            if attn_mask.dim() == 3:
                attn_mask = attn_mask.unflatten(0, (batch, self.num_heads))
            attn_mask = ~attn_mask if attn_mask.dtype == torch.bool else attn_mask
        if key_padding_mask is None:
            return attn_mask, None
        padding = key_padding_mask[None] if key_padding_mask.dim() == 1 else key_padding_mask
        if tuple(padding.shape) != (batch, m):
            raise ValueError(f"key_padding_mask must be (B, M) = {(batch, m)}, got {tuple(key_padding_mask.shape)}")
        if padding.dtype == torch.bool:
            return attn_mask, ~padding
        bias = padding[:, None, None]  # added to the scores of all queries
        if attn_mask is None:
            return bias, None
        if attn_mask.dtype == torch.bool:
            return torch.where(attn_mask, bias, -torch.inf), None
        return attn_mask + bias, None

    def _check(self, query: Tensor, key: Tensor, value: Tensor) -> None:
        for name, x in (("query", query), ("key", key), ("value", value)):
            if x.dim() not in (2, 3) or x.dim() != query.dim() or x.shape[-1] != self.embed_dim:
                shape = f"(N, B, {self.embed_dim})" if not self.batch_first else f"(B, N, {self.embed_dim})"
                raise ValueError(
                    f"{name} must be {shape}, or without the batch axis in all three, got shape {tuple(x.shape)}"
                )

    def extra_repr(self) -> str:
        return f"{self.embed_dim}, {self.num_heads}, batch_first={self.batch_first}"
