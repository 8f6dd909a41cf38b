"""The metadata blocks of flac files, and the tags that some programs put around them, copied byte for byte."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from hamiltone.audio.formats import MOST_PARTS
from hamiltone.audio.in_place import shift
from hamiltone.audio.outer_tags import leading_tags, trailing_tags

_MOST = 256 * 2**20  # bytes of blocks: covers are large, but not that large
_KEPT = {2, 4, 5, 6}  # application data, comments, cue sheet, pictures
_COMMENTS, _CUES, _PICTURE = 4, 5, 6


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
    whole = tuple(block for block in blocks if _is_whole(*block))  # decoders give up on others
    lost = "its metadata is damaged and cannot be copied" if len(whole) < len(blocks) else ""
    return Blocks(whole, before, after) if whole or before or after else None, lost


def _is_whole(kind: int, content: bytes) -> bool:
    """Whether the sizes inside a block fit into it."""

    def number(place: int, order: Literal["little", "big"]) -> int:
        return int.from_bytes(content[place : place + 4], order) if place + 4 <= len(content) else len(content)

    place = 0
    if kind == _COMMENTS:
        place = 4 + number(0, "little")  # after the name of the program
        count = number(place, "little")
        place = place + 4 if count <= MOST_PARTS else len(content) + 1
        while count and place <= len(content):
            place, count = place + 4 + number(place, "little"), count - 1
    elif kind == _PICTURE:
        place = 8 + number(4, "big")  # after its type and format
        place += 4 + number(place, "big") + 16  # after its description and dimensions
        place += 4 + number(place, "big")
    elif kind == _CUES:
        tracks, place = content[395:396], 396
        for _ in range(tracks[0] if tracks else 0):
            place += 36 + 12 * int.from_bytes(content[place + 35 : place + 36], "big")
    return place <= len(content)


def _walk(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Type and content of the metadata blocks, the description of the samples first; then the file is at the sound."""
    file.seek(len(leading_tags(file)))
    if file.read(4) != b"fLaC":
        raise ValueError("it is not a flac file")
    total, count, last = 0, 0, False
    while not last:
        head = file.read(4)
        if len(head) < 4:
            raise ValueError("it ends inside its metadata")
        last, kind, size = head[0] >= 0x80, head[0] & 0x7F, int.from_bytes(head[1:], "big")
        content, total, count = file.read(size), total + size, count + 1
        if len(content) < size:
            raise ValueError("it ends inside its metadata")
        if count > MOST_PARTS:
            raise ValueError(f"its metadata has more than {MOST_PARTS} blocks and cannot be copied")
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
