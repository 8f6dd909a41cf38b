import numpy as np
import pytest

from hamiltone.data.noise import NOISES, babble, coloured, synthetic_noise
from hamiltone.data.signals import active_level
from hamiltone.data.synthetic import speech

KINDS = {**NOISES, "any": synthetic_noise}


@pytest.mark.parametrize("kind", KINDS)
def test_a_noise_is_a_function_of_its_generator(kind: str) -> None:
    one, two, other = (KINDS[kind](np.random.default_rng(seed), 4000) for seed in (1, 1, 2))
    np.testing.assert_array_equal(one, two)
    assert (one != other).any()


@pytest.mark.parametrize("kind", KINDS)
def test_noises_are_finite_and_of_about_unit_level(kind: str) -> None:
    for seed in range(25):
        noise = KINDS[kind](np.random.default_rng(seed), 16000)
        assert noise.dtype == np.float32
        assert noise.shape == (16000,)
        assert np.isfinite(noise).all()
        assert 0.5 < active_level(noise) < 20


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("length", [1, 2, 321])
def test_noises_of_any_length_are_finite(kind: str, length: int) -> None:
    for seed in range(10):
        noise = KINDS[kind](np.random.default_rng(seed), length)
        assert noise.shape == (length,)
        assert np.isfinite(noise).all()


def test_coloured_noise_covers_rising_and_falling_spectra() -> None:
    slopes = []
    for seed in range(40):
        power = np.abs(np.fft.rfft(coloured(np.random.default_rng(seed), 16000))) ** 2
        slopes.append(10 * np.log10(power[2000:4000].mean() / power[200:400].mean()))
    assert min(slopes) < -15
    assert max(slopes) > 5


def test_babble_holds_every_talker() -> None:
    talkers = [speech(np.random.default_rng(seed), 16000) for seed in range(5)]
    total = babble(np.random.default_rng(0), talkers)
    for talker in talkers:
        assert np.corrcoef(total, talker)[0, 1] > 0.1
    assert active_level(total) == pytest.approx(1, rel=1e-4)


def test_silent_talkers_make_no_nan() -> None:
    assert not babble(np.random.default_rng(0), [np.zeros(1000, np.float32)] * 3).any()
