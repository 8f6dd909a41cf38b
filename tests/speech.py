"""Speech and noise for the tests: synthetic, or from the VoiceBank pairs where they are at hand."""

import os
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

RATE = 16_000
SNRS = range(-5, 31, 5)

Waveform = NDArray[np.float64]


def synthetic_speech(seconds: float, seed: int = 0) -> Waveform:
    """Syllables of gliding pitch and formants with hissing onsets and pauses; RMS about 0.05."""
    rng = np.random.default_rng(seed)
    time = np.arange(int(seconds * RATE)) / RATE
    wobble = [np.sin(2 * np.pi * rate * time + rng.uniform(0, 6)) for rate in rng.uniform(0.7, 2.5, 3)]
    pitch = rng.uniform(95, 220) * (1 + 0.12 * wobble[0])
    phase = 2 * np.pi * np.cumsum(pitch) / RATE
    voice = np.zeros_like(time)
    for harmonic in range(1, int(7000 / pitch.max())):
        frequency = harmonic * pitch
        formants = ((500 + 250 * wobble[1], 80.0, 1.0), (1500 + 500 * wobble[2], 120.0, 0.5), (2700, 180.0, 0.25))
        gain = sum(height / (1 + ((frequency - centre) / width) ** 2) for centre, width, height in formants)
        voice += (gain + 0.002) * np.cos(harmonic * phase)
    cycle = (time * 3.7 + rng.uniform()) % 1.0
    voiced = np.sin(np.pi * np.clip((cycle - 0.25) / 0.6, 0, 1)) ** 2
    hiss = np.diff(rng.standard_normal(len(time) + 1)) * np.sin(np.pi * np.clip(cycle / 0.3, 0, 1)) ** 2
    paused = (time * 0.9) % 1.0 < 0.75
    speech = (voiced * voice + 0.05 * hiss) * paused + 1e-4 * rng.standard_normal(len(time))
    return 0.05 * speech / speech.std()


def noises(speech: Waveform, others: list[Waveform], seed: int = 0) -> dict[str, Waveform]:
    """Six kinds of noise as long as `speech`; `others` are the voices of the babble."""
    rng = np.random.default_rng(seed)
    length = len(speech)
    time = np.arange(length) / RATE
    bins = np.arange(length // 2 + 1)
    envelope = np.convolve(np.abs(np.fft.rfft(speech)), np.ones(101), "same")
    turning = np.exp(2j * np.pi * rng.random(len(bins)))
    return {
        "white": rng.standard_normal(length),
        "pink": np.fft.irfft(turning / np.sqrt(np.maximum(bins, 1)), length),
        "babble": sum(np.resize(other / other.std(), length) for other in others),
        "modulated": np.fft.irfft(envelope * turning, length) * (1 + 0.9 * np.sin(2 * np.pi * 4 * time)),
        "clicks": np.convolve((rng.random(length) < 20 / RATE) * rng.standard_normal(length), 0.7 ** np.arange(32))[
            :length
        ],
        "hum": sum(np.sin(2 * np.pi * 50 * overtone * time + overtone) / overtone for overtone in (1, 2, 3, 5, 7, 9)),
    }


def mix(speech: Waveform, noise: Waveform, snr: float) -> Waveform:
    """Speech with noise at an SNR in dB."""
    return speech + noise * np.sqrt((speech @ speech) / (noise @ noise) * 10 ** (-snr / 10))


def rank_correlation(first: list[float], second: list[float]) -> float:
    """Spearman's, for values without ties."""
    return float(np.corrcoef(*(np.argsort(np.argsort(values)) for values in (first, second)))[0, 1])


def voicebank_pairs(count: int) -> list[tuple[Waveform, Waveform]]:
    """The first `count` test pairs as (clean, noisy), or skip the test."""
    soundfile = pytest.importorskip("soundfile", reason="reading the VoiceBank pairs needs soundfile")
    beside = Path(__file__).parents[2] / "shared" / "data"
    folder = Path(os.environ.get("HAMILTONE_DATA", beside)) / "voicebank_mini"
    if not folder.is_dir():
        pytest.skip("needs real speech: set HAMILTONE_DATA to the folder that holds voicebank_mini")
    names = sorted(path.name for path in (folder / "clean_testset_wav").iterdir())[:count]
    return [
        (soundfile.read(folder / "clean_testset_wav" / name)[0], soundfile.read(folder / "noisy_testset_wav" / name)[0])
        for name in names
    ]
