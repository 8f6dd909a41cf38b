"""A resampler for live sound: the filter of soxr's best quality without its blocks.

soxr convolves by long Fourier transforms, so its samples come in bursts of 70 ms and more. Here each sample is a
product with a row of a table, and is available as soon as the filter has enough input.
"""

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hamiltone.runtime.fifo import Fifo

Samples = NDArray[np.float32]

# The windowed sinc of soxr's quality VHQ, read off its impulse response between 48 and 16 kHz and between 16 and 8 kHz,
# in units of the lower of the two rates: flat up to 0.456 of it, nothing above 0.5.
_CUTOFF, _BETA, _LENGTH = 0.95566416, 18.433496, 265.4
_TABLE = 2**20  # weights in a table


class Resampler:
    """Samples at one rate in, samples at another out; sample zero stays at time zero, and silence precedes it.

    Shape:
        samples: float32 ``(channels, L)``
    """

    def __init__(self, source_rate: int, target_rate: int, channels: int) -> None:
        common = gcd(source_rate, target_rate)
        self._up, self._down = target_rate // common, source_rate // common
        self._table = _filters(source_rate, target_rate)
        self.reach = self._table.shape[1] // 2  # how many samples a filter sees ahead, and as many back
        self._fifo = Fifo(channels, zeros=self.reach - 1)
        self._place = 0  # of the next sample, within a period of `up` samples

    def needed(self, count: int) -> int:
        """How many samples must have been pushed before the first `count` are ready."""
        return (count - 1) * self._down // self._up + self.reach + 1

    def ready(self, count: int) -> int:
        """How many samples are ready when the first `count` have been pushed."""
        return max(-((self.reach - count) * self._up // self._down), 0)

    @property
    def waiting(self) -> int:
        """How many samples are ready now."""
        whole = len(self._fifo) - 2 * self.reach + 1  # filters that fit
        return max(-((-whole * self._up + self._place) // self._down), 0)

    def push(self, samples: Samples) -> None:
        """Take samples in."""
        self._fifo.push(samples)

    def pull(self, count: int) -> Samples:
        """The next `count` samples, which must be waiting."""
        if not count:
            return self._fifo.pop(0)
        starts, phases = np.divmod(self._place + self._down * np.arange(count + 1), self._up)
        taps = 2 * self.reach
        span = self._fifo.peek(int(starts[-2]) + taps)
        windows = sliding_window_view(span, taps, axis=1)[:, starts[:-1]]  # (channels, count, taps)
        rows = phases[:-1] * len(self._table) // self._up
        samples: Samples = np.einsum("ckt,kt->ck", windows, self._table[rows])
        self._fifo.drop(int(starts[-1]))
        self._place = int(phases[-1])
        return samples

    def reset(self) -> None:
        """Start with a new signal."""
        self._fifo.reset()
        self._place = 0


@lru_cache(maxsize=8)
def _filters(source_rate: int, target_rate: int) -> Samples:
    """Weights ``(phases, taps)``: a row for each position that a sample can have between two of the source.

    Rates without a large common divisor have more positions than rows; then the nearest row before is used, which is a
    jitter of less than 40 ns.
    """
    low = min(source_rate, target_rate)
    up, down = (rate // gcd(source_rate, target_rate) for rate in (target_rate, source_rate))
    finest = max(up, down)  # places in a sample of the lower rate
    half = (4 * ceil((_LENGTH * finest - 1) / 4) + 1) / (2 * finest)
    reach = ceil(half * source_rate / low)
    phases = min(up, _TABLE // (2 * reach))
    place = np.arange(phases)[:, None] / phases
    t = (place + (reach - 1) - np.arange(2 * reach)) * low / source_rate
    window = np.i0(_BETA * np.sqrt(np.clip(1 - np.square(t / half), 0, None))) / np.i0(_BETA)
    weights = _CUTOFF * np.sinc(_CUTOFF * t) * window * (np.abs(t) <= half) * low / source_rate
    return weights.astype(np.float32)
