import math

import pytest
import torch
from torch import Tensor
from torch.testing import assert_close

import oracle
from cases import BATCH, HEADS, LENGTH, MASKS, Distance
from hamiltone.nn import HamiltonScore, QAttention, Scale, ScoreRule, SharedScore, fold, make_rule, rules
from hamiltone.nn.masks import combine_masks

RULES = {name: make_rule(name) for name in rules.RULES}
WIDTH = 3


def heads(n: int = LENGTH, m: int = LENGTH, dtype: torch.dtype = torch.float32) -> tuple[Tensor, Tensor, Tensor]:
    return tuple(torch.randn(BATCH, HEADS, length, 4, WIDTH, dtype=dtype) for length in (n, m, m))


def no_bias(i: int, j: int) -> float:
    return 0.0


@pytest.mark.parametrize("rule", ["shared", "hamilton"])
def test_maps_and_outputs_agree_with_the_scalar_equations(rule: str) -> None:
    q, k, v = heads(4, 6, torch.float64)
    y, maps = RULES[rule].explicit(q, k, v)
    fused = RULES[rule].attend(q, k, v)
    for b in range(BATCH):
        for h in range(HEADS):
            literal = oracle.MAPS[rule](oracle.rows(q[b, h]), oracle.rows(k[b, h]), no_bias)
            expected = oracle.tensor(oracle.apply_maps(literal, oracle.rows(v[b, h])))
            assert_close(maps[b, h], torch.tensor(literal, dtype=torch.float64))
            assert_close(y[b, h], expected)
            assert_close(fused[b, h], expected)


def test_shared_rule_is_equations_9_to_13() -> None:
    q, k, v = heads()
    real_row = conjugation = torch.tensor([1.0, -1.0, -1.0, -1.0])
    real_part = torch.einsum("a,bhiad,a,bhjad->bhij", real_row, q, conjugation, k)
    maps = torch.softmax(real_part / math.sqrt(4 * WIDTH), dim=-1)
    expected = torch.stack([torch.einsum("bhij,bhjd->bhid", maps, v[..., a, :]) for a in range(4)], dim=-2)
    assert_close(SharedScore().attend(q, k, v), expected, atol=1e-5, rtol=0)
    assert_close(SharedScore().explicit(q, k, v)[1], maps[:, :, None], atol=1e-5, rtol=0)


def test_hamilton_rule_is_equations_14_to_16() -> None:
    q, k, v = heads()
    (q0, q1, q2, q3), kt = q.unbind(3), k.permute(0, 1, 3, 4, 2)
    k0, k1, k2, k3 = kt.unbind(2)
    scores = (
        q0 @ k0 - q1 @ k1 - q2 @ k2 - q3 @ k3,
        q0 @ k1 + q1 @ k0 + q2 @ k3 - q3 @ k2,
        q0 @ k2 - q1 @ k3 + q2 @ k0 + q3 @ k1,
        q0 @ k3 + q1 @ k2 - q2 @ k1 + q3 @ k0,
    )
    maps = [torch.softmax(score / math.sqrt(WIDTH), dim=-1) for score in scores]
    expected = torch.stack([maps[a] @ v[..., a, :] for a in range(4)], dim=-2)
    assert_close(HamiltonScore().attend(q, k, v), expected, atol=1e-5, rtol=0)
    assert_close(HamiltonScore().explicit(q, k, v)[1], torch.stack(maps, dim=2), atol=1e-5, rtol=0)


def test_the_scale_of_tay_et_al_is_half_of_equation_14s() -> None:
    q, k, v = heads()
    printed, halved = HamiltonScore(), HamiltonScore(Scale.REALS)
    assert_close(halved.scores(q, k), printed.scores(q, k) / 2)
    assert_close(halved.attend(q, k, v), printed.attend(q / 2, k, v))
    assert printed.scale is Scale.QUATERNIONS and SharedScore().scale is halved.scale is RULES["hamilton-tay"].scale


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_the_fused_path_equals_the_explicit_one(rule: ScoreRule, mask: str) -> None:
    q, k, v = heads()
    options = {"mask": None, "key_padding_mask": None, "causal": False} | MASKS[mask]
    combined = combine_masks(**options, shape=(BATCH, HEADS, LENGTH, LENGTH), like=q)
    y, maps = rule.explicit(q, k, v, mask=combined.mask, causal=combined.causal)
    assert_close(rule.attend(q, k, v, mask=combined.mask, causal=combined.causal), y, atol=1e-5, rtol=1e-5)
    assert_close(maps.sum(-1), torch.ones(BATCH, HEADS, rule.maps, LENGTH))


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_dropout_keeps_the_expectation_on_both_paths(rule: ScoreRule, fused: bool) -> None:
    q, k, v = (x[:1].expand(4000, -1, -1, -1, -1) for x in heads(2, 3))
    dropped = rule.attend(q, k, v, dropout=0.3) if fused else rule.explicit(q, k, v, dropout=0.3)[0]
    assert (dropped[0] - dropped[1]).abs().max() > 1e-2
    expected = rule.attend(q[:1], k[:1], v[:1])[0]
    assert ((dropped.mean(0) - expected).abs() < 5 * dropped.std(0) / math.sqrt(len(q))).all()


@pytest.mark.parametrize("fused", [True, False])
@pytest.mark.parametrize("rule", RULES.values(), ids=RULES)
def test_rule_gradients_are_right(rule: ScoreRule, fused: bool) -> None:
    q, k, v = (x[:1, :1, :3].detach().requires_grad_() for x in heads(dtype=torch.float64))
    mask = torch.tensor([[True, False, True], [True, True, True], [False, True, True]])[None, None]
    attend = rule.attend if fused else (lambda *heads, mask: rule.explicit(*heads, mask=mask))
    assert torch.autograd.gradcheck(lambda *heads: attend(*heads, mask=mask), (q, k, v))


def test_a_rule_needs_to_say_no_more_than_how_to_score() -> None:
    q, k, v = heads()
    weights = torch.softmax(-torch.cdist(q.flatten(3), k.flatten(3)).square(), dim=-1)
    assert_close(Distance().attend(q, k, v), torch.einsum("bhij,bhjad->bhiad", weights, v), atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("maps", [1, 4])
@pytest.mark.parametrize("batch", [1, 2, 4])
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_rule_that_leaves_out_the_map_axis_is_an_error(maps: int, batch: int, need_weights: bool) -> None:
    class Flat(ScoreRule):
        def scores(self, q: torch.Tensor, k: torch.Tensor) -> torch.Tensor:
            return SharedScore().scores(q, k)[:, :, 0]

    rule = Flat()
    rule.maps = maps
    x, source = torch.randn(batch, 6, 4, 8), torch.randn(batch, 5, 4, 8)
    message = (
        rf"Flat.scores must return \(B, H, S, N, M\) = \({batch}, 4, {maps}, 6, 5\), got shape \({batch}, 4, 6, 5\)"
    )
    for attention in (QAttention(8, 4, rule), fold(QAttention(8, 4, rule))):
        with pytest.raises(ValueError, match=message):
            attention(x, source, need_weights=need_weights)


def test_a_fused_path_of_the_wrong_shape_is_an_error() -> None:
    class Short(SharedScore):
        def attend(self, *args: torch.Tensor, **options: object) -> torch.Tensor:
            return super().attend(*args)[:, :, :1]

    with pytest.raises(ValueError, match=r"Short.attend must return \(B, H, N, 4, D\) = \(1, 2, 6, 4, 4\)"):
        QAttention(8, 2, Short())(torch.randn(1, 6, 4, 8))


def test_a_rule_without_scores_is_no_rule() -> None:
    with pytest.raises(TypeError, match="abstract"):
        ScoreRule()
