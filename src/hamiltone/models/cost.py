"""Multiply-accumulates of a model, counted layer by layer in a run without data."""

import copy
import math
from functools import partial, singledispatch
from typing import Any

import torch
from torch import Tensor, nn

from hamiltone.models.compact import RealDepthwise
from hamiltone.models.configs import SpeechConfig
from hamiltone.models.enhancer import Enhancer
from hamiltone.models.erb import Bands
from hamiltone.models.presets import build
from hamiltone.models.rows import RowMap
from hamiltone.nn import (
    QGRU,
    QAttention,
    QConv1d,
    QConv2d,
    QConvTranspose1d,
    QConvTranspose2d,
    QLinear,
    QTNAttention,
    ScoreRule,
)
from hamiltone.nn.conv import QConv


def attention_macs(rule: ScoreRule, length: int, dim: int, pooling: int = 1) -> int:
    """The scores of a rule and the weighting of the values (4 products) for all pairs of query and key (Table 9).

    Projections are left out; `dim` counts quaternions, and `pooling` positions make one key.
    """
    if not hasattr(rule, "products"):
        raise ValueError(f"{type(rule).__name__} does not say how many real products scoring a pair takes")
    return (rule.products + 4) * length * math.ceil(length / pooling) * dim


@singledispatch
def layer_macs(layer: nn.Module, x: Tensor, y: Any) -> int:
    """Real multiply-accumulates of one layer that turned x into y; its children are counted on their own."""
    return 0


@layer_macs.register
def _(layer: QLinear, x: Tensor, y: Tensor) -> int:
    return 4 * layer.in_dim * y.numel()


@layer_macs.register
def _(layer: nn.Linear, x: Tensor, y: Tensor) -> int:
    return layer.in_features * y.numel()


@layer_macs.register(QConv1d)
@layer_macs.register(QConv2d)
def _(layer: QConv, x: Tensor, y: Tensor) -> int:
    return 4 * layer.in_channels // layer.groups * math.prod(layer.kernel_size) * y.numel()


@layer_macs.register(QConvTranspose1d)
@layer_macs.register(QConvTranspose2d)
def _(layer: QConv, x: Tensor, y: Tensor) -> int:
    return 4 * layer.out_channels // layer.groups * math.prod(layer.kernel_size) * x.numel()


@layer_macs.register(nn.Conv1d)
@layer_macs.register(nn.Conv2d)
def _(layer: nn.Conv2d, x: Tensor, y: Tensor) -> int:
    return layer.in_channels // layer.groups * math.prod(layer.kernel_size) * y.numel()


@layer_macs.register(nn.ConvTranspose1d)
@layer_macs.register(nn.ConvTranspose2d)
def _(layer: nn.ConvTranspose2d, x: Tensor, y: Tensor) -> int:
    return layer.out_channels // layer.groups * math.prod(layer.kernel_size) * x.numel()


@layer_macs.register
def _(layer: QAttention, x: Tensor, y: Tensor) -> int:
    """Self-attention over ``(B, N, 4, C)``."""
    return x.shape[0] * attention_macs(layer.rule, x.shape[1], layer.dim, layer.pooling)


@layer_macs.register
def _(layer: QGRU, x: Tensor, y: tuple[Tensor, Tensor]) -> int:
    """Six quaternion products for every position and direction; the layers that hold the weights are not called."""
    return 12 * (layer.in_dim + layer.dim) * y[0].numel()


@layer_macs.register
def _(layer: RowMap, x: Tensor, y: Tensor) -> int:
    return layer.weight.shape[1] * y.numel()


@layer_macs.register
def _(layer: QTNAttention, x: Tensor, y: Tensor) -> int:
    return 8 * x.shape[0] * x.shape[1] * (2 * layer.radius + 1) * layer.dim


@layer_macs.register
def _(layer: RealDepthwise, x: Tensor, y: Tensor) -> int:
    return layer.weight.shape[1] * y.numel()


@layer_macs.register
def _(layer: Bands, x: Tensor, y: tuple[Tensor, Tensor]) -> int:
    return layer.hats.shape[1] * (x.numel() + sum(part.numel() for part in y))


def macs(module: nn.Module, *inputs: Tensor) -> int:
    """Multiply-accumulates of one forward pass, without computing it."""
    module = copy.deepcopy(module).to("meta").eval()
    total = 0

    def count(layer: nn.Module, arguments: tuple[Any, ...], output: Any) -> None:
        nonlocal total
        total += layer_macs(layer, arguments[0], output)

    for layer in module.modules():
        if isinstance(layer, QGRU):
            layer.forward = partial(_gru_shapes, layer)  # type: ignore[method-assign]
    hooks = [layer.register_forward_hook(count) for layer in module.modules()]
    with torch.enable_grad():  # whole tensors: nothing is cut into tiles
        module(*(x.to("meta") for x in inputs))
    for hook in hooks:
        hook.remove()
    return total


def _gru_shapes(unit: QGRU, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
    """What a recurrent unit returns, without the steps, which take as long without data as with it."""
    y = x.new_empty(*x.shape[:3], (2 if unit.bidirectional else 1) * unit.dim)
    return y, y[:, -1, :, : unit.dim]


def macs_per_second(model: Enhancer, seconds: float = 4.0) -> float:
    """Multiply-accumulates of the network per second of audio, in a window of `seconds` (attention is quadratic)."""
    frames = math.ceil(seconds * model.sample_rate / model.stft.hop) + 1
    features = torch.empty(1, 4, 1, frames, model.stft.bins, device="meta")
    return macs(model.network, features) / seconds


def size_and_cost(config: SpeechConfig) -> tuple[int, int]:
    """Parameters of a speech model, and its multiply-accumulates per second of audio; nothing is allocated."""
    with torch.device("meta"):
        model = build(config)
    return sum(parameter.numel() for parameter in model.parameters()), round(macs_per_second(model))
