"""Combines attention mask, key padding mask and causality into one mask."""

import math
from typing import NamedTuple

import torch
from torch import Tensor

from hamiltone.nn.scores import causal_mask


class AttentionMask(NamedTuple):
    """The combined mask, as score rules take it.

    `mask` is None or ``(B|1, H|1, N|1, M|1)``, boolean (True = may attend) or additive. `causal` means the plain square
    causal mask, which is not built. `live` is None or ``(B|1, H|1, N|1, 1)``: False where a query may attend to no key;
    in `mask` such rows are opened, so that the softmax stays finite, and the caller zeroes their output.
    """

    mask: Tensor | None
    causal: bool
    live: Tensor | None


def check_mask(mask: Tensor, shape: tuple[int, int, int, int]) -> Tensor:
    """Return the mask with four axes after checking that it is broadcastable to ``(B, H, N, M)``."""
    if mask.dtype != torch.bool and not mask.is_floating_point():
        raise ValueError(f"mask must be boolean (True = may attend) or floating (added), got {mask.dtype}")
    fits = mask.dim() <= 4 and all(
        given in (1, wanted) for given, wanted in zip(reversed(mask.shape), reversed(shape), strict=False)
    )
    if not fits:
        raise ValueError(f"mask must be broadcastable to (B, H, N, M) = {tuple(shape)}, got {tuple(mask.shape)}")
    return mask.reshape((1,) * (4 - mask.dim()) + tuple(mask.shape))


def combine_masks(
    mask: Tensor | None,
    key_padding_mask: Tensor | None,
    causal: bool,
    shape: tuple[int, int, int, int],
    like: Tensor,
) -> AttentionMask:
    """Combine a mask, a key padding mask ``(B, M)`` (True = a real token) and causality for scores of `shape`.

    Queries are the last N of the M positions when causal, so a key/value cache needs no special case.
    """
    batch, _, n, m = shape
    if mask is None and key_padding_mask is None:
        if not causal or n == 1:
            return AttentionMask(None, False, None)
        if n == m:
            return AttentionMask(None, True, None)
    allowed = None
    if causal:
        allowed = causal_mask(n, m, like.device)[None, None]
    if key_padding_mask is not None:
        if key_padding_mask.dtype != torch.bool or tuple(key_padding_mask.shape) != (batch, m):
            raise ValueError(
                f"key_padding_mask must be boolean (True = a real token) of shape (B, M) = {(batch, m)}, got "
                f"{key_padding_mask.dtype} of shape {tuple(key_padding_mask.shape)}"
            )
        real = key_padding_mask[:, None, None]
        allowed = real if allowed is None else allowed & real
    if mask is not None:
        mask = check_mask(mask, shape)
        if mask.dtype != torch.bool:
            bias = mask.to(like.dtype)
            return _open_dead_rows(bias if allowed is None else bias.masked_fill(~allowed, -math.inf))
        allowed = mask if allowed is None else allowed & mask
    assert allowed is not None
    return _open_dead_rows(allowed)


def _open_dead_rows(mask: Tensor) -> AttentionMask:
    if mask.dtype == torch.bool:
        live = mask.any(-1, keepdim=True)
        return AttentionMask(mask | ~live, False, live)
    live = (mask > -math.inf).any(-1, keepdim=True)
    return AttentionMask(mask.masked_fill(~live, 0.0), False, live)
