import time

import numpy as np
import pytest

from hamiltone.data.signals import active_level, from_decibels
from hamiltone.data.synthetic import NOMINAL_DB, speech


def test_speech_is_a_function_of_its_generator() -> None:
    one, two, other = (speech(np.random.default_rng(seed), 8000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("length", [1, 127, 128, 16000, 100_001])
def test_speech_of_any_length_comes_at_its_nominal_level(length: int) -> None:
    for seed in range(3):
        signal = speech(np.random.default_rng(seed), length)
        assert signal.shape == (length,)
        assert signal.dtype == np.float32
        assert np.isfinite(signal).all()
        if length >= 16000:
            assert active_level(signal) == pytest.approx(from_decibels(NOMINAL_DB), rel=1e-4)


def test_speech_pauses_and_speaks() -> None:
    shares = []
    for seed in range(10):
        energy = np.square(speech(np.random.default_rng(seed), 64000)).reshape(-1, 320).mean(1)
        shares.append((energy < 1e-3 * energy.max()).mean())
    assert 0.05 < np.mean(shares) < 0.5


def test_voiced_frames_have_a_pitch_between_60_and_400_hz() -> None:
    for seed in range(5):
        frames = speech(np.random.default_rng(seed), 32000).reshape(-1, 640)
        loud = frames[np.square(frames).sum(1).argmax()] * np.hanning(640)
        correlation = np.correlate(loud, loud, "full")[640:]
        period = 40 + correlation[40:267].argmax()
        assert correlation[period] > 0.3 * correlation[0]


def test_energy_lies_where_formants_are() -> None:
    power = sum(np.abs(np.fft.rfft(speech(np.random.default_rng(seed), 32000))) ** 2 for seed in range(10))
    assert power[200:8000].sum() > 5 * power[8000:].sum()  # below and above 4 kHz


def test_speech_is_made_100_times_faster_than_it_sounds() -> None:
    seconds = []
    for seed in range(10):
        start = time.process_time()
        speech(np.random.default_rng(seed), 32000)
        seconds.append(time.process_time() - start)
    assert np.median(seconds) < 2 / 100
