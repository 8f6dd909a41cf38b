"""Activations that act on the four components separately, and gates that keep them apart."""

from collections.abc import Callable

import torch
from torch import Tensor, nn

from hamiltone.algebra import component_axis


class SplitActivation(nn.Module):
    """A real function applied to each component on its own ("split activation"), e.g. ``SplitActivation(torch.relu)``.

    With the components on a separate axis, torch's element-wise modules (``nn.GELU()``, ``nn.SiLU()``, ...) already are
    split activations; this wraps a bare function and raises an error if it changes the shape.

    Args:
        function: From a tensor to one of the same shape.
    """

    def __init__(self, function: Callable[[Tensor], Tensor]) -> None:
        super().__init__()
        self.function = function

    def forward(self, x: Tensor) -> Tensor:
        """Apply the function to every real number."""
        y = self.function(x)
        if y.shape != x.shape:
            raise ValueError(f"a split activation keeps the shape, but {tuple(x.shape)} became {tuple(y.shape)}")
        return y


class QPReLU(nn.Module):
    """PReLU with one slope per quaternion channel, the same for its four components: y = x if x ≥ 0, else slope · x.

    Args:
        channels: Quaternion channels.
        dim: Where the components are; the channels follow them.
        initial: The slope to start from.

    Shape:
        x: ``(..., 4, channels, ...)`` with the components at `dim`
        returns: the same
        slope: ``(channels,)``
    """

    def __init__(self, channels: int, dim: int = 1, initial: float = 0.25) -> None:
        super().__init__()
        self.channels, self.dim = channels, dim
        self.slope = nn.Parameter(torch.full((channels,), initial))

    def forward(self, x: Tensor) -> Tensor:
        axis = component_axis(x, self.dim) + 1
        if axis == x.dim() or x.shape[axis] != self.channels:
            raise ValueError(
                f"QPReLU expected {self.channels} channels after the component axis, got shape {tuple(x.shape)}"
            )
        slope = self.slope.view(-1, *(1,) * (x.dim() - axis - 1))
        return torch.where(x >= 0, x, slope * x)

    def extra_repr(self) -> str:
        return f"{self.channels}, dim={self.dim}"


class QGLU(nn.Module):
    """Gated linear unit: the first half of the quaternion channels times the sigmoid of the second, per component.

    Cutting a flat real axis in two would gate the real part of one half by the j part of another; here the cut goes
    through the channel axis, so each component meets its own gate.

    Args:
        dim: Where the components are; the channels follow them.

    Shape:
        x: ``(..., 4, 2C, ...)`` with the components at `dim`
        returns: ``(..., 4, C, ...)``
    """

    def __init__(self, dim: int = -2) -> None:
        super().__init__()
        self.dim = dim

    def forward(self, x: Tensor) -> Tensor:
        """Gate the first half of the channels by the second."""
        axis = component_axis(x, self.dim) + 1
        if axis == x.dim() or x.shape[axis] % 2:
            raise ValueError(
                f"QGLU expected an even number of channels after the component axis, got shape {tuple(x.shape)}"
            )
        return nn.functional.glu(x, dim=axis)

    def extra_repr(self) -> str:
        return f"dim={self.dim}"
