from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F
from torch.testing import assert_close

import oracle
from cases import randomise_
from hamiltone.nn import (
    HamiltonAttention,
    KVCache,
    QConformerBlock,
    QConvModule,
    QFeedForward,
    QLayerNorm,
    QLinear,
    QTNAttention,
    QTransformerBlock,
    SharedScoreAttention,
)

DIM, HEADS, HIDDEN, LENGTH = 4, 2, 3, 6
KINDS = {"shared": SharedScoreAttention, "hamilton": HamiltonAttention}


def transformer(attention: nn.Module, dropout: float = 0.0) -> QTransformerBlock:
    return QTransformerBlock(DIM, attention, QFeedForward(DIM, HIDDEN, dropout=dropout), dropout=dropout)


def conformer(attention: nn.Module, groups: int = 1, dropout: float = 0.0) -> QConformerBlock:
    feed_forwards = QFeedForward(DIM, HIDDEN, activation=nn.SiLU()), QFeedForward(DIM, HIDDEN, dropout=dropout)
    convolution = QConvModule(DIM, 3, groups=groups, dropout=dropout)
    return QConformerBlock(DIM, attention, convolution, feed_forwards, dropout=dropout)


BLOCKS = {"transformer": transformer, "conformer": conformer}


def sequence() -> Tensor:
    return torch.randn(2, LENGTH, 4, DIM, dtype=torch.float64)


def each_row(function: Callable[[oracle.Row], oracle.Row], x: Tensor) -> Tensor:
    return torch.stack([oracle.tensor([function(row) for row in oracle.rows(sample)]) for sample in x])


def literal_norm(layer: QLayerNorm, x: Tensor) -> Tensor:
    return each_row(lambda row: oracle.layer_norm(row, layer.gain, layer.bias, 1e-5), x)


def literal_linear(layer: QLinear, x: Tensor) -> Tensor:
    return each_row(lambda row: oracle.linear(row, layer.weight, layer.bias), x)


def literal_feed_forward(layers: QFeedForward, activation: Callable[[Tensor], Tensor], x: Tensor) -> Tensor:
    return literal_linear(layers[3], activation(literal_linear(layers[0], x)))


def literal_convolution(module: QConvModule, x: Tensor, padding: Tensor) -> Tensor:
    convolution, norm = module.convolution[0], module.convolution[1]
    values, gates = literal_linear(module.gate[0], literal_norm(module.norm, x)).split(DIM, dim=-1)
    signal = (values * torch.sigmoid(gates) * padding[:, :, None, None]).permute(0, 2, 3, 1)
    y = [oracle.convolution(s, convolution.weight, convolution.bias, **convolution.geometry()) for s in signal]
    y = torch.stack(y) - norm.running_mean[..., None]
    y = y / (norm.running_var[:, None] + 1e-5).sqrt() * norm.gain[:, None] + norm.bias[..., None]
    return literal_linear(module.out[0], F.silu(y).permute(0, 3, 1, 2))


@pytest.mark.parametrize("rule", KINDS)
def test_transformer_block_is_two_residuals_around_norms(rule: str) -> None:
    block, x = randomise_(transformer(KINDS[rule](DIM, HEADS)).double()).eval(), sequence()
    attended, _ = oracle.multi_head(block.attention.state_dict(), HEADS, rule, literal_norm(block.attention_norm, x))
    y = x + attended
    y = y + literal_feed_forward(block.feed_forward, F.gelu, literal_norm(block.feed_forward_norm, y))
    assert_close(block(x), y)


@pytest.mark.parametrize("groups", [1, DIM])
@pytest.mark.parametrize("padded", [False, True])
@pytest.mark.parametrize("rule", KINDS)
def test_conformer_block_is_half_feed_forward_attention_convolution_half_feed_forward_norm(
    rule: str, padded: bool, groups: int
) -> None:
    block, x = randomise_(conformer(KINDS[rule](DIM, HEADS), groups).double()).eval(), sequence()
    padding = torch.arange(LENGTH).expand(2, LENGTH) < torch.tensor([[4 if padded else LENGTH], [LENGTH]])
    first_norm, first = block.first_feed_forward
    second_norm, second = block.second_feed_forward
    y = x + 0.5 * literal_feed_forward(first, F.silu, literal_norm(first_norm, x))
    bias = oracle.additive_bias((2, HEADS, LENGTH, LENGTH), {"key_padding_mask": padding})
    attended, _ = oracle.multi_head(
        block.attention.state_dict(), HEADS, rule, literal_norm(block.attention_norm, y), bias=bias
    )
    y = y + attended
    y = y + literal_convolution(block.convolution, y, padding)
    y = y + 0.5 * literal_feed_forward(second, F.gelu, literal_norm(second_norm, y))
    assert_close(block(x, key_padding_mask=padding if padded else None), literal_norm(block.norm, y))


@pytest.mark.parametrize("attention", [SharedScoreAttention, HamiltonAttention, QTNAttention])
def test_padding_tells_its_neighbours_nothing(attention: type[nn.Module]) -> None:
    block, x = randomise_(conformer(attention(DIM, HEADS)).double()).eval(), sequence()
    padding = torch.arange(LENGTH).expand(2, LENGTH) < 4
    changed = x.clone()
    changed[:, 4:] = torch.randn_like(changed[:, 4:])
    assert_close(block(x, key_padding_mask=padding)[:, :4], block(changed, key_padding_mask=padding)[:, :4])
    assert_close(block(x, key_padding_mask=padding)[:, :4], block(x[:, :4]))


def test_transformer_block_hands_its_options_to_the_attention() -> None:
    block, x, cache = randomise_(transformer(SharedScoreAttention(DIM, HEADS)).double()), sequence(), KVCache()
    steps = [block(x[:, n : n + 1], causal=True, cache=cache) for n in range(LENGTH)]
    assert_close(torch.cat(steps, dim=1), block(x, causal=True))


def test_conformer_block_hands_its_mask_to_the_attention() -> None:
    block, x = randomise_(conformer(SharedScoreAttention(DIM, HEADS)).double()).eval(), sequence()
    assert (block(x, mask=torch.eye(LENGTH).bool()) - block(x)).abs().max() > 1e-2


@pytest.mark.parametrize("build", BLOCKS.values(), ids=BLOCKS)
def test_dropout_acts_in_training_only(build: Callable) -> None:
    block, x = build(SharedScoreAttention(DIM, HEADS), dropout=0.5).double().eval(), sequence()
    assert torch.equal(block(x), block(x))
    block.train()
    assert (block(x) - block(x)).abs().max() > 1e-2


@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("build", BLOCKS.values(), ids=BLOCKS)
def test_block_gradients_are_right(build: Callable, training: bool) -> None:
    block = randomise_(build(SharedScoreAttention(DIM, HEADS)).double()).train(training)
    x = sequence()[:, :3].requires_grad_()
    assert torch.autograd.gradcheck(lambda x, *_: block(x), (x, *block.parameters()), fast_mode=True)


def test_a_convolution_module_keeps_the_length() -> None:
    with pytest.raises(ValueError, match="kernel_size must be odd to keep the length, got 4"):
        QConvModule(DIM, 4)
