"""What an mp3 has besides its samples: bit rate, tags and cover."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, TypedDict

from hamiltone.audio.outer_tags import leading_tags, trailing_tags

_RATES = {1: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320)}  # kbit/s, by version, layer III
_RATES[2] = (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160)
_SOFTER = ((176, 0.95), (208, 0.97), (240, 0.98))  # below this many kbit/s, LAME scales all samples by this
_SEARCHED = 2**16  # bytes in which the first frame must begin


class BitRateOptions(TypedDict):
    """The options of soundfile that set the bit rate."""

    bitrate_mode: str
    compression_level: float


@dataclass(frozen=True)
class Mp3:
    """The raw tags before (ID3v2) and after (APEv2, ID3v1) the sound, and the mean bit rate in kbit/s.

    `constant` says whether every frame has that rate.
    """

    head: bytes
    tail: bytes
    bit_rate: float
    constant: bool

    def quality(self, sample_rate: int) -> BitRateOptions:
        """The options of soundfile that give this bit rate: libsndfile counts down from the version's highest."""
        lowest, highest = (32, 320) if sample_rate >= 32_000 else (8, 160) if sample_rate >= 16_000 else (8, 64)
        level = (highest - min(max(self.bit_rate, lowest), highest)) / (highest - lowest)
        return {"bitrate_mode": "CONSTANT" if self.constant else "AVERAGE", "compression_level": min(level, 0.999)}


def lame_scale(kbits: float) -> float:
    """The factor by which LAME scales all samples at a constant or mean bit rate; a writer has to undo it."""
    return next((scale for limit, scale in _SOFTER if kbits < limit), 1.0)


def read_mp3(path: Path, seconds: float) -> Mp3:
    """The tags and the bit rate of an mp3 of this length; where it begins with no frame of layer III, the mean rate."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = leading_tags(file)
        tail = trailing_tags(file, len(head))
        _, frame = _first_frame(file, len(head))
    constant = not (b"Xing" in frame or b"VBRI" in frame)
    mean = (size - len(head) - len(tail)) * 8e-3 / max(seconds, 1e-3)
    return Mp3(head, tail, _bit_rate(frame) if frame and constant else mean, constant)


def says_length(path: Path) -> bool:
    """Whether the first frame of an mp3 says how many follow; otherwise its length is guessed from the bit rate."""
    with path.open("rb") as file:
        _, frame = _first_frame(file, len(leading_tags(file)))
    return any(name in frame for name in (b"Xing", b"Info", b"VBRI"))


def sound_bytes(path: Path) -> tuple[int, int]:
    """How many bytes of sound an mp3 claims in its first frame (0: it does not say), and how many it has."""
    size = path.stat().st_size
    with path.open("rb") as file:
        start, frame = _first_frame(file, len(leading_tags(file)))
        present = size - start - len(trailing_tags(file, start))
    if (place := frame.find(b"VBRI")) >= 0:
        return int.from_bytes(frame[place + 10 : place + 14], "big"), present
    place = max(frame.find(b"Xing"), frame.find(b"Info"))
    if place < 0 or not frame[place + 7 : place + 8] or not frame[place + 7] & 2:
        return 0, present
    place += 12 if frame[place + 7] & 1 else 8  # after the number of frames, if it is there
    return int.from_bytes(frame[place : place + 4], "big"), present


def _first_frame(file: BinaryIO, start: int) -> tuple[int, bytes]:
    """Where the first frame begins, and its beginning with the place where a table of the others would be.

    The beginning is empty if there is no frame.
    """
    file.seek(start)
    data = file.read(_SEARCHED)
    for place in range(len(data) - 4):
        if _bit_rate(data[place : place + 4]):
            return start + place, data[place : place + 200]
    return start, b""


def _bit_rate(header: bytes) -> int:
    """The bit rate in the header of a frame in kbit/s; zero if it is not a frame header."""
    sync, version, layer = header[0] == 0xFF and header[1] >> 5 == 7, header[1] >> 3 & 3, header[1] >> 1 & 3
    index, rate = header[2] >> 4, header[2] >> 2 & 3
    if not sync or version == 1 or layer != 1 or index == 15 or rate == 3:
        return 0
    return _RATES[1 if version == 3 else 2][index]
