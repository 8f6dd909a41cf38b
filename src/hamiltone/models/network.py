"""The paper's spectrogram network: features in, magnitude mask and phase correction out (Figure 6a)."""

import math

import torch
from torch import Tensor, nn

from hamiltone.models.tiling import over_time
from hamiltone.nn import QConv2d, concat


class MaskHead(nn.Module):
    """Two real channels per bin: a mask in (0, `limit`) and a phase correction in (-π, π).

    The correction starts at zero. If it started at random, the loudest bins could get stuck at wrong phases while
    losses on magnitudes, which are blind to phase, go down.

    Args:
        channels: Quaternion channels of the features.
        limit: The largest value of the mask.
        activation: Between the two convolutions; PReLU by default.

    Shape:
        x: ``(B, 4, channels, T, F)``
        returns: mask and phase, each ``(B, T, F)``
    """

    def __init__(self, channels: int, limit: float = 2.0, activation: nn.Module | None = None) -> None:
        super().__init__()
        self.limit = limit
        self.mix = nn.Sequential(QConv2d(channels, channels, 3, padding=1, bias=False), activation or nn.PReLU())
        self.project = nn.Conv2d(4 * channels, 2, 1)
        self.combine = nn.Conv2d(2, 2, 1)
        for parameter in self.combine.parameters():
            nn.init.zeros_(parameter[1])

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mask, phase = over_time(self._read, x, reach=1)[:, :, 0].unbind(1)
        return self.limit * torch.sigmoid(mask), math.pi * torch.tanh(phase)

    def _read(self, x: Tensor) -> Tensor:
        """``(B, 4, channels, T, F)`` to ``(B, 2, 1, T, F)``."""
        return self.combine(self.project(self.mix(x).flatten(1, 2)))[:, :, None]


class SpectrogramNetwork(nn.Module):
    """Encoder, bottleneck and decoder with a skip around the bottleneck; a bottleneck of None leaves it out.

    Args:
        channels: Quaternion channels of the encoder's output.
        encoder: Features to ``(B, 4, channels, T, F')``.
        bottleneck: Maps that to the same shape.
        decoder: Back to all F bins.
        head: Computes mask and phase from the decoder's output.

    Shape:
        features: ``(B, 4, 1, T, F)``, F odd
        returns: mask and phase, each ``(B, T, F)``
    """

    def __init__(
        self, channels: int, encoder: nn.Module, bottleneck: nn.Module | None, decoder: nn.Module, head: nn.Module
    ) -> None:
        super().__init__()
        self.encoder, self.decoder, self.head = encoder, decoder, head
        self.bottleneck = bottleneck
        self.fuse = None if bottleneck is None else QConv2d(2 * channels, channels, 1)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        x = self.encoder(features)
        if self.bottleneck is not None and self.fuse is not None:
            x = self.fuse(concat([x, self.bottleneck(x)], dim=1))
        return self.head(self.decoder(x))
