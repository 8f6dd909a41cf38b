import math

import numpy as np
import pytest

from hamiltone.analysis.statistics import pearson, spread


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
