"""The beginning of a file read as a file of its own, and room made inside a file."""

import io
import os
from pathlib import Path
from typing import BinaryIO

_BLOCK = 2**20  # bytes moved at a time


def shift(file: BinaryIO, start: int, by: int) -> None:
    """Move everything from `start` on `by` bytes towards the end, block by block from the end."""
    place = file.seek(0, os.SEEK_END)
    while by and place > start:
        count = min(_BLOCK, place - start)
        place -= count
        file.seek(place)
        content = file.read(count)
        file.seek(place + by)
        file.write(content)


class FirstBytes(io.FileIO):
    """A file for reading that ends after `length` bytes."""

    def __init__(self, path: Path, length: int) -> None:
        super().__init__(path, "r")
        self._length = length

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        """Fill the buffer, but not past this file's own end."""
        left = max(self._length - self.tell(), 0)
        return super().readinto(memoryview(buffer)[:left]) or 0

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Go to a place, counted from this file's own end with `os.SEEK_END`."""
        return super().seek(self._length + offset) if whence == os.SEEK_END else super().seek(offset, whence)
