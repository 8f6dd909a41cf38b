import numpy as np
import pytest

from hamiltone.runtime.windows import Windows, cut, fade_in, join, plan_windows
from sounds import RATES, noise


@pytest.mark.parametrize("rate", RATES)
@pytest.mark.parametrize("hop", [100, 256])
def test_windows_start_on_samples_and_frames_of_the_model(rate: int, hop: int) -> None:
    for seconds in (25.1, 31, 600):
        windows = plan_windows(int(seconds * rate), sample_rate=rate, model_rate=16_000, hop=hop, seconds=10)
        assert windows.stride * 16_000 % (rate * hop) == 0
        assert windows.stride + windows.overlap <= 10 * rate
        assert windows.overlap <= rate


@pytest.mark.parametrize("frames", [1, 80_000, 115_000])
def test_a_short_recording_is_one_window(frames: int) -> None:
    windows = plan_windows(frames, sample_rate=16_000, model_rate=16_000, hop=256, seconds=6)
    assert (windows.count, windows.stride, windows.overlap) == (1, frames, 0)


@pytest.mark.parametrize("frames", [1, 99, 100, 101, 190, 191, 1000, 1234])
def test_windows_cut_and_joined_are_the_recording(frames: int) -> None:
    signal = noise(frames, 2)
    windows = Windows(frames, stride=90, overlap=10)
    rest = [signal]

    def read(count: int) -> np.ndarray:
        block, rest[0] = rest[0][:count], rest[0][count:]
        return block

    pieces = list(cut(read, windows))
    assert len(pieces) == windows.count
    assert all(len(piece) == 100 for piece in pieces[:-1])
    np.testing.assert_allclose(np.concatenate(list(join(pieces, windows))), signal, atol=1e-7)


def test_fades_add_up_to_one_and_leave_the_edges_to_one_window() -> None:
    fade = fade_in(1000)
    np.testing.assert_allclose(fade + fade[::-1], 1, atol=1e-6)
    assert not fade[:250].any()
    assert (fade[-250:] == 1).all()
