"""Short-time objective intelligibility, and its extended form (Taal et al., 2011; Jensen and Taal, 2016)."""

import warnings

from numpy.typing import ArrayLike

from hamiltone.metrics.checks import UndefinedScoreError, as_pair, check_audible, require

_SHORTEST = 0.4  # seconds: one segment of 30 frames


def stoi_score(estimate: ArrayLike, target: ArrayLike, sample_rate: int, *, extended: bool = False) -> float:
    """A correlation of short-time envelopes, at most 1, by the `pystoi` package.

    By definition blind to the level of either signal, to the sign and to what lies above 4.3 kHz.

    Shape:
        estimate, target: ``(L,)``
    """
    estimate, target = as_pair(estimate, target)
    check_audible(estimate)
    too_short = UndefinedScoreError(f"STOI needs {_SHORTEST} s of speech")
    if len(target) < _SHORTEST * sample_rate:
        raise too_short
    package = require("pystoi")
    with warnings.catch_warnings():
        # It warns, and returns 1e-5, when too little is left without the pauses.
        warnings.filterwarnings("error", "Not enough STFT frames", RuntimeWarning)
        try:
            return float(package.stoi(target, estimate, sample_rate, extended=extended))
        except RuntimeWarning as warning:
            raise too_short from warning
