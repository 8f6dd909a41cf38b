"""Tags before and after the sound of a file, which its decoder skips: ID3, APEv2 and Lyrics3."""

import os
from typing import BinaryIO

from hamiltone.audio.formats import MOST_PARTS
from hamiltone.errors import InputError

_ID3V1 = 128  # bytes
_ID3V1_MORE = 227  # bytes before an ID3v1, with longer names
_APE = 32  # bytes of its header and of its footer
_ID3V2 = 10  # bytes of its header and of its footer
_LYRICS, _LYRICS_END, _OLD_LYRICS_END = b"LYRICSBEGIN", b"LYRICS200", b"LYRICSEND"
_LONGEST_OLD_LYRICS = 5100 + len(_LYRICS) + len(_OLD_LYRICS_END)  # bytes
_MOST_AT_THE_END = 10


def leading_tags(file: BinaryIO) -> bytes:
    """The ID3v2 tags that a file begins with, one after the other."""
    total, end, count = os.fstat(file.fileno()).st_size, 0, 0
    while (length := _id3v2_length(file, end)) and end + length <= total:
        end, count = end + length, count + 1
        if count > MOST_PARTS:
            raise InputError(f"{file.name}: is not a readable audio file: it begins with more than {MOST_PARTS} tags")
    file.seek(0)
    return file.read(end)


def trailing_tags(file: BinaryIO, start: int) -> bytes:
    """The tags that a file ends with, one after the other; `start` is where its sound begins."""
    total = end = os.fstat(file.fileno()).st_size
    end -= _id3v1_length(file, start, end)
    for _ in range(_MOST_AT_THE_END):
        length = _last_length(file, start, end)
        end -= length if end - length >= start else 0
    file.seek(end)
    return file.read(total - end)


def _before(file: BinaryIO, start: int, end: int, size: int) -> bytes:
    """The last `size` bytes before `end`, or nothing if there are fewer."""
    if end - size < start:
        return b""
    file.seek(end - size)
    return file.read(size)


def _id3v1_length(file: BinaryIO, start: int, end: int) -> int:
    """The length of the ID3v1 that a file ends with, with its extension; zero if there is none."""
    if not _before(file, start, end, _ID3V1).startswith(b"TAG"):
        return 0
    both = _ID3V1 + _ID3V1_MORE
    return both if _before(file, start, end, both).startswith(b"TAG+") else _ID3V1


def _last_length(file: BinaryIO, start: int, end: int) -> int:
    """The length of the APEv2, Lyrics3 or ID3v2 tag that ends at a place; zero if none does."""
    if length := _ape_length(_before(file, start, end, _APE)):
        return length
    footer = _before(file, start, end, _ID3V2)
    if footer.startswith(b"3DI"):
        length = _id3v2_length(file, end - _ID3V2, b"3DI")
        return length if length and _id3v2_length(file, end - length) == length else 0
    footer = _before(file, start, end, len(_LYRICS_END))
    if footer == _LYRICS_END:
        digits = _before(file, start, end, 6 + len(_LYRICS_END))[:6]
        length = int(digits) + 6 + len(_LYRICS_END) if digits.isdigit() else 0
        return length if _before(file, start, end, length).startswith(_LYRICS) else 0
    if footer == _OLD_LYRICS_END:
        content = _before(file, start, end, min(_LONGEST_OLD_LYRICS, end - start))
        place = content.rfind(_LYRICS)
        return len(content) - place if place >= 0 else 0
    return 0


def _id3v2_length(file: BinaryIO, place: int, mark: bytes = b"ID3") -> int:
    """The length of the tag whose header, or footer with its own mark, is at a place; zero if there is none."""
    file.seek(place)
    head = file.read(_ID3V2)
    if len(head) < _ID3V2 or not head.startswith(mark) or max(head[6:]) > 127:
        return 0
    footer = 10 if head[5] & 0x10 else 0
    return 10 + sum(byte << 7 * place for place, byte in enumerate(reversed(head[6:]))) + footer


def _ape_length(footer: bytes) -> int:
    """The length of the tag that ends with these bytes, zero if none does; its header is optional."""
    if not footer.startswith(b"APETAGEX"):
        return 0
    size, flags = int.from_bytes(footer[12:16], "little"), int.from_bytes(footer[20:24], "little")
    return size + (_APE if flags >> 31 else 0)
