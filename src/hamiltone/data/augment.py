"""Effects on sound: colour, narrow bands, rooms, level, clipping and codecs. None of them delays it."""

from collections.abc import Callable

import numpy as np

from hamiltone.audio.soxr_resampling import resample
from hamiltone.data.overlap import overlap_add, split_frames
from hamiltone.data.rooms import LEAD, early_part
from hamiltone.data.signals import (
    BINS,
    SAMPLE_RATE,
    Signal,
    active_level,
    convolve,
    filter_zero_phase,
    from_decibels,
    irfft,
    octaves,
    rfft,
)

_HZ = np.linspace(0, SAMPLE_RATE / 2, BINS)


def equalise(rng: np.random.Generator, signal: Signal, spread_db: float = 6.0) -> Signal:
    """Filter by a smooth random curve: normal gains of deviation `spread_db` at one knot an octave, and a tilt.

    Shape:
        signal, returns: ``(..., L)``
    """
    knots = np.arange(-1, 8)
    gains = rng.normal(0, spread_db, len(knots)).clip(-2 * spread_db, 2 * spread_db)
    gains = np.convolve(np.pad(gains, 1, "edge"), [0.25, 0.5, 0.25], "valid")
    gains = gains - gains.mean() + rng.normal(0, spread_db / 6) * (knots - 3)
    return filter_zero_phase(signal, 10 ** (np.interp(octaves(), knots, gains) / 20))


def limit_band(rng: np.random.Generator, signal: Signal) -> Signal:
    """Keep a band only: nothing above 2 to 7.5 kHz, or the band of a telephone.

    Shape:
        signal: ``(..., L)``, such as noisy and clean together
        returns: ``(..., L)``
    """
    top, bottom = rng.uniform(2000, 7500), 0.0
    if rng.random() < 0.4:
        top, bottom = rng.uniform(3300, 4000), rng.uniform(100, 350)
    slope = rng.uniform(0.03, 0.15)  # of the corner frequency
    gain = ((top - _HZ) / (slope * top)).clip(0, 1)
    if bottom:
        gain = gain * (1 + (_HZ - bottom) / (3 * slope * bottom + 60)).clip(0, 1)
    return filter_zero_phase(signal, np.sin(0.5 * np.pi * gain) ** 2)


def retune(rng: np.random.Generator, draw: Callable[[int], Signal], length: int) -> Signal:
    """Speech played up to 15 % slower or faster: another pitch, vocal tract and tempo, almost another speaker.

    `draw` returns as many samples as it is asked for.

    Shape:
        returns: ``(length,)``
    """
    speed = float(np.exp(rng.uniform(-0.14, 0.14)))
    played = resample(draw(int(np.ceil(length * speed)) + 1), speed, 1.0, length, quality="MQ")
    return played.astype(np.float32, copy=False)


def reverberate(signal: Signal, response: Signal) -> tuple[Signal, Signal]:
    """The signal as it sounds in a room, and the part of it that arrives within 50 ms of the direct sound.

    Shape:
        signal: ``(L,)``
        response: ``(taps,)``, its direct sound at `rooms.LEAD`
        returns: two of ``(L,)``, neither delayed
    """
    heard, early = convolve(signal, np.stack([response, early_part(response)]), delay=LEAD)
    return heard, early


def change_level(rng: np.random.Generator, signal: Signal) -> Signal:
    """Fade within 50 ms, at any moment, to a part that is 6 to 35 dB softer or louder.

    Shape:
        signal: ``(..., L)``, such as noisy and clean together
        returns: ``(..., L)``
    """
    length, fade = signal.shape[-1], SAMPLE_RATE // 20
    change_db = rng.uniform(6, 35) * (1 if rng.random() < 0.5 else -1)
    reached = ((np.arange(length) - rng.integers(length)) / fade).clip(0, 1)
    return signal * (10 ** (change_db / 20 * reached)).astype(np.float32)


def set_level(noisy: Signal, clean: Signal, level_db: float) -> tuple[Signal, Signal]:
    """Scale both alike so that the noisy signal has this active level in dB of full scale, or less: neither clips.

    Shape:
        noisy, clean: ``(L,)``
    """
    level = active_level(noisy)
    peak = max(float(np.abs(noisy).max()), float(np.abs(clean).max()))
    if not level or not peak:
        return noisy, clean
    gain = np.float32(min(from_decibels(level_db) / level, 0.99 / peak))
    return noisy * gain, clean * gain


def clip(rng: np.random.Generator, signal: Signal) -> Signal:
    """Overload: clip hard or softly at 1 to 12 dB below the peak.

    Shape:
        signal, returns: ``(L,)``
    """
    limit = np.float32(np.abs(signal).max() * from_decibels(-rng.uniform(1, 12)))
    if not limit:
        return signal
    return signal.clip(-limit, limit) if rng.random() < 0.6 else limit * np.tanh(signal / limit)


def encode(rng: np.random.Generator, signal: Signal) -> Signal:
    """What a codec loses: the resolution of loud samples (telephone), or quiet bins beside loud ones (low bit rates).

    Shape:
        signal, returns: ``(L,)``
    """
    return _compand(signal, rng) if rng.random() < 0.3 else _drop_bins(signal, rng)


def _compand(signal: Signal, rng: np.random.Generator) -> Signal:
    """Logarithmic steps as in G.711, of six to eight bits."""
    steps = 2.0 ** rng.integers(5, 8)
    loud = np.log1p(255 * np.abs(signal).clip(0, 1)) / np.log(256)
    return (np.sign(signal) * np.expm1(np.rint(loud * steps) / steps * np.log(256)) / 255).astype(np.float32)


def _drop_bins(signal: Signal, rng: np.random.Generator) -> Signal:
    """Coarse magnitudes in bins of the short-time spectrum, and none where they lie far below their neighbours."""
    spectrum = rfft(split_frames(signal, 512), 512)
    magnitude = np.abs(spectrum) + np.float32(1e-12)
    width = 16
    bands = magnitude[:, :256].reshape(len(magnitude), -1, width).max(2)
    loudest = np.concatenate([np.repeat(bands, width, 1), bands[:, -1:]], 1)
    step = loudest * np.float32(from_decibels(-rng.uniform(6, 20)))
    spectrum *= np.rint(magnitude / step) * step / magnitude
    return overlap_add(irfft(spectrum, 512), len(signal))
