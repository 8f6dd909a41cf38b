"""The gain above the model's band."""

from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hamiltone.runtime.backend import Spectrum

Gains = NDArray[np.float64]
_FLOOR = 5e-9  # of a frame's mean energy: the energy assumed in an empty bin


def high_band_gain(spectrum: Spectrum, gain: Spectrum, *, seen: float = 1.0) -> Gains:
    """One gain per frame for the band above the model's.

    It is the factor by which the model's gain changes the amplitude in its top octave, and at most one. `seen` is the
    share of the model's bins that the sound fills: all of them, with the octave at 4-8 kHz, from 16 kHz up. If the
    octave is empty, all its bins count alike.

    Shape:
        spectrum, gain: complex ``(..., F)``
        returns: ``(...)``
    """
    top = seen * (spectrum.shape[-1] - 1)
    octave = slice(ceil(top / 2), floor(top) + 1)
    energy = _squares(spectrum)
    share = energy[..., octave] + _FLOOR * energy.mean(-1, keepdims=True) + 1e-30
    kept = share * _squares(gain[..., octave])
    return np.minimum(np.sqrt(kept.sum(-1) / share.sum(-1)), 1.0)


def over_samples(frame_gain: Gains, *, hop: float, length: int) -> NDArray[np.float32]:
    """Interpolate a gain per frame ``(T,)``, frames `hop` samples apart, to one per sample ``(length, 1)``."""
    gain = np.interp(np.arange(length), np.arange(len(frame_gain)) * hop, frame_gain)
    return gain.astype(np.float32)[:, None]


def _squares(values: NDArray[Any]) -> Gains:
    """Squared magnitudes in float64, for signals of any level."""
    return np.square(values.real, dtype=np.float64) + np.square(values.imag, dtype=np.float64)
