"""What libsndfile would lose of an ogg file: all but a handful of comments, and the quality of flac."""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

from hamiltone.audio.formats import MOST_PARTS, TAGS

_MOST = 256 * 2**20  # bytes of comments


def lost_comments(path: Path) -> list[str]:
    """The names of those comments in an ogg file that libsndfile does not write, such as pictures."""
    with path.open("rb") as file:
        return sorted(set(_comment_names(file)) - {name.upper() for name in TAGS} - {"ENCODER"})


def holds_flac(path: Path) -> bool:
    """Whether the sound of an ogg file is lossless: libsndfile reads that, but writes Vorbis and Opus only."""
    with path.open("rb") as file:
        head = file.read(27)
        return head.startswith(b"OggS") and file.read(head[26] + 5).endswith(b"\x7fFLAC")


def _comment_names(file: BinaryIO) -> Iterator[str]:
    """The names in the second packet of an ogg file, in capitals."""
    packet = _second_packet(file)
    marks = (b"\x03vorbis", b"OpusTags")
    start = next((len(mark) for mark in marks if packet.startswith(mark)), None)
    if start is None and packet and packet[0] & 0x7F == 4:  # flac: the header of a block
        start = 4
    if start is None:
        return
    place = start + 4 + int.from_bytes(packet[start : start + 4], "little")
    count = int.from_bytes(packet[place : place + 4], "little")
    place += 4
    if min(count, len(packet) // 4) > MOST_PARTS:
        yield f"of which there are more than {MOST_PARTS}"
    for _ in range(min(count, MOST_PARTS)):
        size = int.from_bytes(packet[place : place + 4], "little")
        name, found, _ = packet[place + 4 : place + 4 + min(size, 1000)].partition(b"=")
        if found:
            yield name.decode("ascii", "replace").upper()
        place += 4 + size
        if place > len(packet):
            return


def _second_packet(file: BinaryIO) -> bytes:
    """The second packet of an ogg file, which may span many pages, or as much of it as there is."""
    packets, packet = 0, bytearray()
    while len(head := file.read(27)) == 27 and head.startswith(b"OggS"):
        for size in (sizes := file.read(head[26])):
            packet += file.read(size)
            if size < 255:
                packets += 1
                if packets == 2:
                    return bytes(packet)
                packet.clear()
        if len(sizes) < head[26] or len(packet) > _MOST:
            break
    return bytes(packet) if packets == 1 else b""
