"""Scale-invariant signal-to-distortion ratio (Le Roux et al., 2019)."""

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.metrics.checks import as_pair, check_audible

_LIMIT = 100.0  # dB, where rounding begins


def si_sdr(estimate: ArrayLike, target: ArrayLike) -> float:
    """SI-SDR in dB, within ±100.

    By definition blind to the level of either signal and to the sign. Means are not removed: a constant offset counts
    as distortion.

    Shape:
        estimate, target: ``(L,)``

    >>> round(si_sdr([3.3, 2.7, 3.3, 2.7], [1.0, 1.0, 1.0, 1.0]), 3)
    20.0
    """
    estimate, target = as_pair(estimate, target)
    check_audible(estimate)
    speech = (estimate @ target) / (target @ target) * target
    distortion = estimate - speech
    with np.errstate(divide="ignore"):
        ratio = 10 * np.log10(speech @ speech) - 10 * np.log10(distortion @ distortion)
    return float(np.clip(ratio, -_LIMIT, _LIMIT))
