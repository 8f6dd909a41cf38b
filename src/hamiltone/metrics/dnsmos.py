"""DNSMOS: ratings predicted by Microsoft's networks without a reference (P.835 and P.808)."""

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.metrics.inputs import as_waveform, check_audible, check_rate, require


class DNSMOS(NamedTuple):
    """Ratings from 1 to 5: signal, background and overall (P.835), and overall (P.808)."""

    sig: float
    bak: float
    ovrl: float
    p808: float


def dnsmos_ratings(estimate: ArrayLike, sample_rate: int) -> DNSMOS:
    """The ratings of one recording, by the `speechmos` package, which repeats anything shorter than 9 s.

    It never sees a reference, and is blind to nothing: level counts. Samples beyond full scale are clipped, as any
    player would; nothing is rescaled.

    Shape:
        estimate: ``(L,)`` at 16 kHz
    """
    check_rate("DNSMOS", sample_rate)
    waveform = as_waveform("estimate", estimate)
    check_audible(waveform)
    ratings = require("speechmos.dnsmos").run(np.clip(waveform, -1.0, 1.0).astype(np.float32), sample_rate)
    return DNSMOS(*(float(ratings[f"{name}_mos"]) for name in DNSMOS._fields))
