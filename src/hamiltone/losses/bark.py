"""The 49 critical bands of P.862 at 16 kHz: the constants of the PESQ loss's model of hearing."""

from typing import NamedTuple

import torch
from torch import Tensor

FRAME = 512
"""Samples in a frame of the perceptual model: 32 ms at 16 kHz."""

_BIN = 31.25
_BINS = FRAME // 2  # the bin at Nyquist is inaudible

# Width in Bark, width in Hz, threshold of hearing in dB. The first band starts at 0 Hz and each begins where the one
# below it ends; the last reaches beyond Nyquist.
_BANDS = (
    (0.157344, 15.7344, 77.1),
    (0.317994, 31.7994, 63.9),
    (0.322441, 32.2441, 48.5),
    (0.326934, 32.6934, 36.9),
    (0.331474, 33.1474, 30.7),
    (0.336061, 33.6061, 25.9),
    (0.340697, 34.0697, 20.2),
    (0.345381, 34.5381, 16.6),
    (0.350114, 35.0114, 12.5),
    (0.354897, 35.4897, 9.9),
    (0.359729, 35.9729, 6.9),
    (0.364611, 36.4611, 4.9),
    (0.369544, 36.9544, 2.8),
    (0.374529, 37.4529, 1.0),
    (0.379565, 40.2697, -0.1),
    (0.384653, 42.3119, -1.4),
    (0.389794, 45.9926, -2.5),
    (0.394989, 51.3485, -3.4),
    (0.400236, 55.0405, -4.1),
    (0.405538, 56.7752, -4.8),
    (0.410894, 58.6994, -5.3),
    (0.416306, 62.4459, -5.7),
    (0.421773, 64.8209, -5.9),
    (0.427297, 69.1954, -6.0),
    (0.432877, 76.7457, -6.0),
    (0.438514, 84.0162, -6.0),
    (0.444209, 90.8257, -6.0),
    (0.449962, 97.9312, -5.8),
    (0.455774, 103.3489, -5.4),
    (0.461645, 107.8019, -5.1),
    (0.467577, 113.5522, -4.7),
    (0.473569, 121.4906, -4.3),
    (0.479621, 130.4204, -4.0),
    (0.485736, 143.4318, -3.6),
    (0.491912, 158.4868, -3.3),
    (0.498151, 176.8728, -3.1),
    (0.504454, 198.3147, -3.0),
    (0.510819, 219.5496, -3.0),
    (0.517250, 240.6001, -2.9),
    (0.523745, 268.7024, -2.8),
    (0.530308, 306.0601, -2.8),
    (0.536934, 349.9370, -2.8),
    (0.543629, 398.6863, -2.9),
    (0.550390, 454.7139, -3.2),
    (0.557220, 506.8418, -3.7),
    (0.564119, 564.8638, -4.3),
    (0.571085, 637.2612, -4.4),
    (0.578125, 794.7173, -3.8),
    (0.585232, 931.0684, -2.7),
)


class Bark(NamedTuple):
    """Constants of the critical bands, with F = 257 bins and K = 49 bands.

    Shape:
        warp: ``(F, K)``, from the power of each bin to power per Bark
        width: ``(K,)``, in Bark; zero for the lowest band, which is below hearing and counts in no sum
        threshold: ``(K,)``, the least audible power
        exponent: ``(K,)``, the exponent of Zwicker's law of loudness; steeper below 4 Bark
    """

    warp: Tensor
    width: Tensor
    threshold: Tensor
    exponent: Tensor


def bark_bands() -> Bark:
    """Build the constants in float64.

    >>> bark_bands().warp.shape
    torch.Size([257, 49])
    """
    width, hertz, threshold = torch.tensor(_BANDS, dtype=torch.float64).unbind(-1)
    centre = width.cumsum(0) - width / 2
    exponent = 0.23 * (6 / (centre + 2)).clamp(1, 2) ** 0.15
    return Bark(_warp(width, hertz), width.index_fill(0, torch.tensor(0), 0), 10 ** (threshold / 10), exponent)


def _warp(width: Tensor, hertz: Tensor) -> Tensor:
    """A band sums the bins that lie in it, then turns their mean power per Hz into power per Bark."""
    stop = (hertz.cumsum(0) / _BIN).ceil().clamp(max=_BINS)
    start = torch.cat([stop.new_zeros(1), stop[:-1]])
    bins = torch.arange(_BINS + 1, dtype=torch.float64)[:, None]  # (F, 1)
    inside = (start <= bins) & (bins < stop) & (bins > 0)  # a constant offset is inaudible too
    return inside * (hertz / (width * (stop - start)))
