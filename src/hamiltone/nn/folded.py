"""The plain real layers that `hamiltone.nn.fold` makes of quaternion layers.

Inputs and outputs keep the visible component axis; in between there is one product or convolution.
"""

from typing import TypeVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.algebra import flatten, unflatten
from hamiltone.nn.attention import QAttention
from hamiltone.nn.conv import merge_groups, split_groups
from hamiltone.nn.conv2d import conv2d
from hamiltone.nn.norm import QRMSNorm
from hamiltone.nn.recurrent import QGRU, run_gru

Layer = TypeVar("Layer", bound=nn.Module)


def with_parameters(layer: Layer, weight: Tensor, bias: Tensor | None) -> Layer:
    """Set the weights of a layer, which may be on the meta device, with the input channels last in memory."""
    weight = weight.movedim(1, -1).contiguous().movedim(-1, 1)
    layer.register_parameter("weight", nn.Parameter(weight))
    layer.register_parameter("bias", None if bias is None else nn.Parameter(bias))
    return layer.eval()


class RealLinear(nn.Linear):
    """A folded `QLinear`: ``nn.Linear`` between two reshapes, with the gate that followed it if there was one."""

    gated = False

    def forward(self, x: Tensor) -> Tensor:
        """``(..., 4, in_dim)`` to ``(..., 4, out_dim)``."""
        y = super().forward(flatten(x))
        return unflatten(F.glu(y) if self.gated else y)


class _OnMergedChannels(nn.Module):
    """The base of the folded convolutions: torch's own convolution between two reshapes."""

    gated = False
    groups: int

    def forward(self, x: Tensor) -> Tensor:
        """``(B, 4, in_channels, ...)`` to ``(B, 4, out_channels, ...)``."""
        y = super().forward(merge_groups(x, self.groups))
        return split_groups(F.glu(y, dim=1) if self.gated else y, self.groups)


class RealConv1d(_OnMergedChannels, nn.Conv1d):
    """A folded `QConv1d`.

    It runs as a convolution of one map whose rows are the signals: the same sums, twice as fast on a CPU.
    """

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        stride, padding, dilation = self.stride[0], self.padding[0], self.dilation[0]
        rows = F.conv2d(
            x.transpose(0, 1)[None],  # (1, 4C, B, N)
            weight[:, :, None],
            bias,
            stride=(1, stride),
            padding=(0, int(padding)),
            dilation=(1, dilation),
            groups=self.groups,
        )
        return rows[0].transpose(0, 1)


class RealConv2d(_OnMergedChannels, nn.Conv2d):
    """A folded `QConv2d`."""

    def _conv_forward(self, x: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        return conv2d(
            x, weight, bias, stride=self.stride, padding=self.padding, dilation=self.dilation, groups=self.groups
        )


class RealConvTranspose1d(_OnMergedChannels, nn.ConvTranspose1d):  # type: ignore[misc]  # no output_size here
    """A folded `QConvTranspose1d`."""


class RealConvTranspose2d(_OnMergedChannels, nn.ConvTranspose2d):  # type: ignore[misc]  # no output_size here
    """A folded `QConvTranspose2d`."""


class FoldedAttention(QAttention):
    """A folded `QAttention`: two ``nn.Linear`` layers around the same score rule, the head order in their weights."""

    qkv: nn.Linear

    def __init__(self, attention: QAttention) -> None:
        nn.Module.__init__(self)
        self.dim, self.heads, self.rule = attention.dim, attention.heads, attention.rule
        self.dropout, self.positions, self.pooling = attention.dropout, attention.positions, attention.pooling
        inputs = (attention.query, attention.key, attention.value)
        biases = [layer.bias for layer in inputs if layer.bias is not None]
        biased = attention.out.bias is not None
        self.qkv = with_parameters(
            nn.Linear(4 * self.dim, 12 * self.dim, biased, device="meta"),
            torch.cat([self._by_head(layer.real_weight()) for layer in inputs]),
            torch.cat([self._by_head(bias.flatten()) for bias in biases]) if biased else None,
        )
        self.out = with_parameters(  # type: ignore[assignment]
            nn.Linear(4 * self.dim, 4 * self.dim, biased, device="meta"),
            self._by_head(attention.out.real_weight().mT).mT,
            attention.out.bias.flatten() if attention.out.bias is not None else None,
        )
        self.query_norm = self._norm_by_head(attention.query_norm)
        self.key_norm = self._norm_by_head(attention.key_norm)

    def _by_head(self, x: Tensor) -> Tensor:
        """Reorder a real axis of length 4C from ``(4, H, D)`` to ``(H, 4, D)``."""
        return x.unflatten(0, (4, self.heads, -1)).transpose(0, 1).flatten(0, 2).contiguous()

    def _norm_by_head(self, norm: nn.Module) -> nn.Module:
        if isinstance(norm, QRMSNorm):
            gain = norm.gain.view(self.heads, 1, -1)
            norm = QRMSNorm(self.dim // self.heads, norm.eps)
            norm.gain = nn.Parameter(gain)
        return norm.eval()

    def project(self, x: Tensor, source: Tensor, value: Tensor | None = None) -> tuple[Tensor, Tensor, Tensor]:
        """Queries, keys and values in one product, or in one for each tensor that they are computed from."""
        if source is x and value is None:
            q, k, v = self._linear(x, 0, 3)
        elif value is None:
            (q,), (k, v) = self._linear(x, 0, 1), self._linear(source, 1, 3)
        else:
            (q,), (k,), (v,) = self._linear(x, 0, 1), self._linear(source, 1, 2), self._linear(value, 2, 3)
        return self.query_norm(q).transpose(1, 2), self.key_norm(k).transpose(1, 2), v.transpose(1, 2)

    def _linear(self, x: Tensor, first: int, last: int) -> tuple[Tensor, ...]:
        """Some of the three projections, of queries, keys and values, in one product: ``(B, N, H, 4, D)`` each."""
        rows, bias = slice(4 * self.dim * first, 4 * self.dim * last), self.qkv.bias
        y = F.linear(flatten(x), self.qkv.weight[rows], None if bias is None else bias[rows])
        return y.unflatten(-1, (last - first, self.heads, 4, -1)).unbind(2)

    def merge(self, heads: Tensor) -> Tensor:
        """``(B, H, N, 4, D)`` to ``(B, N, 4, C)`` through the output projection."""
        return unflatten(self.out(heads.transpose(1, 2).flatten(2)))


class RealGRU(nn.Module):
    """A folded `QGRU`: the matrices that ``torch.gru`` wants, assembled once."""

    def __init__(self, unit: QGRU) -> None:
        super().__init__()
        self.dim, self.bidirectional = unit.dim, unit.bidirectional
        self.weights = nn.ParameterList(weight.clone() for weight in unit.real_weights())

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        return run_gru(flatten(x), state, list(self.weights), self.dim, self.bidirectional)
