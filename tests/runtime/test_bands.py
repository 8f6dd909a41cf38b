import numpy as np
import pytest

from hamiltone.runtime.bands import high_band_gain


def test_high_band_gain_is_weighted_by_energy_and_never_above_one() -> None:
    spectrum, gain = np.zeros((1, 3, 257), np.complex64), np.ones((1, 3, 257), np.complex64)
    spectrum[0, 0, 200], gain[0, 0, 200] = 10, 0.3
    gain[0, 1] = 0.5
    gain[0, 2] = 2
    np.testing.assert_allclose(high_band_gain(spectrum, gain), [[0.3, 0.5, 1.0]], rtol=1e-6)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
@pytest.mark.parametrize("seen", [1.0, 0.5])
def test_the_gain_is_that_of_the_energy_in_the_top_octave_at_any_level(scale: float, seen: float) -> None:
    rng = np.random.default_rng(2)
    spectrum, gain = (rng.standard_normal((9, 257)) + 1j * rng.standard_normal((9, 257)) for _ in range(2))
    octave = slice(round(seen * 128), round(seen * 256) + 1)
    before = np.square(np.abs(spectrum[:, octave])).sum(1)
    after = np.square(np.abs(0.4 * gain * spectrum)[:, octave]).sum(1)
    found = high_band_gain((scale * spectrum).astype(np.complex64), (0.4 * gain).astype(np.complex64), seen=seen)
    np.testing.assert_allclose(found, np.minimum(np.sqrt(after / before), 1), rtol=1e-5)


def test_one_frame_gets_what_it_gets_among_others() -> None:
    rng = np.random.default_rng(3)
    spectrum = (rng.standard_normal((9, 257)) + 1j * rng.standard_normal((9, 257))).astype(np.complex64)
    gain = (0.5 * spectrum[::-1]).astype(np.complex64)
    each = [high_band_gain(x, g) for x, g in zip(spectrum, gain, strict=True)]
    np.testing.assert_array_equal(high_band_gain(spectrum, gain), each)


def test_empty_bins_count_alike() -> None:
    assert high_band_gain(np.zeros(257, np.complex64), np.full(257, 0.3, np.complex64)) == pytest.approx(0.3)
