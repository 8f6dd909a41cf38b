"""Waveform in, waveform out: the STFT and the level around a spectrogram network."""

import torch
from torch import Tensor, nn

from hamiltone.audio.features import quaternion_features, spectral_gain
from hamiltone.audio.stft import STFT
from hamiltone.nn import fold


def rms_level(waveform: Tensor) -> Tensor:
    """The root mean square of each waveform ``(B, L)`` as ``(B, 1)``; one for silence, so that it can be divided by."""
    level = waveform.square().mean(-1, keepdim=True).sqrt()
    return torch.where(level > 0, level, 1.0)


class Enhancer(nn.Module):
    """Estimates a complex gain per time-frequency bin from the noisy spectrum and applies it.

    The network sees a waveform of unit level, so the result does not depend on how loud the recording is. `network`
    maps quaternion features ``(B, 4, 1, T, F)``, compressed by `exponent`, to a magnitude mask and a phase correction,
    each ``(B, T, F)``.

    Shape:
        waveform: ``(B, L)``, L >= 1, at `sample_rate`
        returns: ``(B, L)``
    """

    def __init__(self, stft: STFT, network: nn.Module, *, sample_rate: int = 16_000, exponent: float = 1.0) -> None:
        super().__init__()
        self.stft, self.network, self.sample_rate, self.exponent = stft, network, sample_rate, exponent

    def forward(self, waveform: Tensor) -> Tensor:
        """Enhance whole waveforms, each with its own level."""
        return self.apply_gain(waveform, self.gain(waveform / rms_level(waveform)))

    def gain(self, waveform: Tensor) -> Tensor:
        """The complex gain ``(B, T, F)`` for waveforms that already have unit level (over the whole recording)."""
        mask, phase = self.network(quaternion_features(self.stft(waveform), self.exponent))
        return spectral_gain(mask, phase)

    def apply_gain(self, waveform: Tensor, gain: Tensor) -> Tensor:
        """Filter waveforms ``(B, L)`` of any level by a gain ``(B, T, F)``."""
        return self.stft.inverse(self.stft(waveform) * gain, waveform.shape[-1])


def folded(model: Enhancer) -> Enhancer:
    """The model in plain real layers, for inference (see `hamiltone.nn.fold`)."""
    network = fold(model.network)
    return Enhancer(model.stft, network, sample_rate=model.sample_rate, exponent=model.exponent).eval()
