"""Whether a file holds what its header says: its end may be cut off, or more sound may follow.

Files that were joined end to end, such as the dump of a radio stream, go on after what libsndfile reads of them.
"""

import os
import re
import struct
from collections import Counter
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import BinaryIO

from hamiltone.audio.chunks import is_followed, layout_of, samples_chunk
from hamiltone.audio.mp3 import sound_bytes
from hamiltone.audio.outer_tags import leading_tags

_UNKNOWN = 0xFFFFFFFF
_VOICE_BLOCKS = {1, 2, 9}  # of a voc file, those with sound
_OGG = re.compile(rb"OggS\0[\2\3\6\7]")  # the first page of a stream
_PAGE = re.compile(rb"OggS\0[\0-\7]")
_PAGE_HEADER, _MOST_SIZES = 27, 255  # bytes of a page before its sound
_FIRST_PAGE, _LAST_PAGE = 2, 4  # among the flags of a page
_FLAC = re.compile(rb"fLaC[\0\x80]\0\0\x22")  # the mark and the head of the block that describes the samples
_FLV = re.compile(rb"FLV\x01[\0\1\4\5]\0{3}\x09\0{4}")  # the header, and the size of no tag before the first
_TTA = re.compile(rb"TTA1[\x01-\x03]\0[^\0]\0[\x08\x10\x18\x20]\0")  # the mark, the format, channels and bits
_PLAIN_STARTS = {b".snd", b"dns.", b"NIST", b"2BIT"}  # of files that say where their samples begin and end
_MOVIE_BOXES = {b"ftyp", b"moov", b"mdat", b"free", b"skip", b"wide", b"pnot"}  # with which an mp4 or mov may begin
_MOST_BOXES = 1_000_000  # a day of video has some 100,000
_LONGEST = 13  # bytes that one of these patterns matches
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
    """Whether another file follows in this one, of a format that no decoder reads on.

    These are wav, aiff, CAF, W64, au, NIST, avr, mp4 and its relatives, flv and tta.
    """
    with path.open("rb") as file:
        if layout := layout_of(file):
            return is_followed(file, layout)
        file.seek(0)
        head = file.read(8)
        if head[:4] in _PLAIN_STARTS:
            place, size = _samples(file) or (0, 0)
            file.seek(place + size)
            return size > 0 and file.read(4) in _PLAIN_STARTS
        if head[4:] in _MOVIE_BOXES:
            names = Counter(_boxes(file))
            return max(names[b"ftyp"], names[b"moov"]) > 1
        file.seek(len(leading_tags(file)))
        head = file.read(13)
    return any(pattern.match(head) and _count(path, pattern) > 1 for pattern in (_FLV, _TTA))


def _boxes(file: BinaryIO) -> Iterator[bytes]:
    """The names of the boxes of an mp4 or mov, without those inside other boxes."""
    place = 0
    for _ in range(_MOST_BOXES):
        file.seek(place)
        head = file.read(16)
        size = int.from_bytes(head[:4], "big")
        if size == 1:
            size = int.from_bytes(head[8:], "big")
        if len(head) < 8 or size < 8:  # zero: up to the end of the file
            return
        yield head[4:8]
        place += size


def breaks_off(path: Path) -> bool:
    """Whether a stream of an ogg file lacks its last page, or a page of it is cut off."""
    unfinished, end = dict[bytes, bool](), 0
    with path.open("rb") as file:
        if file.read(4) != b"OggS":
            return False
        for place in _places(path, _PAGE):
            file.seek(place)
            head = file.read(_PAGE_HEADER + _MOST_SIZES)
            if len(head) < _PAGE_HEADER or place < end:
                return True
            flags, stream, count = head[5], head[14:18], head[26]
            if flags & _FIRST_PAGE and unfinished.get(stream):  # two files may use the same number
                return True
            unfinished[stream] = not flags & _LAST_PAGE
            end = place + _PAGE_HEADER + count + sum(head[_PAGE_HEADER:][:count])
        return any(unfinished.values()) or end > os.fstat(file.fileno()).st_size


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
    return sum(1 for _ in _places(path, pattern))


def _places(path: Path, pattern: re.Pattern[bytes]) -> Iterator[int]:
    """Where a pattern matches, found block by block."""
    carried, start = b"", 0
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            content = carried + block
            for match in pattern.finditer(content):
                if match.end() > len(carried):  # others were found before
                    yield start + match.start()
            carried = content[1 - _LONGEST :]
            start += len(content) - len(carried)
