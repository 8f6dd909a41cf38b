"""Between complex spectra and quaternions: features in (Eq. 19), mask and phase out (Eq. 68-69)."""

import torch
from torch import Tensor


def quaternion_features(spectrum: Tensor) -> Tensor:
    """The pure quaternion 0 + |X| i + Re X j + Im X k of every bin (Eq. 19).

    Shape:
        spectrum: complex ``(B, T, F)``
        returns: ``(B, 4, 1, T, F)``
    """
    magnitude = spectrum.abs()
    return torch.stack([torch.zeros_like(magnitude), magnitude, spectrum.real, spectrum.imag], dim=1)[:, :, None]


def spectral_gain(mask: Tensor, phase: Tensor) -> Tensor:
    """The complex factor that scales each magnitude by `mask` and turns each phase by `phase` (Eq. 68-69).

    Shape:
        mask, phase: ``(B, T, F)``
        returns: complex ``(B, T, F)``
    """
    return torch.polar(mask, phase)
