import numpy as np
import pytest

from hamiltone.data.augment import change_level, clip, encode, equalise, limit_band, retune, reverberate, set_level
from hamiltone.data.rooms import decaying_room
from hamiltone.data.signals import SAMPLE_RATE, active_level
from hamiltone.data.synthetic import speech

SEEDS = range(12)
SILENCE = np.zeros(4000, np.float32)


def white(seed: int, length: int = 16000) -> np.ndarray:
    return 0.1 * np.random.default_rng(seed).standard_normal(length).astype(np.float32)


def lag(one: np.ndarray, two: np.ndarray) -> int:
    """By how many samples `one` is late against `two`, by the peak of their cross-correlation."""
    size = 2 * len(one)
    correlation = np.fft.irfft(np.fft.rfft(one, size) * np.fft.rfft(two, size).conj(), size)
    peak = int(correlation.argmax())
    return peak if peak < len(one) else peak - size


@pytest.mark.parametrize("seed", SEEDS)
@pytest.mark.parametrize("change", [equalise, limit_band, clip, encode])
def test_nothing_shifts_in_time(change, seed: int) -> None:
    signal = white(seed)
    assert lag(change(np.random.default_rng(seed), signal), signal) == 0


@pytest.mark.parametrize("change", [equalise, limit_band, clip, encode])
def test_silence_stays_silent(change) -> None:
    for seed in SEEDS:
        assert not change(np.random.default_rng(seed), SILENCE).any()


@pytest.mark.parametrize("change", [equalise, limit_band, clip, encode])
def test_a_single_sample_is_no_problem(change) -> None:
    for seed in SEEDS:
        assert np.isfinite(change(np.random.default_rng(seed), np.ones(1, np.float32))).all()


def test_the_equaliser_is_smooth_and_bounded() -> None:
    for seed in SEEDS:
        impulse = np.zeros(2048, np.float32)
        impulse[1024] = 1
        gain = 20 * np.log10(np.abs(np.fft.rfft(equalise(np.random.default_rng(seed), impulse))))
        assert np.abs(gain).max() < 24
        assert np.abs(np.diff(gain[20:])).max() < 1.5  # dB between bins 8 Hz apart


def test_a_narrow_band_is_the_same_for_noisy_and_clean() -> None:
    noisy, clean = white(0), white(1)
    for seed in SEEDS:
        both = limit_band(np.random.default_rng(seed), np.stack([noisy, clean]))
        alone = limit_band(np.random.default_rng(seed), clean)
        np.testing.assert_allclose(both[1], alone, atol=1e-6)
        power = np.abs(np.fft.rfft(alone)) ** 2
        assert power[7900:].mean() < 1e-3 * power[600:1500].mean()


def test_early_and_late_sound_make_up_what_is_heard_and_neither_is_delayed() -> None:
    for seed in SEEDS:
        response = decaying_room(np.random.default_rng(seed))
        signal = white(seed)
        heard, early = reverberate(signal, response)
        assert lag(heard, early) == 0
        np.testing.assert_allclose(heard[:640], early[:640], atol=1e-5)  # the fade begins after 40 ms
        assert active_level(heard) > active_level(early)


def test_the_target_of_a_dry_room_is_the_signal() -> None:
    response = np.zeros(100, np.float32)
    response[40] = 1
    signal = white(0)
    for part in reverberate(signal, response):
        np.testing.assert_allclose(part, signal, atol=1e-6)


def test_level_is_set_on_the_noisy_side_and_scales_both_alike() -> None:
    clean = speech(np.random.default_rng(0), 16000)
    noisy = clean + white(1)
    louder, target = set_level(noisy, clean, -40)
    assert 20 * np.log10(active_level(louder)) == pytest.approx(-40, abs=1e-3)
    np.testing.assert_allclose(target / clean.max(), clean * (louder.max() / noisy.max()) / clean.max(), atol=1e-5)


def test_a_level_that_would_clip_is_lowered() -> None:
    noisy, clean = white(0), 3 * white(1)
    louder, target = set_level(noisy, clean, 6)
    assert max(np.abs(louder).max(), np.abs(target).max()) == pytest.approx(0.99, rel=1e-5)


def test_silence_has_no_level_to_set() -> None:
    noisy, clean = set_level(SILENCE, SILENCE, -20)
    assert not noisy.any()
    assert not clean.any()


def test_clipping_lowers_the_peak_and_keeps_the_sign() -> None:
    for seed in SEEDS:
        signal = white(seed)
        clipped = clip(np.random.default_rng(seed), signal)
        assert np.abs(clipped).max() < np.abs(signal).max()
        assert (np.sign(clipped) == np.sign(signal)).all()


def test_a_codec_loses_something_but_not_the_speech() -> None:
    for seed in SEEDS:
        signal = speech(np.random.default_rng(seed), 16000)
        error = encode(np.random.default_rng(seed), signal) - signal
        ratio = 20 * np.log10(active_level(signal) / active_level(error))
        assert 3 < ratio < 50


def test_retuned_speech_has_another_pitch_and_the_length_that_was_asked_for() -> None:
    tone = np.sin(2 * np.pi * 1000 / 16000 * np.arange(40_000)).astype(np.float32)
    asked: list[int] = []

    def draw(length: int) -> np.ndarray:
        asked.append(length)
        return tone[:length]

    pitches = []
    for seed in SEEDS:
        played = retune(np.random.default_rng(seed), draw, 16_000)
        assert played.shape == (16_000,)
        assert played.dtype == np.float32
        pitches.append(int(np.abs(np.fft.rfft(played)).argmax()))  # bins are 1 Hz wide
    expected = [1000 * length / 16_000 for length in asked]
    np.testing.assert_allclose(pitches, expected, atol=2)
    assert min(pitches) < 950
    assert max(pitches) > 1050


def test_the_level_changes_once_for_all_signals_alike():
    for seed in range(20):
        before = np.ones((2, 16_000), np.float32)
        after = change_level(np.random.default_rng(seed), before)
        assert np.array_equal(after[0], after[1])
        steps = np.diff(20 * np.log10(after[0]))
        assert (np.sign(steps[np.abs(steps) > 1e-4]) == np.sign(steps.sum())).all()  # one way only
        assert np.count_nonzero(np.abs(steps) > 1e-4) <= SAMPLE_RATE // 20
        assert abs(steps.sum()) <= 35.001
