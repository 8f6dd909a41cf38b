"""A queue of samples."""

import numpy as np

from hamiltone.audio.spectra import Samples


class Fifo:
    """Samples in at one end, out at the other; its memory grows to the most it ever held and does not shrink.

    Shape:
        block: float32 ``(channels, L)``
    """

    def __init__(self, channels: int, zeros: int = 0) -> None:
        self._memory = np.zeros((channels, max(2 * zeros, 1024)), np.float32)
        self._zeros, self._start, self._end = zeros, 0, zeros

    def __len__(self) -> int:
        return self._end - self._start

    def push(self, block: Samples) -> None:
        """Append a block."""
        length, held = block.shape[1], len(self)
        if self._end + length > self._memory.shape[1]:
            memory = self._memory
            if 2 * (held + length) > memory.shape[1]:
                memory = np.zeros((len(memory), 2 * (held + length)), np.float32)
            memory[:, :held] = self._memory[:, self._start : self._end].copy()
            self._memory, self._start, self._end = memory, 0, held
        self._memory[:, self._end : self._end + length] = block
        self._end += length

    def peek(self, length: int) -> Samples:
        """The first `length` samples: a view that is valid until the next push."""
        return self._memory[:, self._start : self._start + length]

    def drop(self, length: int) -> None:
        """Forget the first `length` samples."""
        self._start += length

    def pop(self, length: int) -> Samples:
        """Take the first `length` samples out."""
        block = self.peek(length).copy()
        self.drop(length)
        return block

    def reset(self) -> None:
        """Return to the initial zeros."""
        self._start, self._end = 0, self._zeros
        self._memory[:, : self._zeros] = 0
