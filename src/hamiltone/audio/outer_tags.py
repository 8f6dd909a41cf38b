"""Tags before and after the sound of a file, which its decoder skips: ID3v2, APEv2 and ID3v1."""

import os
from typing import BinaryIO

from hamiltone.audio.formats import MOST_PARTS
from hamiltone.errors import InputError

_ID3V1 = 128  # bytes
_APE = 32  # bytes of its header and of its footer


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
    """The APEv2 and ID3v1 tags that a file ends with; `start` is where its sound begins."""
    total = end = os.fstat(file.fileno()).st_size
    if end - _ID3V1 >= start:
        file.seek(end - _ID3V1)
        end -= _ID3V1 * (file.read(3) == b"TAG")
    if end - _APE >= start:
        file.seek(end - _APE)
        length = _ape_length(file.read(_APE))
        end -= length if end - length >= start else 0
    file.seek(end)
    return file.read(total - end)


def _id3v2_length(file: BinaryIO, place: int) -> int:
    """The length of the tag at a place; zero if there is none."""
    file.seek(place)
    head = file.read(10)
    if len(head) < 10 or not head.startswith(b"ID3") or max(head[6:]) > 127:
        return 0
    footer = 10 if head[5] & 0x10 else 0
    return 10 + sum(byte << 7 * place for place, byte in enumerate(reversed(head[6:]))) + footer


def _ape_length(footer: bytes) -> int:
    """The length of the tag that ends with these bytes, zero if none does; its header is optional."""
    if not footer.startswith(b"APETAGEX"):
        return 0
    size, flags = int.from_bytes(footer[12:16], "little"), int.from_bytes(footer[20:24], "little")
    return size + (_APE if flags >> 31 else 0)
