"""A recording through the model, window by window."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import count
from numbers import Real
from pathlib import Path
from typing import TYPE_CHECKING, TypeGuard, Union

import numpy as np

from hamiltone.audio.formats import Block
from hamiltone.audio.spectra import Spectrum, istft, stft
from hamiltone.audio.upper_band import UpperBand
from hamiltone.errors import InputError
from hamiltone.runtime.backend import Backend, Memory, MemoryBackend, Transform
from hamiltone.runtime.bands import fill_empty, high_band_gain, over_samples
from hamiltone.runtime.passages import Passages, check_passages, outside
from hamiltone.runtime.resampling import resample_whole
from hamiltone.runtime.survey import Survey
from hamiltone.runtime.windows import Read, affordable_seconds, cut, join, plan_windows

if TYPE_CHECKING:
    from hamiltone.models import Enhancer

Model = Union["Enhancer", Backend, str, Path, None]
"""An enhancer, a back end, the name or file of one, or None for the bundled one."""

WINDOW_SECONDS = 8.0
GainFinder = Callable[[Spectrum], Spectrum]
"""The gain ``(1, T, F)`` of the next window's frames ``(1, T, F)``."""
_USUAL_LEVELS = (1e-3, 10.0)


def is_number(value: object) -> bool:
    """Whether a value can be compared with a number: a user may pass anything."""
    return isinstance(value, Real)


@dataclass(frozen=True)
class Settings:
    """The model, the share of its result in the output (0 to 1), the longest window in seconds, passages to keep."""

    model: Backend
    strength: float
    window_seconds: float
    keep: Passages = ()

    def __post_init__(self) -> None:
        if not is_number(self.strength) or not 0 <= self.strength <= 1:
            raise InputError(f"expected a strength from 0 to 1, got {self.strength!r}")
        if not is_number(self.window_seconds) or not 1 <= self.window_seconds < float("inf"):
            raise InputError(f"expected windows of at least one second, got {self.window_seconds!r}")
        check_passages(self.keep)


def enhance_blocks(read: Read, survey: Survey, settings: Settings, sample_rate: int, *, name: str) -> Iterator[Block]:
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
    span = sample_rate * model.hop
    stride = round(windows.stride * model.sample_rate / span)  # in frames of the model
    overlap = windows.overlap * model.sample_rate // span
    finders = [gains_of_windows(model, windows.count, stride, overlap) for _ in survey.groups]

    def mix(number: int, window: Block) -> Block:
        enhanced = np.empty_like(window)
        for group, upper, find_gain in zip(survey.groups, uppers, finders, strict=True):
            part = window[:, group.channels]
            enhanced[:, group.channels] = enhance_window(
                part,
                sample_rate,
                model,
                find_gain,
                level=level_for(model, group.level),
                upper=upper,
                first_frame=number * stride,
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
    window: Block,
    sample_rate: int,
    model: Transform,
    find_gain: GainFinder,
    *,
    level: float,
    upper: UpperBand,
    first_frame: int,
) -> Block:
    """Enhance all channels of a window with the gain that the model finds for their mean.

    The window is split into the band of the model (low: resampled there and back) and the rest (high), which the model
    never sees. Low is filtered by the model, high is scaled by the gain that `upper` derives from `high_band_gain`;
    with a gain of one everywhere the two add up to the window again. For a recording below the model's rate, high is
    only what resampling loses at the edge of the band. `first_frame` is the number of the window's first frame.

    Shape:
        window: float32 ``(L, C)``; `level` is the root mean square of the channels' mean over the whole recording
        returns: ``(L, C)``
    """
    low = resample_whole(window, sample_rate, model.sample_rate)
    spectrum = stft(low.T, model.n_fft, model.hop)  # (C, T, F)
    ratio = sample_rate / model.sample_rate
    seen = min(ratio, 1.0)
    reference = fill_empty(spectrum.mean(0, keepdims=True) / level, seen=seen)
    gain = find_gain(reference)  # (1, T, F)
    filtered = np.ascontiguousarray(istft(spectrum * gain, model.n_fft, model.hop, len(low)).T)  # (M, C)
    if sample_rate == model.sample_rate:
        return filtered

    length = len(window)
    high = window - resample_whole(low, model.sample_rate, sample_rate, length)
    frame_gain = high_band_gain(reference[0], gain[0], seen=seen)
    if ratio > 1:
        powers = upper.powers(window.mean(1), range(len(frame_gain)))
        frame_gain = upper.gains(frame_gain, powers, first_frame)
    high *= over_samples(frame_gain, hop=model.hop * ratio, length=length)
    return resample_whole(filtered, model.sample_rate, sample_rate, length) + high


def level_for(model: Backend, level: float) -> float:
    """What a recording of this level is divided by before the model sees it.

    A model that never looks ahead follows the level by itself and should get what it gets in a stream. Only very
    faint and very loud recordings are divided: their levels are not those it was trained with.
    """
    least, most = _USUAL_LEVELS
    return 1.0 if _continues(model) and least < level < most else level


def gains_of_windows(model: Backend, count: int, stride: int, overlap: int) -> GainFinder:
    """The gains that a model finds for `count` windows of `stride` and `overlap` frames.

    A model that looks ahead takes every window on its own. A causal one carries its memory from window to window, so
    that it gives for a recording what it gives for a stream. A single window goes through in one piece.
    """
    return _Continued(model, stride, overlap // 2) if count > 1 and _continues(model) else model.gain


def _continues(model: Backend) -> TypeGuard[MemoryBackend]:
    return isinstance(model, MemoryBackend) and model.causal


class _Continued:
    """Every frame passes through the model once, in the window in which it is further from the edge.

    Half of an overlap, `shared` frames, belongs to the window before it and half to the window after it.
    """

    def __init__(self, model: MemoryBackend, stride: int, shared: int) -> None:
        self._model, self._stride, self._shared = model, stride, shared
        self._memory: Memory = ()
        self._known: Spectrum | None = None  # the gains of the last frames of the window before

    def __call__(self, spectrum: Spectrum) -> Spectrum:
        known = spectrum[:, :0] if self._known is None else self._known
        end = self._stride + self._shared
        own, self._memory = self._model.gain_after(spectrum[:, known.shape[1] : end], self._memory)
        gains = [known, own]
        if spectrum.shape[1] > end:  # they fade out, and the next window has them again
            gains.append(self._model.gain_after(spectrum[:, end:], self._memory)[0])
        gain = np.concatenate(gains, axis=1)
        self._known = gain[:, self._stride : end]
        return gain
