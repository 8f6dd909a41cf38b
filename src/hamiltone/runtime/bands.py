"""Where the band of a sound and that of the model differ."""

from math import ceil, floor
from typing import Any

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.spectra import Spectrum

Gains = NDArray[np.float64]
_FAINT = 3e-3  # of a frame's root mean square: the magnitude in bins that the sound does not fill
_GOLDEN = 0.6180339887498949
_FLOOR = 5e-9  # of a frame's mean energy: the energy assumed in an empty bin


def fill_empty(spectrum: Spectrum, *, seen: float) -> Spectrum:
    """The spectrum with faint noise in the bins that a sound of a lower sample rate leaves empty.

    Models are trained on sounds that fill all bins. Features are compressed, so in empty bins the rounding of the
    resampler would matter, and it differs between a stream and a recording. The noise is always the same. `seen` is the
    share of the bins that the sound fills.

    Shape:
        spectrum: complex ``(..., F)``
        returns: the same
    """
    if seen >= 1:
        return spectrum
    bins = spectrum.shape[-1]
    first = ceil(seen * (bins - 1))
    numbers = np.arange(first, bins)
    turns = numbers * numbers * _GOLDEN % 1
    filled = spectrum.copy()
    level = np.sqrt(_squares(spectrum[..., :first]).mean(-1, keepdims=True))
    filled[..., first:] = _FAINT * level * np.exp(2j * np.pi * turns)
    return filled


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
