"""The network of rows: frequency shrinks to a few rows in one step; recurrent units run along time, attention along
frequency.

Convolutions reach along frequency only, so the recurrent units hold the whole memory of the past: with causal units the
network runs frame by frame on a stream.
"""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from hamiltone.nn import QGRU, QBatchNorm, QConv2d, QConvTranspose2d, QLinear, QSequenceBatchNorm, concat

State = tuple[Tensor, ...]


class RowResidual(nn.Module):
    """x plus a normalised convolution of x along frequency.

    Args:
        channels: Quaternion channels.
        kernel_size: Length of the kernel along frequency; odd.

    Shape:
        x: ``(B, 4, channels, T, F)``
        returns: the same
    """

    def __init__(self, channels: int, kernel_size: int = 3) -> None:
        super().__init__()
        self.convolution = nn.Sequential(
            QConv2d(channels, channels, (1, kernel_size), padding=(0, kernel_size // 2), bias=False),
            QBatchNorm(channels),
            nn.SiLU(),
        )

    def forward(self, x: Tensor) -> Tensor:
        return x + self.convolution(x)


class RowMap(nn.Module):
    """Mixes the rows of a map by one real matrix for all channels, which commutes with rotations of quaternions.

    Shape:
        x: ``(B, T, in_rows, 4, C)``
        returns: ``(B, T, out_rows, 4, C)``
        weight: ``(out_rows, in_rows)``
    """

    def __init__(self, in_rows: int, out_rows: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(row_hats(in_rows, out_rows))

    def forward(self, x: Tensor) -> Tensor:
        return torch.matmul(self.weight, x.flatten(3)).unflatten(3, x.shape[3:])


def row_hats(in_rows: int, out_rows: int) -> Tensor:
    """Initial weights of a row map: linear interpolation between rows, fine at low frequencies, coarse at high ones."""
    wide, narrow = max(in_rows, out_rows), min(in_rows, out_rows)
    position = torch.linspace(0, 1, narrow)
    centres = (position + position**2) / 2 * (wide - 1)  # the spacing triples from the bottom to the top
    place = torch.arange(wide, dtype=torch.float32)[:, None]
    right = torch.searchsorted(centres, place).clamp(1, narrow - 1)
    share = (place - centres[right - 1]) / (centres[right] - centres[right - 1])
    hats = torch.zeros(wide, narrow).scatter_(1, right - 1, 1 - share).scatter_(1, right, share)
    return hats if out_rows > in_rows else (hats / hats.square().sum(0).sqrt()).mT.contiguous()


class RowBlock(nn.Module):
    """Memory along time, then attention along frequency, each normalised and added to its input.

    Args:
        dim: Quaternions of a row.
        memory: Runs along time, separately for every row.
        attention: Runs along frequency, separately for every frame.

    Shape:
        x: ``(B, T, R, 4, dim)``
        state: ``(B · R, 4, dim)``, the memory of every row
        returns: ``(B, T, R, 4, dim)`` and the state after the last frame
    """

    def __init__(self, dim: int, memory: QGRU, attention: nn.Module) -> None:
        super().__init__()
        self.memory = memory
        directions = 2 if memory.bidirectional else 1
        self.recall = nn.Sequential(QLinear(directions * memory.dim, dim, bias=False), QSequenceBatchNorm(dim))
        self.attention = nn.Sequential(attention, QSequenceBatchNorm(dim))

    def forward(self, x: Tensor, state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        batch, frames, rows = x.shape[:3]
        remembered, state = self.memory(x.transpose(1, 2).flatten(0, 1), state)  # (B · R, T, 4, C)
        x = x + self.recall(remembered).unflatten(0, (batch, rows)).transpose(1, 2)
        attended = self.attention(x.flatten(0, 1))  # (B · T, R, 4, C)
        return x + attended.unflatten(0, (batch, frames)), state


class RowNetwork(nn.Module):
    """Encoder, rows, blocks and decoder, with a skip around the rows.

    Args:
        channels: Quaternion channels of the encoder's output.
        dim: Quaternions of a row between the blocks.
        in_rows: Rows of the encoder's output.
        rows: Rows between the blocks, fewer than `in_rows`.
        encoder: Features to ``(B, 4, channels, T, in_rows)``.
        blocks: Run one after another on ``(B, T, rows, 4, dim)``.
        decoder: Joins the blocks' output and the skip, ``2 channels`` to ``channels``.
        head: Computes mask and phase from the decoder's output.

    Shape:
        features: ``(B, 4, 1, T, F)``
        state: one tensor for each block, as `RowBlock` has them; none at first
        returns: mask and phase, each ``(B, T, F)``; `step` also returns the state after the last frame
    """

    def __init__(
        self,
        channels: int,
        dim: int,
        in_rows: int,
        rows: int,
        encoder: nn.Module,
        blocks: Sequence[RowBlock],
        decoder: nn.Module,
        head: nn.Module,
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.squeeze = RowMap(in_rows, rows)
        self.enter = nn.Sequential(QLinear(channels, dim, bias=False), QSequenceBatchNorm(dim))
        self.position = nn.Parameter(torch.zeros(rows, 4, dim))
        self.blocks = nn.ModuleList(blocks)
        self.leave = nn.Sequential(QLinear(dim, channels, bias=False), QSequenceBatchNorm(channels))
        self.spread = RowMap(rows, in_rows)
        self.decoder, self.head = decoder, head

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        return self.step(features, ())[0]

    def step(self, features: Tensor, state: State) -> tuple[tuple[Tensor, Tensor], State]:
        """Process the next frames; `state` is empty at the beginning."""
        skip = self.encoder(features)  # (B, 4, C, T, F')
        x = self.squeeze(skip.permute(0, 3, 4, 1, 2))  # (B, T, R, 4, C)
        x = self.enter(x) + self.position
        after = []
        for number, block in enumerate(self.blocks):
            x, last = block(x, state[number] if state else None)
            after.append(last)
        x = self.spread(self.leave(x)).permute(0, 3, 4, 1, 2)
        return self.head(self.decoder(concat([x, skip], dim=1))), tuple(after)


class RowHead(nn.Module):
    """From rows back to bins: a mask in (0, `limit`) and a phase correction in (-π, π) that is zero at first.

    The last bin, which no row covers, gets the values of its neighbour.

    Args:
        channels: Quaternion channels of the input.
        kernel_size: Length of the transposed convolution along frequency.
        stride: Bins that a row covers.
        limit: The largest value of the mask.
        width: Quaternion channels of a bin before mask and phase are computed.

    Shape:
        x: ``(B, 4, channels, T, F')``
        returns: mask and phase, each ``(B, T, F)``, F = stride · F' + 1
    """

    def __init__(self, channels: int, kernel_size: int, stride: int, limit: float, width: int = 1) -> None:
        super().__init__()
        self.limit = limit
        padding = (kernel_size - stride) // 2
        self.widen = QConvTranspose2d(
            channels, width, (1, kernel_size), stride=(1, stride), padding=(0, padding), bias=True
        )
        self.read = nn.Conv2d(4 * width, 2, 1)
        nn.init.zeros_(self.read.weight[1])
        nn.init.zeros_(self.read.bias)  # type: ignore[arg-type]

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        y = self.read(self.widen(x).flatten(1, 2))
        mask, phase = torch.cat([y, y[..., -1:]], -1).unbind(1)
        return self.limit * torch.sigmoid(mask), torch.pi * torch.tanh(phase)


def row_encoder(channels: int, kernel_size: int, stride: int, residuals: int) -> nn.Module:
    """All bins but the last to rows of features: ``(B, 4, 1, T, F)`` to ``(B, 4, channels, T, (F - 1) / stride)``."""
    padding = (kernel_size - stride) // 2
    return nn.Sequential(
        QConv2d(1, channels, (1, kernel_size), stride=(1, stride), padding=(0, padding), bias=False),
        QBatchNorm(channels),
        nn.SiLU(),
        *(RowResidual(channels) for _ in range(residuals)),
    )


def row_decoder(channels: int, residuals: int) -> nn.Module:
    """Merge the blocks' output and the skip: ``(B, 4, 2 channels, T, F')`` to ``(B, 4, channels, T, F')``."""
    return nn.Sequential(
        QConv2d(2 * channels, channels, 1, bias=False),
        QBatchNorm(channels),
        nn.SiLU(),
        *(RowResidual(channels) for _ in range(residuals)),
    )
