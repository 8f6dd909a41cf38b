import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

import oracle
from cases import BATCH, HEADS, LENGTH, MASKS, Componentwise, Distance, dead_row, random_mask, randomise_
from hamiltone.nn import HamiltonAttention, KVCache, QAttention, QRotary, ScoreRule, SharedScoreAttention

DIM = 4
KINDS = {"shared": SharedScoreAttention, "hamilton": HamiltonAttention}
both_rules = pytest.mark.parametrize("rule", KINDS)


def build(rule: str, heads: int = HEADS, dtype: torch.dtype = torch.float32, **options: Any) -> QAttention:
    return randomise_(KINDS[rule](DIM, heads, **options)).to(dtype).eval()


def sequence(length: int = LENGTH, batch: int = BATCH, dtype: torch.dtype = torch.float32) -> Tensor:
    return torch.randn(batch, length, 4, DIM, dtype=dtype)


def squeezed(maps: Tensor) -> Tensor:
    """The oracle's maps ``(B, H, S, N, M)`` as the layer returns them."""
    return maps[:, :, 0] if maps.shape[2] == 1 else maps


@pytest.mark.parametrize("mask", MASKS)
@both_rules
def test_attention_agrees_with_the_scalar_oracle_under_every_mask(rule: str, mask: str) -> None:
    attention, x = build(rule, dtype=torch.float64), sequence(dtype=torch.float64)
    bias = oracle.additive_bias((BATCH, HEADS, LENGTH, LENGTH), MASKS[mask])
    expected, expected_maps = oracle.multi_head(attention.state_dict(), HEADS, rule, x, bias=bias)
    y, maps = attention(x, **MASKS[mask], need_weights=True)
    assert_close(attention(x, **MASKS[mask]), expected)
    assert_close(y, expected)
    assert_close(maps, squeezed(expected_maps))


@pytest.mark.parametrize("options", [{"bias": False}, {"qk_norm": False}, {"heads": 1}, {"heads": 4}], ids=str)
@both_rules
def test_attention_agrees_with_the_scalar_oracle_in_every_form(rule: str, options: dict[str, Any]) -> None:
    attention, x = build(rule, dtype=torch.float64, **options), sequence(dtype=torch.float64)
    expected, _ = oracle.multi_head(attention.state_dict(), attention.heads, rule, x)
    assert_close(attention(x), expected)


@pytest.mark.parametrize("pooling", [2, 3, 7, 9])
@both_rules
def test_pooled_keys_are_those_of_the_means_of_neighbours(rule: str, pooling: int) -> None:
    attention, x = build(rule, dtype=torch.float64, pooling=pooling), sequence(7, dtype=torch.float64)
    padded = torch.cat([x] + [x[:, -1:]] * pooling, dim=1)  # the last position again and again
    means = torch.stack([padded[:, i : i + pooling].mean(1) for i in range(0, 7, pooling)], dim=1)
    expected, expected_maps = oracle.multi_head(attention.state_dict(), HEADS, rule, x, means)
    y, maps = attention(x, need_weights=True)
    assert_close(y, expected)
    assert_close(maps, squeezed(expected_maps))
    assert_close(attention(x), expected)


def test_attention_with_pooled_keys_takes_a_context_as_it_is_and_nothing_that_speaks_of_single_keys() -> None:
    attention, x, context = build("shared", pooling=2), sequence(), sequence(6)
    plain = build("shared")
    plain.load_state_dict(attention.state_dict())
    assert_close(attention(x, context), plain(x, context))
    for options in ({"causal": True}, {"mask": torch.ones(LENGTH, LENGTH).bool()}, {"cache": KVCache()}, {"value": x}):
        with pytest.raises(ValueError, match="pools its keys"):
            attention(x, **options)
    with pytest.raises(ValueError, match="at least 1"):
        build("shared", pooling=0)
    with pytest.raises(ValueError, match="positions are encoded"):
        build("shared", pooling=2, positions=QRotary())


@both_rules
def test_cross_attention_agrees_with_the_scalar_oracle(rule: str) -> None:
    attention, x, context = build(rule, dtype=torch.float64), sequence(3).double(), sequence(6).double()
    options = {"mask": random_mask(BATCH, HEADS, 3, 6), "key_padding_mask": random_mask(BATCH, 6)}
    bias = oracle.additive_bias((BATCH, HEADS, 3, 6), options)
    expected, expected_maps = oracle.multi_head(attention.state_dict(), HEADS, rule, x, context, bias)
    y, maps = attention(x, context, **options, need_weights=True)
    assert_close(y, expected)
    assert_close(attention(x, context, **options), expected)
    assert_close(maps, squeezed(expected_maps))


@both_rules
def test_single_precision_is_within_one_in_a_hundred_thousand(rule: str) -> None:
    attention, x = build(rule), sequence()
    expected, _ = oracle.multi_head(attention.state_dict(), HEADS, rule, x)
    assert_close(attention(x).double(), expected, atol=1e-5, rtol=1e-5)


@both_rules
def test_maps_have_one_row_of_weights_for_each_query(rule: str) -> None:
    y, maps = build(rule)(sequence(3), sequence(6), need_weights=True)
    shape = (BATCH, HEADS, 3, 6) if rule == "shared" else (BATCH, HEADS, 4, 3, 6)
    assert maps.shape == shape
    assert y.shape == (BATCH, 3, 4, DIM)
    assert_close(maps.sum(-1), torch.ones(shape[:-1]))


@pytest.mark.parametrize("mask", ["none", "causal", "float, a dead row"])
@both_rules
def test_attention_gradients_are_right(rule: str, mask: str) -> None:
    attention = randomise_(KINDS[rule](2, 2)).double()
    x = torch.randn(1, LENGTH, 4, 2, dtype=torch.float64, requires_grad=True)
    inputs = (x, *attention.parameters())
    assert torch.autograd.gradcheck(lambda x, *_: attention(x, **MASKS[mask]), inputs)


def head_outputs(attention: QAttention, x: Tensor) -> Tensor:
    """What goes into the output projection, by head: ``(B, H, N, 4, D)``."""
    seen: list[Tensor] = []
    hook = attention.out.register_forward_pre_hook(lambda _, inputs: seen.append(inputs[0]))
    attention(x)
    hook.remove()
    return seen[0].unflatten(-1, (attention.heads, -1)).movedim(3, 1)


def with_identity_projections(rule: str) -> QAttention:
    attention = KINDS[rule](DIM, HEADS, bias=False, qk_norm=False)
    with torch.no_grad():
        for layer in (attention.query, attention.key, attention.value):
            layer.weight.zero_()
            layer.weight[0].copy_(torch.eye(DIM))
    return attention


@pytest.mark.parametrize("component", range(4))
@both_rules
def test_every_head_sees_all_four_components(rule: str, component: int) -> None:
    attention, x = build(rule), sequence()
    changed = x.clone()
    changed[:, 0, component] += 1.0
    maps, moved = (attention(t, need_weights=True)[1] for t in (x, changed))
    assert ((maps - moved).abs().flatten(2).amax(-1) > 1e-3).all()
    outputs, moved = (head_outputs(attention, t) for t in (x, changed))
    assert ((outputs - moved).abs().amax((2, 4)) > 1e-4).all()


@pytest.mark.parametrize("component", range(4))
@pytest.mark.parametrize("channel", range(DIM))
@both_rules
def test_a_component_moves_the_map_of_its_own_head_and_of_no_other(rule: str, channel: int, component: int) -> None:
    attention, x = with_identity_projections(rule), sequence()
    changed = x.clone()
    changed[:, 1, component, channel] += 1.0
    maps, moved = (attention(t, need_weights=True)[1] for t in (x, changed))
    difference = (maps - moved).abs().amax((-2, -1)).view(BATCH, HEADS, -1)
    own = channel // (DIM // HEADS)
    assert (difference[:, own] > 1e-3).all()
    assert difference[:, 1 - own].max() < 1e-6


@both_rules
def test_every_head_hands_on_all_four_components_of_its_values(rule: str) -> None:
    attention = with_identity_projections(rule)
    with torch.no_grad():
        attention.query.weight.zero_()  # uniform maps: all that is left are the values
    x = sequence().requires_grad_()
    outputs = head_outputs(attention, x)
    for h in range(HEADS):
        for component in range(4):
            (grad,) = torch.autograd.grad(outputs[0, h, 0, component, 0], x, retain_graph=True)
            expected = torch.zeros_like(x)
            expected[0, :, component, h * DIM // HEADS] = 1 / LENGTH
            assert_close(grad, expected)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32])
@pytest.mark.parametrize("need_weights", [False, True])
@both_rules
def test_a_query_that_may_see_nothing_gives_zero(rule: str, need_weights: bool, dtype: torch.dtype) -> None:
    attention, x = build(rule), sequence().requires_grad_()
    y = attention(x, mask=dead_row(dtype=dtype), need_weights=need_weights)
    if need_weights:
        y, maps = y
        assert maps[..., 1, :].count_nonzero() == 0
        assert_close(maps[..., 2:, :].sum(-1), torch.ones_like(maps[..., 2:, 0]))
    assert torch.equal(y[:, 1], attention.out.bias.expand(BATCH, 4, DIM))
    assert (y[:, 0] - attention.out.bias).abs().max() > 1e-2
    y.square().sum().backward()
    assert all(grad.isfinite().all() for grad in [x.grad, *(p.grad for p in attention.parameters())])
    assert x.grad[:, 0].count_nonzero() > 0


@both_rules
def test_a_query_that_may_see_nothing_hears_nothing(rule: str) -> None:
    attention, x = build(rule), sequence().requires_grad_()
    attention(x, mask=dead_row(dtype=torch.bool))[:, 1].sum().backward()
    assert x.grad.count_nonzero() == 0


@both_rules
def test_a_sequence_of_padding_alone_gives_the_output_bias(rule: str) -> None:
    attention = build(rule)
    y = attention(sequence(), key_padding_mask=torch.tensor([[True], [False]]).expand(BATCH, LENGTH))
    assert torch.equal(y[1], attention.out.bias.expand(LENGTH, 4, DIM))
    assert y.isfinite().all()


@both_rules
def test_padding_is_the_same_as_a_shorter_sequence(rule: str) -> None:
    attention, x = build(rule), sequence()
    padding = torch.arange(LENGTH).expand(BATCH, LENGTH) < 3
    assert_close(attention(x, key_padding_mask=padding)[:, :3], attention(x[:, :3]))


@both_rules
def test_causal_attention_does_not_see_the_future(rule: str) -> None:
    attention, x = build(rule), sequence()
    changed = x.clone()
    changed[:, 3:] = torch.randn_like(changed[:, 3:])
    one, other = attention(x, causal=True), attention(changed, causal=True)
    assert_close(one[:, :3], other[:, :3])
    assert (one[:, 3:] - other[:, 3:]).abs().amax((-2, -1)).min() > 1e-3


@both_rules
def test_a_learned_float_mask_gets_gradients(rule: str) -> None:
    mask = torch.zeros(HEADS, LENGTH, LENGTH, requires_grad=True)
    build(rule)(sequence(), mask=mask).square().sum().backward()
    assert (mask.grad.abs() > 0).all()


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize("chunks", [(1, 1, 1, 1, 1, 1), (6,), (3, 2, 1), (1, 5), (2, 4)], ids=str)
@both_rules
def test_decoding_with_a_cache_equals_the_whole_causal_sequence(
    rule: str, chunks: tuple[int, ...], need_weights: bool
) -> None:
    attention, x, cache = build(rule), sequence(6), KVCache()
    whole, whole_maps = attention(x, causal=True, need_weights=True)
    start = 0
    for size in chunks:
        y = attention(x[:, start : start + size], causal=True, cache=cache, need_weights=need_weights)
        if need_weights:
            y, maps = y
            assert_close(maps, whole_maps[..., start : start + size, : start + size])
        assert_close(y, whole[:, start : start + size])
        start += size
        assert len(cache) == start


@both_rules
def test_decoding_with_a_cache_takes_masks_over_all_keys_so_far(rule: str) -> None:
    attention, x, cache = build(rule), sequence(6), KVCache()
    padding = torch.tensor([[True] * 6, [False, True, True, False, True, True]])
    mask = torch.randn(6, 6)
    whole = attention(x, causal=True, mask=mask, key_padding_mask=padding)
    for start, end in ((0, 2), (2, 3), (3, 6)):
        options = {"mask": mask[start:end, :end], "key_padding_mask": padding[:, :end]}
        assert_close(attention(x[:, start:end], causal=True, cache=cache, **options), whole[:, start:end])


@both_rules
def test_a_cache_without_causality_shows_all_keys_so_far(rule: str) -> None:
    attention, x, cache = build(rule), sequence(6), KVCache()
    assert_close(attention(x[:, :4], cache=cache), attention(x[:, :4]))
    assert_close(attention(x[:, 4:], cache=cache), attention(x)[:, 4:])


@both_rules
def test_dropout_acts_in_training_only_and_keeps_the_expectation(rule: str) -> None:
    attention = build(rule, dropout=0.3)
    x = sequence(3, batch=1).expand(4000, -1, -1, -1)
    expected = attention(x[:1])
    assert torch.equal(attention(x[:1]), expected)
    attention.train()
    with torch.no_grad():
        y = attention(x)
        weighed, maps = attention(x, need_weights=True)
    assert (y[0] - y[1]).abs().max() > 1e-2
    for sample in (y, weighed):
        assert ((sample.mean(0) - expected[0]).abs() < 5 * sample.std(0) / math.sqrt(len(x))).all()
    assert_close(maps.sum(-1), torch.ones_like(maps[..., 0]))
    assert_close(maps[0], maps[1])


def minus_squared_distance(q: oracle.Row, k: oracle.Row) -> list[float]:
    return [-sum((a - b) ** 2 for one, other in zip(q, k, strict=True) for a, b in zip(one, other, strict=True))]


def product_of_each_component(q: oracle.Row, k: oracle.Row) -> list[float]:
    return [sum(one[a] * other[a] for one, other in zip(q, k, strict=True)) for a in range(4)]


THIRD = {
    "distance": (Distance(), minus_squared_distance),
    "componentwise": (Componentwise(), product_of_each_component),
}


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", THIRD)
def test_a_third_rule_works_in_the_same_layer(name: str, mask: str, monkeypatch: pytest.MonkeyPatch) -> None:
    rule, score = THIRD[name]

    def maps_of(q: list, k: list, bias) -> list:
        scores = [[score(one, other) for other in k] for one in q]
        return [
            [oracle.softmax([s[a] + bias(i, j) for j, s in enumerate(row)]) for i, row in enumerate(scores)]
            for a in range(rule.maps)
        ]

    monkeypatch.setitem(oracle.MAPS, name, maps_of)
    attention = randomise_(QAttention(DIM, HEADS, rule)).double().eval()
    x = sequence(dtype=torch.float64)
    bias = oracle.additive_bias((BATCH, HEADS, LENGTH, LENGTH), MASKS[mask])
    expected, expected_maps = oracle.multi_head(attention.state_dict(), HEADS, name, x, bias=bias)
    y, maps = attention(x, **MASKS[mask], need_weights=True)
    assert_close(y, expected)
    assert_close(maps, squeezed(expected_maps))
    assert_close(attention(x, **MASKS[mask]), expected)


def test_a_third_rule_decodes_step_by_step() -> None:
    attention, x, cache = randomise_(QAttention(DIM, HEADS, Distance())), sequence(), KVCache()
    steps = [attention(x[:, n : n + 1], causal=True, cache=cache) for n in range(LENGTH)]
    assert_close(torch.cat(steps, dim=1), attention(x, causal=True))


def test_a_rule_may_have_parameters_of_its_own() -> None:
    class Tempered(ScoreRule, nn.Module):
        def __init__(self) -> None:
            nn.Module.__init__(self)
            self.temperature = nn.Parameter(torch.ones(()))

        def scores(self, q: Tensor, k: Tensor) -> Tensor:
            return Distance().scores(q, k) / self.temperature

    attention = QAttention(DIM, HEADS, Tempered())
    attention(sequence()).square().sum().backward()
    assert attention.rule.temperature.grad.abs() > 0


def test_gains_of_the_query_key_norm_are_one_per_head_and_quaternion() -> None:
    assert sum(p.numel() for name, p in SharedScoreAttention(16, 4).named_parameters() if "norm" in name) == 2 * 16


def test_an_empty_batch_stays_empty() -> None:
    assert SharedScoreAttention(DIM, HEADS)(sequence(batch=0)).shape == (0, LENGTH, 4, DIM)


def test_attention_shows_its_sizes_in_quaternions() -> None:
    assert "4, heads=2, rule=SharedScore, dropout=0.0" in repr(SharedScoreAttention(DIM, HEADS))


@pytest.mark.parametrize(("dim", "heads"), [(DIM, 3), (DIM, 0), (DIM, 8), (0, 2)])
def test_heads_must_divide_the_quaternions(dim: int, heads: int) -> None:
    with pytest.raises(ValueError, match=rf"heads must divide dim, got {heads} heads for {dim} quaternions"):
        SharedScoreAttention(dim, heads)


@pytest.mark.parametrize("dropout", [-0.1, 1.0])
def test_dropout_must_leave_something(dropout: float) -> None:
    with pytest.raises(ValueError, match=rf"dropout must lie in \[0, 1\), got {dropout}"):
        HamiltonAttention(DIM, HEADS, dropout=dropout)


BAD_INPUTS = {
    "flat features": ((sequence().flatten(2),), {}, r"x must be \(B, N, 4, 4\), got shape \(2, 5, 16\)"),
    "wrong channels": ((torch.zeros(2, 5, 4, 3),), {}, r"x must be \(B, N, 4, 4\), got shape \(2, 5, 4, 3\)"),
    "component axis elsewhere": ((torch.zeros(2, 4, 5, 4),), {}, r"x must be \(B, N, 4, 4\), got shape \(2, 4, 5, 4\)"),
    "empty sequence": ((sequence(0),), {}, r"x must hold at least one position, got an empty sequence \(2, 0, 4, 4\)"),
    "empty context": ((sequence(), sequence(0)), {}, r"context must hold at least one position, got an empty"),
    "context of wrong channels": ((sequence(), torch.zeros(2, 5, 4, 3)), {}, r"context must be \(B, N, 4, 4\), got"),
    "batches": ((sequence(), sequence(batch=3)), {}, r"the same batch size, got 2 and 3"),
    "cache and context": ((sequence(), sequence()), {"cache": KVCache()}, r"leave it out when context is given"),
    "causal context": (
        (sequence(3), sequence(6)),
        {"causal": True},
        r"equal lengths, got 3 queries and 6 keys; pass a",
    ),
    "mask shape": ((sequence(),), {"mask": torch.zeros(4, 5)}, r"to \(B, H, N, M\) = \(2, 2, 5, 5\), got \(4, 5\)"),
    "mask dtype": ((sequence(),), {"mask": torch.ones(5, 5).int()}, r"boolean .* or floating .*, got torch.int32"),
    "padding shape": (
        (sequence(),),
        {"key_padding_mask": torch.ones(2, 4).bool()},
        r"\(2, 5\), got torch.bool of shape",
    ),
    "padding dtype": ((sequence(),), {"key_padding_mask": torch.ones(2, 5)}, r"must be boolean .* got torch.float32"),
}


@pytest.mark.parametrize("name", BAD_INPUTS)
@both_rules
def test_bad_input_is_answered_by_what_was_expected(rule: str, name: str) -> None:
    inputs, options, message = BAD_INPUTS[name]
    with pytest.raises(ValueError, match=message):
        build(rule)(*inputs, **options)


def test_a_cache_serves_one_batch_size() -> None:
    attention, cache = build("shared"), KVCache()
    attention(sequence(), cache=cache)
    with pytest.raises(ValueError, match="the cache holds a batch of 2, got a batch of 3"):
        attention(sequence(batch=3), cache=cache)
    assert len(cache) == LENGTH


def test_the_mask_counts_the_cached_keys_too() -> None:
    attention, cache = build("shared"), KVCache()
    attention(sequence(3), cache=cache)
    with pytest.raises(ValueError, match=r"= \(2, 2, 1, 4\), got \(1, 3\)"):
        attention(sequence(1), cache=cache, mask=torch.zeros(1, 3))
    assert len(cache) == 3, "a refused step leaves the cache as it was"


@both_rules
def test_a_cropped_cache_goes_on_as_if_the_rest_had_never_been(rule: str) -> None:
    attention, x, cache = build(rule), sequence(6), KVCache()
    attention(x[:, :3], causal=True, cache=cache)
    attention(sequence(2), causal=True, cache=cache)  # two tokens that are taken back
    cache.crop(3)
    assert len(cache) == 3
    assert_close(attention(x[:, 3:], causal=True, cache=cache), attention(x, causal=True)[:, 3:])
    cache.crop(0)
    assert len(cache) == 0
    other = sequence(2, batch=3)
    assert_close(attention(other, causal=True, cache=cache), attention(other, causal=True))


@both_rules
def test_a_reordered_cache_goes_on_with_the_chosen_beams(rule: str) -> None:
    attention, x, cache = build(rule), sequence(6), KVCache()
    attention(x[:, :4], causal=True, cache=cache)
    index = torch.tensor([1, 1, 0])
    cache.reorder(index)
    following = sequence(2, batch=3)
    whole = attention(torch.cat([x[index, :4], following], dim=1), causal=True)
    assert_close(attention(following, causal=True, cache=cache), whole[:, 4:])


def test_a_cache_is_cropped_and_reordered_within_what_it_holds() -> None:
    attention, cache = build("shared"), KVCache()
    cache.crop(0)
    with pytest.raises(ValueError, match="the cache is still empty"):
        cache.reorder(torch.tensor([0]))
    attention(sequence(3), cache=cache)
    for length in (-1, 4):
        with pytest.raises(ValueError, match=f"cannot crop a cache of 3 positions to {length}"):
            cache.crop(length)
    for index in (torch.tensor(0), torch.tensor([0.0]), torch.tensor([True, False])):
        with pytest.raises(ValueError, match="expected a row of integers"):
            cache.reorder(index)


@both_rules
def test_values_may_come_from_elsewhere_than_keys(rule: str) -> None:
    attention, x, context, value = build(rule), sequence(3), sequence(6), sequence(6)
    y, maps = attention(x, context, value=value, need_weights=True)
    assert_close(maps, attention(x, context, need_weights=True)[1])
    v = attention.split_heads(attention.value(value))
    maps = maps[:, :, None].expand(-1, -1, 4, -1, -1) if maps.dim() == 4 else maps
    assert_close(y, attention.merge((maps @ v.transpose(2, 3)).transpose(2, 3)))
    with pytest.raises(ValueError, match="value must have a position for each key"):
        attention(x, context, value=sequence(5))
