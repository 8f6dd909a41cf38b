import numpy as np
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

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


@given(
    frames=st.integers(1, 10**9),
    sample_rate=st.integers(1000, 768_000),
    model_rate=st.integers(1000, 192_000),
    hop=st.integers(1, 8192),
    seconds=st.floats(1, 30),
)
@example(frames=10**7, sample_rate=44_101, model_rate=16_000, hop=256, seconds=1.0)
@example(frames=10**7, sample_rate=44_101, model_rate=16_000, hop=257, seconds=8.0)
@example(frames=10**7, sample_rate=11_025, model_rate=16_000, hop=160, seconds=1.0)
def test_windows_cover_a_recording_of_any_rate_and_stay_short(
    frames: int, sample_rate: int, model_rate: int, hop: int, seconds: float
) -> None:
    windows = plan_windows(frames, sample_rate=sample_rate, model_rate=model_rate, hop=hop, seconds=seconds)
    model_frame = hop * sample_rate / model_rate
    longest = max(1.2 * seconds, seconds + model_frame / sample_rate, 2 + 0.1 * seconds)
    assert min(frames, windows.stride + windows.overlap) <= longest * sample_rate + 1
    assert 0 <= windows.overlap <= windows.stride
    last = (windows.count - 1) * windows.stride
    assert last < frames <= last + windows.stride + windows.overlap
    if windows.count > 1:
        assert frames > last + windows.overlap  # the last one is longer than what it shares
        assert abs(windows.stride - round(windows.stride / model_frame) * model_frame) < 0.51 or model_frame < 1


@given(
    frames=st.integers(1, 30_000),
    sample_rate=st.sampled_from([1000, 1009, 2205, 3001]),
    hop=st.sampled_from([16, 100, 257]),
)
def test_any_recording_cut_as_planned_and_joined_is_itself(frames: int, sample_rate: int, hop: int) -> None:
    signal, read = noise(frames, 1), 0

    def source(count: int) -> np.ndarray:
        nonlocal read
        block, read = signal[read : read + count], read + count
        return block

    windows = plan_windows(frames, sample_rate=sample_rate, model_rate=16_000, hop=hop, seconds=1.0)
    joined = np.concatenate(list(join(cut(source, windows), windows)))
    np.testing.assert_allclose(joined, signal, atol=1e-7)


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
