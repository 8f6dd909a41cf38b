"""Between the recording's sample rate and the model's, and what happens above the model's band."""

from math import ceil, floor
from typing import Any

import numpy as np
import soxr  # type: ignore[import-untyped]
from numpy.typing import NDArray
from torch import Tensor

Samples = NDArray[Any]
QUALITY = "VHQ"


def resample(block: Samples, source_rate: int, target_rate: int, length: int | None = None) -> Samples:
    """Resample a block as if silence surrounded it; sample zero stays at time zero.

    Shape:
        block: ``(L, C)``
        returns: ``(length, C)``, by default with length = ceil(L * target_rate / source_rate)
    """
    if length is None:
        length = ceil(len(block) * target_rate / source_rate)
    if source_rate == target_rate:
        return block[:length]
    enough = ceil((length + 1) * source_rate / target_rate) + 1
    padded = np.pad(block, ((0, max(enough - len(block), 0)), (0, 0)))
    return soxr.resample(padded, source_rate, target_rate, QUALITY)[:length]


def high_band_gain(spectrum: Tensor, gain: Tensor, *, seen: float = 1.0) -> Tensor:
    """One gain per frame for the band that the model does not see.

    It is the amplitude by which the model's gain changes the energy in the top octave that it does see, and at most
    one. `seen` is the share of the model's bins that the recording fills: all of them, with the octave at 4-8 kHz, from
    16 kHz up. Where the octave is empty, its bins count alike.

    Shape:
        spectrum, gain: complex ``(1, T, F)``
        returns: ``(T,)``
    """
    top = seen * (spectrum.shape[-1] - 1)
    octave = slice(ceil(top / 2), floor(top) + 1)
    energy = spectrum[0, :, octave].abs().square() + 1e-6
    kept = energy * gain[0, :, octave].abs().square()
    return (kept.sum(-1) / energy.sum(-1)).sqrt().clamp(max=1)


def over_samples(frame_gain: Samples, *, hop: float, length: int) -> Samples:
    """Interpolate a gain per frame ``(T,)``, frames `hop` samples apart, to one per sample ``(length, 1)``."""
    gain = np.interp(np.arange(length), np.arange(len(frame_gain)) * hop, frame_gain)
    return gain.astype(np.float32)[:, None]
