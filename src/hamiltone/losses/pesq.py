"""The PESQ loss: the perceptual model of ITU-T P.862 with the wideband filter and scale of P.862.2, differentiable.

Two parts of the standard are left out: time alignment, including the search for a better one in bad frames, and the
weights that favour the end of recordings longer than 16 s. The rest follows the standard: both signals are scaled to
the same level, so the loss is blind to level, and it ignores what comes before and after the speech of the target.
Other terms of the training loss cover both.
"""

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.losses.bark import FRAME, Bark, bark_bands
from hamiltone.losses.batch import as_waveforms

SAMPLE_RATE = 16_000
HOP = FRAME // 2

# Level alignment: the mean power between 350 and 3250 Hz becomes 1e7, averaged over the signal and the 320 ms of
# silence that the standard appends to it.
_SPEECH_BAND = (350.0, 3250.0)
_LEVEL = 1e7
_APPENDED = 5120
_SILENCE = 1e-12  # power below which a waveform in [-1, 1] counts as silent and is not amplified

# The wideband input filter: a high-pass at 100 Hz.
_NUMERATOR = (2.740826, -5.4816519, 2.740826)
_DENOMINATOR = (1.0, -1.9444777, 0.94597794)
_DECAY = 512  # samples until its response is 120 dB down
_FADE = 16  # samples over which the signals fade in and out

# Calibration: a 1 kHz tone at 40 dB has a power density of 1e4 and a loudness of one sone.
_POWER_SCALE = 6.910853e-6
_LOUDNESS_SCALE = 0.1866055

_SYLLABLE = 20  # frames, half overlapping
_BEST = 4.5


def pesq_loss(estimate: Tensor, target: Tensor, bark: Bark | None = None) -> Tensor:
    """How far the raw P.862 score is below its maximum, 4.5, averaged over the batch.

    The raw score is used because the MOS scale is a logistic of it, whose gradient vanishes for the worst estimates.

    Args:
        estimate: The model's output.
        target: The clean waveform.
        bark: The constants of the critical bands; None builds them.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: ``()``
    """
    return pesq_distance(estimate, target, bark).mean()


def pesq_mos(estimate: Tensor, target: Tensor, bark: Bark | None = None) -> Tensor:
    """The score on the listening scale of P.862.2 (MOS-LQO), from 1.0 to 4.64.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: ``(B,)``
    """
    raw = _BEST - pesq_distance(estimate, target, bark)
    return 0.999 + 4 * torch.sigmoid(1.3669 * raw - 3.8224)


def pesq_distance(estimate: Tensor, target: Tensor, bark: Bark | None = None) -> Tensor:
    """Symmetric and asymmetric disturbance of each estimate, as the standard weighs them; 0 is perfect.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: ``(B,)``
    """
    estimate, target = as_waveforms(estimate, target)
    bark = Bark(*(constant.to(estimate) for constant in bark or bark_bands()))
    # Band powers reach 1e9: no autocast to half precision in here.
    with torch.autocast(estimate.device.type, enabled=False):
        estimate, target = input_filter(estimate), input_filter(target)
        first, last = active_frames(target)
        estimate, target = band_powers(estimate, bark), band_powers(target, bark)
        target = equalise_response(estimate, target, bark)
        estimate = equalise_gain(estimate, target, bark)
        symmetric, asymmetric = disturbances(estimate, target, bark)
        return 0.1 * over_utterance(symmetric, first, last) + 0.0309 * over_utterance(asymmetric, first, last)


def input_filter(waveform: Tensor) -> Tensor:
    """Scale the speech band to the standard's level and remove what lies below 100 Hz; ``(B, L)`` to the same."""
    length = waveform.shape[-1]
    size = length + _DECAY
    size += -size % 4096  # a length that transforms fast
    ramp = torch.arange(1, length + 1, device=waveform.device) / _FADE
    spectrum = torch.fft.rfft(waveform * torch.minimum(ramp, ramp.flip(0)).clamp(max=1.0).to(waveform), size)
    low, high = (round(frequency * size / SAMPLE_RATE) for frequency in _SPEECH_BAND)
    energy = _power(spectrum[:, low : high + 1]).sum(-1, keepdim=True) * (2 / size)  # Parseval; 2: both signs
    gain = torch.sqrt(_LEVEL / (energy / (length + _APPENDED) + _SILENCE))
    numerator, denominator = torch.fft.rfft(waveform.new_tensor([_NUMERATOR, _DENOMINATOR]), size)
    return gain * torch.fft.irfft(spectrum * (numerator / denominator), size)[:, :length]


def active_frames(waveform: Tensor) -> tuple[Tensor, Tensor]:
    """The first and the last frame ``(B,)`` between the silences at both ends of filtered waveforms ``(B, L)``.

    If all is silent, they span all frames.
    """
    frames = _frames(waveform)
    # Five samples in a row that reach 100 on average, where speech has a level of 3000
    loud = F.avg_pool1d(F.pad(waveform.detach().abs(), (0, 4)), 5, 1) >= 100.0
    first = loud.int().argmax(-1)
    after_last = loud.shape[-1] - loud.flip(-1).int().argmax(-1) + 4
    silent = ~loud.any(-1)
    first = torch.where(silent, 0, first // HOP).clamp(max=frames - 1)
    last = torch.where(silent, frames, after_last // HOP) - 1
    return first, torch.maximum(first, last.clamp(max=frames - 1))


def band_powers(waveform: Tensor, bark: Bark) -> Tensor:
    """Power per Bark in the critical bands: filtered waveforms ``(B, L)`` to ``(B, T, K)``."""
    padded = F.pad(waveform, (0, (_frames(waveform) + 1) * HOP - waveform.shape[-1]))
    window = torch.hann_window(FRAME, dtype=waveform.dtype, device=waveform.device)
    spectrum = torch.stft(padded, FRAME, HOP, window=window, center=False, return_complex=True)
    return _power(spectrum).mT @ (_POWER_SCALE * bark.warp)


def equalise_response(estimate: Tensor, target: Tensor, bark: Bark) -> Tensor:
    """The target ``(B, T, K)`` with the mean spectrum of the estimate: steady colouring is hardly audible."""
    speech = _audible(target, bark, 100.0).sum(-1, keepdim=True) >= 1e7
    frames = target.shape[1] + _APPENDED // HOP - 1
    mean_estimate, mean_target = (
        (speech * _audible(x, bark, 100.0)).sum(1, keepdim=True) / frames for x in (estimate, target)
    )
    return target * ((mean_estimate + 1e3) / (mean_target + 1e3)).clamp(0.01, 100.0)


def equalise_gain(estimate: Tensor, target: Tensor, bark: Bark) -> Tensor:
    """The estimate ``(B, T, K)`` with the loudness contour of the target: slow changes of gain are hardly audible."""
    gain = (_audible(target, bark).sum(-1) + 5e3) / (_audible(estimate, bark).sum(-1) + 5e3)
    # g_t = 0.2 g_{t-1} + 0.8 x_t from g_0 = x_0, cut off where float32 no longer sees it
    taps = 0.8 * 0.2 ** torch.arange(9, -1, -1, dtype=gain.dtype, device=gain.device)
    gain = F.conv1d(F.pad(gain[:, None], (9, 0), mode="replicate"), taps[None, None])[:, 0]
    return estimate * gain.clamp(3e-4, 5.0)[..., None]


def loudness(power: Tensor, bark: Bark) -> Tensor:
    """Loudness in sone per Bark by Zwicker's law, zero below the threshold of hearing; ``(B, T, K)`` to the same."""
    above = (power / bark.threshold).clamp(min=1.0)
    scale = _LOUDNESS_SCALE * (bark.threshold / 0.5) ** bark.exponent
    return scale * ((0.5 + 0.5 * above) ** bark.exponent - 1.0)


def disturbances(estimate: Tensor, target: Tensor, bark: Bark) -> tuple[Tensor, Tensor]:
    """The audible difference in each frame, in total and of what was added: ``(B, T, K)`` to two ``(B, T)``."""
    loud_estimate, loud_target = loudness(estimate, bark), loudness(target, bark)
    masked = 0.25 * torch.minimum(loud_estimate, loud_target)
    heard = F.relu((loud_estimate - loud_target).abs() - masked) * bark.width
    added = ((estimate + 50.0) / (target + 50.0)) ** 1.2
    added = torch.where(added < 3.0, 0.0, added.clamp(max=12.0))

    total_width = bark.width.sum()
    symmetric = torch.linalg.vector_norm(heard, dim=-1) * total_width.sqrt()
    asymmetric = (added * heard).sum(-1)
    # Loud frames count a little less, and each frame is capped
    weight = ((_audible(target, bark).sum(-1) + 1e5) / 1e7) ** -0.04
    return (weight * symmetric).clamp(max=45.0), (weight * asymmetric).clamp(max=45.0)


def over_utterance(disturbance: Tensor, first: Tensor, last: Tensor) -> Tensor:
    """L6 mean over syllables, dominated by the worst frame, then L2 over the active part: ``(B, T)`` to ``(B,)``."""
    frames = disturbance.shape[1]
    index = first[:, None] + torch.arange(frames, device=disturbance.device)  # (B, T), from the first active frame
    active = index <= last[:, None]
    disturbance = disturbance.gather(1, index.clamp(max=frames - 1)) * active
    step = _SYLLABLE // 2
    padded = F.pad(disturbance, (0, -frames % step + step))
    syllables = torch.linalg.vector_norm(padded.unfold(-1, _SYLLABLE, step), 6, dim=-1) / _SYLLABLE ** (1 / 6)
    starts = active[:, ::step]
    return torch.linalg.vector_norm(syllables * starts, dim=-1) / starts.sum(-1).sqrt()


class PESQLoss(nn.Module):
    """`pesq_loss` with its constants as buffers, so that they move to the device once.

    Shape:
        estimate, target: ``(B, L)`` at 16 kHz
        returns: ``()``
    """

    warp: Tensor
    width: Tensor
    threshold: Tensor
    exponent: Tensor

    def __init__(self) -> None:
        super().__init__()
        for name, constant in bark_bands()._asdict().items():
            self.register_buffer(name, constant.float(), persistent=False)

    @property
    def bark(self) -> Bark:
        """The constants, on the module's device."""
        return Bark(self.warp, self.width, self.threshold, self.exponent)

    def forward(self, estimate: Tensor, target: Tensor) -> Tensor:
        return pesq_loss(estimate, target, self.bark)


def _frames(waveform: Tensor) -> int:
    """The number T of frames in ``(B, L)``; the last one reaches into silence."""
    return max(1, waveform.shape[-1] // HOP)


def _power(spectrum: Tensor) -> Tensor:
    """Squared modulus without the square root in `abs`, whose gradient is singular at zero."""
    return torch.view_as_real(spectrum).square().sum(-1)


def _audible(power: Tensor, bark: Bark, factor: float = 1.0) -> Tensor:
    """The powers that exceed the threshold of hearing by `factor`; zero for the others."""
    return power * (power > factor * bark.threshold)
