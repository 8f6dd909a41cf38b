"""A recording through the model, window by window."""

from collections.abc import Iterator
from itertools import count
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.spectra import istft, stft
from hamiltone.audio.upper_band import UpperBand
from hamiltone.errors import InputError
from hamiltone.runtime.backend import Backend
from hamiltone.runtime.bands import high_band_gain, over_samples
from hamiltone.runtime.keep import outside
from hamiltone.runtime.resampling import resample
from hamiltone.runtime.settings import Settings
from hamiltone.runtime.survey import Survey
from hamiltone.runtime.windows import Read, affordable_seconds, cut, join, plan_windows

Samples = NDArray[Any]


def enhance_blocks(read: Read, survey: Survey, settings: Settings, sample_rate: int, *, name: str) -> Iterator[Samples]:
    """Enhanced blocks ``(L, C)`` of the recording behind `read`, as many frames in all as `survey` counted.

    A result that is not finite raises an `InputError`.
    """
    model, strength = settings.model, settings.strength
    channels = sum(len(group.channels) for group in survey.groups)
    windows = plan_windows(
        survey.frames,
        sample_rate=sample_rate,
        model_rate=model.sample_rate,
        hop=model.hop,
        seconds=affordable_seconds(settings.window_seconds, channels=channels, sample_rate=sample_rate),
    )

    rates = {"model_rate": model.sample_rate, "hop": model.hop, "n_fft": model.n_fft}
    uppers = [UpperBand(sample_rate, **rates) for _ in survey.groups]
    stride = windows.stride * model.sample_rate // (sample_rate * model.hop)  # in frames of the model

    def mix(number: int, window: Samples) -> Samples:
        enhanced = np.empty_like(window)
        for group, upper in zip(survey.groups, uppers, strict=True):
            part = window[:, group.channels]
            enhanced[:, group.channels] = enhance_window(
                part, sample_rate, model, level=group.level, upper=upper, first_frame=number * stride
            )
        if not np.isfinite(enhanced).all():
            raise InputError(
                f"{name}: the model's result holds NaN or infinite samples; the model is damaged or diverged"
            )
        share = strength * outside(settings.keep, number * windows.stride, len(window), sample_rate)
        return (1 - share) * window + share * enhanced

    yield from join(map(mix, count(), cut(read, windows)), windows)


@np.errstate(over="ignore", invalid="ignore")  # the caller looks at the result
def enhance_window(
    window: Samples, sample_rate: int, model: Backend, *, level: float, upper: UpperBand, first_frame: int
) -> Samples:
    """Enhance all channels of a window with the gain that the model finds for their mean.

    The window is split into the band of the model (low: resampled there and back) and the rest (high), which the model
    never sees. Low is filtered by the model, high is scaled by the gain that `upper` derives from `high_band_gain`;
    with a gain of one everywhere the two add up to the window again. For a recording below the model's rate, high is
    only what resampling loses at the edge of the band. `first_frame` is the number of the window's first frame.

    Shape:
        window: float32 ``(L, C)``; `level` is the root mean square of the channels' mean over the whole recording
        returns: ``(L, C)``
    """
    low = resample(window, sample_rate, model.sample_rate)
    spectrum = stft(low.T, model.n_fft, model.hop)  # (C, T, F)
    reference = spectrum.mean(0, keepdims=True) / level
    gain = model.gain(reference)  # (1, T, F)
    filtered = np.ascontiguousarray(istft(spectrum * gain, model.n_fft, model.hop, len(low)).T)  # (M, C)
    if sample_rate == model.sample_rate:
        return filtered

    length, ratio = len(window), sample_rate / model.sample_rate
    high = window - resample(low, model.sample_rate, sample_rate, length)
    frame_gain = high_band_gain(reference[0], gain[0], seen=min(ratio, 1.0))
    if ratio > 1:
        powers = upper.powers(window.mean(1), range(len(frame_gain)))
        frame_gain = upper.gains(frame_gain, powers, first_frame)
    high *= over_samples(frame_gain, hop=model.hop * ratio, length=length)
    return resample(filtered, model.sample_rate, sample_rate, length) + high
