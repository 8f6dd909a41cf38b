"""The quaternion dilated DenseNet, encoder and decoder (Figure 6c)."""

from collections.abc import Sequence

from torch import Tensor, nn

from hamiltone.models.tiling import over_time
from hamiltone.nn import QGLU, QBatchNorm, QConv2d, QConvTranspose2d, QDropout, concat


def _normed(conv: QConv2d | QConvTranspose2d) -> nn.Sequential:
    """A convolution, its norm and its activation."""
    return nn.Sequential(conv, QBatchNorm(conv.out_channels), nn.PReLU())


class GatedDenseBlock(nn.Module):
    """1x1 expansion, gated dilated 3x3 convolution, and the result joined to the input.

    Args:
        channels: Quaternion channels of the input.
        growth: Quaternion channels that the block adds.
        dilation: Dilation of the 3x3 convolution, along both axes.
        expansion: Width between the two convolutions, in multiples of `growth`.
        dropout: The probability of dropping a new quaternion.

    Shape:
        x: ``(B, 4, channels, T, F)``
        returns: ``(B, 4, channels + growth, T, F)``
    """

    def __init__(self, channels: int, growth: int, dilation: int, *, expansion: int = 4, dropout: float = 0.1) -> None:
        super().__init__()
        self.dilation = dilation
        wide = expansion * growth
        self.expand = _normed(QConv2d(channels, wide, 1, bias=False))
        self.gate = nn.Sequential(
            QConv2d(wide, 2 * growth, 3, padding=dilation, dilation=dilation), QGLU(dim=1), QBatchNorm(growth)
        )
        self.activate = nn.Sequential(nn.PReLU(), QDropout(dropout, dim=1))

    def forward(self, x: Tensor) -> Tensor:
        return over_time(self._grow, x, reach=self.dilation)

    def _grow(self, x: Tensor) -> Tensor:
        return concat([x, self.activate(self.gate(self.expand(x)))], dim=1)


class DilatedDenseNet(nn.Sequential):
    """Dense blocks of the given dilations; a transition between two blocks halves the channels again.

    Args:
        channels: Quaternion channels.
        dilations: The dilation of each dense block.
        dropout: The probability of dropout in the dense blocks.

    Shape:
        x: ``(B, 4, channels, T, F)``
        returns: ``(B, 4, channels + growth, T, F)``; needs growth = channels, so that halving restores the width
    """

    def __init__(self, channels: int, dilations: Sequence[int], *, dropout: float = 0.1) -> None:
        layers: list[nn.Module] = []
        for position, dilation in enumerate(dilations):
            if position:
                layers.append(_normed(QConv2d(2 * channels, channels, 1, bias=False)))
            layers.append(GatedDenseBlock(channels, channels, dilation, dropout=dropout))
        super().__init__(*layers)


class Encoder(nn.Module):
    """Features to `channels` quaternions with half the frequency bins.

    Args:
        channels: Quaternion channels.
        dilations: The dilation of each dense block.
        dropout: The probability of dropout in the dense blocks.

    Shape:
        x: ``(B, 4, 1, T, F)``
        returns: ``(B, 4, channels, T, (F + 1) / 2)``
    """

    def __init__(self, channels: int, dilations: Sequence[int] = (1, 2, 4), *, dropout: float = 0.1) -> None:
        super().__init__()
        self.stem = _normed(QConv2d(1, channels, 7, padding=3, bias=False))
        self.dense = DilatedDenseNet(channels, dilations, dropout=dropout)
        self.down = _normed(QConv2d(2 * channels, channels, 3, stride=(1, 2), padding=1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return over_time(self.down, self.dense(self.stem(x)), reach=1)


class Decoder(nn.Module):
    """Dense blocks, then a transposed convolution that restores all frequency bins.

    Args:
        channels: Quaternion channels.
        dilations: The dilation of each dense block.
        dropout: The probability of dropout in the dense blocks.

    Shape:
        x: ``(B, 4, channels, T, (F + 1) / 2)``
        returns: ``(B, 4, 2 channels, T, F)``
    """

    def __init__(self, channels: int, dilations: Sequence[int] = (8, 4, 2), *, dropout: float = 0.1) -> None:
        super().__init__()
        self.dense = DilatedDenseNet(channels, dilations, dropout=dropout)
        self.up = _normed(QConvTranspose2d(2 * channels, 2 * channels, 3, stride=(1, 2), padding=1, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        return over_time(self.up, self.dense(x), reach=1)
