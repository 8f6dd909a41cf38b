"""Room impulse responses: random decaying noise, or recordings from folders.

A response ``(taps,)`` has its direct sound at sample `LEAD`; the samples before it belong to the direct sound's own
shape. So a reverberant signal keeps its place in time.
"""

from collections.abc import Callable
from pathlib import Path

import numpy as np

from hamiltone.audio.spectra import fast_length
from hamiltone.data.files import FileRecordings, audio_files, decode
from hamiltone.data.signals import SAMPLE_RATE, Signal, irfft, rfft
from hamiltone.errors import InputError

LEAD = 40
EARLY = 0.05  # seconds after the direct sound that the ear counts as part of it
TAPS = SAMPLE_RATE // 2  # longer responses are faded out

Rooms = Callable[[np.random.Generator], Signal]
"""Draws an impulse response."""

_DECAY = 3 * np.log(10)  # 60 dB, as an exponent of amplitude


def decaying_room(rng: np.random.Generator) -> Signal:
    """A direct sound, some early reflections, and noise that decays, its treble faster than its bass.

    The reverberation time lies between 0.1 and 0.8 s, the direct sound 6 dB below to 12 dB above all the rest.

    Shape:
        returns: ``(taps,)``
    """
    seconds = rng.uniform(0.1, 0.8)
    tail = _decaying_noise(rng, seconds, taps=min(int(seconds * SAMPLE_RATE), TAPS - LEAD))
    tail[: int(rng.uniform(0.001, 0.01) * SAMPLE_RATE)] = 0
    count = rng.integers(4, 13)
    at = np.minimum(rng.uniform(0.001, EARLY, count) * SAMPLE_RATE, len(tail) - 1).astype(int)
    reflections = 3 * rng.standard_normal(count) * np.exp(-_DECAY / seconds * at / SAMPLE_RATE)
    np.add.at(tail, at, reflections.astype(np.float32))
    direct = 10 ** (rng.uniform(-6, 12) / 20) * np.sqrt(np.square(tail).sum())
    response = np.concatenate([np.zeros(LEAD, np.float32), tail])
    response[LEAD] = direct
    return _normalise(response)


def _decaying_noise(rng: np.random.Generator, seconds: float, taps: int) -> Signal:
    """White noise that falls by 60 dB within `seconds`, above a corner of 1 to 4 kHz faster."""
    size = fast_length(taps)
    spectrum = rfft(rng.standard_normal(size, np.float32), size)
    corner = rng.uniform(1000, 4000) * size / SAMPLE_RATE
    ratio = np.square(np.arange(len(spectrum)) / corner).astype(np.float32)
    parts = irfft(spectrum * np.stack([1 / (1 + ratio), ratio / (1 + ratio)]), size)  # bass and treble
    rates = np.float32(_DECAY / seconds / SAMPLE_RATE) * np.array([[1.0], [rng.uniform(1.2, 2.5)]], np.float32)
    return (parts * np.exp(-rates * np.arange(size, dtype=np.float32))).sum(0)[:taps]


def early_part(response: Signal) -> Signal:
    """The direct sound and what follows it within 50 ms, faded out over the last 10 ms.

    Shape:
        response, returns: ``(taps,)``
    """
    end = LEAD + int(EARLY * SAMPLE_RATE)
    fade = SAMPLE_RATE // 100
    window = np.zeros(len(response), np.float32)
    window[:end] = 1
    ramp = 0.5 + 0.5 * np.cos(np.pi * (np.arange(fade) + 0.5) / fade)
    part = window[end - fade : end]
    part *= ramp[: len(part)]
    return response * window


def align(response: Signal) -> Signal:
    """Bring the direct sound of any response to `LEAD`, shorten it to `TAPS`, and set its early energy to one.

    Shape:
        response: ``(L,)``
        returns: ``(taps,)``
    """
    size = np.abs(response)
    if not len(size) or not size.max():
        raise InputError("an impulse response must not be silent")
    onset = int(np.argmax(size >= 0.5 * size.max()))
    direct = onset + int(np.argmax(size[onset : onset + SAMPLE_RATE // 1000]))
    before = response[max(direct - LEAD, 0) : direct]
    after = response[direct : direct + TAPS - LEAD].astype(np.float32)
    if len(response) - direct > len(after):
        after[-SAMPLE_RATE // 20 :] *= np.linspace(1, 0, SAMPLE_RATE // 20, dtype=np.float32)
    return _normalise(np.concatenate([np.zeros(LEAD - len(before), np.float32), before, after]))


def _normalise(response: Signal) -> Signal:
    return (response / np.sqrt(np.square(early_part(response)).sum())).astype(np.float32, copy=False)


class RecordedRooms:
    """Draws from the audio files under a folder, decoding one at a time.

    Args:
        folder: Where the impulse responses are, with its subfolders.
        skip: Whether to leave broken files out instead of raising an `InputError`.
    """

    def __init__(self, folder: Path, *, skip: bool = False) -> None:
        self._paths = FileRecordings(audio_files(folder), skip=skip).paths

    def __call__(self, rng: np.random.Generator) -> Signal:
        """One response ``(taps,)``; if a file has several channels, the first."""
        path = self._paths[rng.integers(len(self._paths))]
        try:
            return align(decode(path, first_channel=True))
        except InputError as error:
            raise InputError(f"{path}: cannot be used as a room: {error}") from error
