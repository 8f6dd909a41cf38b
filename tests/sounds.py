"""Sounds to enhance."""

import numpy as np

RATES = [8000, 11_025, 16_000, 22_050, 44_100, 44_101, 48_000, 96_000]


def noise(*shape: int, level: float = 0.1, seed: int = 0) -> np.ndarray:
    return (level * np.random.default_rng(seed).standard_normal(shape)).astype(np.float32)


def band_energy(signal: np.ndarray, rate: int, low: float, high: float) -> float:
    spectrum = np.abs(np.fft.rfft(signal)) ** 2
    frequency = np.fft.rfftfreq(signal.shape[-1], 1 / rate)
    return float(spectrum[..., (frequency >= low) & (frequency < high)].sum())
