"""Half-overlapping frames of a signal and back: the short-time spectra of codecs and of synthetic speech."""

from functools import lru_cache

import numpy as np

from hamiltone.data.signals import Signal


def split_frames(signal: Signal, size: int) -> Signal:
    """Frames under the square root of a Hann window, `size` / 2 apart, the first half before the start.

    Shape:
        signal: ``(L,)``
        returns: ``(T, size)`` with T = ceil(2 L / size) + 1
    """
    hop = size // 2
    count = -(-len(signal) // hop) + 1
    padded = np.zeros((count + 1, hop), np.float32)
    padded.reshape(-1)[hop : hop + len(signal)] = signal
    return np.concatenate([padded[:-1], padded[1:]], 1) * _window(size)


def overlap_add(frames: Signal, length: int) -> Signal:
    """The inverse of `split_frames`: windowed once more and added up.

    Shape:
        frames: ``(T, size)``
        returns: ``(L,)``
    """
    count, size = frames.shape
    hop = size // 2
    frames = frames * _window(size)
    padded = np.zeros((count + 1, hop), np.float32)
    padded[:-1] += frames[:, :hop]
    padded[1:] += frames[:, hop:]
    return padded.reshape(-1)[hop : hop + length]


@lru_cache(maxsize=4)
def _window(size: int) -> Signal:
    return np.sin(np.pi * (np.arange(size, dtype=np.float32) + np.float32(0.5)) / size)
