"""The transform of `hamiltone.audio.stft` in numpy, for code without torch, and lengths that transform fast."""

from functools import lru_cache
from typing import Any

import numpy as np
from numpy.lib.stride_tricks import sliding_window_view
from numpy.typing import NDArray

Samples = NDArray[np.float32]
Spectrum = NDArray[np.complex64]


def hann(n_fft: int) -> NDArray[np.float64]:
    """A periodic Hann window: copies shifted by a fraction of its length add up to a constant."""
    return 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)


def stft(waveform: NDArray[Any], n_fft: int, hop: int) -> Spectrum:
    """The spectra of frames centred on every multiple of `hop`, with zeros beyond both ends.

    Shape:
        waveform: ``(C, L)``
        returns: ``(C, T, F)`` with T = ceil(L / hop) + 1 frames and F = n_fft / 2 + 1 bins
    """
    rest = -waveform.shape[-1] % hop
    padded = np.pad(waveform.astype(np.float32, copy=False), ((0, 0), (n_fft // 2, n_fft // 2 + rest)))
    frames = sliding_window_view(padded, n_fft, axis=-1)[:, ::hop]  # (C, T, n_fft)
    return np.fft.rfft(frames * hann(n_fft).astype(np.float32)).astype(np.complex64, copy=False)


def istft(spectrum: Spectrum, n_fft: int, hop: int, length: int) -> Samples:
    """The first `length` samples of the signal whose spectra `stft` computed; exact for every length.

    Shape:
        spectrum: ``(C, T, F)``
        returns: ``(C, length)``
    """
    window = hann(n_fft).astype(np.float32)
    frames = np.fft.irfft(spectrum, n_fft).astype(np.float32, copy=False) * window
    energy = np.broadcast_to(np.square(window), frames.shape[1:])[None]
    inside = slice(n_fft // 2, n_fft // 2 + length)
    return _overlap_add(frames, hop)[:, inside] / _overlap_add(energy, hop)[:, inside]


@lru_cache(maxsize=64)
def fast_length(length: int) -> int:
    """The smallest length of at least `length` without a prime factor above five, for which transforms are fast.

    >>> fast_length(16001)
    16200
    """
    best = 1 << (length - 1).bit_length()
    five = 1
    while five < best:
        three = five
        while three < best:
            two = three << max(-(-length // three) - 1, 0).bit_length()
            best = min(best, two)
            three *= 3
        five *= 5
    return best


def _overlap_add(frames: Samples, hop: int) -> Samples:
    """Frames ``(C, T, n)``, `hop` samples apart, to their sum ``(C, L)``."""
    channels, count, size = frames.shape
    parts = -(-size // hop)
    total = np.zeros((channels, count + parts - 1, hop), np.float32)
    for part in range(parts):
        piece = frames[:, :, part * hop : (part + 1) * hop]
        total[:, part : part + count, : piece.shape[-1]] += piece
    return total.reshape(channels, -1)
