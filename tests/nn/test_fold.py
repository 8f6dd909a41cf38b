import copy
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.nn.utils.parametrizations import weight_norm
from torch.testing import assert_close

from cases import BATCH, HEADS, LENGTH, MASKS, Componentwise, Distance, random_mask, randomise_
from hamiltone.nn import (
    QGLU,
    HamiltonAttention,
    KVCache,
    QAttention,
    QBatchNorm,
    QConformerBlock,
    QConv1d,
    QConv2d,
    QConvModule,
    QConvTranspose1d,
    QConvTranspose2d,
    QDropout,
    QFeedForward,
    QLayerNorm,
    QLinear,
    QPReLU,
    QRMSNorm,
    QRotary,
    QTNAttention,
    QTransformerBlock,
    SharedScoreAttention,
    fold,
)
from hamiltone.nn.conv import QConv
from hamiltone.nn.folded import FoldedAttention, RealLinear

DIM = 4
ATTENTIONS: dict[str, Callable[[], QAttention]] = {
    "shared": lambda: SharedScoreAttention(DIM, HEADS, dropout=0.5),
    "hamilton": lambda: HamiltonAttention(DIM, HEADS),
    "no bias, no norm": lambda: SharedScoreAttention(DIM, HEADS, bias=False, qk_norm=False),
    "distance": lambda: QAttention(DIM, HEADS, Distance()),
    "componentwise": lambda: QAttention(DIM, HEADS, Componentwise()),
    "rotary": lambda: SharedScoreAttention(DIM, HEADS, positions=QRotary(base=10)),
}


def sequence(length: int = LENGTH, dim: int = DIM) -> Tensor:
    return torch.randn(BATCH, length, 4, dim)


def signal(channels: int = DIM) -> Tensor:
    return torch.randn(BATCH, 4, channels, 7)


def feature_map(channels: int = DIM) -> Tensor:
    return torch.randn(BATCH, 4, channels, 5, 6)


def conformer() -> QConformerBlock:
    feed_forwards = QFeedForward(DIM, 6), QFeedForward(DIM, 6)
    return QConformerBlock(DIM, HamiltonAttention(DIM, HEADS), QConvModule(DIM, 3), feed_forwards, dropout=0.2)


LAYERS: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "linear": (lambda: QLinear(DIM, 3), sequence),
    "linear, no bias": (lambda: QLinear(DIM, 3, bias=False), sequence),
    "conv1d": (lambda: QConv1d(DIM, 3, 3, stride=2, padding=2, dilation=2), signal),
    "conv1d, groups": (lambda: QConv1d(DIM, 6, 3, groups=2), signal),
    "conv1d, depthwise": (lambda: QConv1d(DIM, DIM, 3, groups=DIM, bias=False), signal),
    "conv2d": (lambda: QConv2d(DIM, 3, (3, 1), stride=(1, 2)), feature_map),
    "conv2d, groups": (lambda: QConv2d(DIM, 6, 3, padding=1, groups=2), feature_map),
    "transposed 1d": (lambda: QConvTranspose1d(DIM, 6, 4, stride=2, padding=1, output_padding=1, groups=2), signal),
    "transposed 2d": (lambda: QConvTranspose2d(DIM, 3, 3, stride=2, output_padding=1, dilation=2), feature_map),
    "rms norm": (lambda: QRMSNorm(DIM), sequence),
    "layer norm": (lambda: QLayerNorm(DIM), sequence),
    "batch norm": (lambda: QBatchNorm(DIM), signal),
    "prelu": (lambda: QPReLU(DIM), signal),
    "glu": (lambda: QGLU(), sequence),
    "dropout": (lambda: QDropout(0.5), sequence),
    "feed forward": (lambda: QFeedForward(DIM, 6, dropout=0.5), sequence),
    "convolution module": (lambda: QConvModule(DIM, 3), sequence),
    "convolution module, depthwise": (lambda: QConvModule(DIM, 5, groups=DIM), sequence),
    "local attention": (lambda: QTNAttention(DIM, HEADS, radius=2), sequence),
    "transformer": (lambda: QTransformerBlock(DIM, SharedScoreAttention(DIM, HEADS), QFeedForward(DIM, 6)), sequence),
    "attention, pooled keys": (lambda: SharedScoreAttention(DIM, HEADS, pooling=2), sequence),
    "local transformer": (lambda: QTransformerBlock(DIM, QTNAttention(DIM, HEADS), QFeedForward(DIM, 6)), sequence),
    "conformer": (conformer, sequence),
    **{f"attention, {name}": (build, sequence) for name, build in ATTENTIONS.items()},
}
QUATERNION_LAYERS = (QLinear, QConv)


def leftovers(module: nn.Module, kinds: tuple[type[nn.Module], ...] = QUATERNION_LAYERS) -> list[nn.Module]:
    return [m for m in module.modules() if isinstance(m, kinds)]


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", LAYERS)
def test_folded_layers_compute_the_same(name: str, dtype: torch.dtype) -> None:
    build, inputs = LAYERS[name]
    layer, x = randomise_(build()).to(dtype).eval(), inputs().to(dtype)
    real = fold(layer)
    y = real(x)
    tolerance = 1e-5 if dtype == torch.float32 else 1e-12
    assert y.dtype == dtype
    assert_close(y, layer(x), atol=tolerance, rtol=tolerance)
    assert leftovers(real) == []


@pytest.mark.parametrize(
    ("layer", "real"),
    [
        (QLinear(3, 5), nn.Linear(12, 20)),
        (QConv1d(4, 6, 3, stride=2, groups=2), nn.Conv1d(16, 24, 3, stride=2, groups=2)),
        (QConv2d(3, 5, (3, 2), dilation=2), nn.Conv2d(12, 20, (3, 2), dilation=2)),
        (QConvTranspose1d(4, 6, 3, stride=2, output_padding=1), nn.ConvTranspose1d(16, 24, 3, 2, output_padding=1)),
        (QConvTranspose2d(4, 6, 3, groups=2, bias=False), nn.ConvTranspose2d(16, 24, 3, groups=2, bias=False)),
    ],
    ids=lambda layer: type(layer).__name__,
)
def test_a_folded_layer_is_the_torch_layer_of_the_same_size(layer: nn.Module, real: nn.Module) -> None:
    folded = fold(layer)
    assert isinstance(folded, type(real))
    assert folded.extra_repr() == real.extra_repr()
    folded.load_state_dict(real.state_dict())


def merged(*layers: nn.Module, x: Tensor) -> nn.Sequential:
    """Fold a sequence, check that it still agrees, and hand it back."""
    sequence = randomise_(nn.Sequential(*layers)).eval()
    real = fold(sequence)
    assert_close(real(x), sequence(x), atol=1e-5, rtol=1e-5)
    return real


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("groups", [1, 2])
@pytest.mark.parametrize(
    ("kind", "inputs"),
    [(QConv1d, signal), (QConv2d, feature_map), (QConvTranspose1d, signal), (QConvTranspose2d, feature_map)],
)
def test_batch_norm_is_merged_into_the_convolution_before_it(
    kind: type[QConv], inputs: Callable[[], Tensor], groups: int, bias: bool
) -> None:
    real = merged(kind(DIM, 6, 3, groups=groups, bias=bias), QBatchNorm(6), nn.SiLU(), x=inputs())
    assert leftovers(real, (QBatchNorm, QConv)) == []
    assert isinstance(real[1], nn.Identity)


def test_batch_norm_is_merged_into_the_linear_layer_before_it() -> None:
    assert leftovers(merged(QLinear(DIM, 6), QBatchNorm(6), x=torch.randn(5, 4, DIM)), (QBatchNorm, QLinear)) == []


def test_batch_norm_behind_anything_else_stays() -> None:
    real = merged(QConv1d(DIM, DIM, 3), nn.SiLU(), QBatchNorm(DIM), QBatchNorm(DIM), x=signal())
    assert len(leftovers(real, (QBatchNorm,))) == 2
    real = merged(QConv1d(DIM, DIM, 3), QBatchNorm(DIM), QBatchNorm(DIM), x=signal())
    assert len(leftovers(real, (QBatchNorm,))) == 1


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    ("kind", "inputs", "dim"),
    [(QConv1d, signal, 1), (QConv1d, signal, -3), (QConv2d, feature_map, 1), (QConvTranspose2d, feature_map, -4)],
)
def test_a_gate_is_merged_into_the_convolution_before_it(
    kind: type[QConv], inputs: Callable[[], Tensor], dim: int, bias: bool
) -> None:
    real = merged(kind(DIM, 6, 3, bias=bias), QGLU(dim), x=inputs())
    assert leftovers(real, (QGLU, QConv)) == []
    assert real[0].gated


def test_a_gate_is_merged_into_the_linear_layer_before_it() -> None:
    real = merged(QLinear(DIM, 6), QGLU(), x=sequence())
    assert leftovers(real, (QGLU, QLinear)) == []
    assert isinstance(real[0], nn.Linear)


def test_a_gate_that_one_kernel_cannot_serve_stays() -> None:
    assert leftovers(merged(QConv1d(DIM, 8, 3, groups=2), QGLU(dim=1), x=signal()), (QGLU,))
    assert leftovers(merged(QLinear(DIM, 6), QGLU(dim=1), x=torch.randn(5, 4, DIM)), (QGLU,))
    assert leftovers(merged(nn.SiLU(), QGLU(), x=sequence()), (QGLU,))


def test_batch_norm_then_gate_then_another_pair() -> None:
    layers = QConv1d(DIM, 6, 3), QBatchNorm(6), QGLU(dim=1), QConvTranspose1d(3, 8, 3), QGLU(dim=1), QBatchNorm(4)
    real = merged(*layers, x=signal())
    assert leftovers(real) == []


@pytest.mark.parametrize("mask", MASKS)
@pytest.mark.parametrize("name", ATTENTIONS)
def test_folded_attention_takes_every_mask(name: str, mask: str) -> None:
    attention, x = randomise_(ATTENTIONS[name]()).eval(), sequence()
    real = fold(attention)
    assert isinstance(real, FoldedAttention)
    assert_close(real(x, **MASKS[mask]), attention(x, **MASKS[mask]), atol=1e-5, rtol=1e-5)
    pairs = zip(real(x, **MASKS[mask], need_weights=True), attention(x, **MASKS[mask], need_weights=True), strict=True)
    for actual, expected in pairs:
        assert_close(actual, expected, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_folded_attention_attends_to_a_context(name: str) -> None:
    attention, x, context = randomise_(ATTENTIONS[name]()).eval(), sequence(3), sequence(6)
    mask = random_mask(BATCH, HEADS, 3, 6)
    assert_close(fold(attention)(x, context, mask=mask), attention(x, context, mask=mask), atol=1e-5, rtol=1e-5)
    value = sequence(6)
    expected = attention(x, context, value=value)
    assert_close(fold(attention)(x, context, value=value), expected, atol=1e-5, rtol=1e-5)
    assert not torch.allclose(expected, attention(x, context), atol=1e-2)


@pytest.mark.parametrize("name", ATTENTIONS)
def test_folded_attention_decodes_with_a_cache(name: str) -> None:
    attention, x, cache = randomise_(ATTENTIONS[name]()).eval(), sequence(6), KVCache()
    real = fold(attention)
    chunks = [real(part, causal=True, cache=cache) for part in x.split([2, 1, 3], dim=1)]
    assert_close(torch.cat(chunks, dim=1), attention(x, causal=True), atol=1e-5, rtol=1e-5)


def test_a_folded_block_takes_the_options_of_the_block() -> None:
    block, x = randomise_(conformer()).eval(), sequence()
    options = {"key_padding_mask": MASKS["padding"]["key_padding_mask"], "mask": MASKS["float (N, M)"]["mask"]}
    assert_close(fold(block)(x, **options), block(x, **options), atol=1e-5, rtol=1e-5)


class Nested(nn.Module):
    """A user's own module: lists, dictionaries, an empty slot, and layers used in several places."""

    def __init__(self) -> None:
        super().__init__()
        self.shared = QLinear(DIM, DIM)
        self.alias = self.shared
        self.stages = nn.ModuleList([nn.Sequential(self.shared, nn.GELU(), self.shared), QFeedForward(DIM, 6)])
        self.named = nn.ModuleDict({"attention": SharedScoreAttention(DIM, HEADS), "norm": QLayerNorm(DIM)})
        self.convolution = QConv1d(DIM, DIM, 3, padding=1)
        norm = QBatchNorm(DIM)
        self.local = nn.Sequential(self.convolution, norm, nn.SiLU(), self.convolution, norm)
        self.empty = None
        self.register_module("slot", None)
        self.scale = nn.Parameter(torch.ones(DIM))

    def forward(self, x: Tensor) -> Tensor:
        x = self.alias(self.shared(x))
        for stage in self.stages:
            x = x + stage(x)
        x = x + self.named["attention"](self.named["norm"](x), causal=True)
        y = self.local(self.convolution(x.permute(0, 2, 3, 1)))
        return x + self.scale * y.permute(0, 3, 1, 2)


def test_a_users_own_module_is_folded_everywhere() -> None:
    module, x = randomise_(Nested()).eval(), sequence()
    real = fold(module)
    assert_close(real(x), module(x), atol=1e-5, rtol=1e-4)
    assert leftovers(real, (QLinear, QConv, QBatchNorm)) == []


def test_a_shared_layer_stays_shared() -> None:
    real = fold(Nested())
    assert real.alias is real.shared
    assert real.stages[0][0] is real.stages[0][2] is real.shared
    assert real.local[0] is not real.convolution, "with the norm merged it is no longer the same layer"


def test_folding_does_not_touch_the_original() -> None:
    module, x = randomise_(Nested()), sequence()
    module.train()
    before = copy.deepcopy(module.state_dict())
    kinds = [type(m) for m in module.modules()]
    fold(module).apply(lambda m: [p.data.zero_() for p in m.parameters()])
    assert module.training
    assert [type(m) for m in module.modules()] == kinds
    assert all(torch.equal(value, before[name]) for name, value in module.state_dict().items())
    assert all(p.requires_grad for p in module.parameters())
    module(x).sum().backward()
    assert all(p.grad is not None for p in module.parameters())


@pytest.mark.parametrize("name", LAYERS)
def test_a_folded_module_is_in_evaluation_and_asks_for_no_gradients(name: str) -> None:
    build, inputs = LAYERS[name]
    layer = randomise_(build()).train()
    real, x = fold(layer), inputs()
    assert not any(m.training for m in real.modules())
    assert not any(p.requires_grad for p in real.parameters())
    assert_close(real(x), layer.eval()(x), atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize("build", [Nested, conformer, ATTENTIONS["shared"], ATTENTIONS["hamilton"]])
def test_folding_twice_is_folding_once(build: Callable[[], nn.Module]) -> None:
    module, x = randomise_(build()).eval(), sequence()
    assert_close(fold(fold(module))(x), module(x), atol=1e-5, rtol=1e-4)


class Doubled(QLinear):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class DoubledConvolution(QConv1d):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class DoubledNorm(QBatchNorm):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class DoubledGate(QGLU):
    def forward(self, x: Tensor) -> Tensor:
        return 2 * super().forward(x)


class Backwards(nn.Sequential):
    def forward(self, x: Tensor) -> Tensor:
        for layer in reversed(self):
            x = layer(x)
        return x


class SwappedHeads(SharedScoreAttention):
    def split_heads(self, x: Tensor) -> Tensor:
        return super().split_heads(x).flip(1)


class MovedQueries(SharedScoreAttention):
    def place(self, q: Tensor, k: Tensor, start: int = 0) -> tuple[Tensor, Tensor]:
        return q + 1, k


class DoubledValues(SharedScoreAttention):
    def project(self, x: Tensor, source: Tensor, value: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        q, k, v = super().project(x, source, value)
        return q, k, 2 * v


def with_a_layer_of_ones_own(**layers: nn.Module) -> QAttention:
    attention = SharedScoreAttention(DIM, HEADS)
    for name, layer in layers.items():
        setattr(attention, name, layer)
    return attention


OVERRIDDEN: dict[str, tuple[Callable[[], nn.Module], Callable[[], Tensor]]] = {
    "linear": (lambda: Doubled(DIM, DIM), sequence),
    "linear and gate": (lambda: nn.Sequential(Doubled(DIM, DIM), QGLU()), sequence),
    "convolution": (lambda: nn.Sequential(DoubledConvolution(DIM, DIM, 3), QBatchNorm(DIM)), signal),
    "norm": (lambda: nn.Sequential(QConv1d(DIM, DIM, 3), DoubledNorm(DIM)), signal),
    "gate": (lambda: nn.Sequential(QConv1d(DIM, DIM, 3), DoubledGate(dim=1)), signal),
    "sequence": (lambda: Backwards(QConv1d(DIM, DIM, 3), QBatchNorm(DIM)), signal),
    "weight norm": (lambda: nn.Sequential(weight_norm(QConv1d(DIM, DIM, 3)), QBatchNorm(DIM)), signal),
    "heads": (lambda: SwappedHeads(DIM, HEADS), sequence),
    "values": (lambda: DoubledValues(DIM, HEADS), sequence),
    "positions": (lambda: MovedQueries(DIM, HEADS), sequence),
    "attention's output": (lambda: with_a_layer_of_ones_own(out=nn.Identity()), sequence),
    "attention's bias": (lambda: with_a_layer_of_ones_own(query=QLinear(DIM, DIM, bias=False)), sequence),
    "attention's query": (lambda: with_a_layer_of_ones_own(query=Doubled(DIM, DIM)), sequence),
    "attention's norm": (lambda: with_a_layer_of_ones_own(key_norm=QLayerNorm(DIM)), sequence),
}


@pytest.mark.parametrize("name", OVERRIDDEN)
def test_what_a_user_has_overridden_is_respected(name: str) -> None:
    build, inputs = OVERRIDDEN[name]
    module, x = randomise_(build()).eval(), inputs()
    assert_close(fold(module)(x), module(x), atol=1e-5, rtol=1e-4)


def test_folding_sees_the_weights_of_now() -> None:
    layer, x = randomise_(QLinear(DIM, 3)).eval(), sequence()
    with torch.no_grad():
        layer(x)
    layer.weight.data.mul_(2.0)
    assert_close(fold(layer)(x), layer(x))


def test_a_folded_layer_can_be_saved_as_state() -> None:
    real: Any = fold(QLinear(3, 5))
    assert isinstance(real, RealLinear)
    other = nn.Linear(12, 20)
    other.load_state_dict(real.state_dict())
    x = torch.randn(2, 4, 3)
    assert_close(other(x.flatten(-2)), real(x).flatten(-2))
