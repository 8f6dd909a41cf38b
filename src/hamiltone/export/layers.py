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
from hamiltone.nn.folded import FoldedAttention, RealConvTranspose2d, RealGRU, RealLinear
from hamiltone.nn.pooling import pooled


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


class Rescaled(nn.Module):
    """Every quaternion divided by the root mean square of its components, times a gain per real feature.

    The mean square, copied to all four components and divided by the square of the gain, is a product with a small
    matrix and a bias, one node. The sign of the gain has to come with the input.

    Shape:
        y: ``(R, 4C)`` in the order (H, 4, D)
        gain: ``(H, 4, D)``
        returns: ``(R, 4C)``
    """

    square: Tensor
    bias: Tensor

    def __init__(self, eps: float, gain: Tensor) -> None:
        super().__init__()
        heads, _, dim = gain.shape
        power = gain.flatten().square().clamp_min(1e-12)
        mean = torch.kron(torch.eye(heads), torch.kron(torch.full((4, 4), 0.25), torch.eye(dim)))
        self.register_buffer("square", mean / power[:, None])
        self.register_buffer("bias", eps / power)

    def forward(self, y: Tensor) -> Tensor:
        return y / F.linear(y * y, self.square, self.bias).sqrt()


class Attention(nn.Module):
    """A folded attention with the shared score as onnxruntime's own attention.

    The gains of queries and keys are merged, since scores only depend on their product.

    Shape:
        x: ``(B, N, 4, dim)``
        returns: the same
    """

    def __init__(self, attention: FoldedAttention) -> None:
        super().__init__()
        self.heads, self.pooling, head_dim = attention.heads, attention.pooling, attention.dim // attention.heads
        self.scale = SharedScore.scale.factor(head_dim)
        gain = torch.ones(self.heads, 4, head_dim)
        self.norms = nn.ModuleList()
        for norm in (attention.key_norm, attention.query_norm):  # the queries come last: they carry both gains
            if isinstance(norm, QRMSNorm):
                gain = gain * norm.gain.detach()
                last = norm is attention.query_norm
                self.norms.append(Rescaled(norm.eps, gain if last else torch.ones_like(gain)))
            else:
                self.norms.append(nn.Identity())
        of_queries = (gain.sign() if isinstance(self.norms[1], Rescaled) else gain).flatten()
        scales = torch.cat([of_queries, torch.ones(2 * len(of_queries))])
        bias = torch.zeros_like(scales) if attention.qkv.bias is None else attention.qkv.bias.detach()
        self.weights = nn.ParameterList((attention.qkv.weight.detach() * scales[:, None]).chunk(3))
        self.biases = nn.ParameterList((bias * scales).chunk(3))
        self.out = attention.out

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        if key_padding_mask is not None:
            raise ValueError("an exported attention takes no mask: it attends to all positions")
        source = x if self.pooling == 1 else pooled(x, self.pooling)
        of_queries, of_keys, of_values = zip(self.weights, self.biases, strict=True)
        key_norm, query_norm = self.norms
        rows, source_rows = (flatten(part).flatten(0, 1) for part in (x, source))  # (B · N, 4C)
        q = query_norm(F.linear(rows, *of_queries)).unflatten(0, x.shape[:2])  # (B, N, 4C) in the order (H, 4, D)
        k = key_norm(F.linear(source_rows, *of_keys)).unflatten(0, source.shape[:2])
        v = F.linear(source_rows, *of_values).unflatten(0, source.shape[:2])
        y = torch.onnx.ops.symbolic(
            "com.microsoft::MultiHeadAttention",
            (q, k, v),
            {"num_heads": self.heads, "scale": self.scale},
            dtype=q.dtype,
            shape=q.shape,
            version=1,
        )
        return unflatten(self.out(y.flatten(0, 1))).unflatten(0, x.shape[:2])


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


class Interleaved(nn.Module):
    """A transposed convolution, strided along frequency, as a convolution: onnxruntime's own adds overlaps one by one.

    With the stride s, output s · j + r depends on few inputs around j, in the same way for every j. The remainders r
    become s times as many channels, which are then interleaved along frequency.

    Shape:
        x: ``(B, 4, in_channels, T, F)``
        returns: ``(B, 4, out_channels, T', F')``
    """

    def __init__(self, layer: RealConvTranspose2d) -> None:
        super().__init__()
        taps, padding, self.stride = layer.kernel_size[1], int(layer.padding[1]), layer.stride[1]
        self.lost = lost_outputs(layer)
        self.frames = layer.kernel_size[0] - 1 - int(layer.padding[0])
        self.before, self.after = (taps - 1 - padding) // self.stride, (self.stride - 1 + padding) // self.stride
        weight = layer.weight.detach().transpose(0, 1).flip(2)  # (O, I, *kernel); time runs backwards
        kernel = weight.new_zeros(self.stride, *weight.shape[:3], self.before + self.after + 1)
        for remainder in range(self.stride):
            for tap in range(taps):
                ahead, rest = divmod(remainder + padding - tap, self.stride)
                if rest == 0:  # output s · j + r adds this tap of input j + ahead
                    kernel[remainder, ..., self.before + ahead] = weight[..., tap]
        self.kernel = nn.Parameter(kernel.flatten(0, 1))
        self.bias = None if layer.bias is None else nn.Parameter(layer.bias.detach().repeat(self.stride))

    def forward(self, x: Tensor) -> Tensor:
        maps = F.pad(x.flatten(1, 2), (self.before, self.after, self.frames, self.frames))
        y = F.conv2d(maps, self.kernel, self.bias).unflatten(1, (self.stride, -1))  # (B, s, O, T, F)
        y = y.permute(0, 2, 3, 4, 1).flatten(3)  # (B, O, T, s · F)
        return y[..., : y.shape[-1] - self.lost].unflatten(1, (4, -1))


def lost_outputs(layer: RealConvTranspose2d) -> int:
    """How many fewer outputs a transposed convolution has than its stride times its inputs, along frequency."""
    return 2 * int(layer.padding[1]) + layer.stride[1] - layer.kernel_size[1] - layer.output_padding[1]


@_convert.register
def _(layer: RealConvTranspose2d) -> nn.Module:
    plain = layer.stride[0] == layer.groups == 1 and layer.dilation == (1, 1) and not layer.gated
    return Interleaved(layer) if plain and lost_outputs(layer) >= 0 else layer


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
