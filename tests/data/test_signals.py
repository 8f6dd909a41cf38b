import numpy as np
import pytest

from hamiltone.data.signals import (
    BINS,
    SAMPLE_RATE,
    active_level,
    convolve,
    filter_zero_phase,
    oscillate,
    slow_curve,
    unit_level,
)

RNG = np.random.default_rng(0)


def noise(length: int) -> np.ndarray:
    return RNG.standard_normal(length).astype(np.float32)


def test_active_level_of_steady_noise_is_its_root_mean_square() -> None:
    signal = noise(16000)
    assert active_level(signal) == pytest.approx(np.sqrt(np.mean(signal**2)), rel=1e-5)


def test_pauses_do_not_lower_the_active_level() -> None:
    signal = noise(16000)
    paused = np.concatenate([signal, np.zeros(48000, np.float32)])
    assert active_level(paused) == pytest.approx(active_level(signal), rel=1e-5)


@pytest.mark.parametrize("length", [0, 1, 319, 320, 321])
def test_active_level_holds_for_every_length_and_for_silence(length: int) -> None:
    assert active_level(np.zeros(length, np.float32)) == 0
    assert active_level(np.full(length, 0.5, np.float32)) == pytest.approx(0.5 if length else 0)


def test_unit_level_leaves_silence_silent() -> None:
    assert not unit_level(np.zeros(100, np.float32)).any()
    assert active_level(unit_level(7 * noise(5000))) == pytest.approx(1, rel=1e-5)


@pytest.mark.parametrize("length", [1, 100, 5000])
def test_a_flat_gain_changes_nothing(length: int) -> None:
    signal = noise(length)
    np.testing.assert_allclose(filter_zero_phase(signal, np.ones(BINS)), signal, atol=1e-5)


def test_a_zero_phase_filter_answers_an_impulse_symmetrically() -> None:
    impulse = np.zeros(2001, np.float32)
    impulse[1000] = 1
    response = filter_zero_phase(impulse, RNG.uniform(0.5, 2, BINS))
    np.testing.assert_allclose(response, response[::-1], atol=1e-6)
    assert np.abs(response).argmax() == 1000


def test_a_gain_of_one_half_below_1_khz_halves_a_tone_there_and_no_other() -> None:
    time = np.arange(16000) / SAMPLE_RATE
    gain = np.where(np.linspace(0, 8000, BINS) < 1000, 0.5, 1.0)
    for frequency, factor in ((500, 0.5), (3000, 1.0)):
        tone = np.sin(2 * np.pi * frequency * time).astype(np.float32)
        np.testing.assert_allclose(filter_zero_phase(tone, gain)[1000:-1000], factor * tone[1000:-1000], atol=2e-3)


def test_convolution_is_that_of_numpy() -> None:
    signal, responses = noise(300), np.stack([noise(50), noise(50)])
    expected = np.stack([np.convolve(signal, response)[7 : 7 + 300] for response in responses])
    np.testing.assert_allclose(convolve(signal, responses, delay=7), expected, atol=1e-4)


def test_slow_curve_has_zero_mean_and_unit_variance_and_no_steps() -> None:
    curve = np.concatenate([slow_curve(np.random.default_rng(seed), 16000, rate=10.0) for seed in range(50)])
    assert abs(curve.mean()) < 0.15
    assert 0.5 < curve.std() < 1.1
    assert np.abs(np.diff(curve[:16000])).max() < 0.02


@pytest.mark.parametrize("length", [1, 10, 16000])
def test_oscillator_sounds_at_its_pitch(length: int) -> None:
    sound = oscillate(np.ones(1), 440 / SAMPLE_RATE * np.arange(length), np.random.default_rng(0))
    assert sound.shape == (length,)
    assert np.abs(sound).max() <= 1 + 1e-5
    if length == 16000:
        assert np.abs(np.fft.rfft(sound)).argmax() == 440
