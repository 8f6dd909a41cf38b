"""The compact spectrogram network: a U-Net over frequency with attention on the few bands at its bottom."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.models.tiling import over_time
from hamiltone.nn import QGLU, QBatchNorm, QConv2d, QConvTranspose2d, QLayerNorm, QLinear, QSequenceBatchNorm, concat


def activation() -> nn.Module:
    """The activation of the feature maps: a fixed slope trains several times faster on a CPU than a learned one."""
    return nn.LeakyReLU(0.2)


class GatedResidual(nn.Module):
    """x plus a gated 3x3 convolution of x, dilated in time. The convolutions before and after it normalise.

    Args:
        channels: Quaternion channels.
        dilation: Dilation along time.

    Shape:
        x: ``(B, 4, channels, T, F)``
        returns: the same
    """

    def __init__(self, channels: int, dilation: int) -> None:
        super().__init__()
        self.dilation = dilation
        self.convolution = nn.Sequential(
            QConv2d(channels, 2 * channels, 3, padding=(dilation, 1), dilation=(dilation, 1)),
            QGLU(dim=1),
        )

    def forward(self, x: Tensor) -> Tensor:
        return over_time(self._add, x, reach=self.dilation)

    def _add(self, x: Tensor) -> Tensor:
        return x + self.convolution(x)


class RealDepthwise(nn.Module):
    """Filters every quaternion channel along the sequence with its own real kernel, shared by the four components.

    A real kernel does not rotate quaternions, so this commutes with rotations from either side; components and channels
    are mixed by the linear layers around it.

    Args:
        dim: Quaternions of a position.
        kernel_size: Positions that a kernel sees; odd.

    Shape:
        x: ``(B, N, 4, dim)``
        returns: the same
        weight: ``(dim, kernel_size)``
    """

    def __init__(self, dim: int, kernel_size: int) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd to keep the length, got {kernel_size}")
        self.weight = nn.Parameter(torch.empty(dim, kernel_size))
        nn.init.uniform_(self.weight, -(kernel_size**-0.5), kernel_size**-0.5)

    def forward(self, x: Tensor) -> Tensor:
        dim, size = self.weight.shape
        kernel = self.weight.repeat(4, 1).view(4 * dim, 1, size, 1)
        maps = x.flatten(2).transpose(1, 2)[..., None]  # (B, 4C, N, 1), channels last in memory: the fast layout
        y = F.conv2d(maps, kernel, padding=(size // 2, 0), groups=4 * dim)
        return y[..., 0].transpose(1, 2).unflatten(2, (4, dim))


def depthwise_layers(dim: int, kernel_size: int) -> list[nn.Module]:
    """The Conformer's convolution module with real depthwise kernels: gated 1x1, filter, SiLU, 1x1."""
    gate = [QLinear(dim, 2 * dim), QGLU()]
    return [*gate, RealDepthwise(dim, kernel_size), nn.SiLU(), QLinear(dim, dim)]


class CompactBlock(nn.Module):
    """Attention, convolution and feed-forward along a sequence, each with a residual.

    A layer norm comes before each of the three; a batch norm comes after it, where `fold` merges it into a weight.

    Args:
        dim: Quaternions.
        norm: "layer" or "batch".
        parts: The layers of attention, convolution and feed-forward.

    Shape:
        x: ``(B, N, 4, dim)``
        returns: the same
    """

    def __init__(self, dim: int, norm: str, parts: Sequence[Sequence[nn.Module]]) -> None:
        super().__init__()
        self.attention, self.convolution, self.feed_forward = (
            nn.Sequential(*layers, QSequenceBatchNorm(dim))
            if norm == "batch"
            else nn.Sequential(QLayerNorm(dim), *layers)
            for layers in parts
        )

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attention(x)
        x = x + self.convolution(x)
        return x + self.feed_forward(x)


class CompactEncoder(nn.ModuleList):
    """Stages that halve the frequency axis; returns the output of each.

    Args:
        channels: Quaternion channels of each stage.
        dilations: Dilation along time of each stage's residual.

    Shape:
        x: ``(B, 4, 1, T, F)``, F one more than a multiple of ``2 ** stages``
        returns: per stage i ``(B, 4, channels[i], T, (F - 1) / 2 ** (i + 1) + 1)``
    """

    def __init__(self, channels: Sequence[int], dilations: Sequence[int]) -> None:
        widths = [1, *channels]
        super().__init__(
            nn.Sequential(
                QConv2d(narrow, wide, 3, stride=(1, 2), padding=1, bias=False),
                QBatchNorm(wide),
                activation(),
                GatedResidual(wide, dilation),
            )
            for narrow, wide, dilation in zip(widths, channels, dilations, strict=False)
        )

    def forward(self, x: Tensor) -> list[Tensor]:
        outputs = []
        for stage in self:
            x = stage(x)
            outputs.append(x)
        return outputs


class CompactDecoder(nn.ModuleList):
    """Mirror of the encoder: at each stage the skip is joined, then the frequency axis doubles.

    Args:
        channels: The encoder's channels.
        dilations: The encoder's dilations.

    Shape:
        x: ``(B, 4, channels[-1], T, F_low)`` and the encoder's outputs
        returns: ``(B, 4, channels[0], T, F)``
    """

    def __init__(self, channels: Sequence[int], dilations: Sequence[int]) -> None:
        super().__init__(
            nn.Sequential(_widen(wide, narrow), GatedResidual(narrow, dilation))
            for narrow, wide, dilation in reversed(list(zip(channels, channels[1:], dilations[1:], strict=False)))
        )
        self.append(_widen(channels[0], channels[0]))  # at the full resolution a residual would cost the most

    def forward(self, x: Tensor, skips: Sequence[Tensor]) -> Tensor:
        for stage, skip in zip(self, reversed(skips), strict=True):
            x = stage(concat([x, skip], dim=1))
        return x


def _widen(channels: int, out_channels: int) -> nn.Sequential:
    """Double the frequency axis of joined maps ``(B, 4, 2 channels, T, F)``."""
    return nn.Sequential(
        QConvTranspose2d(2 * channels, out_channels, 3, stride=(1, 2), padding=1, bias=False),
        QBatchNorm(out_channels),
        activation(),
    )


class CompactNetwork(nn.Module):
    """Encoder, time-frequency bottleneck, decoder and head.

    Args:
        encoder: Features to a map for each stage.
        bottleneck: Maps the last of these to the same shape.
        decoder: Joins the bottleneck's output and the encoder's maps, and restores all F bins.
        head: Computes mask and phase from the decoder's output.

    Shape:
        features: ``(B, 4, 1, T, F)``
        returns: mask and phase, each ``(B, T, F)``
    """

    def __init__(
        self, encoder: CompactEncoder, bottleneck: nn.Module, decoder: CompactDecoder, head: nn.Module
    ) -> None:
        super().__init__()
        self.encoder, self.bottleneck, self.decoder, self.head = encoder, bottleneck, decoder, head

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        skips = self.encoder(features)
        return self.head(self.decoder(self.bottleneck(skips[-1]), skips))
