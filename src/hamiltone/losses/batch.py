"""Checks that every loss makes of its two waveforms."""

import torch
from torch import Tensor

SILENCE = 1e-10
"""Mean square below which a waveform in [-1, 1] is silent: less than the last bit of 16-bit audio."""


def as_waveforms(estimate: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    """Both waveforms checked, and in float32 if they came in half precision, where powers overflow.

    Shape:
        estimate, target: ``(B, L)``, the same for both and not empty
    """
    if estimate.dim() != 2 or estimate.shape != target.shape or 0 in estimate.shape:
        raise ValueError(
            "expected estimate and target of the same shape (B, L), not empty, "
            f"got {tuple(estimate.shape)} and {tuple(target.shape)}"
        )
    dtype = torch.promote_types(torch.promote_types(estimate.dtype, target.dtype), torch.float32)
    return estimate.to(dtype), target.to(dtype)


def is_silent(waveform: Tensor) -> Tensor:
    """Which waveforms ``(B, L)`` are silent, as ``(B,)``.

    An error relative to a silent target is undefined, and one relative to almost nothing would outweigh the rest of
    the batch: such items take no part in relative losses.
    """
    return waveform.square().mean(-1) < SILENCE
