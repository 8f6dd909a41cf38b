"""Concatenation of quaternion channels."""

from collections.abc import Sequence

import torch
from torch import Tensor

from hamiltone.algebra import component_axis
from hamiltone.nn.tracing import is_traced


def concat(tensors: Sequence[Tensor], dim: int = -2) -> Tensor:
    """Concatenate quaternion channels, component by component.

    Shape:
        tensors: each ``(..., 4, C_i, ...)`` with the components at `dim`
        returns: ``(..., 4, ΣC_i, ...)``

    >>> concat([torch.zeros(2, 4, 3), torch.zeros(2, 4, 5)]).shape
    torch.Size([2, 4, 8])
    """
    if not tensors:
        raise ValueError("concat expected at least one tensor, got none")
    axes = {component_axis(x, dim) + 1 for x in tensors}
    if len(axes) > 1 or axes.pop() == tensors[0].dim():
        shapes = ", ".join(str(tuple(x.shape)) for x in tensors)
        raise ValueError(f"concat expected a channel axis after the component axis {dim} of every tensor, got {shapes}")
    return cat_in_memory_order(tensors, component_axis(tensors[0], dim) + 1)


def cat_in_memory_order(tensors: Sequence[Tensor], axis: int) -> Tensor:
    """``torch.cat`` that keeps the first tensor's memory layout, such as channels-last.

    torch.cat does so for four axes, but not for the five of a quaternion map; here it sees the axes in memory order.
    """
    if is_traced():
        return torch.cat(list(tensors), dim=axis)
    strides = tensors[0].stride()
    order = sorted(range(len(strides)), key=strides.__getitem__, reverse=True)
    joined = torch.cat([x.permute(order) for x in tensors], dim=order.index(axis))
    return joined.permute([order.index(i) for i in range(len(order))])
