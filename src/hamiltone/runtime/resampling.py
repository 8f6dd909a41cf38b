"""Resampling between a sound and a model, with one filter for live sound and recordings alike.

The filter is that of soxr's best quality at whole ratios. soxr itself will not do: its samples come in bursts of 70 ms
and more, and at 44.1 kHz its filter sags by a thousandth at the top of the band, so that a recording and the same sound
live would differ. Here `Resampler` makes each sample by one product with a row of a table as soon as the filter has
seen enough, and `resample_whole` a whole block by Fourier transforms.
"""

from functools import lru_cache
from math import ceil, gcd

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

from hamiltone.audio.spectra import Samples, fast_length
from hamiltone.runtime.fifo import Fifo

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
        self._up, self._down = _ratio(source_rate, target_rate)
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


def resample_whole(block: Samples, source_rate: int, target_rate: int, length: int | None = None) -> Samples:
    """A whole block as if silence surrounded it; sample zero stays at time zero, and digital silence is silent.

    Shape:
        block: float32 ``(L, C)``
        returns: as many samples as `length` says, by default ceil(L * target_rate / source_rate)
    """
    if source_rate == target_rate:
        return block[:length]
    up, down = _ratio(source_rate, target_rate)
    if length is None:
        length = -(-len(block) * up // down)
    reach = ceil(_half_length(source_rate, target_rate) * source_rate / min(source_rate, target_rate))
    longest = max(len(block), -(-length * down // up))
    # With silence for the filter, since the transform is circular.
    periods = fast_length(-(-(longest + 2 * reach) // down))
    response = _response(source_rate, target_rate, periods)
    result = np.empty((length, block.shape[1]), np.float32)
    for channel, samples in enumerate(block.T):
        # In double precision: what rounding leaves before an onset would be loud to a model that follows the level.
        spectrum = np.fft.rfft(samples.astype(np.float64), periods * down)[: len(response)]
        result[:, channel] = np.fft.irfft(spectrum * response, periods * up)[:length]
        result[_is_silent(samples, np.arange(length) * down // up, reach), channel] = 0
    return result


def _is_silent(samples: Samples, places: NDArray[np.int64], reach: int) -> NDArray[np.bool_]:
    """Whether all samples within `reach` of these places are zero: the transform would leave faint noise there."""
    sounding = np.concatenate([[0], np.cumsum(samples != 0)])
    first, last = (np.clip(places + edge, 0, len(samples)) for edge in (-reach, reach + 2))
    silent: NDArray[np.bool_] = sounding[first] == sounding[last]
    return silent


@lru_cache(maxsize=8)
def _response(source_rate: int, target_rate: int, periods: int) -> NDArray[np.float64]:
    """The filter's gain at each frequency up to half the lower rate, for a transform of this many periods."""
    up, down = _ratio(source_rate, target_rate)
    finest, coarsest = max(up, down), min(up, down)
    reach = int(_half_length(source_rate, target_rate) * finest / coarsest)
    weights = _filter(np.arange(reach + 1) * coarsest / finest, _half_length(source_rate, target_rate))
    circle = np.zeros(periods * finest)
    circle[: reach + 1] = weights
    circle[-reach:] = weights[:0:-1]
    scale = coarsest / finest * up / down  # of the weights, and between the two transforms
    return np.fft.rfft(circle).real[: periods * coarsest // 2 + 1] * scale


def _ratio(source_rate: int, target_rate: int) -> tuple[int, int]:
    """The rates of target and source in lowest terms."""
    common = gcd(source_rate, target_rate)
    return target_rate // common, source_rate // common


def _half_length(source_rate: int, target_rate: int) -> float:
    """Half the length of the filter, in samples of the lower rate."""
    finest = max(_ratio(source_rate, target_rate))  # places in a sample of the lower rate
    return (4 * ceil((_LENGTH * finest - 1) / 4) + 1) / (2 * finest)


def _filter(t: NDArray[np.float64], half: float) -> NDArray[np.float64]:
    """The impulse response at these times, in samples of the lower rate."""
    window = np.i0(_BETA * np.sqrt(np.clip(1 - np.square(t / half), 0, None))) / np.i0(_BETA)
    return _CUTOFF * np.sinc(_CUTOFF * t) * window * (np.abs(t) <= half)


@lru_cache(maxsize=8)
def _filters(source_rate: int, target_rate: int) -> Samples:
    """Weights ``(phases, taps)``: a row for each position that a sample can have between two of the source.

    Rates without a large common divisor have more positions than rows; then the nearest row before is used, which is a
    jitter of less than 40 ns.
    """
    low, half = min(source_rate, target_rate), _half_length(source_rate, target_rate)
    reach = ceil(half * source_rate / low)
    phases = min(_ratio(source_rate, target_rate)[0], _TABLE // (2 * reach))
    place = np.arange(phases)[:, None] / phases
    t = (place + (reach - 1) - np.arange(2 * reach)) * low / source_rate
    return (_filter(t, half) * (low / source_rate)).astype(np.float32)
