"""Folded layers in forms for which onnxruntime has fused kernels; they can be exported, not run.

Layers that are not listed here are exported unchanged.
"""

import copy
from functools import singledispatch

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.algebra import flatten, unflatten
from hamiltone.models.compact import RealDepthwise
from hamiltone.nn import QLayerNorm, QRMSNorm, SharedScore
from hamiltone.nn.fold import FoldedAttention, RealGRU, RealLinear


def for_onnx(network: nn.Module) -> nn.Module:
    """A copy of a folded network for the exporter."""
    return _replace(copy.deepcopy(network)).requires_grad_(False)


def _replace(module: nn.Module) -> nn.Module:
    converted = _convert(module)
    if converted is module:
        for name, child in module._modules.items():
            if child is not None:
                module._modules[name] = _replace(child)
    return converted.eval()


@singledispatch
def _convert(module: nn.Module) -> nn.Module:
    return module


class Rows(nn.Module):
    """A linear layer on a matrix of rows, product and bias in one node; a gate is a separate product.

    Shape:
        x: ``(..., 4, in_dim)``
        returns: ``(..., 4, out_dim)``
    """

    def __init__(self, layer: RealLinear) -> None:
        super().__init__()
        self.gated = layer.gated
        halves = 2 if layer.gated else 1
        self.weights = nn.ParameterList(part.contiguous() for part in layer.weight.chunk(halves))
        bias = layer.weight.new_zeros(len(layer.weight)) if layer.bias is None else layer.bias
        self.biases = nn.ParameterList(part.contiguous() for part in bias.chunk(halves))

    def forward(self, x: Tensor) -> Tensor:
        rows = flatten(x).flatten(0, -2)
        y, *gate = (F.linear(rows, *pair) for pair in zip(self.weights, self.biases, strict=True))
        if gate:
            y = y * gate[0].sigmoid()
        return y.unflatten(-1, (4, -1)).unflatten(0, x.shape[:-2])


@_convert.register
def _(layer: RealLinear) -> nn.Module:
    return Rows(layer)


class CentredNorm(nn.Module):
    """`QLayerNorm` as one product that centres every component, then an ordinary layer norm of all reals."""

    centre: Tensor

    def __init__(self, norm: QLayerNorm) -> None:
        super().__init__()
        dim, self.eps = norm.dim, norm.eps
        self.register_buffer("centre", torch.block_diag(*[torch.eye(dim) - 1 / dim] * 4))
        self.gain = nn.Parameter(norm.gain.repeat(4))
        self.bias = nn.Parameter(torch.zeros(4 * dim) if norm.bias is None else norm.bias.flatten())

    def forward(self, x: Tensor) -> Tensor:
        centred = flatten(x) @ self.centre
        return unflatten(F.layer_norm(centred, self.gain.shape, self.gain, self.bias, self.eps))


@_convert.register
def _(norm: QLayerNorm) -> nn.Module:
    return CentredNorm(norm)


class Attention(nn.Module):
    """A folded attention with the shared score as onnxruntime's own attention.

    The mean square of a quaternion's components, copied to all four, is a product with a small matrix; the gains of
    queries and keys are merged, since scores only depend on their product.

    Shape:
        x: ``(B, N, 4, dim)``
        returns: the same
    """

    mean: Tensor

    def __init__(self, attention: FoldedAttention) -> None:
        super().__init__()
        self.heads, self.head_dim = attention.heads, attention.dim // attention.heads
        self.scale = SharedScore.scale.factor(self.head_dim)
        width = 4 * attention.dim
        self.weights = nn.ParameterList(part.contiguous() for part in attention.qkv.weight.chunk(3))
        bias = torch.zeros(3 * width) if attention.qkv.bias is None else attention.qkv.bias
        self.biases = nn.ParameterList(part.contiguous() for part in bias.chunk(3))
        self.out = attention.out
        norms = [norm if isinstance(norm, QRMSNorm) else None for norm in (attention.query_norm, attention.key_norm)]
        self.eps = [None if norm is None else norm.eps for norm in norms]
        gain = torch.ones(self.heads, 4, self.head_dim)
        for norm in norms:
            gain = gain if norm is None else gain * norm.gain
        self.gain = nn.Parameter(gain.flatten())
        self.register_buffer("mean", torch.kron(torch.full((4, 4), 0.25), torch.eye(self.head_dim)))

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        if key_padding_mask is not None:
            raise ValueError("an exported attention takes no mask: it attends to all positions")
        rows = flatten(x).flatten(0, 1)  # (B · N, 4C), in the order (H, 4, D) after each product
        q, k, v = (F.linear(rows, *pair) for pair in zip(self.weights, self.biases, strict=True))
        q, k = self._normalised(q, self.eps[0]) * self.gain, self._normalised(k, self.eps[1])
        q, k, v = (y.unflatten(0, x.shape[:2]) for y in (q, k, v))  # (B, N, 4C)
        y = torch.onnx.ops.symbolic(
            "com.microsoft::MultiHeadAttention",
            (q, k, v),
            {"num_heads": self.heads, "scale": self.scale},
            dtype=q.dtype,
            shape=q.shape,
            version=1,
        )
        return unflatten(self.out(y.flatten(0, 1))).unflatten(0, x.shape[:2])

    def _normalised(self, y: Tensor, eps: float | None) -> Tensor:
        """Every quaternion of rows ``(R, 4C)`` divided by the root mean square of its components."""
        if eps is None:
            return y
        heads = y.unflatten(-1, (self.heads, -1))
        return y / ((heads * heads) @ self.mean + eps).sqrt().flatten(1)


@_convert.register
def _(attention: FoldedAttention) -> nn.Module:
    plain = type(attention.rule) is SharedScore and attention.positions is None
    norms = (attention.query_norm, attention.key_norm)
    return Attention(attention) if plain and all(isinstance(n, QRMSNorm | nn.Identity) for n in norms) else attention


class Depthwise(nn.Module):
    """`RealDepthwise` along the innermost axis, where onnxruntime's convolution is fast."""

    def __init__(self, layer: RealDepthwise) -> None:
        super().__init__()
        self.kernel = nn.Parameter(layer.weight.repeat(4, 1)[:, None, None])  # (4C, 1, 1, size)

    def forward(self, x: Tensor) -> Tensor:
        maps = flatten(x).transpose(1, 2)[:, :, None]  # (B, 4C, 1, N)
        y = F.conv2d(maps, self.kernel, padding=(0, self.kernel.shape[-1] // 2), groups=len(self.kernel))
        return unflatten(y.squeeze(2).transpose(1, 2))


@_convert.register
def _(layer: RealDepthwise) -> nn.Module:
    return Depthwise(layer)


class Recurrent(nn.Module):
    """A folded `QGRU` as ONNX's own recurrent unit: any number of positions, one node.

    Shape:
        x: ``(B, N, 4, in_dim)``, state: ``(B, 4, dim)``
        returns: ``(B, N, 4, directions · dim)`` and the state after the last position
    """

    def __init__(self, unit: RealGRU) -> None:
        super().__init__()
        self.dim, self.directions = unit.dim, 2 if unit.bidirectional else 1
        weights = [list(unit.weights)[4 * i : 4 * i + 4] for i in range(self.directions)]
        of_input, of_hidden, *biases = (
            torch.stack([_update_first(part) for part in parts]) for parts in zip(*weights, strict=True)
        )
        self.of_input, self.of_hidden = nn.Parameter(of_input), nn.Parameter(of_hidden)
        self.bias = nn.Parameter(torch.cat(biases, 1))

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        batch, positions, width = x.shape[0], x.shape[1], 4 * self.dim
        first = x.new_zeros(self.directions, batch, width) if state is None else flatten(state)[None]
        y, last = torch.onnx.ops.symbolic_multi_out(
            "GRU",
            (flatten(x).transpose(0, 1), self.of_input, self.of_hidden, self.bias, None, first),
            {
                "hidden_size": width,
                "linear_before_reset": 1,
                "direction": "bidirectional" if self.directions == 2 else "forward",
            },
            dtypes=(x.dtype, x.dtype),
            shapes=((positions, self.directions, batch, width), (self.directions, batch, width)),
        )
        y = y.unflatten(-1, (4, -1)).permute(2, 0, 3, 1, 4).flatten(3)  # (B, N, 4, directions · dim)
        return y, unflatten(last.squeeze(0) if self.directions == 1 else last[0])


def _update_first(x: Tensor) -> Tensor:
    """Reorder the gates of a weight from torch's r, z, n to ONNX's z, r, n."""
    reset, update, candidate = x.detach().chunk(3)
    return torch.cat([update, reset, candidate])


@_convert.register
def _(unit: RealGRU) -> nn.Module:
    return Recurrent(unit)
