"""Waveform in, waveform out: the STFT and the level around a spectrogram network."""

import torch
from torch import Tensor, nn

from hamiltone.audio.features import quaternion_features, spectral_gain
from hamiltone.audio.stft import STFT
from hamiltone.models.level import RunningLevel
from hamiltone.models.rows import RowNetwork, State
from hamiltone.nn import fold


def rms_level(waveform: Tensor) -> Tensor:
    """The root mean square of each waveform ``(B, L)`` as ``(B, 1)``; one for silence, so that dividing is safe."""
    level = waveform.square().mean(-1, keepdim=True).sqrt()
    return torch.where(level > 0, level, 1.0)


class Enhancer(nn.Module):
    """Estimates a complex gain per time-frequency bin from the noisy spectrum and applies it.

    The result does not depend on how loud the recording is: the network's input is normalised to unit level, over the
    whole recording or, with a `level`, over the frames around each frame.

    Args:
        stft: The transform.
        network: Maps quaternion features ``(B, 4, 1, T, F)`` to a magnitude mask and a phase correction, each
            ``(B, T, F)``.
        sample_rate: The sample rate that the network was trained for.
        exponent: The power to which magnitudes are raised in the features; below one it compresses their range.
        level: The running level by which features are divided; None for the level of the whole recording.

    Shape:
        waveform: ``(B, L)``, L >= 1, at `sample_rate`
        returns: ``(B, L)``
    """

    def __init__(
        self,
        stft: STFT,
        network: nn.Module,
        *,
        sample_rate: int = 16_000,
        exponent: float = 1.0,
        level: RunningLevel | None = None,
    ) -> None:
        super().__init__()
        self.stft, self.network, self.sample_rate, self.exponent = stft, network, sample_rate, exponent
        self.level = level

    @property
    def streams(self) -> bool:
        """Whether `step` works, because no frame looks ahead."""
        return self.level is not None and self.level.causal and isinstance(self.network, RowNetwork)

    def forward(self, waveform: Tensor) -> Tensor:
        """Enhance whole waveforms, each with its own level."""
        spectrum = self.stft(waveform)
        gain = self.gain(spectrum / rms_level(waveform)[..., None])
        return self.stft.inverse(spectrum * gain, waveform.shape[-1])

    def gain(self, spectrum: Tensor) -> Tensor:
        """The complex gain ``(B, T, F)`` for spectra of waveforms that have unit level over the whole recording."""
        features = quaternion_features(spectrum, self.exponent)
        if self.level is not None:
            features, _ = _levelled(features, self.level, features.new_zeros(len(features), 2))
        return spectral_gain(*self.network(features))

    def step(self, spectrum: Tensor, state: State = ()) -> tuple[Tensor, State]:
        """The gain of the next frames of a stream of any level, and the state after them; `state` starts empty."""
        if not self.streams or self.level is None or not isinstance(self.network, RowNetwork):
            raise ValueError("this network looks ahead: it enhances recordings, not streams")
        features = quaternion_features(spectrum, self.exponent)
        level = state[0] if state else features.new_zeros(len(features), 2)
        features, level = _levelled(features, self.level, level)
        (mask, phase), memory = self.network.step(features, state[1:])
        return spectral_gain(mask, phase), (level, *memory)


def _levelled(features: Tensor, level: RunningLevel, state: Tensor) -> tuple[Tensor, Tensor]:
    """Features ``(B, 4, 1, T, F)`` divided by the running level of their magnitudes, which are the component i."""
    values, state = level(features[:, 1, 0], state)
    return features / values[:, None, None, :, None], state


def folded(model: Enhancer) -> Enhancer:
    """The model in plain real layers, for inference (see `hamiltone.nn.fold`)."""
    network = fold(model.network)
    return Enhancer(
        model.stft, network, sample_rate=model.sample_rate, exponent=model.exponent, level=model.level
    ).eval()
