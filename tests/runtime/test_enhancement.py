from collections.abc import Callable, Iterator

import numpy as np
import pytest
import torch

from enhancers import Backends, Watching, fixed_mask
from enhancers import random_convolutions as random_model
from hamiltone.audio.spectra import hann
from hamiltone.runtime import enhance, enhancement
from hamiltone.runtime.windows import Windows, cut
from sounds import RATES, band_energy, noise


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100, 48_000])
def test_seams_cannot_be_told_from_whole_file_processing(backends: Backends, rate: int) -> None:
    """Everywhere, seams included, windows differ from the whole by less than 2e-7 of a signal whose peak is one half.

    The model's reach (four frames and half an STFT window) is shorter than the guard at the edge of a window.
    """
    signal = noise(13 * rate)
    model = backends.random_convolutions()
    whole = enhance(signal, rate, model=model, window_seconds=100)
    windowed = enhance(signal, rate, model=model, window_seconds=4)
    assert np.abs(whole - signal).max() > 0.1
    assert np.abs(windowed - whole).max() < 2e-7


def test_seams_at_an_odd_rate_cannot_be_told_either(backends: Backends) -> None:
    signal = noise(11 * 44_101)
    model = backends.random_convolutions(400, 100)
    whole = enhance(signal, 44_101, model=model, window_seconds=100)
    assert np.abs(enhance(signal, 44_101, model=model, window_seconds=6) - whole).max() < 2e-6


def test_windows_that_start_near_a_frame_are_nearly_the_whole(backends: Backends) -> None:
    """With this hop, frames fall on a sample of the recording only every four minutes.

    A model of random phases tells where frames lie: had they started elsewhere, a fifth of the result would differ.
    """
    signal = noise(5 * 44_101)
    model = backends.random_convolutions(514, 257)
    whole = enhance(signal, 44_101, model=model, window_seconds=100)
    windowed = enhance(signal, 44_101, model=model, window_seconds=1)
    assert np.linalg.norm(windowed - whole) < 0.03 * np.linalg.norm(whole)


def test_one_window_at_the_models_rate_is_the_model(backends: Backends) -> None:
    model, signal = random_model().eval(), torch.from_numpy(noise(30_001))
    with torch.inference_mode():
        expected = model(signal[None])[0]
    torch.testing.assert_close(enhance(signal, 16_000, model=backends.random_convolutions()), expected)


def test_all_windows_are_shown_at_the_level_of_the_file(backends: Backends) -> None:
    signal = noise(20 * 16_000)
    signal[: 10 * 16_000] *= 0.01
    model = Watching(backends.fixed_mask(1.0))
    enhance(signal, 16_000, model=model)
    loud = float(np.sqrt((signal[10 * 16_000 :] ** 2).mean() / (signal**2).mean()))
    frames = np.abs(model.spectrum[0, -400:-2])  # magnitudes of the last window
    window_energy = float(np.square(hann(512)).sum())
    assert np.square(frames).mean() / window_energy == pytest.approx(loud**2, rel=0.02)


@pytest.mark.parametrize("rate", RATES)
def test_gain_of_one_returns_the_input_with_its_high_band(backends: Backends, rate: int) -> None:
    signal = noise(2, rate)
    np.testing.assert_allclose(enhance(signal, rate, model=backends.fixed_mask(1.0)), signal, atol=1e-6)


@pytest.mark.parametrize("rate", RATES)
def test_gain_of_zero_leaves_nothing(backends: Backends, rate: int) -> None:
    assert np.abs(enhance(noise(rate), rate, model=backends.fixed_mask(0.0))).max() < 1e-6


@pytest.mark.parametrize("rate", [44_100, 48_000, 96_000])
def test_high_band_follows_the_top_octave_of_the_model(backends: Backends, rate: int) -> None:
    signal = noise(2 * rate)
    bins = np.arange(257) / 256 * 8000
    for mask, kept in [(np.where(bins < 3900, 1.0, 0.1), 0.01), (np.where(bins < 3900, 0.1, 1.0), 1.0)]:
        output = enhance(signal, rate, model=backends.fixed_mask(mask))
        ratio = band_energy(output, rate, 8100, rate / 2) / band_energy(signal, rate, 8100, rate / 2)
        assert ratio == pytest.approx(kept, rel=0.05)


def test_high_band_gain_has_no_steps(backends: Backends) -> None:
    rate = 48_000
    tone = (0.1 * np.sin(2 * np.pi * 15_000 * np.arange(3 * rate) / rate)).astype(np.float32)
    signal = tone + noise(3 * rate, level=0.02)
    output = enhance(signal, rate, model=backends.random_convolutions())
    spectrum = np.abs(np.fft.rfft(output * np.hanning(len(output))))
    tone_power = (spectrum[44_900:45_101] ** 2).sum()  # 1/3 Hz bins: 33 Hz to either side
    assert (spectrum[48_500:50_000] ** 2).sum() < 1e-2 * tone_power  # no splatter more than 1 kHz away


def test_memory_of_a_window_does_not_grow_with_the_channels(monkeypatch: pytest.MonkeyPatch) -> None:
    largest: list[int] = []

    def enhance_nothing(window: np.ndarray, *_: object, **__: object) -> np.ndarray:
        return window

    def look(read: Callable[[int], np.ndarray], windows: Windows) -> Iterator[np.ndarray]:
        for window in cut(read, windows):
            largest.append(window.size)
            yield window

    monkeypatch.setattr(enhancement, "enhance_window", enhance_nothing)
    monkeypatch.setattr(enhancement, "cut", look)
    signal = np.zeros((256, 4 * 48_000), np.float32)
    enhance(signal, 48_000, model=fixed_mask(1.0))
    assert max(largest) <= 2**25 < signal.size
    largest.clear()
    enhance(signal[:64], 48_000, model=fixed_mask(1.0))
    assert largest == [signal[:64].size]  # as ever
