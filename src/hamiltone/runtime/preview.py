"""The most telling part of a recording, before and after, in one file."""

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.formats import Block, Encoding
from hamiltone.audio.io import Reader, open_reader
from hamiltone.audio.sound_file import SoundFileWriter
from hamiltone.audio.soxr_resampling import resample
from hamiltone.errors import InputError

_STEP = 0.1  # seconds
_GAP = 0.7
_FADE = 0.01
_LONGEST = 600.0


def check_preview_seconds(seconds: float) -> None:
    """Raise an `InputError` if the length is out of range."""
    if not 1 <= seconds <= _LONGEST:
        raise InputError(f"expected a preview of 1 to {_LONGEST:g} seconds, got {seconds:g}")


def write_preview(source: Path, result: Path, path: Path, seconds: float) -> None:
    """Write `seconds` of a recording, a short silence, and the same part of its result, as 16-bit wav.

    It is the part with the most speech and the most removed noise. If it would exceed full scale, both halves are made
    softer by the same amount.
    """
    start = most_telling(*_levels(source, result), round(seconds / _STEP))
    with open_reader(source) as reader, open_reader(result) as other:
        rate, channels = reader.info.sample_rate, reader.info.channels
        before = _part(reader, start * _STEP, seconds)
        after = resample(_part(other, start * _STEP, seconds), other.info.sample_rate, rate)[: len(before)]
    silence = np.zeros((round(_GAP * rate), channels), np.float32)
    peak = max(1.0, *(float(np.abs(part).max(initial=0)) for part in (before, after)))
    whole = np.concatenate([_faded(before, rate), silence, _faded(after, rate)]) / np.float32(peak)
    with SoundFileWriter(
        path, Encoding("WAV", "PCM_16"), sample_rate=rate, channels=channels, frames=len(whole)
    ) as writer:
        writer.write(whole)


def most_telling(left: NDArray[np.float64], gone: NDArray[np.float64], steps: int) -> int:
    """Where the `steps` steps begin in which the geometric mean of the result and the removed noise is greatest.

    >>> most_telling(np.array([0.0, 1, 1, 9, 0]), np.array([9.0, 1, 1, 0, 0]), 2)
    1
    """
    if len(left) <= steps:
        return 0
    total = np.concatenate([[0.0], np.cumsum(np.sqrt(left * gone))])
    return int(np.argmax(total[steps:] - total[:-steps]))


def _levels(source: Path, result: Path) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """The amplitude of a result, and of the noise removed from its source, step by step."""
    left, gone = [], []
    with open_reader(source) as reader, open_reader(result) as other:
        ratio = other.info.sample_rate / reader.info.sample_rate
        step = round(_STEP * reader.info.sample_rate)
        while len(before := reader.read(step)):
            after = other.read(round(step * ratio))
            left.append(np.sqrt(np.square(after).mean()) if len(after) else 0.0)
            gone.append(np.sqrt(max(np.square(before).mean() - left[-1] ** 2, 0)))
    return np.array(left), np.array(gone)


def _part(reader: Reader, start: float, seconds: float) -> Block:
    rate = reader.info.sample_rate
    ahead = round(start * rate)
    while ahead > 0 and len(block := reader.read(min(ahead, rate))):
        ahead -= len(block)
    return reader.read(round(seconds * rate))


def _faded(part: Block, rate: int) -> Block:
    length = min(round(_FADE * rate), len(part) // 2)
    ramp = ((np.arange(length) + 0.5) / max(length, 1)).astype(np.float32)[:, None]
    part = part.copy()
    part[:length] *= ramp
    part[len(part) - length :] *= ramp[::-1]
    return part
