from dataclasses import replace

import numpy as np
import pytest

from hamiltone.data.mixing import PLAIN, Variety, compose, mix
from hamiltone.data.noise import coloured, synthetic_noise
from hamiltone.data.signals import active_level
from hamiltone.data.synthetic import speech
from hamiltone.errors import InputError

EVERYTHING = Variety(
    snr_db=(10, 20),
    original=0,
    no_noise=0,
    no_speech=0,
    layered=1,
    equalised_speech=1,
    equalised_noise=1,
    reverberant=1,
    band_limited=1,
    encoded=1,
    clipped=1,
)
SILENCE = np.zeros(8000, np.float32)


def draw(seed: int, length: int = 16000) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    return speech(rng, length), synthetic_noise(rng, length)


def ratio(signal: np.ndarray, noise: np.ndarray) -> float:
    return 20 * np.log10(active_level(signal) / active_level(noise))


@pytest.mark.parametrize("snr_db", [-8.0, 0.0, 3.3, 20.0])
@pytest.mark.parametrize("seed", range(5))
def test_the_ratio_of_active_levels_is_exact(seed: int, snr_db: float) -> None:
    clean, noise = draw(seed)
    assert ratio(clean, mix(clean, noise, snr_db) - clean) == pytest.approx(snr_db, abs=0.01)


def test_pauses_in_speech_do_not_change_the_ratio() -> None:
    clean, noise = speech(np.random.default_rng(0), 16000), coloured(np.random.default_rng(1), 32000)
    paused = np.concatenate([clean, np.zeros_like(clean)])
    assert ratio(clean, (mix(paused, noise, 5) - paused)[:16000]) == pytest.approx(5, abs=0.3)


def test_silent_speech_or_noise_makes_no_nan() -> None:
    clean, noise = draw(0, len(SILENCE))
    np.testing.assert_array_equal(mix(clean, SILENCE, 0), clean)
    assert np.isfinite(mix(SILENCE, noise, 0)).all()
    assert not mix(SILENCE, SILENCE, 0).any()


@pytest.mark.parametrize("variety", [PLAIN, EVERYTHING, Variety()])
def test_silence_composes_without_nan(variety: Variety) -> None:
    clean, noise = draw(0, len(SILENCE))
    for seed in range(10):
        for parts in ((clean, SILENCE), (SILENCE, noise), (SILENCE, SILENCE)):
            for signal in compose(np.random.default_rng(seed), *parts, variety):
                assert np.isfinite(signal).all()


@pytest.mark.parametrize("seed", range(5))
def test_a_plain_mixture_is_speech_plus_noise_at_a_ratio_within_the_range(seed: int) -> None:
    clean, noise = draw(seed)
    variety = replace(PLAIN, snr_db=(-8, 20), level_db=(-60, -50))
    noisy, target = compose(np.random.default_rng(seed), clean, noise, variety)
    assert -8.01 <= ratio(target, noisy - target) <= 20.01
    assert -60.01 <= 20 * np.log10(active_level(noisy)) <= -49.99
    assert np.corrcoef(target, clean)[0, 1] == pytest.approx(1, abs=1e-5)
    assert np.corrcoef(noisy - target, noise)[0, 1] == pytest.approx(1, abs=1e-3)


@pytest.mark.parametrize("target", ["early", "reverberant"])
@pytest.mark.parametrize("seed", range(8))
def test_with_all_effects_the_target_neither_clips_nor_shifts(seed: int, target: str) -> None:
    variety = replace(EVERYTHING, level_db=(0, 10), target=target)
    noisy, clean = compose(np.random.default_rng(seed), *draw(seed), variety)
    assert np.abs(clean).max() <= 0.99 + 1e-6
    assert np.abs(noisy).max() <= 1.1
    size = 2 * len(noisy)
    correlation = np.fft.irfft(np.fft.rfft(noisy, size) * np.fft.rfft(clean, size).conj(), size)
    assert correlation.argmax() == 0


def test_a_reverberant_target_holds_the_whole_room() -> None:
    """Without noise the input is its own reverberant target; the early target lacks the tail."""
    clean, _ = draw(3)
    variety = replace(PLAIN, reverberant=1)
    noisy, target = compose(
        np.random.default_rng(0), clean, np.zeros_like(clean), replace(variety, target="reverberant")
    )
    np.testing.assert_array_equal(noisy, target)
    noisy, target = compose(np.random.default_rng(0), clean, np.zeros_like(clean), variety)
    assert active_level(noisy - target) > 0.01 * active_level(noisy)


def test_a_segment_between_two_words_is_not_amplified() -> None:
    """The noise keeps the distance it would have to speech at its usual level."""
    hush = 1e-5 * np.random.default_rng(0).standard_normal(16000).astype(np.float32)
    noisy, target = compose(np.random.default_rng(0), hush, coloured(np.random.default_rng(1), 16000), PLAIN)
    assert ratio(noisy, target) > 20


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"snr_db": (20, -8)}, r"snr_db: expected a range"),
        ({"level_db": (1,)}, r"level_db: expected a range"),
        ({"clipped": 1.5}, r"clipped: expected a number from 0 to 1, got 1\.5"),
        ({"target": "late"}, r"target: expected early or reverberant, got late"),
    ],
)
def test_a_wrong_variety_says_what_is_expected(wrong: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        Variety(**wrong)
