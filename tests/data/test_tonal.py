import numpy as np
import pytest

from hamiltone.data.tonal import engine, hum, music, tones


def spectrum(signal: np.ndarray) -> np.ndarray:
    return np.abs(np.fft.rfft(signal * np.hanning(len(signal))))


def test_hum_stands_on_harmonics_of_the_mains() -> None:
    for seed in range(10):
        power = spectrum(hum(np.random.default_rng(seed), 16000)) ** 2
        strongest = power.argmax()
        assert min(strongest % 50, -strongest % 50, strongest % 60, -strongest % 60) <= 3


@pytest.mark.parametrize("kind", [hum, tones, music])
def test_tonal_noises_are_sparse_in_frequency(kind) -> None:
    shares = []
    for seed in range(10):
        power = np.sort(spectrum(kind(np.random.default_rng(seed), 16000)) ** 2)[::-1]
        shares.append(power[:800].sum() / power.sum())
    assert np.median(shares) > 0.95


@pytest.mark.parametrize("kind", [hum, engine, tones, music])
def test_nothing_folds_back_at_half_the_sample_rate(kind) -> None:
    """A harmonic above 8 kHz would come back as a lower one; none of these reaches 7.9 kHz by itself."""
    for seed in range(10):
        power = spectrum(kind(np.random.default_rng(seed), 16000)) ** 2
        assert power[7900:].mean() < 3 * power[7000:7900].mean() + 1e-3 * power.max()
