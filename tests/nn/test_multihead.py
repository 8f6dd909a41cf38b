"""`SharedScoreMultihead` beside `nn.MultiheadAttention` with the real form of the same weights: the same function."""

import math
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.testing import assert_close

from cases import randomise_
from hamiltone.nn import QRotary, SharedScoreMultihead, fold

EMBED, HEADS, BATCH, N, M = 16, 2, 3, 5, 7


def twins(*, batch_first: bool = True, bias: bool = True) -> tuple[SharedScoreMultihead, nn.MultiheadAttention]:
    """Ours without query-key norms, and torch's with the same weights in head order."""
    ours = SharedScoreMultihead(EMBED, HEADS, bias=bias, batch_first=batch_first, qk_norm=False)
    ours = randomise_(ours).eval()
    theirs = nn.MultiheadAttention(EMBED, HEADS, bias=bias, batch_first=batch_first).eval()
    real = fold(ours.attention)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(real.qkv.weight)
        theirs.out_proj.weight.copy_(real.out.weight)
        if bias:
            theirs.in_proj_bias.copy_(real.qkv.bias)
            theirs.out_proj.bias.copy_(real.out.bias)
    return ours, theirs


def boolean(*shape: int) -> Tensor:
    """True in a third of the places, never for the first key: then every query sees one."""
    mask = torch.rand(shape, generator=torch.Generator().manual_seed(1)) < 0.35
    mask[..., 0] = False
    return mask


def floating(*shape: int) -> Tensor:
    noise = torch.randn(shape, generator=torch.Generator().manual_seed(2))
    return noise.masked_fill(boolean(*shape), -math.inf)


MASKS: dict[str, dict[str, Tensor]] = {
    "none": {},
    "attn bool (N, M)": {"attn_mask": boolean(N, M)},
    "attn float (N, M)": {"attn_mask": floating(N, M)},
    "attn bool (B·H, N, M)": {"attn_mask": boolean(BATCH * HEADS, N, M)},
    "attn float (B·H, N, M)": {"attn_mask": floating(BATCH * HEADS, N, M)},
    "padding bool": {"key_padding_mask": boolean(BATCH, M)},
    "padding float": {"key_padding_mask": floating(BATCH, M)},
    "both bool": {"attn_mask": boolean(N, M), "key_padding_mask": boolean(BATCH, M)},
    "both float": {"attn_mask": floating(BATCH * HEADS, N, M), "key_padding_mask": floating(BATCH, M)},
    "attn bool, padding float": {"attn_mask": boolean(N, M), "key_padding_mask": floating(BATCH, M)},
    "attn float, padding bool": {"attn_mask": floating(N, M), "key_padding_mask": boolean(BATCH, M)},
}


def inputs(batch_first: bool = True) -> list[Tensor]:
    """A query, a key and a value, all different."""
    return [torch.randn((BATCH, n, EMBED) if batch_first else (n, BATCH, EMBED)) for n in (N, M, M)]


@pytest.mark.filterwarnings("ignore:Support for mismatched:UserWarning")
@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("mask", MASKS)
def test_every_mask_means_what_torch_means_by_it(mask: str, need_weights: bool) -> None:
    ours, theirs = twins()
    (y, maps), (expected, their_maps) = (
        layer(*qkv, **MASKS[mask], need_weights=need_weights) for qkv in [inputs()] for layer in (ours, theirs)
    )
    assert_close(y, expected, atol=1e-5, rtol=1e-5)
    assert (maps is None) == (their_maps is None) == (not need_weights)
    if maps is not None:
        assert_close(maps, their_maps, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("mask", ["none", "attn bool (B·H, N, M)", "both bool"])
@pytest.mark.parametrize("bias", [True, False])
def test_the_batch_comes_second_unless_said_otherwise(mask: str, bias: bool) -> None:
    assert not SharedScoreMultihead(EMBED, HEADS).batch_first
    ours, theirs = twins(batch_first=False, bias=bias)
    qkv = inputs(batch_first=False)
    for average in (True, False):
        (y, maps), (expected, their_maps) = (
            layer(*qkv, **MASKS[mask], average_attn_weights=average) for layer in (ours, theirs)
        )
        assert_close(y, expected, atol=1e-5, rtol=1e-5)
        assert_close(maps, their_maps, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("batch_first", [True, False])
def test_sequences_without_a_batch_axis(batch_first: bool) -> None:
    ours, theirs = twins(batch_first=batch_first)
    q, k, v = (torch.randn(n, EMBED) for n in (N, M, M))
    options: dict[str, Any] = {"attn_mask": boolean(HEADS, N, M), "key_padding_mask": boolean(M)}
    for average in (True, False):
        results = [layer(q, k, v, **options, average_attn_weights=average) for layer in (ours, theirs)]
        for mine, expected in zip(*results, strict=True):
            assert_close(mine, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("need_weights", [True, False])
@pytest.mark.parametrize("padded", [True, False])
def test_the_causal_hint_goes_with_its_mask(need_weights: bool, padded: bool) -> None:
    ours, theirs = twins()
    x = inputs()[1]
    options: dict[str, Any] = {
        "attn_mask": torch.ones(M, M, dtype=torch.bool).triu(1),
        "key_padding_mask": boolean(BATCH, M) if padded else None,
        "is_causal": True,
        "need_weights": need_weights,
    }
    assert_close(ours(x, x, x, **options)[0], theirs(x, x, x, **options)[0], atol=1e-5, rtol=1e-5)
    for layer, error in ((ours, ValueError), (theirs, RuntimeError)):
        with pytest.raises(error, match="attn_mask"):
            layer(x, x, x, is_causal=True)


def test_the_first_tensors_may_be_one_and_the_values_another() -> None:
    ours, theirs = twins()
    x, value = torch.randn(2, BATCH, M, EMBED)
    assert_close(ours(x, x, value)[0], theirs(x, x, value)[0], atol=1e-5, rtol=1e-5)


def test_with_norms_masked_tokens_have_no_influence() -> None:
    layer, (q, k, v) = randomise_(SharedScoreMultihead(EMBED, HEADS, batch_first=True)).eval(), inputs()
    missing = boolean(BATCH, M)
    before = layer(q, k, v, key_padding_mask=missing)[0]
    noise = 10 * torch.randn(BATCH, M, EMBED)
    elsewhere = noise * missing[..., None]
    assert_close(layer(q, k + elsewhere, v + elsewhere, key_padding_mask=missing)[0], before)
    assert not torch.allclose(layer(q, k + noise, v + noise, key_padding_mask=missing)[0], before, atol=1e-2)


def test_a_query_without_keys_gives_zero_where_torch_gives_nan() -> None:
    ours, theirs = twins(bias=False)
    qkv, nothing = inputs(), torch.ones(N, M, dtype=torch.bool)
    assert (ours(*qkv, attn_mask=nothing)[0] == 0).all()
    assert theirs(*qkv, attn_mask=nothing)[0].isnan().all()


@pytest.mark.parametrize("batch_first", [True, False])
@pytest.mark.parametrize("training", [True, False])
def test_torchs_own_encoder_and_decoder_layers_take_it(training: bool, batch_first: bool) -> None:
    ours, theirs = twins(batch_first=batch_first)
    encoder = nn.TransformerEncoderLayer(EMBED, HEADS, 8, dropout=0.0, batch_first=batch_first).train(training)
    decoder = nn.TransformerDecoderLayer(EMBED, HEADS, 8, dropout=0.0, batch_first=batch_first).train(training)
    x, memory, _ = inputs(batch_first)
    padding, outputs = boolean(BATCH, N), []
    for attention in (ours.train(training), theirs.train(training)):
        encoder.self_attn = decoder.self_attn = decoder.multihead_attn = attention
        with torch.no_grad():
            y = encoder(x, src_key_padding_mask=padding)
            outputs.append((y, decoder(x, memory, tgt_mask=torch.ones(N, N, dtype=torch.bool).triu(1))))
    for mine, expected in zip(*outputs, strict=True):
        assert_close(mine, expected, atol=1e-5, rtol=1e-5)


def test_it_folds_and_takes_positions_and_drops_out() -> None:
    layer = randomise_(SharedScoreMultihead(EMBED, HEADS, 0.5, batch_first=True, positions=QRotary())).eval()
    qkv = inputs()
    y = layer(*qkv)[0]
    assert_close(fold(layer)(*qkv)[0], y, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(y, layer(*(x.flip(1) for x in qkv))[0].flip(1), atol=1e-3)
    assert not torch.allclose(layer.train()(*qkv)[0], y, atol=1e-3)


def test_there_are_a_quarter_of_the_weights() -> None:
    ours, theirs = twins(bias=False)
    assert 4 * sum(p.numel() for p in ours.parameters()) == sum(p.numel() for p in theirs.parameters())


WRONG: dict[str, tuple[dict[str, Any], str]] = {
    "(B, M) as attn_mask": ({"attn_mask": boolean(BATCH, M)}, "attn_mask must have one of the shapes"),
    "a mask for each batch": ({"attn_mask": boolean(BATCH, N, M)}, "attn_mask must have one of the shapes"),
    "padding of queries": ({"key_padding_mask": boolean(BATCH, N)}, r"key_padding_mask must be \(B, M\) = \(3, 7\)"),
    "integers": ({"attn_mask": torch.ones(N, M, dtype=torch.int64)}, "must be boolean"),
}


@pytest.mark.parametrize("name", WRONG)
def test_wrong_masks_are_refused(name: str) -> None:
    options, message = WRONG[name]
    with pytest.raises(ValueError, match=message):
        twins()[0](*inputs(), **options)


def test_wrong_shapes_are_refused() -> None:
    with pytest.raises(ValueError, match=r"multiple of 4 \* num_heads, got 20 and 2 heads"):
        SharedScoreMultihead(20, 2)
    with pytest.raises(ValueError, match=r"multiple of 4 \* num_heads, got 0 and 2 heads"):
        SharedScoreMultihead(0, 2)
    layer, (q, k, v) = twins()[0], inputs()
    with pytest.raises(ValueError, match=r"key must be \(B, N, 16\), or without the batch axis in all three"):
        layer(q, k[0], v)
    with pytest.raises(ValueError, match="value must have a position for each key"):
        layer(q, k, v[:, 1:])


def test_an_encoder_can_be_built_from_a_layer_with_it() -> None:
    layer = nn.TransformerEncoderLayer(32, 4, 64, dropout=0.0, batch_first=True)
    layer.self_attn = SharedScoreMultihead(32, 4, batch_first=True)
    with pytest.warns(UserWarning, match="_qkv_same_embed_dim was not True"):  # no nested tensors, that is
        encoder = nn.TransformerEncoder(layer, 2).eval()
    x, padding = torch.randn(2, 5, 32), torch.tensor([[False] * 3 + [True] * 2, [False] * 5])
    with torch.no_grad():
        result, shorter = encoder(x, src_key_padding_mask=padding), encoder(x[:1, :3])
    torch.testing.assert_close(result[:1, :3], shorter)


@pytest.mark.parametrize(("name", "shape"), [("attn_mask", (5, 5)), ("key_padding_mask", (2, 5))])
def test_a_mask_of_integers_is_refused_with_the_polarity_of_this_module(name: str, shape: tuple[int, int]) -> None:
    x = torch.randn(2, 5, 16)
    with pytest.raises(ValueError, match=rf"^{name} must be boolean \(True = forbidden\) or floating"):
        SharedScoreMultihead(16, 2, batch_first=True)(x, x, x, **{name: torch.zeros(shape, dtype=torch.uint8)})
