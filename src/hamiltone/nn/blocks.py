"""Transformer and Conformer blocks over quaternion sequences; their attention is an argument (Figure 6b)."""

from typing import Any

from torch import Tensor, nn

from hamiltone.nn.activation import QGLU
from hamiltone.nn.batch_norm import QBatchNorm
from hamiltone.nn.conv import QConv1d
from hamiltone.nn.dropout import QDropout
from hamiltone.nn.linear import QLinear
from hamiltone.nn.norm import QLayerNorm


class QFeedForward(nn.Sequential):
    """Two quaternion linear layers around a split activation: activation(x ⊗ W_1 + b_1) ⊗ W_2 + b_2.

    Args:
        dim: Quaternions of input and output.
        hidden: Quaternions between the two layers.
        activation: Applied to every component on its own; GELU by default.
        dropout: The probability with which a quaternion is dropped after each layer.

    Shape:
        x: ``(..., 4, dim)``
        returns: the same
    """

    def __init__(self, dim: int, hidden: int, *, activation: nn.Module | None = None, dropout: float = 0.0) -> None:
        super().__init__(
            QLinear(dim, hidden),
            activation or nn.GELU(),
            QDropout(dropout),
            QLinear(hidden, dim),
            QDropout(dropout),
        )


class QConvModule(nn.Module):
    """The Conformer's convolution module: norm, gated 1x1, convolution along the sequence, norm, SiLU, 1x1.

    Args:
        dim: Quaternions of a position.
        kernel_size: Positions that the convolution sees; odd.
        groups: 1 in the paper's models (a full quaternion convolution); ``groups=dim`` makes it depthwise.
        dropout: The probability with which a quaternion of the output is dropped.

    Shape:
        x: ``(B, N, 4, dim)``, key_padding_mask: ``(B, N)``, True = a real token
        returns: ``(B, N, 4, dim)``
    """

    def __init__(self, dim: int, kernel_size: int = 31, *, groups: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        if kernel_size % 2 == 0:
            raise ValueError(f"kernel_size must be odd to keep the length, got {kernel_size}")
        self.norm = QLayerNorm(dim)
        self.gate = nn.Sequential(QLinear(dim, 2 * dim), QGLU())
        self.convolution = nn.Sequential(
            QConv1d(dim, dim, kernel_size, padding=kernel_size // 2, groups=groups, bias=False),
            QBatchNorm(dim),
            nn.SiLU(),
        )
        self.out = nn.Sequential(QLinear(dim, dim), QDropout(dropout))

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        """Mix neighbouring positions; padded ones contribute nothing."""
        x = self.gate(self.norm(x))
        if key_padding_mask is not None:
            x = x * key_padding_mask[:, :, None, None]
        return self.out(self.convolution(x.permute(0, 2, 3, 1)).permute(0, 3, 1, 2))


class QTransformerBlock(nn.Module):
    """Pre-norm Transformer block: QLayerNorm - attention - QLayerNorm - feed-forward, each with a residual.

    Args:
        dim: Quaternions of a position.
        attention: For example a `SharedScoreAttention`.
        feed_forward: For example a `QFeedForward`.
        dropout: The probability with which a quaternion of the attention's output is dropped.

    Shape:
        x: ``(B, N, 4, dim)``
        returns: the same
    """

    def __init__(self, dim: int, attention: nn.Module, feed_forward: nn.Module, *, dropout: float = 0.0) -> None:
        super().__init__()
        self.attention_norm = QLayerNorm(dim)
        self.attention = attention
        self.dropout = QDropout(dropout)
        self.feed_forward_norm = QLayerNorm(dim)
        self.feed_forward = feed_forward

    def forward(self, x: Tensor, **options: Any) -> Tensor:
        """`options` (masks, causal, cache) are passed on to the attention."""
        x = x + self.dropout(self.attention(self.attention_norm(x), **options))
        return x + self.feed_forward(self.feed_forward_norm(x))


class QConformerBlock(nn.Module):
    """Conformer block: half feed-forward, attention, convolution, half feed-forward, norm (Gulati et al. 2020).

    Args:
        dim: Quaternions of a position.
        attention: For example a `SharedScoreAttention`.
        convolution: The convolution module.
        feed_forwards: The first and the last part of the block; half of their output is added.
        dropout: The probability with which a quaternion of the attention's output is dropped.

    Shape:
        x: ``(B, N, 4, dim)``, key_padding_mask: ``(B, N)``, True = a real token
        returns: ``(B, N, 4, dim)``
    """

    def __init__(
        self,
        dim: int,
        attention: nn.Module,
        convolution: QConvModule,
        feed_forwards: tuple[nn.Module, nn.Module],
        *,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        first, second = feed_forwards
        self.first_feed_forward = nn.Sequential(QLayerNorm(dim), first)
        self.attention_norm = QLayerNorm(dim)
        self.attention = attention
        self.dropout = QDropout(dropout)
        self.convolution = convolution
        self.second_feed_forward = nn.Sequential(QLayerNorm(dim), second)
        self.norm = QLayerNorm(dim)

    def forward(self, x: Tensor, *, key_padding_mask: Tensor | None = None, **options: Any) -> Tensor:
        """`options` (mask) are passed on to the attention; the padding mask also applies to the convolution."""
        x = x + 0.5 * self.first_feed_forward(x)
        attended = self.attention(self.attention_norm(x), key_padding_mask=key_padding_mask, **options)
        x = x + self.dropout(attended)
        x = x + self.convolution(x, key_padding_mask)
        x = x + 0.5 * self.second_feed_forward(x)
        return self.norm(x)
