"""The distance of compressed spectra (Braun and Tashev, 2021): cheap, and close to perceived quality."""

import torch
from torch import Tensor

from hamiltone.audio.stft import STFT
from hamiltone.losses.batch import as_waveforms

_FLOOR = 1e-7  # power below which a bin counts as silent; without it the gradient at zero would be infinite


def compressed_spectrum_loss(
    estimate: Tensor,
    target: Tensor,
    *,
    exponent: float = 0.3,
    n_fft: int = 512,
    hop: int = 256,
    magnitude_weight: float = 0.7,
) -> Tensor:
    """Mean square error of compressed magnitudes, and of the spectra with these magnitudes.

    With the spectra S of the target and Ŝ of the estimate, the exponent p and the magnitude weight w::

        w mean (|Ŝ|^p - |S|^p)²  +  (1 - w) mean ||Ŝ|^p e^{i arg Ŝ} - |S|^p e^{i arg S}|²

    Args:
        estimate: The model's output.
        target: The clean waveform.
        exponent: p; below one it brings quiet and loud bins together.
        n_fft: Samples of a frame.
        hop: Samples between frames.
        magnitude_weight: w, the share of the magnitudes.

    Shape:
        estimate, target: ``(B, L)``
        returns: ``()``

    >>> compressed_spectrum_loss(torch.ones(1, 1000), torch.ones(1, 1000))
    tensor(0.)
    """
    estimate, target = as_waveforms(estimate, target)
    stft = STFT(n_fft, hop).to(estimate)
    (magnitude, spectrum), (true_magnitude, true_spectrum) = (
        _compress(torch.view_as_real(stft(waveform)), exponent) for waveform in (estimate, target)
    )
    of_magnitudes = (magnitude - true_magnitude).square().mean()
    of_spectra = (spectrum - true_spectrum).square().sum(-1).mean()
    return magnitude_weight * of_magnitudes + (1 - magnitude_weight) * of_spectra


def _compress(spectrum: Tensor, exponent: float) -> tuple[Tensor, Tensor]:
    """Magnitudes ``(B, T, F)`` and spectrum ``(B, T, F, 2)``, compressed."""
    power = spectrum.square().sum(-1) + _FLOOR
    return power ** (exponent / 2), spectrum * (power ** ((exponent - 1) / 2))[..., None]
