"""One example of every public layer, with inputs of any batch and length: what each tool of the chain is tried on."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.export import Dim, ExportedProgram

import hamiltone.nn as qnn
from cases import Distance, randomise_

DIM, HEADS, BINS = 4, 2, 5
SIZE, OTHER_SIZES = (2, 7), ((3, 12), (1, 9))
"""The batch and length a layer is exported at, and those it is then run at."""

DEAD_ROW = 2
"""The query that may see no key in `restricted` inputs."""

Inputs = tuple[Tensor, dict[str, Any]]


def sequence(batch: int, length: int) -> Inputs:
    return torch.randn(batch, length, 4, DIM), {}


def few_positions(batch: int, length: int) -> Inputs:
    """A recurrence is exported step by step, so for one length; on a stream that is one."""
    return torch.randn(batch, 3, 4, DIM), {}


def signal(batch: int, length: int) -> Inputs:
    return torch.randn(batch, 4, DIM, length), {}


def feature_map(batch: int, length: int) -> Inputs:
    return torch.randn(batch, 4, DIM, length, BINS), {}


def padded(batch: int, length: int) -> Inputs:
    real = torch.arange(length) < length - 2 * torch.arange(batch)[:, None]
    return torch.randn(batch, length, 4, DIM), {"key_padding_mask": real}


def restricted(batch: int, length: int) -> Inputs:
    x, padding = padded(batch, length)
    mask = torch.rand(length, length) < 0.65
    mask[DEAD_ROW] = False
    return x, {"mask": mask, **padding, "causal": True}


class Decoder(nn.Module):
    """A causal model of one block; torch.export takes no dynamic shapes next to ``**options`` (pytorch#150022)."""

    def __init__(self, block: nn.Module) -> None:
        super().__init__()
        self.block = block

    def forward(self, x: Tensor) -> Tensor:
        return self.block(x, causal=True)


class Recurrent(nn.Module):
    """What a recurrent unit puts out, without its state."""

    def __init__(self, unit: nn.Module) -> None:
        super().__init__()
        self.unit = unit

    def forward(self, x: Tensor) -> Tensor:
        return self.unit(x)[0]


def missing(batch: int, length: int) -> Inputs:
    x, padding = padded(batch, length)
    return x.flatten(2), {"key_padding_mask": ~padding["key_padding_mask"]}


class Ported(nn.Module):
    """An encoder's self-attention as code for nn.MultiheadAttention writes it, here with positions."""

    def __init__(self) -> None:
        super().__init__()
        self.attention = qnn.SharedScoreMultihead(4 * DIM, HEADS, batch_first=True, positions=qnn.QRotary())

    def forward(self, x: Tensor, key_padding_mask: Tensor) -> Tensor:
        return self.attention(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]


def feed_forward() -> nn.Module:
    return qnn.QFeedForward(DIM, DIM)


def transformer_block() -> nn.Module:
    return qnn.QTransformerBlock(DIM, qnn.SharedScoreAttention(DIM, HEADS), feed_forward())


def conformer_block() -> nn.Module:
    """With linear layers for feed-forwards, which have a case of their own: every layer makes exporting slower."""
    feed_forwards = qnn.QLinear(DIM, DIM), qnn.QLinear(DIM, DIM)
    return qnn.QConformerBlock(DIM, qnn.HamiltonAttention(DIM, HEADS), qnn.QConvModule(DIM, 3), feed_forwards)


@dataclass(frozen=True)
class Case:
    """How to build a layer with random parameters, and its inputs for a batch and length."""

    layer: type[nn.Module]
    build: Callable[[], nn.Module]
    inputs: Callable[[int, int], Inputs]
    folded: bool = False

    def __str__(self) -> str:
        return f"folded {self.layer.__name__}" if self.folded else self.layer.__name__

    def module(self) -> nn.Module:
        module = randomise_(self.build())
        return qnn.fold(module) if self.folded else module

    def dynamic_shapes(self) -> tuple[dict[int, Any] | None, ...]:
        """For each input the axes that change with batch or length."""

        def changing(value: Any, other: Any) -> dict[int, Any] | None:
            if not isinstance(value, Tensor):
                return None
            return {axis: Dim.DYNAMIC for axis, n in enumerate(value.shape) if other.shape[axis] != n}

        (x, options), (y, others) = self.inputs(*SIZE), self.inputs(*OTHER_SIZES[0])
        return changing(x, y), *(changing(value, others[name]) for name, value in options.items())

    @cache  # noqa: B019
    def exported(self) -> tuple[nn.Module, ExportedProgram]:
        """The layer in evaluation, after a call that filled its weight caches, and what torch.export makes of it."""
        module = self.module().eval()
        x, options = self.inputs(*SIZE)
        with torch.no_grad():
            module(x, **options)
            return module, torch.export.export(module, (x,), options, dynamic_shapes=self.dynamic_shapes())


CASES = (
    Case(qnn.QLinear, lambda: qnn.QLinear(DIM, 6), sequence),
    Case(qnn.QConv1d, lambda: qnn.QConv1d(DIM, 6, 3, dilation=2), signal),
    Case(qnn.QConv2d, lambda: qnn.QConv2d(DIM, 6, 3, stride=(1, 2), padding=1, groups=2), feature_map),
    Case(qnn.QConvTranspose1d, lambda: qnn.QConvTranspose1d(DIM, 6, 3, stride=2, groups=2), signal),
    Case(qnn.QConvTranspose2d, lambda: qnn.QConvTranspose2d(DIM, 6, 3, stride=(1, 2), padding=1), feature_map),
    Case(qnn.QRMSNorm, lambda: qnn.QRMSNorm(DIM), sequence),
    Case(qnn.QLayerNorm, lambda: qnn.QLayerNorm(DIM), sequence),
    Case(qnn.QBatchNorm, lambda: qnn.QBatchNorm(DIM), feature_map),
    Case(qnn.QSequenceBatchNorm, lambda: qnn.QSequenceBatchNorm(DIM), sequence),
    Case(qnn.QGRU, lambda: Recurrent(qnn.QGRU(DIM, 6)), few_positions),
    Case(qnn.QGRU, lambda: Recurrent(qnn.QGRU(DIM, 6, bidirectional=True)), few_positions, folded=True),
    Case(qnn.QDropout, lambda: qnn.QDropout(0.0), sequence),
    Case(qnn.QGLU, qnn.QGLU, sequence),
    Case(qnn.QPReLU, lambda: qnn.QPReLU(DIM), signal),
    Case(qnn.SplitActivation, lambda: qnn.SplitActivation(torch.tanh), sequence),
    Case(qnn.QFeedForward, feed_forward, sequence),
    Case(qnn.QConvModule, lambda: qnn.QConvModule(DIM, 3), padded),
    Case(qnn.SharedScoreAttention, lambda: qnn.SharedScoreAttention(DIM, HEADS), restricted),
    Case(qnn.HamiltonAttention, lambda: qnn.HamiltonAttention(DIM, HEADS), restricted),
    Case(qnn.QAttention, lambda: qnn.QAttention(DIM, HEADS, Distance()), padded),
    Case(qnn.QTNAttention, lambda: qnn.QTNAttention(DIM, HEADS, radius=4), padded),
    Case(qnn.SharedScoreMultihead, Ported, missing),
    Case(qnn.QTransformerBlock, lambda: Decoder(transformer_block()), sequence),
    Case(qnn.QConformerBlock, conformer_block, padded),
    Case(qnn.SharedScoreAttention, lambda: qnn.SharedScoreAttention(DIM, HEADS), restricted, folded=True),
    Case(qnn.QConformerBlock, conformer_block, padded, folded=True),
)
ATTENTIONS = tuple(case for case in CASES if case.inputs is restricted)
