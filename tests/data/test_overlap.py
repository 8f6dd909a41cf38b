import numpy as np
import pytest

from hamiltone.data.overlap import overlap_add, split_frames


@pytest.mark.parametrize("length", [1, 127, 128, 129, 1000])
def test_frames_add_up_to_the_signal_again(length: int) -> None:
    signal = np.random.default_rng(length).standard_normal(length).astype(np.float32)
    frames = split_frames(signal, 256)
    assert frames.shape == (-(-length // 128) + 1, 256)
    np.testing.assert_allclose(overlap_add(frames, length), signal, atol=1e-6)
