"""Whether a file holds what its header says: samples may be cut off, or more sound may follow.

Files that were joined end to end, such as the dump of a radio stream, go on after what libsndfile reads of them.
"""

import os
import re
import struct
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from hamiltone.audio.chunks import is_followed, layout_of, samples_chunk
from hamiltone.audio.mp3 import sound_bytes

_UNKNOWN = 0xFFFFFFFF
_VOICE_BLOCKS = {1, 2, 9}  # of a voc file, those with sound
_OGG = re.compile(rb"OggS\0[\2\3\6\7]")  # the first page of a stream
_FLAC = re.compile(rb"fLaC[\0\x80]\0\0\x22")  # the mark and the head of the block that describes the samples
_LONGEST = 8  # bytes that one of these patterns matches
_BLOCK = 2**20  # bytes searched at a time
_TOLERANCE = 0.01  # of the bytes that an mp3 claims: programs disagree about what to count


def share_of_samples(path: Path) -> float:
    """The share of the samples that is present, from 0 to 1; 1 if all are or the header does not say how many."""
    with path.open("rb") as file:
        total = os.fstat(file.fileno()).st_size
        place, claimed = _samples(file) or (0, 0)
    present = total - place
    return present / claimed if 0 < present < claimed and not _is_streamed(claimed) else 1.0


def _is_streamed(size: int) -> bool:
    """Whether this size is a placeholder of programs that write to a pipe and do not know the length yet."""
    return 0x7FFF0000 <= size <= 0x80000000 or 0xFFFF0000 <= size <= _UNKNOWN or size >= 2**62


def _samples(file: BinaryIO) -> tuple[int, int] | None:
    """Where the samples begin, and how many bytes of them the header claims."""
    file.seek(0)
    head = file.read(1024)
    if head.startswith((b".snd", b"dns.")):
        place, size = struct.unpack(">II" if head.startswith(b".snd") else "<II", head[4:12].ljust(8, b"\0"))
        return place, size
    if head.startswith(b"NIST_1A") and b"shorten" not in head:  # which is compressed
        return _nist(head)
    if head.startswith(b"2BIT"):
        samples = int.from_bytes(head[26:30], "big")
        return 128, samples * (2 if head[12:14] != b"\0\0" else 1) * int.from_bytes(head[14:16], "big") // 8
    if head.startswith(b"Creative Voice File\x1a"):
        return _voc(file, int.from_bytes(head[20:22], "little"))
    chunk = samples_chunk(file, layout) if (layout := layout_of(file)) else None
    return (chunk.place, chunk.size) if chunk else None


def _nist(head: bytes) -> tuple[int, int] | None:
    """From the header of a NIST SPHERE file, whose lines hold a name, a type and a value."""
    fields = {name: int(value) for name, value in re.findall(rb"^(\w+) -i (\d+)$", head, re.MULTILINE)}
    size = re.match(rb"NIST_1A\s+(\d+)", head)
    factors = [fields.get(name, 0) for name in (b"sample_count", b"channel_count", b"sample_n_bytes")]
    return (int(size[1]), factors[0] * factors[1] * factors[2]) if size else None


def _voc(file: BinaryIO, place: int) -> tuple[int, int] | None:
    """From the first block of a voc file that holds sound."""
    for _ in range(100):
        file.seek(place)
        head = file.read(4)
        size = int.from_bytes(head[1:], "little")
        if len(head) < 4 or not head[0]:
            return None
        if head[0] in _VOICE_BLOCKS:
            return place + 4, size
        place += 4 + size
    return None


def is_joined(path: Path, format: str) -> bool:
    """Whether a file of this format of libsndfile goes on after the sound that its header describes."""
    if format == "MP3":
        claimed, present = sound_bytes(path)
        return 0 < claimed * (1 + _TOLERANCE) < present
    if format == "OGG":
        return ogg_streams(path) > _streams_at_the_start(path)
    return format == "FLAC" and _count(path, _FLAC) > 1


def hides_another(path: Path) -> bool:
    """Whether another file follows in this one, of a format that no decoder reads on: wav, aiff, CAF or W64."""
    with path.open("rb") as file:
        layout = layout_of(file)
        return layout is not None and is_followed(file, layout)


def ogg_streams(path: Path) -> int:
    """How many streams an ogg file holds, side by side or one after the other; zero if it is no ogg file."""
    return _count(path, _OGG) if _streams_at_the_start(path) else 0


def _streams_at_the_start(path: Path) -> int:
    """How many streams run side by side from the beginning: their first pages precede all others."""
    count = 0
    with path.open("rb") as file:
        while _OGG.match(head := file.read(27)):
            file.seek(sum(file.read(head[26])), 1)
            count += 1
    return count


def _count(path: Path, pattern: re.Pattern[bytes]) -> int:
    state = path.stat()
    return _found(path, pattern, state.st_size, state.st_mtime_ns)


@lru_cache(maxsize=16)  # a file is opened several times, and searching an hour of sound takes a second
def _found(path: Path, pattern: re.Pattern[bytes], size: int, changed: int) -> int:
    count, carried = 0, b""
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            content = carried + block
            count += sum(match.end() > len(carried) for match in pattern.finditer(content))  # others were counted
            carried = content[1 - _LONGEST :]
    return count
