"""Levels, zero-phase filters and smooth random curves: what noises, rooms and mixtures are made with."""

from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.spectra import fast_length

SAMPLE_RATE = 16000
KERNEL = 512  # taps of every zero-phase filter: 16 ms to either side
BINS = KERNEL // 2 + 1  # gains of a zero-phase filter, from zero to half the sample rate

Signal = NDArray[np.float32]

_FRAME = SAMPLE_RATE // 50
_ACTIVE = 10**-3.5  # frames within 35 dB of the loudest one count as active


def from_decibels(value: float) -> float:
    """A factor of amplitude from decibels.

    >>> from_decibels(-20.0)
    0.1
    """
    return float(10 ** (value / 20))


def active_level(signal: Signal) -> float:
    """Root mean square over the active 20 ms frames: pauses do not count; zero for silence.

    Shape:
        signal: ``(L,)``
    """
    if not len(signal):
        return 0.0
    starts = np.arange(0, len(signal), _FRAME)
    energy = np.add.reduceat(np.square(signal, dtype=np.float32), starts)
    energy = energy / np.diff(starts, append=len(signal))
    loudest = energy.max()
    return float(np.sqrt(energy[energy >= _ACTIVE * loudest].mean(dtype=np.float64)))


def unit_level(signal: Signal) -> Signal:
    """The signal with an active level of one; silence stays silent.

    Shape:
        signal, returns: ``(L,)``
    """
    return (signal / (active_level(signal) or 1.0)).astype(np.float32, copy=False)


def rfft(signal: Signal, size: int) -> NDArray[np.complex64]:
    """The spectrum ``(..., size / 2 + 1)`` of signals ``(..., L)`` padded with zeros to `size`."""
    return np.fft.rfft(signal, size).astype(np.complex64, copy=False)


def irfft(spectrum: NDArray[np.complex64], size: int) -> Signal:
    """The signals ``(..., size)`` of spectra ``(..., size / 2 + 1)``."""
    return np.fft.irfft(spectrum, size).astype(np.float32, copy=False)


def convolve(signal: Signal, response: Signal, delay: int = 0) -> Signal:
    """The signal convolved with one response or several; the output starts `delay` samples late.

    Shape:
        signal: ``(L,)``
        response: ``(..., taps)``
        returns: ``(..., L)``
    """
    size = fast_length(len(signal) + response.shape[-1])
    return irfft(rfft(response, size) * rfft(signal, size), size)[..., delay : delay + len(signal)]


def filter_zero_phase(signal: Signal, gain: NDArray[np.floating]) -> Signal:
    """Filter by a gain that is symmetric in time, so that nothing is delayed; zeros lie beyond both ends.

    Shape:
        signal: ``(..., L)``
        gain: ``(BINS,)`` factors of amplitude, evenly spaced from zero to half the sample rate
        returns: ``(..., L)``
    """
    length = signal.shape[-1]
    size = fast_length(length + KERNEL)
    taps = np.fft.irfft(gain, KERNEL) * _kernel_window()
    padded = np.zeros(size, np.float32)
    padded[: KERNEL // 2], padded[-(KERNEL // 2) :] = taps[: KERNEL // 2], taps[KERNEL // 2 :]
    return irfft(rfft(signal, size) * rfft(padded, size).real, size)[..., :length]


@lru_cache(maxsize=1)
def _kernel_window() -> NDArray[np.float64]:
    return np.fft.ifftshift(np.hanning(KERNEL + 1)[:-1])


@lru_cache(maxsize=1)
def octaves() -> NDArray[np.float64]:
    """The bins of a zero-phase filter in octaves above 62.5 Hz; the lowest two are at zero and below.

    Shape:
        returns: ``(BINS,)``
    """
    frequency = np.linspace(0, SAMPLE_RATE / 2, BINS)
    return np.log2(np.maximum(frequency, SAMPLE_RATE / 2 / (BINS - 1)) / 62.5)


def slow_curve(rng: np.random.Generator, length: int, rate: float) -> Signal:
    """A smooth random curve of zero mean and unit variance that turns about `rate` times a second.

    Shape:
        returns: ``(L,)``
    """
    knots = int(length / SAMPLE_RATE * rate) + 4
    values = rng.standard_normal(knots)
    position = rng.random() + np.arange(length) * (rate / SAMPLE_RATE)
    left = np.minimum(position.astype(np.intp), knots - 2)
    blend = position - left
    blend *= blend * (3 - 2 * blend)  # smoothstep: no corners
    return (values[left] + (values[left + 1] - values[left]) * blend).astype(np.float32)


def oscillate(amplitudes: NDArray[np.floating], phase: NDArray[np.floating], rng: np.random.Generator) -> Signal:
    """Harmonics of random phase, read from a table of one period.

    Shape:
        amplitudes: ``(K,)`` of the harmonics 1 to K (at most 1000)
        phase: ``(L,)`` in periods of the first harmonic
        returns: ``(L,)``
    """
    size = 4096
    spectrum = np.zeros(size // 2 + 1, np.complex64)
    spectrum[1 : len(amplitudes) + 1] = amplitudes * np.exp(2j * np.pi * rng.random(len(amplitudes)))
    table = np.fft.irfft(spectrum) * (size / 2)
    position = np.asarray(phase * size, np.float64)
    whole = np.floor(position)
    index = whole.astype(np.int64)
    left, right = table[index % size], table[(index + 1) % size]
    return (left + (right - left) * (position - whole)).astype(np.float32)
