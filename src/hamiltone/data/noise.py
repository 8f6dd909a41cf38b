"""Synthetic noises: each is a function of a generator and a length, at about unit level.

Broadband noises are here, those with a pitch in `tonal`; `synthetic_noise` draws any of them. Babble is a sum of
speech.
"""

from collections.abc import Callable, Sequence

import numpy as np

from hamiltone.audio.spectra import fast_length
from hamiltone.data.signals import (
    SAMPLE_RATE,
    Signal,
    active_level,
    convolve,
    filter_zero_phase,
    from_decibels,
    irfft,
    octaves,
    slow_curve,
    unit_level,
)
from hamiltone.data.tonal import engine, hum, music, tones

Noise = Callable[[np.random.Generator, int], Signal]


def coloured(rng: np.random.Generator, length: int) -> Signal:
    """Steady noise whose power falls with frequency as 1/f^a, from slightly blue (a = -1) to brown and below (2.5).

    Shape:
        returns: ``(L,)``
    """
    return _coloured(rng, length, slope=rng.uniform(-1, 2.5))


def band(rng: np.random.Generator, length: int) -> Signal:
    """Steady noise within a third of an octave to three octaves: hiss, rumble, a fan.

    Shape:
        returns: ``(L,)``
    """
    centre, width = rng.uniform(0.5, 6.5), rng.uniform(0.3, 3.0)
    distance = np.abs(octaves() - centre) / (width / 2)
    gain = 1 / (1 + distance ** rng.uniform(4, 10))
    return unit_level(filter_zero_phase(rng.standard_normal(length, np.float32), gain))


def modulated(rng: np.random.Generator, length: int) -> Signal:
    """Coloured noise that swells: in gusts like wind and traffic, or periodically like a fan or a saw.

    Shape:
        returns: ``(L,)``
    """
    carrier = _coloured(rng, length, slope=rng.uniform(-0.5, 2.5))
    if rng.random() < 0.5:
        return carrier * np.exp(rng.uniform(0.3, 1.0) * slow_curve(rng, length, rate=2 ** rng.uniform(-1, 4)))
    turns = np.arange(length, dtype=np.float32) * np.float32(2 ** rng.uniform(-1, 6) / SAMPLE_RATE) + rng.random()
    swell = 1 + rng.uniform(0.3, 1.0) * np.sin(2 * np.pi * turns.astype(np.float32))
    return carrier * swell ** np.float32(rng.uniform(0.5, 3.0))


def clicks(rng: np.random.Generator, length: int) -> Signal:
    """Impulses at random times, each with the same short ring: crackle, rain, keys, footsteps on gravel.

    Shape:
        returns: ``(L,)``
    """
    per_second = 2 ** rng.uniform(1, 8)
    count = 1 + rng.poisson(per_second * length / SAMPLE_RATE)
    impulses = np.zeros(length, np.float32)
    heights = np.exp(rng.uniform(0.3, 1.2) * rng.standard_normal(count)) * rng.choice([-1, 1], count)
    np.add.at(impulses, rng.integers(length, size=count), heights.astype(np.float32))
    decay = 2 ** rng.uniform(-12, -7)
    taps = max(int(5 * decay * SAMPLE_RATE), 2)
    return unit_level(convolve(impulses, rng.standard_normal(taps, np.float32) * _fade(decay, taps)))


def bursts(rng: np.random.Generator, length: int) -> Signal:
    """Knocks, slams, clatter: noise that starts suddenly and decays within 10 to 400 ms, a few times a second.

    Shape:
        returns: ``(L,)``
    """
    count = 1 + rng.poisson(2 ** rng.uniform(-0.5, 3) * length / SAMPLE_RATE)
    starts = np.zeros(length, np.float32)
    starts[rng.integers(length, size=count)] = rng.uniform(0.2, 1.0, count)
    decay = 2 ** rng.uniform(-6.6, -1.3)
    envelope = convolve(starts, _fade(decay, int(7 * decay * SAMPLE_RATE)))
    return unit_level(_coloured(rng, length, slope=rng.uniform(-0.5, 2)) * envelope)


def babble(rng: np.random.Generator, talkers: Sequence[Signal]) -> Signal:
    """Many talkers at once, some nearer than others.

    Shape:
        talkers: each ``(L,)``
        returns: ``(L,)``
    """
    total = np.zeros_like(talkers[0])
    for talker in talkers:
        total += talker * (from_decibels(rng.uniform(-6, 6)) / (active_level(talker) or 1.0))
    return unit_level(total)


NOISES: dict[str, Noise] = {
    "coloured": coloured,
    "band": band,
    "modulated": modulated,
    "clicks": clicks,
    "bursts": bursts,
    "hum": hum,
    "engine": engine,
    "tones": tones,
    "music": music,
}


def synthetic_noise(rng: np.random.Generator, length: int) -> Signal:
    """One of the noises, with or without pitch, often with a quieter steady one added.

    Shape:
        returns: ``(L,)``
    """
    noise = NOISES[str(rng.choice(list(NOISES)))](rng, length)
    if rng.random() < 0.5:
        noise = noise + from_decibels(rng.uniform(-30, -6)) * coloured(rng, length)
    return noise


def _coloured(rng: np.random.Generator, length: int, slope: float) -> Signal:
    size = fast_length(length)
    bins = size // 2 + 1
    spectrum = rng.standard_normal(2 * bins, np.float32).view(np.complex64)
    spectrum *= np.maximum(np.arange(bins, dtype=np.float32), 30 * size / SAMPLE_RATE) ** np.float32(
        -slope / 2
    )  # flat below 30 Hz
    spectrum[0] = 0
    return unit_level(irfft(spectrum, size)[:length])


def _fade(seconds: float, taps: int) -> Signal:
    """An exponential decay to 1/e within `seconds`."""
    return np.exp(np.arange(taps, dtype=np.float32) * np.float32(-1 / (seconds * SAMPLE_RATE)))
