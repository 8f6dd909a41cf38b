"""Make examples/noisy.wav: a synthetic voice (espeak-ng) in synthetic noise. Nothing in it was recorded.

Needs the program espeak-ng; run from anywhere: python examples/make_sample.py
"""

import subprocess
import tempfile
from pathlib import Path

import numpy as np
import soundfile
import soxr

RATE = 16_000
TEXT = (
    "On the sixteenth of October, eighteen forty three, Hamilton carved an equation into a bridge in Dublin. "
    "One score, shared by four components, is all we need."
)


def speech() -> np.ndarray:
    """The voice, with half a second of silence at both ends."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "voice.wav")
        subprocess.run(["espeak-ng", "-v", "en-gb", "-s", "150", "-w", path, TEXT], check=True)
        voice, rate = soundfile.read(path)
    voice = soxr.resample(voice, rate, RATE, quality="VHQ")
    return np.pad(0.25 * voice / np.abs(voice).max(), RATE // 2)


def street(length: int, rng: np.random.Generator) -> np.ndarray:
    """Pink noise that rises and falls, and mains hum."""
    spectrum = np.fft.rfft(rng.standard_normal(length))
    pink = np.fft.irfft(spectrum / np.sqrt(np.maximum(np.arange(spectrum.size), 40)), length)
    time = np.arange(length) / RATE
    swell = 1 + 0.5 * np.sin(2 * np.pi * 0.31 * time) + 0.2 * np.sin(2 * np.pi * 1.7 * time)
    hum = sum(np.sin(2 * np.pi * 50 * k * time + k) / k for k in (1, 2, 3, 5))
    return swell * pink / pink.std() + 0.5 * hum


def main() -> None:
    """Mix at 5 dB and write."""
    voice = speech()
    noise = street(voice.size, np.random.default_rng(1843))
    noise *= 10 ** (-5 / 20) * voice.std() / noise.std()
    target = Path(__file__).with_name("noisy.wav")
    soundfile.write(target, voice + noise, RATE, subtype="PCM_16")


if __name__ == "__main__":
    main()
