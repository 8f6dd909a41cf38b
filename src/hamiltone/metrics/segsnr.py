"""Segmental signal-to-noise ratio, as Loizou's composite measures use it."""

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.metrics.checks import as_pair
from hamiltone.metrics.framing import cut_frames

_EPS = np.finfo(np.float64).eps


def segmental_snr(estimate: ArrayLike, target: ArrayLike, sample_rate: int) -> float:
    """Mean SNR in dB over frames, each within [-10, 35].

    Sensitive to everything: a wrong level or sign counts as noise.

    Shape:
        estimate, target: ``(L,)``
    """
    estimate, target = as_pair(estimate, target)
    speech = np.square(cut_frames(target, sample_rate)).sum(-1)
    noise = np.square(cut_frames(target - estimate, sample_rate)).sum(-1)
    return float(np.clip(10 * np.log10(speech / (noise + _EPS) + _EPS), -10.0, 35.0).mean())
