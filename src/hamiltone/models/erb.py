"""Frequency bands that follow the ERB scale above 2 kHz: a network runs on fewer bands than there are bins."""

import math

import torch
from torch import Tensor, nn


class Bands(nn.Module):
    """Runs a spectrogram network on bands: the lower half of them are the lowest bins, the others follow the ERB scale.

    Weights are triangular: features are averaged over bins with them, and masks and phases interpolated back, so that
    a constant stays constant.

    Args:
        network: Maps ``(B, 4, 1, T, bands)`` to mask and phase, ``(B, T, bands)`` each.
        bins: F, the frequency bins of the spectrum.
        bands: The bands that the network sees, fewer than bins.
        sample_rate: The rate of the audio in Hz, which places the bins on the ERB scale.

    Shape:
        features: ``(B, 4, 1, T, F)``
        returns: mask and phase, each ``(B, T, F)``
    """

    hats: Tensor

    def __init__(self, network: nn.Module, bins: int, bands: int, sample_rate: int) -> None:
        super().__init__()
        self.network = network
        self.register_buffer("hats", band_hats(bins, bands, sample_rate), persistent=False)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        mask, phase = self.network(features @ (self.hats / self.hats.sum(0)))
        return mask @ self.hats.mT, phase @ self.hats.mT


def band_hats(bins: int, bands: int, sample_rate: int) -> Tensor:
    """The weight of every bin in every band, ``(bins, bands)``; those of a bin sum to one.

    >>> band_hats(257, 129, 16_000).sum(1).allclose(torch.ones(257))
    True
    """
    kept = bands // 2 + 1
    nyquist = sample_rate / 2
    low, high = (_erb_number(hertz) for hertz in ((kept - 1) / (bins - 1) * nyquist, nyquist))
    steps = torch.linspace(low, high, bands - kept + 1, dtype=torch.float64)[1:]
    upper = (10 ** (steps / 21.4) - 1) / 0.00437 * (bins - 1) / nyquist
    centres = torch.cat([torch.arange(kept, dtype=torch.float64), upper])
    bin_numbers = torch.arange(bins, dtype=torch.float64)[:, None]
    right = torch.searchsorted(centres, bin_numbers).clamp(1, bands - 1)
    share = (bin_numbers - centres[right - 1]) / (centres[right] - centres[right - 1])
    hats = torch.zeros(bins, bands, dtype=torch.float64)
    hats.scatter_(1, right - 1, 1 - share).scatter_(1, right, share)
    return hats.float()


def _erb_number(hertz: float) -> float:
    """The number of equivalent rectangular bandwidths below a frequency (Glasberg and Moore, 1990)."""
    return 21.4 * math.log10(1 + 0.00437 * hertz)
