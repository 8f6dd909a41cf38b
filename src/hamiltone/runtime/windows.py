"""Overlapping windows of a recording, and joining them into one signal again."""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Any

import numpy as np
from numpy.typing import NDArray

Read = Callable[[int], NDArray[Any]]
"""Returns the next n frames ``(n, C)`` of a recording, fewer only at its end."""

WHOLE = 1.2
"""How much longer than a window a recording may be before it is divided."""
_OVERLAP = 0.4  # seconds
_LONGEST_GRID = 2.0  # seconds
_MOST_SAMPLES = 2**25  # of a window, over all channels


@dataclass(frozen=True)
class Windows:
    """Windows of `stride` + `overlap` frames that start every `stride` frames; the last one may be shorter."""

    frames: int
    stride: int
    overlap: int

    @property
    def count(self) -> int:
        """How many windows cover the recording."""
        return max(1, ceil((self.frames - self.overlap) / self.stride))


def affordable_seconds(seconds: float, *, channels: int, sample_rate: int) -> float:
    """The length of windows that bounds their memory: `seconds`, or less where a second holds very many samples.

    >>> affordable_seconds(8.0, channels=64, sample_rate=48_000)
    8.0
    >>> round(affordable_seconds(8.0, channels=256, sample_rate=48_000), 2)
    2.28
    """
    return min(seconds, max(1.0, _MOST_SAMPLES / (WHOLE * channels * sample_rate)))


def plan_windows(frames: int, *, sample_rate: int, model_rate: int, hop: int, seconds: float) -> Windows:
    """Divide a recording into the fewest windows of at most about `seconds`, all of nearly the same length.

    A recording of up to 1.2 times the length of a window stays whole. Windows start where a sample of the model's rate
    and a frame of its STFT fall exactly on a sample of the recording, so that every window has the same grid as the
    whole recording. Such positions occur once per hop at common rates, and once in one or two seconds at odd ones such
    as 44101 Hz, which may lengthen a short window. With some hops they are minutes apart; then windows start at the
    sample nearest to a frame. They overlap by 0.4 s, or a tenth of a short window.
    """
    if frames <= WHOLE * seconds * sample_rate:
        return Windows(frames, frames, 0)
    overlap = int(min(_OVERLAP, seconds / 10) * sample_rate)
    room = int(seconds * sample_rate - overlap)
    model_frame = Fraction(hop * sample_rate, model_rate)  # in samples of the recording
    grid = model_frame * model_frame.denominator
    if grid > max(room, _LONGEST_GRID * sample_rate):
        grid = model_frame
    longest = max(room // grid, 1) * grid
    count = ceil((frames - overlap) / longest)
    stride = ceil((frames - overlap) / (count * grid)) * grid
    return Windows(frames, round(stride), overlap)


def cut(read: Read, windows: Windows) -> Iterator[NDArray[Any]]:
    """Windows ``(L, C)`` of the recording behind `read`; only one is held at a time."""
    window = read(windows.stride + windows.overlap)
    for _ in range(windows.count - 1):
        yield window
        window = np.concatenate([window[windows.stride :], read(windows.stride)])
    yield window


def join(pieces: Iterable[NDArray[Any]], windows: Windows) -> Iterator[NDArray[Any]]:
    """Cross-fade the processed windows ``(L, C)`` into consecutive blocks of the recording."""
    fade = fade_in(windows.overlap)[:, None]
    tail: NDArray[Any] | None = None
    for piece in pieces:
        if tail is not None:
            overlap = tail * (1 - fade) + piece[: windows.overlap] * fade
            piece = np.concatenate([overlap, piece[windows.overlap :]])
        yield piece[: windows.stride]
        tail = piece[windows.stride :]
    if tail is not None:
        yield tail


def fade_in(overlap: int) -> NDArray[np.float32]:
    """Weights of the later window over an overlap; those of the earlier one are one minus these.

    A raised cosine over the middle half. The outer quarters, where one of the two windows has its edge and the model
    lacks context, belong to the other window alone.
    """
    guard = overlap // 4
    ramp = np.sin(0.5 * np.pi * (np.arange(overlap - 2 * guard) + 0.5) / max(overlap - 2 * guard, 1)) ** 2
    return np.concatenate([np.zeros(guard), ramp, np.ones(guard)]).astype(np.float32)
