import torch

from hamiltone.losses.bark import bark_bands

# Bins of 31.25 Hz in each band, as the standard lists them
BINS = [1] * 8 + [2] + [1] * 5 + [2, 1, 1] + [2] * 8 + [3, 3, 3, 3, 4, 3, 4, 5, 4, 5, 6, 6, 7, 8, 9, 9]
BINS += [12, 12, 15, 16, 18, 21, 25, 20]


def test_bands_hold_the_bins_of_the_standard() -> None:
    held = (bark_bands().warp > 0).sum(0).tolist()
    assert held == [0, *BINS[1:]]  # the first bin and with it the first band is not heard
    assert sum(BINS) == 256


def test_every_bin_but_the_first_and_last_falls_into_one_band() -> None:
    assert (bark_bands().warp > 0).sum(1).tolist() == [0] + [1] * 255 + [0]


def test_bands_reach_21_bark() -> None:
    bark = bark_bands()
    assert bark.width[0] == 0 and bark.width[1:].diff().gt(0).all()
    assert 21.0 < bark.width.sum() < 21.5


def test_hearing_is_best_around_1_khz_and_worst_in_the_bass() -> None:
    threshold = bark_bands().threshold
    assert threshold.argmax() == 0 and 20 < threshold.argmin() < 30


def test_loudness_grows_faster_in_the_bass() -> None:
    exponent = bark_bands().exponent
    assert exponent.diff().le(0).all()
    torch.testing.assert_close(exponent[-1], torch.tensor(0.23, dtype=torch.float64))
