"""Turns a quaternion module into the same function in plain real layers, so that inference has no overhead.

Inputs and outputs keep the visible component axis; in between there is one GEMM or convolution per layer. Batch norms
are merged into the convolution before them, gates share one kernel, and attention computes queries, keys and values in
one product whose rows are already in head order.
"""

import copy
from collections.abc import Iterator
from functools import singledispatch
from typing import TypeGuard

import torch
from torch import Tensor, nn
from torch.nn.utils.parametrize import is_parametrized

from hamiltone.nn.activation import QGLU
from hamiltone.nn.attention import QAttention
from hamiltone.nn.batch_norm import QBatchNorm, QSequenceBatchNorm
from hamiltone.nn.conv import QConv, QConv1d, QConv2d, QConvTranspose, QConvTranspose1d, QConvTranspose2d, group_bias
from hamiltone.nn.dropout import QDropout
from hamiltone.nn.folded import (
    FoldedAttention,
    Layer,
    RealConv1d,
    RealConv2d,
    RealConvTranspose1d,
    RealConvTranspose2d,
    RealGRU,
    RealLinear,
    with_parameters,
)
from hamiltone.nn.linear import QLinear
from hamiltone.nn.norm import QRMSNorm
from hamiltone.nn.recurrent import QGRU

Memo = dict[nn.Module, nn.Module]


def fold(module: nn.Module) -> nn.Module:
    """Return an eval-mode copy of `module` in which every quaternion layer is a plain real one.

    Works on any module, including your own: layers are replaced in place, and within ``nn.Sequential`` a batch norm or
    gate that follows a linear layer or convolution is merged into it and replaced by an identity.

    >>> layer = QLinear(3, 5)
    >>> real = fold(layer)
    >>> isinstance(real, nn.Linear), real.weight.shape
    (True, torch.Size([20, 12]))
    """
    with torch.no_grad():
        return _fold(copy.deepcopy(module).eval(), {}).eval().requires_grad_(False)


def _fold(module: nn.Module, memo: Memo) -> nn.Module:
    """Fold one module, the same way for each place where it is used."""
    if module not in memo:
        memo[module] = _convert(module, memo)
    return memo[module]


@singledispatch
def _convert(module: nn.Module, memo: Memo) -> nn.Module:
    for name, child in module._modules.items():  # named_children would skip the second name of a shared child
        if child is not None:
            module._modules[name] = _fold(child, memo)
    return module


def _is_plain(layer: nn.Module, base: type[Layer], *methods: str) -> TypeGuard[Layer]:
    """Whether `layer` computes what `base` does: a subclass that overrides one of the methods does not."""
    return isinstance(layer, base) and all(getattr(type(layer), name) is getattr(base, name) for name in methods)


@_convert.register
def _(layer: QLinear, memo: Memo) -> nn.Module:
    if not _is_plain(layer, QLinear, "forward"):
        return _convert.dispatch(nn.Module)(layer, memo)
    real = RealLinear(4 * layer.in_dim, 4 * layer.out_dim, layer.bias is not None, device="meta")
    return with_parameters(real, layer.real_weight().clone(), None if layer.bias is None else layer.bias.flatten())


_REAL_CONV: dict[type[QConv], type[nn.Module]] = {
    QConv1d: RealConv1d,
    QConv2d: RealConv2d,
    QConvTranspose1d: RealConvTranspose1d,
    QConvTranspose2d: RealConvTranspose2d,
}


@_convert.register
def _(layer: QConv, memo: Memo) -> nn.Module:
    if not _is_plain(layer, QConv, "forward"):
        return _convert.dispatch(nn.Module)(layer, memo)
    real_type = next(real for quaternion, real in _REAL_CONV.items() if isinstance(layer, quaternion))
    real = real_type(
        4 * layer.in_channels,
        4 * layer.out_channels,
        layer.kernel_size,
        **layer.geometry(),
        bias=layer.bias is not None,
        device="meta",
    )
    return with_parameters(real, layer.real_weight().clone(), group_bias(layer.bias, layer.groups))


@_convert.register
def _(sequence: nn.Sequential, memo: Memo) -> nn.Module:
    if _is_plain(sequence, nn.Sequential, "forward"):
        sequence = nn.Sequential(*_flat(sequence))
        for i in range(len(sequence) - 1):
            layer, follower = sequence[i], sequence[i + 1]
            if _absorbs(layer) and _normalises(follower):
                sequence[i] = _absorb_norm(layer, follower)
                sequence[i + 1] = nn.Identity()
            elif _is_foldable(layer) and _normalises(follower) and _absorbs(layer.out):
                sequence[i] = attention = copy.deepcopy(layer)
                attention.out = _absorb_norm(layer.out, follower)  # type: ignore[assignment]
                sequence[i + 1] = nn.Identity()
            elif _absorbs(layer) and _gates(layer, follower):
                sequence[i] = _absorb_gate(layer, memo)
                sequence[i + 1] = nn.Identity()
    return _convert.dispatch(nn.Module)(sequence, memo)


def _flat(sequence: nn.Sequential) -> Iterator[nn.Module]:
    """The layers of a sequence and of nested sequences, without dropout, which does nothing in evaluation."""
    for layer in sequence:
        if _is_plain(layer, nn.Sequential, "forward"):
            yield from _flat(layer)
        elif not isinstance(layer, nn.Dropout | QDropout | nn.Identity):
            yield layer


def _absorbs(layer: nn.Module) -> TypeGuard[QLinear | QConv]:
    """Whether what follows can be merged into `layer`: its weight must not be computed by a parametrization."""
    plain = _is_plain(layer, QLinear, "forward") or _is_plain(layer, QConv, "forward")
    return plain and not is_parametrized(layer)


def _normalises(layer: nn.Module) -> TypeGuard[QBatchNorm]:
    return _is_plain(layer, QSequenceBatchNorm, "forward") or _is_plain(layer, QBatchNorm, "forward")


def _absorb_norm(layer: QLinear | QConv, norm: QBatchNorm) -> QLinear | QConv:
    """The layer followed by the norm in evaluation, as one quaternion layer: a real factor per output channel."""
    merged = copy.deepcopy(layer)
    scale, shift = norm.affine(norm.running_mean, norm.running_var)
    trailing = (1,) * (layer.weight.dim() - 3)
    if isinstance(merged, QConvTranspose):
        factor = scale.view(merged.groups, 1, -1, *trailing)
        weight = (merged.weight.unflatten(1, (merged.groups, -1)) * factor).flatten(1, 2)
    else:
        weight = merged.weight * scale.view(-1, 1, *trailing)
    merged.weight = nn.Parameter(weight)
    merged.bias = nn.Parameter(shift if merged.bias is None else merged.bias * scale + shift)
    return merged


def _gates(layer: nn.Module, follower: nn.Module) -> bool:
    """Whether `follower` is a gate over the output channels of `layer` that can share its kernel."""
    if not _is_plain(follower, QGLU, "forward"):
        return False
    if isinstance(layer, QLinear):
        return follower.dim == -2 and layer.out_dim % 2 == 0
    if not isinstance(layer, QConv) or layer.groups > 1 or layer.out_channels % 2:
        return False
    return follower.dim % (layer.rank + 3) == 1


def _absorb_gate(layer: nn.Module, memo: Memo) -> nn.Module:
    """Fold a layer so that values and gates are the two halves of its real output: ``(4, 2, C)`` to ``(2, 4, C)``."""
    real = _convert(layer, memo)

    def values_first(x: Tensor, axis: int = 0) -> Tensor:
        return x.unflatten(axis, (4, 2, -1)).transpose(axis, axis + 1).flatten(axis, axis + 2)

    weight, bias = real.get_parameter("weight"), dict(real.named_parameters()).get("bias")
    output_axis = 1 if isinstance(layer, QConvTranspose) else 0
    with_parameters(real, values_first(weight, output_axis), None if bias is None else values_first(bias))
    real.gated = True  # type: ignore[assignment]
    return real


@_convert.register
def _(attention: QAttention, memo: Memo) -> nn.Module:
    return FoldedAttention(attention) if _is_foldable(attention) else _convert.dispatch(nn.Module)(attention, memo)


def _is_foldable(attention: nn.Module) -> TypeGuard[QAttention]:
    """Whether `FoldedAttention` can replace an attention: none of its parts may be overridden."""
    if not _is_plain(attention, QAttention, "forward", "project", "place", "split_heads", "merge"):
        return False
    layers = (attention.query, attention.key, attention.value, attention.out)
    norms = (attention.query_norm, attention.key_norm)
    return (
        all(_is_plain(layer, QLinear, "forward") for layer in layers)
        and len({layer.bias is None for layer in layers}) == 1
        and all(_is_plain(norm, QRMSNorm, "forward") or isinstance(norm, nn.Identity) for norm in norms)
    )


@_convert.register
def _(unit: QGRU, memo: Memo) -> nn.Module:
    layers = [*unit.input, *unit.hidden]
    if _is_plain(unit, QGRU, "forward", "real_weights") and all(_is_plain(x, QLinear, "forward") for x in layers):
        return RealGRU(unit)
    return _convert.dispatch(nn.Module)(unit, memo)
