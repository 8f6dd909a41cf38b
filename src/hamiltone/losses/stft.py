"""The distance of spectra: multi-resolution magnitudes (Yamamoto et al., 2020) and complex bins (Eq. 72)."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hamiltone.audio.stft import STFT
from hamiltone.losses.batch import as_waveforms, is_silent

_FLOOR = 1e-7  # power below which a bin counts as silent; without it inaudible bins would dominate the logarithm


def multi_resolution_stft_loss(estimate: Tensor, target: Tensor, sizes: Sequence[int] = (512, 1024, 2048)) -> Tensor:
    """Spectral convergence plus log-magnitude distance, averaged over the FFT sizes and the batch.

    At each size, with the spectra S of the target and Ŝ of the estimate::

        ‖ |Ŝ| - |S| ‖ / ‖ |S| ‖  +  mean | log|Ŝ| - log|S| |

    Args:
        estimate: The model's output.
        target: The clean waveform.
        sizes: FFT sizes; frames overlap by three quarters.

    Shape:
        estimate, target: ``(B, L)``
        returns: ``()``
    """
    estimate, target = as_waveforms(estimate, target)
    return torch.stack([_magnitude_distance(estimate, target, size).mean() for size in sizes]).mean()


def complex_l1_loss(estimate: Tensor, target: Tensor, n_fft: int = 400, hop: int = 100) -> Tensor:
    """Distance of the real parts plus distance of the imaginary parts (Eq. 72), the mean over bins and batch::

        mean |Re Ŝ - Re S| + mean |Im Ŝ - Im S|

    Args:
        estimate: The model's output.
        target: The clean waveform.
        n_fft: Samples of a frame; the paper uses the model's.
        hop: Samples between frames.

    Shape:
        estimate, target: ``(B, L)``
        returns: ``()``
    """
    estimate, target = as_waveforms(estimate, target)
    error = STFT(n_fft, hop).to(estimate)(estimate - target)  # the transform is linear
    return error.real.abs().mean() + error.imag.abs().mean()


def _magnitude_distance(estimate: Tensor, target: Tensor, n_fft: int) -> Tensor:
    """Both distances at one resolution, with frames that overlap by three quarters: ``(B, L)`` to ``(B,)``."""
    stft = STFT(n_fft, n_fft // 4).to(estimate)
    power_estimate, power_target = (
        torch.view_as_real(stft(waveform)).square().sum(-1) + _FLOOR for waveform in (estimate, target)
    )
    log_magnitude = 0.5 * (power_estimate.log() - power_target.log()).abs().mean((-2, -1))
    error = torch.linalg.matrix_norm(power_estimate.sqrt() - power_target.sqrt())
    convergence = error / power_target.sum((-2, -1)).sqrt()
    return torch.where(is_silent(target), 0.0, convergence) + log_magnitude
