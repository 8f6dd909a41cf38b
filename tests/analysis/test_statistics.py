import math

import numpy as np
import pytest

from hamiltone.analysis.statistics import nested, pearson, spread, student, t_quantile


def test_the_interval_of_a_mean_shrinks_with_the_groups():
    values = np.random.default_rng(0).normal(3.0, 2.0, 400)
    wide, narrow = spread(list(values[:25])), spread(list(values))
    assert narrow.low < 3 < narrow.high
    assert narrow.high - narrow.low == pytest.approx(2 * 1.96 * 2 / 20, rel=0.1)
    assert wide.high - wide.low > 2 * (narrow.high - narrow.low)
    assert narrow.deviation == pytest.approx(2, rel=0.1)


def test_values_within_a_group_do_not_count_as_independent():
    groups = [[0.0] * 1000, [1.0] * 1000]
    assert (spread(groups).low, spread(groups).high) == (0.0, 1.0)


def test_one_group_has_no_interval():
    assert math.isnan(spread([[1.0, 2.0]]).low)


def test_correlation_of_a_line_is_one_and_of_a_constant_undefined():
    x = np.arange(10.0)
    assert pearson(x, 3 - 2 * x) == pytest.approx(-1)
    assert math.isnan(pearson(x, np.ones(10)))
    with pytest.raises(ValueError, match="one size"):
        pearson(x, x[:5])


@pytest.mark.parametrize("freedom", [1, 2, 3, 7, 30, 823])
def test_students_quantile_is_that_of_scipy(freedom):
    stats = pytest.importorskip("scipy.stats")
    assert t_quantile(freedom) == pytest.approx(stats.t.ppf(0.975, freedom), rel=1e-6)


def coverage(interval, draws=400) -> float:
    """How often an interval of samples around zero holds zero."""
    rng = np.random.default_rng(0)
    found = [interval(rng) for _ in range(draws)]
    return float(np.mean([one.low <= 0 <= one.high for one in found]))


def test_students_interval_of_three_seeds_covers_what_it_says_and_the_bootstrap_does_not():
    assert 0.92 < coverage(lambda rng: student(rng.normal(size=3).tolist())) < 0.98
    assert coverage(lambda rng: spread(list(rng.normal(size=3)), resamples=100)) < 0.85


def test_the_nested_interval_covers_where_seeds_and_files_both_vary():
    def sample(rng):
        seeds, files = rng.normal(size=(4, 1)), rng.normal(size=(1, 30))
        return nested(seeds + 2 * files + rng.normal(size=(4, 30)), resamples=100)

    assert coverage(sample, 100) > 0.92


def test_the_nested_interval_is_wider_than_that_of_either():
    rng = np.random.default_rng(0)
    scores = rng.normal(size=(4, 1)) + 3 * rng.normal(size=(1, 40))
    both = nested(scores)
    of_seeds = student(scores.mean(1).tolist())
    assert both.high - both.low > of_seeds.high - of_seeds.low
    assert both.groups == 4 and both.mean == pytest.approx(scores.mean())


def test_files_without_a_score_from_every_seed_are_left_out():
    scores = np.array([[1.0, np.nan, 3.0], [2.0, 2.0, 4.0]])
    assert nested(scores).mean == pytest.approx(2.5)
    assert not nested(scores[:1, [0, 2]]).has_interval
    with pytest.raises(ValueError, match="at least one file"):
        nested([[np.nan], [1.0]])
