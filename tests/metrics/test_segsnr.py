import math

import numpy as np
import pytest

from hamiltone.metrics import UndefinedScoreError, segmental_snr
from speech import RATE, mix, synthetic_speech


@pytest.mark.parametrize("snr", [-20.0, 5.0, 60.0])
@pytest.mark.parametrize("rate", [8000, RATE])
def test_score_is_the_definition_frame_by_frame(snr: float, rate: int) -> None:
    target = synthetic_speech(0.2)
    estimate = mix(target, np.random.default_rng(0).standard_normal(len(target)), snr)
    length = rate * 30 // 1000
    hop = length // 4
    ratios = []
    for start in range(0, len(target) - length - hop + 1, hop):
        speech = noise = 0.0
        for n in range(length):
            window = 0.5 * (1 - math.cos(2 * math.pi * (n + 1) / (length + 1)))
            speech += (window * target[start + n]) ** 2
            noise += (window * (target[start + n] - estimate[start + n])) ** 2
        ratios.append(min(max(10 * math.log10(speech / noise), -10.0), 35.0))
    assert segmental_snr(estimate, target, rate) == pytest.approx(np.mean(ratios))


def test_a_perfect_estimate_reaches_the_bound() -> None:
    target = synthetic_speech(0.2)
    assert segmental_snr(target, target, RATE) == 35.0


def test_signals_without_a_frame_have_no_score() -> None:
    with pytest.raises(UndefinedScoreError, match="shorter than two frames"):
        segmental_snr(np.ones(500), np.ones(500), RATE)
