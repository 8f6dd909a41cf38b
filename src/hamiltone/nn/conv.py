"""Quaternion convolutions (Eq. 29-32), plain and transposed, over signals and maps."""

import math
from collections.abc import Callable
from typing import Any, ClassVar

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.nn.conv2d import conv2d
from hamiltone.nn.init import Init, polar_
from hamiltone.nn.weight import RealWeightCache, real_weight, real_weight_transposed

Size = int | tuple[int, ...]


def merge_groups(x: Tensor, groups: int) -> Tensor:
    """Flatten ``(B, 4, C, ...)`` to real channels ``(B, 4C, ...)``, each group's four components side by side."""
    if groups == 1:
        return x.flatten(1, 2)
    return x.unflatten(2, (groups, -1)).transpose(1, 2).flatten(1, 3)


def split_groups(x: Tensor, groups: int) -> Tensor:
    """Undo `merge_groups`: ``(B, 4C, ...)`` to ``(B, 4, C, ...)``."""
    if groups == 1:
        return x.unflatten(1, (4, -1))
    return x.unflatten(1, (groups, 4, -1)).transpose(1, 2).flatten(2, 3)


def group_bias(bias: Tensor | None, groups: int) -> Tensor | None:
    """The real bias in the channel order of `merge_groups`."""
    return None if bias is None else merge_groups(bias[None], groups)[0]


class QConv(nn.Module):
    """The base of the four convolutions; use `QConv1d`, `QConv2d`, `QConvTranspose1d` or `QConvTranspose2d`."""

    rank: ClassVar[int]
    transposed: ClassVar[bool] = False
    convolve: ClassVar[Callable[..., Tensor]]

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        dilation: Size = 1,
        groups: int = 1,
        bias: bool = True,
        *,
        init: Init = polar_,
    ) -> None:
        super().__init__()
        if groups < 1 or in_channels % groups or out_channels % groups:
            raise ValueError(
                f"groups must divide both channel counts, got {groups} for {in_channels} -> {out_channels} quaternions"
            )
        self.in_channels, self.out_channels, self.groups, self.init = in_channels, out_channels, groups, init
        self.kernel_size = self._per_axis("kernel_size", kernel_size)
        self.stride = self._per_axis("stride", stride)
        self.padding = self._per_axis("padding", padding)
        self.dilation = self._per_axis("dilation", dilation)
        first, second = (in_channels, out_channels) if self.transposed else (out_channels, in_channels)
        self.weight = nn.Parameter(torch.empty(4, first, second // groups, *self.kernel_size))
        self.bias = nn.Parameter(torch.empty(4, out_channels)) if bias else None
        self._cache = RealWeightCache()
        self.reset_parameters()

    def _per_axis(self, name: str, value: Size) -> tuple[int, ...]:
        values = (value,) * self.rank if isinstance(value, int) else tuple(value)
        if len(values) != self.rank:
            raise ValueError(f"{name} must be one number or one per axis ({self.rank}), got {value}")
        return values

    def reset_parameters(self) -> None:
        """Reinitialise the kernel and zero the bias."""
        area = math.prod(self.kernel_size)
        self.init(self.weight, self.in_channels // self.groups * area, self.out_channels // self.groups * area)
        if self.bias is not None:
            nn.init.zeros_(self.bias)

    def real_weight(self) -> Tensor:
        """The kernel of the real convolution that acts on the merged channels."""
        assemble = real_weight_transposed if self.transposed else real_weight
        return self._cache.get(self.weight, lambda weight: assemble(weight, self.groups))

    def geometry(self) -> dict[str, Any]:
        """Stride, padding, dilation and groups, as torch's convolution functions name them."""
        return {
            "stride": self.stride,
            "padding": self.padding,
            "dilation": self.dilation,
            "groups": self.groups,
        }

    def forward(self, x: Tensor) -> Tensor:
        """Convolve: ``(B, 4, in_channels, ...)`` to ``(B, 4, out_channels, ...)``."""
        if x.dim() != self.rank + 3 or x.shape[1] != 4 or x.shape[2] != self.in_channels:
            axes = ", ".join("N" if self.rank == 1 else "TF"[axis] for axis in range(self.rank))
            raise ValueError(
                f"{type(self).__name__} expected (B, 4, {self.in_channels}, {axes}), got shape {tuple(x.shape)}"
            )
        y = type(self).convolve(
            merge_groups(x, self.groups), self.real_weight(), group_bias(self.bias, self.groups), **self.geometry()
        )
        return split_groups(y, self.groups)

    def extra_repr(self) -> str:
        return (
            f"{self.in_channels}, {self.out_channels}, kernel_size={self.kernel_size}, stride={self.stride}, "
            f"padding={self.padding}, dilation={self.dilation}, groups={self.groups}, bias={self.bias is not None}"
        )


class QConv1d(QConv):
    """Quaternion convolution of signals: y(n) = Σ_m x(n + m) ⊗ W(m) + b (Eq. 29-32).

    Args:
        in_channels: Quaternion channels of the input.
        out_channels: Quaternion channels of the output.
        kernel_size: Length of the kernel along each axis.
        stride: Distance between neighbouring outputs, in positions of the input.
        padding: Zeros added on both sides.
        dilation: Distance between neighbouring taps of the kernel.
        groups: Into how many groups the channels are divided; each sees its own channels alone.
        bias: Whether to add a bias per real channel.
        init: How the weight is drawn: `polar_` or `isotropic_`.

    Shape:
        x: ``(B, 4, in_channels, N)``
        returns: ``(B, 4, out_channels, N')``
        weight: ``(4, out_channels, in_channels / groups, kernel_size)``
    """

    rank = 1
    convolve = staticmethod(F.conv1d)


class QConv2d(QConv):
    """Quaternion convolution of feature maps: y(n) = Σ_m x(n + m) ⊗ W(m) + b, n and m being pairs (Eq. 29-32).

    Args:
        in_channels: Quaternion channels of the input.
        out_channels: Quaternion channels of the output.
        kernel_size: Length of the kernel along each axis.
        stride: Distance between neighbouring outputs, in positions of the input.
        padding: Zeros added on both sides.
        dilation: Distance between neighbouring taps of the kernel.
        groups: Into how many groups the channels are divided; each sees its own channels alone.
        bias: Whether to add a bias per real channel.
        init: How the weight is drawn: `polar_` or `isotropic_`.

    Shape:
        x: ``(B, 4, in_channels, T, F)``
        returns: ``(B, 4, out_channels, T', F')``
        weight: ``(4, out_channels, in_channels / groups, *kernel_size)``

    >>> QConv2d(3, 5, (3, 3), stride=(1, 2), padding=1)(torch.randn(2, 4, 3, 10, 9)).shape
    torch.Size([2, 4, 5, 10, 5])
    """

    rank = 2
    convolve = staticmethod(conv2d)


class QConvTranspose(QConv):
    """The base of the two transposed convolutions, with an output padding and the input-first weight."""

    transposed = True

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Size,
        stride: Size = 1,
        padding: Size = 0,
        output_padding: Size = 0,
        groups: int = 1,
        bias: bool = True,
        dilation: Size = 1,
        *,
        init: Init = polar_,
    ) -> None:
        super().__init__(in_channels, out_channels, kernel_size, stride, padding, dilation, groups, bias, init=init)
        self.output_padding = self._per_axis("output_padding", output_padding)

    def geometry(self) -> dict[str, Any]:
        """As for `QConv`, with the output padding."""
        return super().geometry() | {"output_padding": self.output_padding}


class QConvTranspose1d(QConvTranspose):
    """Transposed quaternion convolution of signals, the adjoint geometry of `QConv1d`.

    Args:
        in_channels: Quaternion channels of the input.
        out_channels: Quaternion channels of the output.
        kernel_size: Length of the kernel along each axis.
        stride: Distance between the outputs of neighbouring inputs.
        padding: Positions cut off at both ends of the output.
        output_padding: Positions added at the end of the output, whose length the stride leaves open.
        dilation: Distance between neighbouring taps of the kernel.
        groups: Into how many groups the channels are divided; each sees its own channels alone.
        bias: Whether to add a bias per real channel.
        init: How the weight is drawn: `polar_` or `isotropic_`.

    Shape:
        x: ``(B, 4, in_channels, N)``
        returns: ``(B, 4, out_channels, N')``
        weight: ``(4, in_channels, out_channels / groups, kernel_size)``
    """

    rank = 1
    convolve = staticmethod(F.conv_transpose1d)


class QConvTranspose2d(QConvTranspose):
    """Transposed quaternion convolution of feature maps, the adjoint geometry of `QConv2d`.

    Args:
        in_channels: Quaternion channels of the input.
        out_channels: Quaternion channels of the output.
        kernel_size: Length of the kernel along each axis.
        stride: Distance between the outputs of neighbouring inputs.
        padding: Positions cut off at both ends of the output.
        output_padding: Positions added at the end of the output, whose length the stride leaves open.
        dilation: Distance between neighbouring taps of the kernel.
        groups: Into how many groups the channels are divided; each sees its own channels alone.
        bias: Whether to add a bias per real channel.
        init: How the weight is drawn: `polar_` or `isotropic_`.

    Shape:
        x: ``(B, 4, in_channels, T, F)``
        returns: ``(B, 4, out_channels, T', F')``
        weight: ``(4, in_channels, out_channels / groups, *kernel_size)``
    """

    rank = 2
    convolve = staticmethod(F.conv_transpose2d)
