"""The metadata blocks of flac files, and the tags that some programs put around them, copied byte for byte."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hamiltone.audio.in_place import shift
from hamiltone.audio.outer_tags import leading_tags, trailing_tags

_MOST = 256 * 2**20  # bytes of blocks: covers are large, but not that large
_KEPT = {2, 4, 5, 6}  # application data, comments, cue sheet, pictures
_COMMENTS = 4


@dataclass(frozen=True)
class Blocks:
    """The metadata blocks of a flac file as pairs of type and content, ready to be inserted into another.

    `before` and `after` are the tags around the file.
    """

    blocks: tuple[tuple[int, bytes], ...]
    before: bytes = b""
    after: bytes = b""

    @property
    def size(self) -> int:
        """Their total length in bytes."""
        return sum(4 + len(content) for _, content in self.blocks) + len(self.before) + len(self.after)

    def embed(self, file: BinaryIO) -> None:
        """Insert the blocks after the description of the samples; they replace the file's own comments."""
        own = list(_walk(file))
        start = file.tell()
        replaced = any(kind == _COMMENTS for kind, _ in self.blocks)
        kept = [block for block in own[1:] if block[0] in _KEPT and not (replaced and block[0] == _COMMENTS)]
        blocks = [own[0], *self.blocks, *kept]
        head = b"fLaC"
        for number, (kind, content) in enumerate(blocks):
            last = 0x80 * (number == len(blocks) - 1)
            head += bytes([kind | last]) + len(content).to_bytes(3, "big") + content
        if len(self.before) + len(head) < start:  # fill the gap; a filler takes at least four bytes
            head = _fill(head, max(start - len(self.before), len(head) + 4))
        shift(file, start, len(self.before) + len(head) - start)
        file.seek(0)
        file.write(self.before + head)
        file.seek(0, os.SEEK_END)
        file.write(self.after)


def read_blocks(path: Path) -> tuple[Blocks | None, str]:
    """What a flac file holds besides its sound, if anything, and what is lost."""
    with path.open("rb") as file:
        before = leading_tags(file)
        if file.read(4) != b"fLaC":
            return None, ""
        try:
            blocks = tuple(block for block in _walk(file) if block[0] in _KEPT)
        except ValueError as error:
            return None, str(error)
        after = trailing_tags(file, file.tell())
    return Blocks(blocks, before, after) if blocks or before or after else None, ""


def _walk(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Type and content of the metadata blocks, the description of the samples first; then the file is at the sound."""
    file.seek(len(leading_tags(file)))
    if file.read(4) != b"fLaC":
        raise ValueError("it is not a flac file")
    total, last = 0, False
    while not last:
        head = file.read(4)
        if len(head) < 4:
            raise ValueError("it ends inside its metadata")
        last, kind, size = head[0] >= 0x80, head[0] & 0x7F, int.from_bytes(head[1:], "big")
        content, total = file.read(size), total + size
        if len(content) < size:
            raise ValueError("it ends inside its metadata")
        if total > _MOST:
            raise ValueError(f"its metadata takes more than {_MOST // 2**20} MB and cannot be copied")
        yield kind, content


def _fill(head: bytes, length: int) -> bytes:
    """A flac head whose last block is a filler, `length` bytes in all."""
    place = 4
    while head[place] < 0x80:
        place += 4 + int.from_bytes(head[place + 1 : place + 4], "big")
    unfinished = head[:place] + bytes([head[place] & 0x7F]) + head[place + 1 :]
    size = length - len(head) - 4
    return unfinished + b"\x81" + size.to_bytes(3, "big") + bytes(size)
