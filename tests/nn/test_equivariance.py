"""Left-multiplying every input quaternion by a unit quaternion, and what it does to the output.

X ⊗ W multiplies from the right, so whatever treats quaternions as whole numbers commutes with it. Cutting heads, norms
or channels across components does not: this is the detector for a scrambled component axis.
"""

from collections.abc import Callable

import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import oracle
from cases import randomise_
from hamiltone.nn import (
    QGLU,
    HamiltonAttention,
    QBatchNorm,
    QConv1d,
    QConv2d,
    QConvTranspose1d,
    QConvTranspose2d,
    QDropout,
    QLayerNorm,
    QLinear,
    QRMSNorm,
    QTNAttention,
    SharedScoreAttention,
    SplitActivation,
    concat,
    fold,
)

Function = Callable[[Tensor], Tensor]
UNIT = (0.1, -0.7, 0.5, 0.5)
DIM, HEADS = 16, 4


def error(function: Function, x: Tensor, dim: int, multiply: Callable[[Tensor], Tensor] | None = None) -> float:
    """max |f(u ⊗ x) - u ⊗ f(x)|."""
    multiply = multiply or (lambda x: oracle.left_multiply(UNIT, x, dim))
    with torch.no_grad():
        return (function(multiply(x)) - multiply(function(x))).abs().max().item()


def seeded(layer: nn.Module) -> Function:
    def run(x: Tensor) -> Tensor:
        torch.manual_seed(5)
        return layer(x)

    return run


def sequence() -> Tensor:
    return torch.randn(2, 10, 4, DIM)


def signal() -> Tensor:
    return torch.randn(2, 4, DIM, 9)


def feature_map() -> Tensor:
    return torch.randn(2, 4, DIM, 5, 6)


EQUIVARIANT: dict[str, tuple[Callable[[], Function], Callable[[], Tensor], int]] = {
    "linear": (lambda: QLinear(DIM, 8, bias=False), sequence, 2),
    "conv1d": (lambda: QConv1d(DIM, 8, 3, padding=1, bias=False), signal, 1),
    "conv1d groups": (lambda: QConv1d(DIM, 8, 3, groups=4, bias=False), signal, 1),
    "conv1d depthwise": (lambda: QConv1d(DIM, DIM, 3, groups=DIM, bias=False), signal, 1),
    "conv2d": (lambda: QConv2d(DIM, 8, 3, stride=2, bias=False), feature_map, 1),
    "transposed 1d": (lambda: QConvTranspose1d(DIM, 8, 4, stride=2, groups=2, bias=False), signal, 1),
    "transposed 2d": (lambda: QConvTranspose2d(DIM, 8, 3, stride=2, output_padding=1, bias=False), feature_map, 1),
    "rms norm": (lambda: QRMSNorm(DIM), sequence, 2),
    "layer norm": (lambda: QLayerNorm(DIM, bias=False), sequence, 2),
    "concat": (lambda: lambda x: concat([x, x.flip(1), x.flip(-1)]), sequence, 2),
    "dropout": (lambda: seeded(QDropout(0.5)), sequence, 2),
    "attention": (lambda: SharedScoreAttention(DIM, HEADS, bias=False), sequence, 2),
    "attention without norm": (lambda: SharedScoreAttention(DIM, HEADS, bias=False, qk_norm=False), sequence, 2),
    "folded attention": (lambda: fold(SharedScoreAttention(DIM, HEADS, bias=False)), sequence, 2),
    "local attention": (lambda: QTNAttention(DIM, HEADS, radius=3, bias=False), sequence, 2),
}


@pytest.mark.parametrize("name", EQUIVARIANT)
def test_a_unit_quaternion_from_the_left_passes_through(name: str) -> None:
    build, inputs, dim = EQUIVARIANT[name]
    assert error(build(), inputs(), dim) < 1e-5


def test_the_passage_is_from_the_left_only() -> None:
    layer, x = QLinear(DIM, DIM, bias=False), sequence()
    assert error(layer, x, 2, lambda x: oracle.right_multiply(x, UNIT, 2)) > 1e-2


def test_the_shared_map_does_not_change_at_all() -> None:
    attention, x = SharedScoreAttention(DIM, HEADS, bias=False), sequence()
    maps, turned = (attention(t, need_weights=True)[1] for t in (x, oracle.left_multiply(UNIT, x, 2)))
    assert (maps - turned).abs().max() < 1e-6


NOT_EQUIVARIANT: dict[str, Callable[[], Function]] = {
    "Hamilton attention": lambda: HamiltonAttention(DIM, HEADS, bias=False),
    "split activation": lambda: SplitActivation(torch.relu),
    "gate": lambda: QGLU(),
    "bias": lambda: randomise_(QLinear(DIM, DIM)),
    "layer norm bias": lambda: randomise_(QLayerNorm(DIM)),
}


@pytest.mark.parametrize("name", NOT_EQUIVARIANT)
def test_what_treats_components_apart_is_caught(name: str) -> None:
    assert error(NOT_EQUIVARIANT[name](), sequence(), 2) > 1e-2


def test_batch_norm_with_a_mean_is_caught() -> None:
    assert error(randomise_(QBatchNorm(DIM)).eval(), signal(), 1) > 1e-2


def with_a_flat_head_split(attention: SharedScoreAttention) -> Function:
    """Heads cut from the flat axis [r|i|j|k]: with as many heads as components, head h is component h."""

    def run(x: Tensor) -> Tensor:
        q = attention.query_norm(attention.query(x))
        k = attention.key_norm(attention.key(x))
        v = attention.value(x)
        q, k, v = (t.flatten(2).unflatten(-1, (attention.heads, -1)).transpose(1, 2) for t in (q, k, v))
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).flatten(2)
        return attention.out(y.unflatten(-1, (4, -1)))

    return run


def with_neighbouring_channels_as_quaternions(x: Tensor) -> Tensor:
    """An RMS norm over four neighbours of one component instead of the four components of one quaternion."""
    groups = x.flatten(-2).unflatten(-1, (-1, 4))
    return (groups * torch.rsqrt(groups.square().mean(-1, keepdim=True) + 1e-6)).flatten(-2).unflatten(-1, (4, -1))


def with_the_flat_axis_joined(x: Tensor) -> Tensor:
    return torch.cat([x.flatten(-2), x.flip(1).flatten(-2)], dim=-1).unflatten(-1, (4, -1))


SCRAMBLED: dict[str, Callable[[], Function]] = {
    "flat heads": lambda: with_a_flat_head_split(SharedScoreAttention(DIM, HEADS, bias=False)),
    "flat heads without norm": lambda: with_a_flat_head_split(
        SharedScoreAttention(DIM, HEADS, bias=False, qk_norm=False)
    ),
    "flat norm": lambda: with_neighbouring_channels_as_quaternions,
    "flat concat": lambda: with_the_flat_axis_joined,
}


@pytest.mark.parametrize("name", SCRAMBLED)
def test_a_scrambled_component_axis_is_caught(name: str) -> None:
    assert error(SCRAMBLED[name](), sequence(), 2) > 1e-2


def test_one_head_of_the_flat_split_is_the_whole_quaternion_and_passes() -> None:
    attention = SharedScoreAttention(DIM, 1, bias=False)
    assert error(with_a_flat_head_split(attention), sequence(), 2) < 1e-5
