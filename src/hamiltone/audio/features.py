"""Between complex spectra and quaternions: features in (Eq. 19), mask and phase out (Eq. 68-69)."""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
import torch
from torch import Tensor


def quaternion_features(spectrum: Tensor, exponent: float = 1.0) -> Tensor:
    """The pure quaternion 0 + |X| i + Re X j + Im X k of every bin (Eq. 19).

    An `exponent` below one first compresses the magnitude to |X|^exponent, which brings quiet and loud bins together.

    Shape:
        spectrum: complex ``(B, T, F)``
        returns: ``(B, 4, 1, T, F)``
    """
    magnitude = spectrum.abs()
    if exponent != 1.0:
        compressed = magnitude.pow(exponent)
        spectrum = spectrum * (compressed / magnitude.clamp_min(1e-12))
        magnitude = compressed
    components = [torch.zeros_like(magnitude), magnitude, spectrum.real, spectrum.imag]
    return torch.stack(components, dim=-1).permute(0, 3, 1, 2)[:, :, None]  # channels last in memory


def spectral_gain(mask: Tensor, phase: Tensor) -> Tensor:
    """The complex factor mask · exp(i · phase), which scales each magnitude and turns each phase (Eq. 68-69).

    Shape:
        mask, phase: ``(B, T, F)``
        returns: complex ``(B, T, F)``
    """
    return torch.polar(mask, phase)
