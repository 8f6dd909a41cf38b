"""Training losses: functions of `(estimate, target)`, waveforms ``(B, L)`` at 16 kHz, that return a scalar.

A loss is finite with a finite gradient on silence, clipping, a perfect estimate and input shorter than a window; it is
NaN if a sample is, so a broken estimate is never rewarded. `PESQLoss` is a module because it carries
constants to the device. `EnhancementLoss` is the weighted sum of the terms in `LossWeights` (Eq. 70); it returns the
terms too.

The terms are in `stft`, `sisdr`, `waveform`, `pesq` (with the critical bands of `bark`) and `compressed`, their sum in
`total`; `batch` has the checks that all of them share.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.losses.compressed import compressed_spectrum_loss
from hamiltone.losses.pesq import PESQLoss, pesq_loss, pesq_mos
from hamiltone.losses.sisdr import sisdr_loss
from hamiltone.losses.stft import complex_l1_loss, multi_resolution_stft_loss
from hamiltone.losses.total import PAPER_WEIGHTS, EnhancementLoss, LossWeights
from hamiltone.losses.waveform import rms_loss

__all__ = [
    "PAPER_WEIGHTS",
    "EnhancementLoss",
    "LossWeights",
    "PESQLoss",
    "complex_l1_loss",
    "compressed_spectrum_loss",
    "multi_resolution_stft_loss",
    "pesq_loss",
    "pesq_mos",
    "rms_loss",
    "sisdr_loss",
]
