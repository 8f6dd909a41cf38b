import itertools

import numpy as np
import pytest

from hamiltone.errors import InputError
from hamiltone.metrics import mean_interval, paired_difference


def test_interval_of_a_gaussian_mean_is_that_of_the_textbook() -> None:
    rng = np.random.default_rng(0)
    scores = rng.normal(3.0, 0.5, 400)
    interval = mean_interval(scores, rng)
    half = 1.96 * scores.std(ddof=1) / 20
    assert interval.mean == scores.mean()
    assert interval.low == pytest.approx(scores.mean() - half, abs=0.1 * half)
    assert interval.high == pytest.approx(scores.mean() + half, abs=0.1 * half)


def test_interval_covers_the_true_mean_as_often_as_it_says() -> None:
    rng = np.random.default_rng(0)
    covered = 0
    for _ in range(400):
        interval = mean_interval(rng.normal(size=60), rng, resamples=400, level=0.9)
        covered += interval.low <= 0 <= interval.high
    assert 0.85 < covered / 400 < 0.94


def test_pairing_removes_what_the_files_have_in_common() -> None:
    rng = np.random.default_rng(0)
    files = rng.normal(2.0, 1.0, 100)  # files differ far more than systems do
    first, second = files + 0.1 + rng.normal(0, 0.05, 100), files + rng.normal(0, 0.05, 100)
    difference = paired_difference(first, second, rng)
    assert 0 < difference.low < 0.1 < difference.high < 0.2 and difference.p_value < 0.001
    assert mean_interval(first, rng).low < mean_interval(second, rng).mean  # unpaired intervals cannot tell


def test_p_value_of_equal_systems_is_rarely_small() -> None:
    rng = np.random.default_rng(0)
    p_values = [
        paired_difference(rng.normal(size=50), rng.normal(size=50), rng, resamples=400).p_value for _ in range(300)
    ]
    assert 0.02 < np.mean(np.array(p_values) < 0.05) < 0.1
    assert min(p_values) > 0 and max(p_values) <= 1


@pytest.mark.parametrize(("files", "smallest"), [(1, 1.0), (2, 0.5), (5, 0.0625), (14, 2**-13)])
def test_p_value_of_few_files_is_that_of_the_exact_sign_flip_test(files: int, smallest: float) -> None:
    rng = np.random.default_rng(0)
    better = rng.uniform(1.0, 1.1, files)
    assert paired_difference(better, np.zeros(files), rng).p_value == pytest.approx(smallest)
    assert paired_difference(-better, np.zeros(files), rng).p_value == pytest.approx(smallest)


def test_p_value_counts_the_signs_whose_mean_is_as_far_from_zero() -> None:
    values = np.array([3.0, -1.0, 2.0, 0.5])
    sums = [abs(sum(signs * values)) for signs in np.array(list(itertools.product([1, -1], repeat=4)))]
    expected = np.mean(np.array(sums) >= values.sum())
    found = paired_difference(values, np.zeros(4), np.random.default_rng(0)).p_value
    assert found == pytest.approx(expected)
    assert paired_difference(np.ones(4), np.ones(4), np.random.default_rng(0)).p_value == 1


def test_drawn_signs_agree_with_the_t_test() -> None:
    scipy = pytest.importorskip("scipy.stats")
    rng = np.random.default_rng(0)
    values = rng.normal(0.3, 1.0, 40)
    found = paired_difference(values, np.zeros(40), rng).p_value
    assert found == pytest.approx(scipy.ttest_1samp(values, 0.0).pvalue, abs=0.02)


def test_the_seed_decides() -> None:
    scores = np.random.default_rng(0).normal(size=50)
    same = [mean_interval(scores, np.random.default_rng(seed)) for seed in (1, 1, 2)]
    assert same[0] == same[1] != same[2]


def test_files_without_a_score_are_left_out_and_counted() -> None:
    rng = np.random.default_rng(0)
    assert mean_interval([1.0, np.nan, 3.0], rng).files == 2
    difference = paired_difference([1.0, np.nan, 3.0, 5.0], [0.0, 0.0, np.nan, 4.0], rng)
    assert (difference.mean, difference.files) == (1.0, 2)


def test_memory_does_not_grow_with_the_number_of_resamples() -> None:
    """Drawn in pieces, and every resample is there."""
    interval = mean_interval(np.repeat([0.0, 1.0], 150_000), np.random.default_rng(0), resamples=10)
    assert interval.low < 0.5 < interval.high


def test_nothing_to_average_is_refused() -> None:
    rng = np.random.default_rng(0)
    with pytest.raises(InputError, match="at least one file"):
        mean_interval([np.nan], rng)
    with pytest.raises(InputError, match="same files"):
        paired_difference([1.0], [1.0, 2.0], rng)
    with pytest.raises(InputError, match="one score per file"):
        mean_interval(np.ones((2, 2)), rng)
