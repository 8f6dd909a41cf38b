import math

import numpy as np
import pytest

from hamiltone.metrics import UndefinedScoreError, si_sdr


@pytest.mark.parametrize("noise", [1e-3, 0.1, 1.0, 30.0])
def test_score_is_the_definition_sample_by_sample(noise: float) -> None:
    rng = np.random.default_rng(0)
    target = rng.standard_normal(300)
    estimate = 0.4 * target + noise * rng.standard_normal(300)
    product = energy = speech = distortion = 0.0
    for e, t in zip(estimate, target, strict=True):
        product += e * t
        energy += t * t
    for e, t in zip(estimate, target, strict=True):
        speech += (product / energy * t) ** 2
        distortion += (e - product / energy * t) ** 2
    assert si_sdr(estimate, target) == pytest.approx(10 * math.log10(speech / distortion))


def test_perfect_and_hopeless_estimates_meet_the_bounds() -> None:
    target = np.array([1.0, 1.0, 1.0, 1.0])
    assert si_sdr(target, target) == 100.0
    assert si_sdr(np.array([1.0, -1.0, 1.0, -1.0]), target) == -100.0


def test_a_silent_estimate_has_no_score() -> None:
    with pytest.raises(UndefinedScoreError, match="estimate is silent"):
        si_sdr(np.zeros(4), np.ones(4))
