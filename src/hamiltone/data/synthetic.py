"""Synthetic speech-like sound: a voice with pitch and formants, consonants and pauses, but no meaning."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from hamiltone.data.overlap import overlap_add, split_frames
from hamiltone.data.signals import SAMPLE_RATE, Signal, from_decibels, irfft, oscillate, rfft, slow_curve, unit_level

NOMINAL_DB = -25.0  # active level of speech in dB of full scale, before a data set gives it one

_FRAME = 256
_RATE = 2 * SAMPLE_RATE / _FRAME  # frames a second
_VOWELS = np.array(  # formants in Hz of i, e, a, o, u, schwa and a rounded front vowel
    [
        [280, 2250, 2900, 3500],
        [480, 1900, 2550, 3400],
        [730, 1200, 2500, 3400],
        [480, 850, 2450, 3300],
        [310, 800, 2300, 3250],
        [500, 1450, 2450, 3400],
        [300, 1700, 2150, 3300],
    ],
    np.float64,
)
_WIDTHS = np.array([70, 100, 150, 220], np.float32)  # of the formants in Hz
_STRENGTHS = np.array([1.0, 0.6, 0.35, 0.2], np.float32)
_HZ = np.linspace(0, SAMPLE_RATE / 2, _FRAME // 2 + 1)


@dataclass(frozen=True)
class _Track:
    """Articulation, frame by frame ``(T,)``: loudness of voice and friction, and the frequencies of each."""

    voice: NDArray[np.float64]
    friction: NDArray[np.float64]
    hiss: NDArray[np.float64]
    formants: NDArray[np.float64]  # (T, 4)


def speech(rng: np.random.Generator, length: int) -> Signal:
    """A speaker of random pitch, tract and tempo saying random syllables, at `NOMINAL_DB`.

    The voice is a harmonic source under a moving pitch, friction is noise; short-time spectra of both are shaped by
    formants and by a band of hiss, and added up.

    Shape:
        returns: ``(L,)``
    """
    track = _articulate(rng, -(-2 * length // _FRAME) + 1)
    voiced = rfft(split_frames(_glottis(rng, length), _FRAME), _FRAME)
    noise = rfft(split_frames(rng.standard_normal(length, np.float32), _FRAME), _FRAME)
    breath = np.float32(from_decibels(rng.uniform(-40, -22)))
    spectrum = (voiced + breath * noise) * _resonance(track) + noise * _hiss(track)
    return unit_level(overlap_add(irfft(spectrum, _FRAME), length)) * np.float32(from_decibels(NOMINAL_DB))


def _glottis(rng: np.random.Generator, length: int) -> Signal:
    """Harmonics that fall by 6 dB an octave, of a pitch that wanders and sinks; unit level."""
    base = 2 ** rng.uniform(6.4, 8.0)  # 84 to 256 Hz
    melody = 0.15 * slow_curve(rng, length, rate=2.5) + 0.01 * slow_curve(rng, length, rate=30)
    sinking = -0.2 * (np.arange(length, dtype=np.float32) / np.float32(SAMPLE_RATE * rng.uniform(2, 4)) % 1)
    pitch = base * np.exp(melody + sinking)
    number = np.arange(1, max(int(7800 / pitch.max()), 2))
    return unit_level(oscillate(1 / number, np.cumsum(pitch / SAMPLE_RATE, dtype=np.float64), rng))


def _articulate(rng: np.random.Generator, frames: int) -> _Track:
    """Syllables of an onset, a vowel and perhaps a coda, with a pause after every few."""
    tempo, tract = rng.uniform(0.8, 1.3), rng.uniform(0.87, 1.2)
    count = int(frames / _RATE / 0.1) + 4  # more segments than fit, none shorter than 0.1 s on average
    # Every fourth segment at random pauses; the others alternate between consonants and vowels.
    vowel = np.arange(count) % 2 == rng.integers(2)
    kind = rng.random(count)
    fricative, nasal = ~vowel & (kind < 0.4), ~vowel & (kind >= 0.4) & (kind < 0.7)
    pause = ~vowel & (kind > 0.88)
    seconds = np.where(vowel, rng.uniform(0.07, 0.22, count), rng.uniform(0.04, 0.12, count))
    seconds = np.where(pause, rng.uniform(0.12, 0.6, count), seconds) / tempo
    ends = np.cumsum(seconds) * _RATE
    centres = ends - seconds * _RATE / 2

    stress = 10 ** (rng.normal(0, 3, count) / 20)
    voice = np.where(vowel, 1.0, np.where(nasal, 0.3, 0.0)) * stress
    voice = np.where(fricative & (kind < 0.12), 0.15 * stress, voice)
    friction = np.where(fricative, rng.uniform(0.08, 0.4, count), 0.0)
    stop = ~(vowel | fricative | nasal | pause)
    formants = _VOWELS[rng.integers(len(_VOWELS), size=count)] * tract * rng.uniform(0.93, 1.07, (count, 4))
    formants[nasal, 0] = 260

    time = np.arange(frames)
    segment = np.minimum(np.searchsorted(ends, time), count - 1)
    moving = np.stack([np.interp(time, centres, formants[:, number]) for number in range(4)], 1)
    since = (time - np.concatenate([[0.0], ends])[segment]) / _RATE  # seconds since the segment began
    before = segment - 1
    burst = np.where(stop[before] & (segment > 0) & (since < 0.02), 0.5, 0.0)
    return _Track(
        _smooth(voice[segment]),
        _smooth(friction[segment]) + burst,
        _smooth(rng.uniform(1800, 6500, count)[segment]),
        moving,
    )


def _smooth(values: NDArray[np.float64]) -> NDArray[np.float64]:
    return np.convolve(np.pad(values, 1, "edge"), [0.25, 0.5, 0.25], "valid")


def _resonance(track: _Track) -> Signal:
    """The gain ``(T, F)`` of four resonances side by side, each weaker than the one below it, under the voice."""
    detuning = (_HZ[None, :, None] - track.formants[:, None, :]).astype(np.float32) / _WIDTHS
    return (_STRENGTHS / np.sqrt(1 + detuning**2)).sum(2) * track.voice[:, None].astype(np.float32)


def _hiss(track: _Track) -> Signal:
    """The gain ``(T, F)`` of a broad band around the centre of the friction."""
    octaves = np.log2(np.maximum(_HZ, 60.0))[None] - np.log2(track.hiss)[:, None]
    return np.exp(-np.square(octaves / 0.8)).astype(np.float32) * track.friction[:, None].astype(np.float32)
