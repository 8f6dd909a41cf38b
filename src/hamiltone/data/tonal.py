"""Noises with a pitch: hum, engines, beeps and alarms, music."""

import numpy as np
from numpy.typing import NDArray

from hamiltone.data.signals import SAMPLE_RATE, Signal, oscillate, slow_curve, unit_level


def hum(rng: np.random.Generator, length: int) -> Signal:
    """Mains hum of 50 or 60 Hz with up to 60 harmonics, the odd ones stronger.

    Shape:
        returns: ``(L,)``
    """
    mains = rng.choice([50.0, 60.0]) * rng.uniform(0.998, 1.002)
    number = np.arange(1, rng.integers(4, 61))
    amplitudes = number ** -rng.uniform(0.3, 2.0) * np.exp(0.7 * rng.standard_normal(len(number)))
    amplitudes[1::2] *= rng.uniform(0.1, 1.0)
    return unit_level(oscillate(amplitudes, mains / SAMPLE_RATE * np.arange(length), rng))


def engine(rng: np.random.Generator, length: int) -> Signal:
    """Motors, drills and vacuum cleaners: harmonics of a wandering speed, with noise in their rhythm.

    Shape:
        returns: ``(L,)``
    """
    base = 2 ** rng.uniform(4.5, 9)  # 23 to 512 Hz
    wander = rng.uniform(0.01, 0.25) * slow_curve(rng, length, rate=rng.uniform(0.3, 3))
    phase = np.cumsum(base / SAMPLE_RATE * np.exp(wander), dtype=np.float64)
    highest = max(int(min(7000 / (base * 1.6), 200)), 2)
    number = np.arange(1, highest + 1)
    amplitudes = number ** -rng.uniform(0.2, 1.5) * np.exp(0.8 * rng.standard_normal(highest))
    sound = unit_level(oscillate(amplitudes, phase, rng))
    rhythm = (1 + 0.8 * np.sin(2 * np.pi * (phase % 1))) * rng.uniform(0.05, 0.7)
    return unit_level(sound + rng.standard_normal(length, np.float32) * rhythm.astype(np.float32))


def tones(rng: np.random.Generator, length: int) -> Signal:
    """Beeps, ringing, alarms and sirens: one to four pitches in turn, steady, gated or sweeping.

    Shape:
        returns: ``(L,)``
    """
    pitches = 2 ** rng.uniform(7.5, 12, rng.integers(1, 5))  # 180 to 4096 Hz
    step = max(int(SAMPLE_RATE * 2 ** rng.uniform(-4, 0.5)), 1)  # 60 ms to 1.4 s
    time = np.arange(length) + rng.integers(step)
    pitch = pitches[time // step % len(pitches)]
    if rng.random() < 0.3:
        pitch = pitch * 2 ** (rng.uniform(0.1, 1) * np.sin(2 * np.pi * rng.uniform(0.3, 6) * time / SAMPLE_RATE))
    gate = _gate(time % step, step, on=rng.uniform(0.2, 1.0)) if rng.random() < 0.7 else 1.0
    number = np.arange(1, rng.integers(2, 6))
    number = number[number * pitch.max() < 7800] if pitch.max() < 7800 else number[:1]
    return unit_level(oscillate(number ** -rng.uniform(0.5, 3.0), np.cumsum(pitch / SAMPLE_RATE), rng) * gate)


def music(rng: np.random.Generator, length: int) -> Signal:
    """Two to four voices that step through the notes of a scale, plucked or held.

    Shape:
        returns: ``(L,)``
    """
    scale = np.array([0, 2, 3, 5, 7, 9, 10, 12]) if rng.random() < 0.5 else np.array([0, 2, 4, 5, 7, 9, 11, 12])
    root, total = 2 ** rng.uniform(6, 8), np.zeros(length, np.float32)  # 64 to 256 Hz
    for octave in range(rng.integers(2, 5)):
        step = max(int(SAMPLE_RATE * 2.0 ** rng.integers(-3, 1) * 0.9), 1)
        time = np.arange(length) + rng.integers(step)
        notes = rng.choice(scale, time[-1] // step + 1)
        pitch = (root * 2 ** (octave % 3 + notes / 12))[time // step]
        number = np.arange(1, max(int(min(7500 / pitch.max(), 25)), 1) + 1)
        voice = oscillate(number ** -rng.uniform(0.7, 2.0), np.cumsum(pitch / SAMPLE_RATE), rng)
        pluck = np.exp(-(time % step) / np.float32(SAMPLE_RATE * 2 ** rng.uniform(-4, 1)))
        total += unit_level(voice * pluck.astype(np.float32) * _gate(time % step, step, on=0.98))
    return unit_level(total)


def _gate(position: NDArray[np.int64], step: int, on: float) -> Signal:
    """One during the first `on` of each step and zero after, with edges of 5 ms."""
    edge = 0.005 * SAMPLE_RATE
    return np.minimum(position / edge, (on * step - position) / edge).clip(0, 1).astype(np.float32)
