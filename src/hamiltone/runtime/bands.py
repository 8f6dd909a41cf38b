"""What happens above the model's band, frame by frame; see `hamiltone.inference.bands` for whole recordings."""

from math import ceil, floor

import numpy as np
from numpy.typing import NDArray

Spectrum = NDArray[np.complex64]
_FLOOR = 5e-9  # of a frame's mean energy: what an empty bin counts


def high_band_gain(spectrum: Spectrum, gain: Spectrum, *, seen: float = 1.0) -> float:
    """The gain for the band that the model does not see, from the top octave that it does see; at most one.

    `seen` is the share of the model's bins that the stream fills.

    Shape:
        spectrum, gain: ``(F,)``
    """
    top = seen * (len(spectrum) - 1)
    octave = slice(ceil(top / 2), floor(top) + 1)
    energy = np.square(np.abs(spectrum.astype(np.complex128)))
    share = energy[octave] + _FLOOR * energy.mean() + 1e-30
    kept = share * np.square(np.abs(gain[octave]))
    return min(float(np.sqrt(kept.sum() / share.sum())), 1.0)
