"""What a unit quaternion per position keeps, by the side from which it multiplies."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.algebra import hamilton_product, norm
from hamiltone.nn import HamiltonScore, KVCache, QAttention, QLinear, QRotary, ScoreRule, SharedScore, fold

DIM, HEADS, LENGTH = 6, 2, 8
WIDTH = DIM // HEADS
SIDES = ("right", "left", "between")


def scores(rule: ScoreRule, rotary: QRotary) -> Tensor:
    """Of one query and one key that stand at every position: ``(H, S, N, N)``."""
    q, k = (torch.randn(1, HEADS, 1, 4, WIDTH, dtype=torch.float64).expand(-1, -1, LENGTH, -1, -1) for _ in range(2))
    return rule.scores(*rotary(q, k))[0]


def spread(scores: Tensor) -> Tensor:
    """How far the scores at one distance lie apart, for each map: zero if they depend on the distance alone."""
    diagonals = [scores.diagonal(offset, -2, -1) for offset in range(1 - LENGTH, LENGTH)]
    return torch.stack([(one.amax(-1) - one.amin(-1)).amax(0) for one in diagonals]).amax(0)


@pytest.mark.parametrize("side", SIDES)
def test_positions_are_those_of_the_scalar_oracle(side: str) -> None:
    rotary = QRotary(side, base=50.0, axis=(1.0, -2.0, 0.5))
    q, k = torch.randn(2, 1, HEADS, 4, 4, WIDTH, dtype=torch.float64)
    placed_q, placed_k = rotary(q, k, 3)
    for n in range(4):
        for channel in range(WIDTH):
            angle = torch.tensor((3 + n) * 50.0 ** (-channel / WIDTH), dtype=torch.float64)
            axis = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
            imaginary = (angle.sin() * axis / axis.norm()).tolist()
            u = (angle.cos().item(), *imaginary)
            inverse = (u[0], *(-part for part in u[1:]))
            old_q, old_k = q[:, :, n, :, channel], k[:, :, n, :, channel]
            expected = {
                "right": (oracle.right_multiply(old_q, u, -1), oracle.right_multiply(old_k, u, -1)),
                "left": (oracle.left_multiply(u, old_q, -1), oracle.left_multiply(u, old_k, -1)),
                "between": (oracle.right_multiply(old_q, u, -1), oracle.left_multiply(inverse, old_k, -1)),
            }
            assert_close((placed_q[:, :, n, :, channel], placed_k[:, :, n, :, channel]), expected[side])


@pytest.mark.parametrize("side", SIDES)
def test_norms_stay_as_they_are(side: str) -> None:
    q, k = torch.randn(2, 2, HEADS, LENGTH, 4, WIDTH)
    for before, after in zip((q, k), QRotary(side)(q, k, 1000), strict=True):
        assert_close(norm(after), norm(before))
        assert not torch.allclose(after, before, atol=0.1)


@pytest.mark.parametrize("side", SIDES)
def test_shared_scores_depend_on_the_distance_from_either_side(side: str) -> None:
    found = scores(SharedScore(), QRotary(side, base=10))
    assert found.std() > 0.05
    assert (spread(found) < 1e-12).item() == (side in ("right", "left"))


@pytest.mark.parametrize("side", SIDES)
def test_all_four_hamilton_scores_depend_on_the_distance_only_from_between(side: str) -> None:
    found = spread(scores(HamiltonScore(), QRotary(side, base=10)))
    if side == "between":
        assert (found < 1e-12).all()
    else:
        assert (found > 0.05).all()


def attention(rotary: Any, rule: ScoreRule | None = None, **options: Any) -> QAttention:
    return randomise_(QAttention(DIM, HEADS, rule or SharedScore(), positions=rotary, **options)).double().eval()


def equivariance_error(layer: QAttention, x: Tensor, p: oracle.Quaternion) -> float:
    return (layer(oracle.left_multiply(p, x, 2)) - oracle.left_multiply(p, layer(x), 2)).abs().max().item()


def test_positions_from_the_right_keep_the_equivariance_and_from_the_left_lose_it() -> None:
    x = torch.randn(2, LENGTH, 4, DIM, dtype=torch.float64)
    unit = (0.1, -0.7, 0.5, 0.5)
    about_the_axis = (0.5, 0.5, 0.5, 0.5)  # commutes with i + j + k
    right, left = (attention(QRotary(side), bias=False) for side in ("right", "left"))
    assert equivariance_error(right, x, unit) < 1e-10
    assert equivariance_error(left, x, unit) > 1e-2
    assert equivariance_error(left, x, about_the_axis) < 1e-10


@pytest.mark.parametrize(("side", "passes"), [("left", True), ("right", False)])
def test_one_angle_for_all_channels_passes_the_layers_from_the_left(side: str, passes: bool) -> None:
    layer, rotary = QLinear(DIM, DIM, bias=False).double(), QRotary(side, base=1.0)
    x = torch.randn(2, LENGTH, 4, DIM, dtype=torch.float64)
    u = rotary.units(x[:, None])  # (N, 4, C)

    def turn(x: Tensor) -> Tensor:
        return hamilton_product(u, x) if side == "left" else hamilton_product(x, u)

    assert torch.allclose(layer(turn(x)), turn(layer(x))) is passes


@pytest.mark.parametrize("side", ["right", "left"])
def test_an_attention_sees_where_tokens_stand_but_not_where_counting_begins(side: str) -> None:
    layer, x = attention(QRotary(side)), torch.randn(2, LENGTH, 4, DIM, dtype=torch.float64)
    y, swapped = layer(x), x[:, [1, 0, *range(2, LENGTH)]]
    assert not torch.allclose(layer(swapped)[:, [1, 0]], y[:, :2], atol=1e-3)
    later = attention(lambda q, k, start: QRotary(side)(q, k, start + 500))
    later.load_state_dict(layer.state_dict())
    assert_close(later(x), y)
    without = attention(None)
    without.load_state_dict(layer.state_dict())
    assert_close(without(swapped)[:, [1, 0]], without(x)[:, :2])


@pytest.mark.parametrize("side", SIDES)
@pytest.mark.parametrize("rule", [SharedScore(), HamiltonScore()], ids=["shared", "hamilton"])
def test_decoding_with_a_cache_counts_on(rule: ScoreRule, side: str) -> None:
    layer, x, cache = attention(QRotary(side), rule), torch.randn(2, LENGTH, 4, DIM, dtype=torch.float64), KVCache()
    whole = layer(x, causal=True)
    assert_close(torch.cat([layer(part, causal=True, cache=cache) for part in x.split([3, 1, 4], 1)], 1), whole)
    cache = KVCache()
    folded = fold(layer)
    parts = [folded(part, causal=True, cache=cache) for part in x.split(2, 1)]
    assert_close(torch.cat(parts, 1), whole)


def test_low_precision_loses_no_positions() -> None:
    q = torch.randn(1, HEADS, 4, 4, WIDTH)
    exact = QRotary()(q, q, 3000)[0]
    assert_close(QRotary()(q.bfloat16(), q.bfloat16(), 3000)[0].float(), exact, atol=0.05, rtol=0.05)


@pytest.mark.parametrize(
    ("arguments", "options", "message"),
    [
        (("above",), {}, "side must be one of right, left, between, got 'above'"),
        ((), {"axis": (0.0, 0.0, 0.0)}, "axis must be three numbers, not all zero"),
        ((), {"axis": (1.0, 0.0)}, "axis must be three numbers"),
        ((), {"base": 0.5}, "base must be at least 1"),
    ],
)
def test_wrong_settings_are_refused(arguments: Any, options: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        QRotary(*arguments, **options)


@pytest.mark.parametrize("base", [0.5, math.nan, math.inf])
def test_a_base_that_gives_no_angles_is_refused(base: float) -> None:
    with pytest.raises(ValueError, match="base must be"):
        QRotary(base=base)
