import pytest
import torch
from torch.testing import assert_close

from hamiltone.models.level import RunningLevel

NONE = torch.zeros(2, 2)


@pytest.mark.parametrize("causal", [True, False])
def test_the_level_is_the_weighted_mean_of_the_frames_in_reach(causal: bool) -> None:
    level, magnitude = RunningLevel(0.8, causal=causal, floor=0.0), torch.rand(2, 6, 3)
    values, _ = level(magnitude, NONE)
    frames = magnitude.mean(-1)
    for t in range(6):
        weights = torch.tensor([0.8 ** abs(t - s) if s <= t or not causal else 0.0 for s in range(6)])
        assert_close(values[:, t], (frames * weights).sum(1) / weights.sum())


def test_a_stream_in_pieces_has_the_level_of_the_whole() -> None:
    level, magnitude = RunningLevel(0.95, causal=True), torch.rand(2, 40, 3)
    whole, end = level(magnitude, NONE)
    state, pieces = NONE, []
    for piece in magnitude.split([1, 7, 30, 2], dim=1):
        values, state = level(piece, state)
        pieces.append(values)
    assert_close(torch.cat(pieces, 1), whole)
    assert_close(state, end)


def test_silence_can_be_divided_by() -> None:
    values, _ = RunningLevel(0.9, causal=True)(torch.zeros(2, 5, 3), NONE)
    assert (values > 0).all()


def test_compressed_magnitudes_follow_a_drop_of_30_db_within_two_time_constants() -> None:
    """0.992 a frame of 16 ms is a time constant of two seconds."""
    level = RunningLevel(0.992, causal=True)
    magnitude = torch.cat([torch.ones(1, 1000, 1), torch.full((1, 250, 1), 10 ** (-30 / 20 * 0.3))], 1)
    values, _ = level(magnitude, NONE[:1])
    assert values[0, -1] < 1.3 * magnitude[0, -1, 0]


def test_the_level_has_the_precision_of_its_input() -> None:
    level, _ = RunningLevel(0.9, causal=True)(torch.rand(1, 5, 3).double(), torch.zeros(1, 2).double())
    assert level.dtype == torch.float64
