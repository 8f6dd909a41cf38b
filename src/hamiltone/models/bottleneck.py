"""Attention along time and along frequency over a feature map (Figure 6b)."""

from collections.abc import Sequence

from torch import Tensor, nn

from hamiltone.models.tiling import over_batch


class Bottleneck(nn.Module):
    """Pairs of blocks: the first of each pair reads every band along time, the second every frame along frequency.

    There is no positional encoding; the convolutions around and within the blocks carry position.

    Args:
        time_layers: Blocks along time, each mapping ``(B, N, 4, C)`` to the same.
        freq_layers: As many blocks along frequency.

    Shape:
        x: ``(B, 4, C, T, F)``
        returns: the same
    """

    def __init__(self, time_layers: Sequence[nn.Module], freq_layers: Sequence[nn.Module]) -> None:
        super().__init__()
        if len(time_layers) != len(freq_layers):
            raise ValueError(f"expected as many time as frequency layers, got {len(time_layers)}, {len(freq_layers)}")
        self.time_layers, self.freq_layers = nn.ModuleList(time_layers), nn.ModuleList(freq_layers)

    def forward(self, x: Tensor) -> Tensor:
        x = x.permute(0, 4, 3, 1, 2)  # (B, F, T, 4, C)
        for along_time, along_frequency in zip(self.time_layers, self.freq_layers, strict=True):
            x = _along(along_time, x).transpose(1, 2)  # (B, T, F, 4, C)
            x = _along(along_frequency, x).transpose(1, 2)  # (B, F, T, 4, C)
        return x.permute(0, 3, 4, 2, 1)

    def blocks(self) -> list[nn.Module]:
        """All blocks, of both axes."""
        return [*self.time_layers, *self.freq_layers]


def _along(block: nn.Module, x: Tensor) -> Tensor:
    """Apply a block of sequences ``(S, N, 4, C)`` along the third axis of ``(B, P, N, 4, C)``."""
    return over_batch(block, x.contiguous().flatten(0, 1)).unflatten(0, x.shape[:2])
