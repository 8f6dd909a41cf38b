"""Resampling by soxr; the only module that imports it."""

from math import ceil

import numpy as np
import soxr  # type: ignore[import-untyped]

from hamiltone.audio.formats import Block

QUALITY = "VHQ"


def resample(
    block: Block, source_rate: float, target_rate: float, length: int | None = None, *, quality: str = QUALITY
) -> Block:
    """Resample a block as if silence surrounded it; sample zero stays at time zero.

    Shape:
        block: ``(L,)`` or ``(L, C)``
        returns: as many samples as `length` says, by default ceil(L * target_rate / source_rate)
    """
    if length is None:
        length = ceil(len(block) * target_rate / source_rate)
    if source_rate == target_rate:
        return block[:length]
    enough = ceil((length + 1) * source_rate / target_rate) + 1
    padded = np.pad(block, [(0, max(enough - len(block), 0)), *[(0, 0)] * (block.ndim - 1)])
    return soxr.resample(padded, source_rate, target_rate, quality)[:length]


class BlockResampler:
    """Resamples a signal block by block.

    Shape:
        block: float32 ``(L, C)``
    """

    def __init__(self, source_rate: int, target_rate: int, channels: int) -> None:
        self._stream = None
        if source_rate != target_rate:
            self._stream = soxr.ResampleStream(source_rate, target_rate, channels, dtype="float32", quality=QUALITY)

    def push(self, block: Block, *, last: bool) -> Block:
        """Take a block and return the samples that are ready; after the `last` block, all that remain."""
        return block if self._stream is None else self._stream.resample_chunk(block, last=last)
