"""A recording through the model, window by window."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from hamiltone.audio.upper_band import UpperBand
from hamiltone.errors import InputError
from hamiltone.inference.bands import high_band_gain, over_samples, resample
from hamiltone.inference.keep import outside
from hamiltone.inference.settings import Settings
from hamiltone.inference.survey import Survey
from hamiltone.inference.windows import Read, affordable_seconds, cut, join, plan_windows
from hamiltone.models.enhancer import Enhancer

Samples = NDArray[Any]


def enhance_stream(read: Read, survey: Survey, settings: Settings, sample_rate: int, *, name: str) -> Iterator[Samples]:
    """Enhanced blocks ``(L, C)`` of the recording behind `read`, as many frames in all as `survey` counted.

    A result that is not finite is an `InputError`: no such sample leaves.
    """
    model, strength = settings.model, settings.strength
    channels = sum(len(group.channels) for group in survey.groups)
    windows = plan_windows(
        survey.frames,
        sample_rate=sample_rate,
        model_rate=model.sample_rate,
        hop=model.stft.hop,
        seconds=affordable_seconds(settings.window_seconds, channels=channels, sample_rate=sample_rate),
    )

    rates = {"model_rate": model.sample_rate, "hop": model.stft.hop, "n_fft": model.stft.n_fft}
    uppers = [UpperBand(sample_rate, **rates) for _ in survey.groups]
    stride = windows.stride * model.sample_rate // (sample_rate * model.stft.hop)  # in frames of the model

    def mix(number: int, window: Samples) -> Samples:
        enhanced = np.empty_like(window)
        for group, upper in zip(survey.groups, uppers, strict=True):
            part = window[:, group.channels]
            enhanced[:, group.channels] = enhance_window(
                part, sample_rate, model, level=group.level, upper=upper, first_frame=number * stride
            )
        share = strength * outside(settings.keep, number * windows.stride, len(window), sample_rate)
        return (1 - share) * window + share * enhanced

    for block in join(map(mix, count(), cut(read, windows)), windows):
        if not np.isfinite(block).all():
            raise InputError(
                f"{name}: the model's result holds NaN or infinite samples; the model is damaged or diverged"
            )
        yield block


@torch.inference_mode()
def enhance_window(
    window: Samples, sample_rate: int, model: Enhancer, *, level: float, upper: UpperBand, first_frame: int
) -> Samples:
    """Enhance all channels of a window by the gain that the model finds for their mean.

    The window is split into what the model's rate can carry (low: resampled there and back) and the rest (high), which
    the model never sees. Low is filtered by the model, high is scaled by what `upper` makes of `high_band_gain`; with a
    gain of one everywhere the two add up to the window again. For a recording below the model's rate, high is merely
    what the resampling loses at the edge of the band. `first_frame` is the number of the window's first frame.

    Shape:
        window: float32 ``(L, C)``; `level` is the root mean square of the channels' mean over the whole recording
        returns: ``(L, C)``
    """
    low = resample(window, sample_rate, model.sample_rate)
    waveform = torch.from_numpy(np.ascontiguousarray(low.T)).to(model.stft.window.device)  # (C, M)
    spectrum = model.stft(waveform)  # (C, T, F)
    reference = spectrum.mean(0, keepdim=True) / level
    gain = model.gain(reference)  # (1, T, F)
    filtered = np.ascontiguousarray(model.stft.inverse(spectrum * gain, len(low)).cpu().numpy().T)  # (M, C)
    if sample_rate == model.sample_rate:
        return filtered

    length, ratio = len(window), sample_rate / model.sample_rate
    high = window - resample(low, model.sample_rate, sample_rate, length)
    frame_gain = high_band_gain(reference, gain, seen=min(ratio, 1.0)).cpu().numpy()
    if ratio > 1:
        powers = upper.powers(window.mean(1), range(len(frame_gain)))
        frame_gain = upper.gains(frame_gain, powers, first_frame)
    high *= over_samples(frame_gain, hop=model.stft.hop * ratio, length=length)
    return resample(filtered, model.sample_rate, sample_rate, length) + high
