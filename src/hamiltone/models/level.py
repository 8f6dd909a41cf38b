"""The running level by which features are divided, so that a quiet voice after a loud one is handled as well."""

import math

import torch
from torch import Tensor, nn


class RunningLevel(nn.Module):
    """A weighted mean of magnitudes over all bins and neighbouring frames; weights decay by `decay` per frame.

    It looks back only if it is `causal`, else to both sides. Magnitudes should be compressed: then the mean follows a
    change of many decibels within the time constant. Frames beyond the ends do not count, so the level is right from
    the first frame on; the level of silence is `floor`.

    Args:
        decay: The weight of a frame relative to its neighbour on the nearer side.
        causal: Whether only frames up to the present count.
        floor: Added to the mean, so that dividing by it is safe.

    Shape:
        magnitude: ``(B, T, F)``
        state: ``(B, 2)``, the weighted sum and the sum of weights so far, zero at first; only used if causal
        returns: ``(B, T)`` and the state after the last frame
    """

    def __init__(self, decay: float, *, causal: bool, floor: float = 1e-4) -> None:
        super().__init__()
        self.decay, self.causal, self.floor = decay, causal, floor

    def forward(self, magnitude: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        frames = torch.arange(magnitude.shape[1], device=magnitude.device)
        apart = frames[:, None] - frames  # (T, T)
        weights = (apart.abs().to(magnitude.dtype) * math.log(self.decay)).exp()
        if self.causal:
            weights = weights.tril()
        mean = magnitude.mean(-1)
        history = torch.stack([mean, torch.ones_like(mean)], -1)  # (B, T, 2)
        sums = weights @ history + self.decay ** (frames[:, None] + 1.0) * state[:, None]
        return sums[..., 0] / sums[..., 1] + self.floor, sums[:, -1]

    def extra_repr(self) -> str:
        return f"decay={self.decay}, causal={self.causal}, floor={self.floor}"
