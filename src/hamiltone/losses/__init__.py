"""Training losses: functions of `(estimate, target)`, waveforms ``(B, L)`` at 16 kHz, that return a scalar.

A loss is finite with a finite gradient on silence, clipping, a perfect estimate and input shorter than a window; it is
NaN if a sample is, so a broken estimate is never rewarded. `PESQLoss` and `EnhancementLoss` are modules because they
carry constants to the device; `loss_terms` and `weighted_sum` are the parts of `EnhancementLoss` (Eq. 70).
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.losses.pesq import PESQLoss, pesq_loss, pesq_mos
from hamiltone.losses.sisdr import sisdr_loss
from hamiltone.losses.stft import complex_l1_loss, multi_resolution_stft_loss
from hamiltone.losses.total import EnhancementLoss, LossWeights, loss_terms, weighted_sum
from hamiltone.losses.waveform import rms_loss

__all__ = [
    "EnhancementLoss",
    "LossWeights",
    "PESQLoss",
    "complex_l1_loss",
    "loss_terms",
    "multi_resolution_stft_loss",
    "pesq_loss",
    "pesq_mos",
    "rms_loss",
    "sisdr_loss",
    "weighted_sum",
]
