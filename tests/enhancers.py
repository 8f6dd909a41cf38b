"""Small enhancers with known behaviour, in place of trained ones."""

import torch
from torch import Tensor, nn

from hamiltone.audio.stft import STFT
from hamiltone.models.enhancer import Enhancer


class FixedMask(nn.Module):
    """The same mask per bin in every frame; remembers the features it was last shown."""

    def __init__(self, mask: float | Tensor) -> None:
        super().__init__()
        self.mask = torch.as_tensor(mask)
        self.features = torch.empty(0)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        self.features = features
        zeros = torch.zeros_like(features[:, 0, 0])
        return zeros + self.mask, zeros


class RandomConvolutions(nn.Module):
    """Mask and phase from two random 5 x 5 convolutions: a frame depends on the four before and the four after it."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.layers = nn.Sequential(
                nn.Conv2d(4, 4, 5, padding=2), nn.Tanh(), nn.Conv2d(4, 2, 5, padding=2), nn.Tanh()
            )

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        mask, phase = self.layers(features.flatten(1, 2)).unbind(1)
        return 0.5 + 0.5 * mask, phase


def fixed_mask(mask: float | Tensor) -> Enhancer:
    return Enhancer(STFT(512, 256), FixedMask(mask))


def random_convolutions(n_fft: int = 512, hop: int = 256) -> Enhancer:
    return Enhancer(STFT(n_fft, hop), RandomConvolutions())
