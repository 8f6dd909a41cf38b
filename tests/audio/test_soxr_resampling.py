from itertools import pairwise

import numpy as np
import pytest

from hamiltone.audio.soxr_resampling import BlockResampler, resample
from sounds import RATES, noise


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("length", [1, 2, 3, 1000])
def test_resampling_keeps_time_and_asked_length(rate: int, length: int) -> None:
    block = np.ones((length, 2), np.float32)
    down = resample(block, rate, 16_000)
    assert down.shape == (-(-length * 16_000 // rate), 2)
    assert resample(down, 16_000, rate, length).shape == block.shape


@pytest.mark.parametrize("rate", [8000, 16_000, 44_100])
def test_blocks_are_resampled_as_the_whole_is(rate: int) -> None:
    signal, resampler = noise(rate, 2), BlockResampler(rate, 16_000, 2)
    cuts = [0, 1, 500, 4000, rate]
    pieces = [resampler.push(signal[i:j], last=j == rate) for i, j in pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(pieces), resample(signal, rate, 16_000), atol=1e-5)
