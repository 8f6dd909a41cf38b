"""Perceptual evaluation of speech quality, wideband (ITU-T P.862.2)."""

from numpy.typing import ArrayLike

from hamiltone.metrics.checks import UndefinedScoreError, as_pair, check_audible, check_rate, require

_LONGEST = 30  # seconds


def wb_pesq(estimate: ArrayLike, target: ArrayLike, sample_rate: int) -> float:
    """MOS-LQO from 1.0 to 4.64, by the `pesq` package.

    By definition blind to the level of either signal, to the sign, to delay and partly to steady filtering.

    Shape:
        estimate, target: ``(L,)`` at 16 kHz
    """
    check_rate("WB-PESQ", sample_rate)
    estimate, target = as_pair(estimate, target)
    check_audible(estimate)
    # The standard is made for 8 to 30 s. Far beyond, more than 50 utterances overrun an array in its C code.
    if len(target) > _LONGEST * sample_rate:
        raise UndefinedScoreError(f"PESQ is defined up to {_LONGEST} s, got {len(target) / sample_rate:.1f} s")
    package = require("pesq")
    try:
        return float(package.pesq(sample_rate, target, estimate, "wb"))
    except package.PesqError as error:
        raise UndefinedScoreError(f"PESQ: {error.args[0].decode()}") from error
