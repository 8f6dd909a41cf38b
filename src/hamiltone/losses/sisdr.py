"""Negative scale-invariant signal-to-distortion ratio (Le Roux et al., 2019)."""

import torch
from torch import Tensor

from hamiltone.losses.batch import SILENCE, as_waveforms, is_silent

# Ratios beyond ±60 dB are clamped.
_LIMIT = 1e-6


def sisdr_loss(estimate: Tensor, target: Tensor) -> Tensor:
    """Negative SI-SDR in dB, averaged over the batch; bounded by ±60 dB.

    With the target s and the estimate ŝ::

        α = ⟨ŝ, s⟩ / ‖s‖²          loss = -10 log10(‖α s‖² / ‖ŝ - α s‖²)

    A silent estimate has the worst ratio, so silence is never rewarded. A silent target has no ratio and counts as 0 dB
    without gradient. Means are not removed: a constant offset is distortion.

    Shape:
        estimate, target: ``(B, L)``
        returns: ``()``

    >>> target = torch.tensor([[1.0, 1.0, 1.0, 1.0]])
    >>> sisdr_loss(target + torch.tensor([[0.1, -0.1, 0.1, -0.1]]), target).round(decimals=2)
    tensor(-20.)
    """
    estimate, target = as_waveforms(estimate, target)
    scale = (estimate * target).mean(-1, keepdim=True) / (target.square().mean(-1, keepdim=True) + 1e-2 * SILENCE)
    speech = (scale * target).square().mean(-1)
    distortion = (estimate - scale * target).square().mean(-1) + 1e-2 * SILENCE
    leak = _LIMIT * (speech + distortion)
    ratio = 10 * torch.log10((speech + leak) / (distortion + leak))
    return -torch.where(is_silent(target), 0.0, ratio).mean()
