"""The paper's image classifier: a quaternion ResNet makes tokens, a quaternion Transformer reads them."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from hamiltone.algebra import flatten
from hamiltone.nn import QBatchNorm, QConv2d, QDropout, QLayerNorm


def pure_quaternions(images: Tensor) -> Tensor:
    """Q = 0 + R i + G j + B k (Eq. 73).

    Shape:
        images: ``(B, 3, H, W)``
        returns: ``(B, 4, 1, H, W)``

    >>> pure_quaternions(torch.ones(1, 3, 1, 1)).flatten()
    tensor([0., 1., 1., 1.])
    """
    return F.pad(images, (0, 0, 0, 0, 1, 0))[:, :, None]


class ResidualBlock(nn.Module):
    """Two 3x3 quaternion convolutions with batch norms and a shortcut (He et al. 2016).

    Args:
        in_channels: Quaternion channels of the input.
        out_channels: Quaternion channels of the output.
        stride: By how much height and width shrink.

    Shape:
        x: ``(B, 4, in_channels, H, W)``
        returns: ``(B, 4, out_channels, H / stride, W / stride)``
    """

    def __init__(self, in_channels: int, out_channels: int, stride: int = 1) -> None:
        super().__init__()
        self.body = nn.Sequential(
            QConv2d(in_channels, out_channels, 3, stride=stride, padding=1, bias=False),
            QBatchNorm(out_channels),
            nn.ReLU(),
            QConv2d(out_channels, out_channels, 3, padding=1, bias=False),
            QBatchNorm(out_channels),
        )
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or in_channels != out_channels:
            self.shortcut = nn.Sequential(
                QConv2d(in_channels, out_channels, 1, stride=stride, bias=False), QBatchNorm(out_channels)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.body(x) + self.shortcut(x))


class QResNet(nn.Sequential):
    """A 3x3 stem and stages of residual blocks; every stage but the first halves the map.

    Args:
        channels: Quaternion channels of each stage.
        blocks: Residual blocks of a stage.

    Shape:
        x: ``(B, 4, 1, H, W)``
        returns: ``(B, 4, channels[-1], H', W')``, H' = H / 2^(stages - 1)
    """

    def __init__(self, channels: Sequence[int], blocks: int = 2) -> None:
        stages: list[nn.Module] = []
        width = channels[0]
        for stage, wider in enumerate(channels):
            for block in range(blocks):
                stages.append(ResidualBlock(width, wider, stride=2 if stage and not block else 1))
                width = wider
        stem = (QConv2d(1, channels[0], 3, padding=1, bias=False), QBatchNorm(channels[0]), nn.ReLU())
        super().__init__(*stem, *stages)


class ImageClassifier(nn.Module):
    """RGB images to class scores: an encoder's map becomes tokens with learned positions, blocks mix them.

    Args:
        encoder: Pure quaternions ``(B, 4, 1, H, W)`` to a map ``(B, 4, dim, H', W')``.
        blocks: Map ``(B, tokens, 4, dim)`` to the same.
        dim: Quaternions of a token.
        tokens: The size of the encoder's map, H' · W'.
        classes: How many classes there are.
        dropout: The probability with which a quaternion of a token is dropped.
        mean: Mean of red, green and blue, which is subtracted.
        std: Standard deviation of red, green and blue, by which they are then divided.

    Shape:
        images: ``(B, 3, H, W)`` in [0, 1]
        returns: ``(B, classes)``
    """

    mean: Tensor
    std: Tensor

    def __init__(
        self,
        encoder: nn.Module,
        blocks: Sequence[nn.Module],
        dim: int,
        tokens: int,
        classes: int,
        *,
        dropout: float = 0.0,
        mean: Sequence[float] = (0.5, 0.5, 0.5),
        std: Sequence[float] = (0.25, 0.25, 0.25),
    ) -> None:
        super().__init__()
        self.encoder, self.blocks = encoder, nn.ModuleList(blocks)
        self.positions = nn.Parameter(0.02 * torch.randn(tokens, 4, dim))
        self.dropout = QDropout(dropout)
        self.norm = QLayerNorm(dim)
        self.head = nn.Linear(4 * dim, classes)
        self.register_buffer("mean", torch.tensor(mean).view(3, 1, 1), persistent=False)
        self.register_buffer("std", torch.tensor(std).view(3, 1, 1), persistent=False)

    def forward(self, images: Tensor) -> Tensor:
        if images.dim() != 4 or images.shape[1] != 3:
            raise ValueError(f"ImageClassifier expected RGB images (B, 3, H, W), got shape {tuple(images.shape)}")
        images = images.contiguous(memory_format=torch.channels_last)
        features = self.encoder(pure_quaternions((images - self.mean) / self.std))
        x = features.flatten(3).permute(0, 3, 1, 2)  # (B, N, 4, C)
        if x.shape[1] != len(self.positions):
            raise ValueError(
                f"the encoder made {x.shape[1]} tokens of images of {tuple(images.shape[2:])}, "
                f"but there are {len(self.positions)} positions"
            )
        x = self.dropout(x + self.positions)
        for block in self.blocks:
            x = block(x)
        return self.head(flatten(self.norm(x)).mean(1))
