"""The noise removed from a recording, and its rating before and after: block by block, in constant memory."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.io import open_reader
from hamiltone.audio.soxr_resampling import resample

_BLOCK = 65_536
_RATED_RATE = 16_000
_RATED_SECONDS = 60
_SILENCE = 1e-12
"""Energy of a sample below which there is nothing to measure: 120 dB below full scale."""


@dataclass(frozen=True)
class NoiseLevel:
    """The level of the removed noise in dB of full scale, and of the rest above it; None if there is none."""

    noise_db: float | None
    snr_db: float | None


def estimate_noise(source: Path, result: Path, scale: float = 1.0) -> NoiseLevel:
    """Compare a recording with its enhanced version: their difference is the noise, as far as the model found it.

    `scale` is what all samples of the result were multiplied by.
    """
    taken = kept = 0.0
    count = 0
    with open_reader(source) as before, open_reader(result) as after:
        while len(clean := after.read(_BLOCK)):
            noisy = before.read(len(clean))
            # the result of a damaged source may be longer than this reader gets
            clean = clean[: len(noisy)] / np.float32(scale)
            taken += float(np.square(noisy - clean, dtype=np.float64).sum())
            kept += float(np.square(clean, dtype=np.float64).sum())
            count += noisy.size
    if not count or taken / count < _SILENCE:
        return NoiseLevel(None, None)
    snr = _decibels(kept / taken) if kept / count >= _SILENCE else None
    return NoiseLevel(_decibels(taken / count), snr)


def _decibels(ratio: float) -> float:
    return round(10 * float(np.log10(ratio)), 2)


def rate_speech(path: Path, threads: int = 1) -> dict[str, float | None]:
    """DNSMOS of the mean of the channels at 16 kHz, minute by minute, averaged by their lengths.

    Silence has no rating: None.
    """
    from hamiltone.metrics import UndefinedScoreError, dnsmos_ratings
    from hamiltone.metrics.dnsmos import DNSMOS

    total, seconds = np.zeros(len(DNSMOS._fields)), 0
    for piece in _minutes(path):
        try:
            ratings = dnsmos_ratings(piece, _RATED_RATE, threads)
        except UndefinedScoreError:
            continue
        total += len(piece) * np.array(ratings)
        seconds += len(piece)
    mean = [round(float(value) / seconds, 3) if seconds else None for value in total]
    return {f"dnsmos_{name}": value for name, value in zip(DNSMOS._fields, mean, strict=True)}


def _minutes(path: Path) -> Iterator[NDArray[np.float32]]:
    with open_reader(path) as reader:
        rate, mono = reader.info.sample_rate, list[NDArray[np.float32]]()
        while len(block := reader.read(rate)):  # a second of many channels is large enough
            mono.append(block.mean(axis=1, dtype=np.float32))
            if len(mono) == _RATED_SECONDS:
                yield resample(np.concatenate(mono), rate, _RATED_RATE)
                mono = []
        if mono:
            yield resample(np.concatenate(mono), rate, _RATED_RATE)
