"""The band above the model's: stationary sound there is kept as quiet as the model keeps noise below.

A model that sees speech up to 8 kHz says nothing about what lies above. Its gain in the octave below is a guide, but
hiss that follows it is switched on with each syllable. So the noise floor of the upper band is tracked (Martin's
minimum statistics, 2001): energy near the floor gets the least gain of the last moments, energy that stands out gets
the gain of the moment.
"""

from math import ceil

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Values = NDArray[np.float64]

_MEMORY_SECONDS = 2.5  # speech pauses more often; a growing hiss is audible for that long
_MEAN_FRAMES = 4  # over which powers are averaged before their minimum is taken
_OVER_FLOOR = 2.5  # times the minimum: what white noise exceeds in six frames of a thousand
_LEAST_SHARE = 0.02  # of the energy: less than that over the floor is chance
_BAND_HZ = 1000.0
_MOST_BANDS = 24
_LEAKING_BINS = 3  # into which a Hann window leaks what lies just below the band


class UpperBand:
    """One gain per frame for the band above the model's, from the model's gain in its top octave.

    Frames are `hop` samples of the model's rate apart, like those of its STFT, and span `n_fft` of them. The gains
    depend only on the last `memory` frames, so a recording may come in pieces of any length, and a live stream frame by
    frame; before the beginning, the first frame is repeated, so the floor is known from the first pause on. Pieces may
    overlap: the first half of the overlap is taken from the earlier piece, the second half from the later one.

    Shape:
        gain: ``(T,)``, power: ``(T, bands)``
    """

    def __init__(self, sample_rate: int, *, model_rate: int, hop: int, n_fft: int) -> None:
        self.step = hop * sample_rate / model_rate
        self.size = round(n_fft * sample_rate / model_rate)
        self._window = 0.5 - 0.5 * np.cos(2 * np.pi * (np.arange(self.size) + 0.5) / self.size)
        bottom, top = model_rate / 2, sample_rate / 2
        count = min(max(round((top - bottom) / _BAND_HZ), 1), _MOST_BANDS)
        edges = np.linspace(bottom, top, count + 1)[:-1] * self.size / sample_rate
        edges[0] += _LEAKING_BINS
        self._edges = np.minimum(np.ceil(edges).astype(int), self.size // 2)  # in bins
        self.memory = ceil(_MEMORY_SECONDS * model_rate / hop)
        self.reset()

    def reset(self) -> None:
        """Forget everything and start over."""
        self._end = 0  # the number of the frame that comes next
        self._gain, self._power = np.zeros(0), np.zeros((0, len(self._edges)))

    def powers(self, samples: NDArray[np.float32], frames: range) -> Values:
        """The power in each part of the band at the frames of these numbers, frame zero centred on sample zero.

        Shape:
            samples: ``(L,)``
            returns: ``(T, bands)``
        """
        starts = np.rint(np.array(frames) * self.step).astype(int)  # in the padded signal
        before = self.size // 2
        after = max(int(starts[-1]) + self.size - before - len(samples), 0)
        padded = np.pad(samples, (before, after))
        return np.stack([self.powers_of(padded[start : start + self.size]) for start in starts])

    def powers_of(self, frame: NDArray[np.float32]) -> Values:
        """The power in each part of the band in one frame of `size` samples.

        It is zero for a frame of which half or more is digital silence, which says nothing about the floor. So is the
        first one, half of which lies before the signal; if its length is odd, half a sample less.
        """
        if 2 * np.count_nonzero(frame) <= self.size + 1:
            return np.zeros(len(self._edges))
        return np.add.reduceat(np.square(np.abs(np.fft.rfft(frame * self._window))), self._edges)

    def gains(self, gain: NDArray[np.floating], power: Values, first: int) -> Values:
        """The gains for the frames from number `first` on: 0 in the first call, later at most where the last ended."""
        shared = self._end - first
        if not 0 <= shared <= len(self._gain):
            raise ValueError(f"expected frames that begin at or before number {self._end}, got {first}")
        known = shared // 2
        self._gain = np.concatenate([self._gain[: len(self._gain) - shared + known], gain[known:].astype(np.float64)])
        self._power = np.concatenate([self._power[: len(self._power) - shared + known], power[known:]])
        self._end = first + len(gain)

        whole = self.memory + _MEAN_FRAMES - 1 + len(gain)
        gains, powers = _last(self._gain, whole), _last(self._power, whole)
        floors, least = self._floors(powers), self._least(gains, powers)
        self._gain, self._power = self._gain[-whole:], self._power[-whole:]

        now, power = gains[-len(gain) :], powers[-len(gain) :]
        over = np.maximum(power - _OVER_FLOOR * floors, 0).sum(1)
        share = over / np.maximum(power.sum(1), np.finfo(float).tiny)
        share = np.sqrt(np.maximum(share - _LEAST_SHARE, 0) / (1 - _LEAST_SHARE))
        return least + (np.maximum(now, least) - least) * share

    def _floors(self, powers: Values) -> Values:
        """The least mean power of the last frames that are not silent; zero if all are."""
        sounding = powers.any(1, keepdims=True)
        means = sliding_window_view(powers, _MEAN_FRAMES, 0).mean(-1)
        whole = sliding_window_view(sounding, _MEAN_FRAMES, 0).all(-1)
        floors = sliding_window_view(np.where(whole, means, np.inf), self.memory, 0)[1:].min(-1)
        return np.where(np.isfinite(floors), floors, 0)

    def _least(self, gains: Values, powers: Values) -> Values:
        """The least mean gain of the last frames that are not silent; of all frames if all are."""
        means = sliding_window_view(gains, _MEAN_FRAMES).mean(-1)
        whole = sliding_window_view(powers.any(1), _MEAN_FRAMES).all(-1)
        least = sliding_window_view(np.where(whole, means, np.inf), self.memory)[1:].min(-1)
        return np.where(np.isfinite(least), least, sliding_window_view(means, self.memory)[1:].min(-1))


def _last(values: Values, count: int) -> Values:
    """The last `count` values; if there are fewer, the first one is repeated before them."""
    missing = max(count - len(values), 0)
    return np.concatenate([np.repeat(values[:1], missing, axis=0), values[-count:]])
