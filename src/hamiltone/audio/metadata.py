"""What wav, aiff and flac files hold besides their samples, copied byte for byte: tags, cue points, covers, BWF data.

libsndfile keeps a handful of tags; a recording that is replaced in place must not lose the rest. The comments of ogg
files are not copied, but what would be lost of them is known.
"""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from hamiltone.audio.formats import TAGS

_MOST = 256 * 2**20  # bytes of metadata: descriptions of immersive sound are large, but not that large
_RIFF_LIMIT = 2**32 - 1
# Chunks that describe the samples, which the writer makes anew, and fillers
_OF_SAMPLES = {b"fmt ", b"data", b"fact", b"ds64", b"PEAK", b"levl", b"COMM", b"SSND", b"FVER"}
_FILLERS = {b"JUNK", b"junk", b"PAD ", b"FLLR", b"\0\0\0\0"}
_KEPT_BLOCKS = {2, 4, 5, 6}  # of a flac: application data, comments, cue sheet, pictures
_COMMENTS = 4
_COPIED = 2**20  # bytes at a time


@dataclass(frozen=True)
class Chunks:
    """The chunks of a wav, RF64 or aiff file other than its samples, ready to be appended to another."""

    data: bytes
    order: Literal["little", "big"]

    def embed(self, file: BinaryIO) -> None:
        """Append the chunks to a finished file and correct the sizes in its header."""
        end = file.seek(0, os.SEEK_END)
        file.write(bytes(end % 2) + self.data)
        size = file.tell() - 8
        file.seek(0)
        if file.read(4) == b"RF64":
            file.seek(20)  # after the header of ds64
            file.write(size.to_bytes(8, "little"))
        elif size > _RIFF_LIMIT:
            raise ValueError("the metadata does not fit into a file of 4 GB")
        else:
            file.seek(4)
            file.write(size.to_bytes(4, self.order))


@dataclass(frozen=True)
class Blocks:
    """The metadata blocks of a flac file as pairs of type and content, ready to be inserted into another."""

    blocks: tuple[tuple[int, bytes], ...]

    def embed(self, file: BinaryIO) -> None:
        """Insert the blocks after the description of the samples; they replace the file's own comments."""
        file.seek(0)
        own = list(_flac_blocks(file))
        start = file.tell()
        replaced = any(kind == _COMMENTS for kind, _ in self.blocks)
        kept = [block for block in own[1:] if block[0] in _KEPT_BLOCKS and not (replaced and block[0] == _COMMENTS)]
        blocks = [own[0], *self.blocks, *kept]
        head = b"fLaC"
        for number, (kind, content) in enumerate(blocks):
            last = 0x80 * (number == len(blocks) - 1)
            head += bytes([kind | last]) + len(content).to_bytes(3, "big") + content
        if len(head) < start:  # a filler, whose header takes four bytes, keeps the sound where it is or moves it
            head = _fill(head, max(start, len(head) + 4))
        _shift(file, start, len(head) - start)
        file.seek(0)
        file.write(head)


def read_metadata(path: Path, format: str) -> Chunks | Blocks | None:
    """The metadata of a file in one of libsndfile's formats; None if there is none, or no way to copy it."""
    try:
        with path.open("rb") as file:
            if format in {"WAV", "WAVEX", "RF64", "AIFF"}:
                return _read_chunks(file)
            if format == "FLAC":
                blocks = tuple(block for block in _flac_blocks(file) if block[0] in _KEPT_BLOCKS)
                return Blocks(blocks) if blocks else None
    except (OSError, ValueError):  # not readable as such: libsndfile is more tolerant
        pass
    return None


def lost_comments(path: Path) -> list[str]:
    """The names of those comments in an ogg file that libsndfile does not write, such as pictures."""
    try:
        with path.open("rb") as file:
            return sorted(set(_comment_names(file)) - {name.upper() for name in TAGS} - {"ENCODER"})
    except (OSError, ValueError):
        return []


def _comment_names(file: BinaryIO) -> Iterator[str]:
    """The names in the second packet of an ogg file, in capitals."""
    packet = _second_packet(file)
    start = next((len(mark) for mark in (b"\x03vorbis", b"OpusTags") if packet.startswith(mark)), None)
    if start is None:
        return
    place = start + 4 + int.from_bytes(packet[start : start + 4], "little")
    count = int.from_bytes(packet[place : place + 4], "little")
    place += 4
    for _ in range(count):
        size = int.from_bytes(packet[place : place + 4], "little")
        if place + 4 + size > len(packet):
            return
        name, found, _ = packet[place + 4 : place + 4 + min(size, 1000)].partition(b"=")
        if found:
            yield name.decode("ascii", "replace").upper()
        place += 4 + size


def _second_packet(file: BinaryIO) -> bytes:
    """The second packet of an ogg file: it may span many pages."""
    packets, packet = 0, b""
    while len(head := file.read(27)) == 27 and head.startswith(b"OggS"):
        for size in (sizes := file.read(head[26])):
            packet += file.read(size)
            if size < 255:
                packets += 1
                if packets == 2:
                    return packet
                packet = b""
        if len(sizes) < head[26] or len(packet) > _MOST:
            break
    raise ValueError("no comments")


def _read_chunks(file: BinaryIO) -> Chunks | None:
    kind = file.read(12)[:4]
    if kind not in {b"RIFF", b"RF64", b"FORM"}:
        return None
    order: Literal["little", "big"] = "big" if kind == b"FORM" else "little"
    total, kept, long_data = os.fstat(file.fileno()).st_size, b"", 0
    while len(head := file.read(8)) == 8:
        name, size = head[:4], int.from_bytes(head[4:], order)
        if name == b"ds64":
            ds64 = file.read(size)
            long_data = int.from_bytes(ds64[8:16], "little")
            file.seek(size % 2, os.SEEK_CUR)
        elif name in _OF_SAMPLES | _FILLERS:
            size = long_data if name == b"data" and kind == b"RF64" and size == _RIFF_LIMIT else size
            file.seek(size + size % 2, os.SEEK_CUR)
        elif len(kept) + size > _MOST or file.tell() + size > total:
            break
        else:
            kept += head + file.read(size) + bytes(size % 2)
            file.seek(size % 2, os.SEEK_CUR)
    return Chunks(kept, order) if kept else None


def _flac_blocks(file: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Type and content of the metadata blocks, the description of the samples first; the file then stands behind."""
    start = file.read(10)
    if start[:3] == b"ID3":  # some tools put one before a flac
        size = sum(byte << 7 * place for place, byte in enumerate(reversed(start[6:])))
        file.seek(10 + size)
    else:
        file.seek(0)
    if file.read(4) != b"fLaC":
        raise ValueError("not a flac file")
    total, last = 0, False
    while not last:
        head = file.read(4)
        if len(head) < 4:
            raise ValueError("ends inside its metadata")
        last, kind, size = head[0] >= 0x80, head[0] & 0x7F, int.from_bytes(head[1:], "big")
        content, total = file.read(size), total + size
        if len(content) < size or total > _MOST:
            raise ValueError("ends inside its metadata, or has too much of it")
        yield kind, content


def _fill(head: bytes, length: int) -> bytes:
    """A flac head whose last block is a filler, `length` bytes in all."""
    place = 4
    while head[place] < 0x80:
        place += 4 + int.from_bytes(head[place + 1 : place + 4], "big")
    unfinished = head[:place] + bytes([head[place] & 0x7F]) + head[place + 1 :]
    size = length - len(head) - 4
    return unfinished + b"\x81" + size.to_bytes(3, "big") + bytes(size)


def _shift(file: BinaryIO, start: int, by: int) -> None:
    """Move everything from `start` on `by` bytes towards the end, block by block from the end."""
    place = file.seek(0, os.SEEK_END)
    while by and place > start:
        count = min(_COPIED, place - start)
        place -= count
        file.seek(place)
        content = file.read(count)
        file.seek(place + by)
        file.write(content)
