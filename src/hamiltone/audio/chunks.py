"""The chunks of wav, RF64, aiff, CAF and W64 files besides their samples, copied byte for byte."""

import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Literal

from hamiltone.audio.formats import MOST_PARTS, few
from hamiltone.audio.in_place import shift

_RIFF_LIMIT = 2**32 - 1
_BLOCK = 2**20  # bytes copied at a time
_LEAST_BLOCK = 2**10
_EXTENSIBLE, _EXTENDED = b"\xfe\xff", 40  # the format of a wav that names speakers, and the size of its description
_SPEAKERS = slice(20, 40)  # of the description: the mask of the speakers, and what the samples are
_STARTS = {b"RIFF", b"RIFX", b"RF64", b"BW64", b"FORM", b"caff", b"riff"}  # of a file, not of a chunk
_WAVE_GUID = bytes.fromhex("f3acd3118cd100c04f8edb8a")  # after four letters in the names of W64


@dataclass(frozen=True)
class Layout:
    """How a family of files is divided: after `start` bytes come chunks of a name, a size, content and padding.

    The sizes of W64 include the `header`. Chunks named in `regenerated` describe the samples or fill space: libsndfile
    writes its own.
    """

    start: int
    name_bytes: int
    size_bytes: int
    order: Literal["little", "big"]
    align: int
    size_includes_header: bool
    samples: bytes
    regenerated: frozenset[bytes]

    @property
    def header(self) -> int:
        """The bytes of name and size."""
        return self.name_bytes + self.size_bytes


_FILLERS = {b"JUNK", b"junk", b"PAD ", b"FLLR", b"\0\0\0\0"}
RIFF = Layout(
    12, 4, 4, "little", 2, False, b"data", frozenset({b"fmt ", b"data", b"fact", b"ds64", b"PEAK", b"levl"} | _FILLERS)
)
RIFX = Layout(12, 4, 4, "big", 2, False, b"data", RIFF.regenerated)
AIFF = Layout(12, 4, 4, "big", 2, False, b"SSND", frozenset({b"COMM", b"SSND", b"FVER", b"PEAK"} | _FILLERS))
CAF = Layout(
    8, 4, 8, "big", 1, False, b"data", frozenset({b"desc", b"data", b"pakt", b"kuki", b"free", b"peak", b"ovvw"})
)
W64 = Layout(
    40,
    16,
    8,
    "little",
    8,
    True,
    b"data" + _WAVE_GUID,
    frozenset(name + _WAVE_GUID for name in (b"fmt ", b"data", b"fact", b"levl", b"junk")),
)


@dataclass(frozen=True)
class Chunk:
    """A chunk whose content of `size` bytes begins at `place`; if it is cut off, the file ends before it does."""

    name: bytes
    place: int
    size: int


@dataclass(frozen=True)
class Chunks:
    """The chunks of the file at `path` that are not regenerated, ready to be copied into another of its family.

    `size` is their total length in bytes. `speakers` is the part of a wav's description that assigns its channels to
    loudspeakers, if there is one: libsndfile would write a guess by their number.
    """

    path: Path
    layout: Layout
    size: int
    speakers: bytes = b""

    def embed(self, file: BinaryIO) -> None:
        """Insert the chunks into a finished file and correct the sizes in its header."""
        place = self._make_room(file)
        file.seek(place)
        layout = self.layout
        with self.path.open("rb") as source:
            for chunk in _kept(source, layout):
                size = chunk.size + (layout.header if layout.size_includes_header else 0)
                file.write(chunk.name + size.to_bytes(layout.size_bytes, layout.order))
                _copy(source, file, chunk)
                file.write(bytes(-chunk.size % layout.align))
        if file.tell() != place + self.size:
            raise ValueError("the source has changed")
        _correct_size(file, layout)
        self._restore_speakers(file)

    def _restore_speakers(self, file: BinaryIO) -> None:
        for chunk in _walk(file, self.layout) if self.speakers else ():
            own = _description(file, chunk)
            if own[24:26] == self.speakers[4:6]:  # the same kind of samples
                file.seek(chunk.place + _SPEAKERS.start)
                file.write(self.speakers)
                return

    def _make_room(self, file: BinaryIO) -> int:
        """Where the chunks go: after the samples, or before those of W64, which libsndfile reads to the end."""
        if self.layout is W64:
            place = _samples(file, W64).place - W64.header
            shift(file, place, self.size)
            return place
        if self.layout is CAF:  # libsndfile may add a byte that is in no chunk
            samples = _samples(file, CAF)
            return file.truncate(samples.place + samples.size)
        end = file.seek(0, os.SEEK_END)
        file.write(bytes(-end % self.layout.align))
        return file.tell()


def layout_of(file: BinaryIO) -> Layout | None:
    """The layout of a file by its first bytes."""
    file.seek(0)
    start = file.read(12)
    if start[:4] in {b"RIFF", b"RF64", b"BW64"}:
        return RIFF if start[8:] == b"WAVE" else None  # an avi goes on with a second RIFF after a gigabyte
    if start[:4] == b"FORM":
        return AIFF if start[8:] in {b"AIFF", b"AIFC"} else None
    return {b"RIFX": RIFX, b"caff": CAF, b"riff": W64}.get(start[:4])


def read_chunks(path: Path, layout: Layout) -> tuple[Chunks | None, str]:
    """The chunks of a file besides its samples, if they can be copied into this layout, and what is lost."""
    with path.open("rb") as file:
        own = layout_of(file)
        if own is RIFX and layout is RIFF:
            names = [_text(chunk.name) for chunk in _kept(file, RIFX)]
            return None, f"its big-endian chunks {few(names)} cannot be copied" if names else ""
        if own is not layout:
            return None, ""
        total, size, lost, speakers = os.fstat(file.fileno()).st_size, 0, "", b""
        for number, chunk in enumerate(_walk(file, layout)):
            if number == MOST_PARTS:
                return None, f"it has more than {MOST_PARTS} chunks, which cannot be copied"
            if _starts_a_file(chunk):
                break
            speakers = speakers or _description(file, chunk)[_SPEAKERS]
            if chunk.name in layout.regenerated:
                continue
            if chunk.place + chunk.size > total:
                lost = f"its chunk {_text(chunk.name)} is cut off or damaged and cannot be copied"
                break
            size += layout.header + chunk.size + -chunk.size % layout.align
        return Chunks(path, layout, size, speakers) if size or speakers else None, lost


def _description(file: BinaryIO, chunk: Chunk) -> bytes:
    """The description of the samples, if this chunk is one that names speakers."""
    if not chunk.name.startswith(b"fmt ") or chunk.size < _EXTENDED:
        return b""
    file.seek(chunk.place)
    content = file.read(_EXTENDED)
    return content if content.startswith(_EXTENSIBLE) and len(content) == _EXTENDED else b""


def _kept(file: BinaryIO, layout: Layout) -> Iterator[Chunk]:
    total = os.fstat(file.fileno()).st_size
    for chunk in _walk(file, layout):
        if _starts_a_file(chunk):
            return
        if chunk.name not in layout.regenerated:
            if chunk.place + chunk.size > total:
                return
            yield chunk


def _walk(file: BinaryIO, layout: Layout) -> Iterator[Chunk]:
    """All chunks in order, at most one more than `MOST_PARTS`; the last may be cut off."""
    total, long_data, place = os.fstat(file.fileno()).st_size, 0, layout.start
    for _ in range(MOST_PARTS + 1):
        if place < total:  # a size can be anything
            place = _after_zeros(file, place, layout)
        if place + layout.header > total:
            return
        file.seek(place)
        head = file.read(layout.header)
        name, size = head[: layout.name_bytes], int.from_bytes(head[layout.name_bytes :], layout.order)
        place += layout.header
        if layout.size_includes_header:
            size = size - layout.header if size >= layout.header else total  # a smaller size is damage
        if name == b"ds64" and layout is RIFF:
            long_data = int.from_bytes(file.read(16)[8:], "little")
        if name == layout.samples:
            size = long_data if long_data and size == _RIFF_LIMIT else size
            size = size or total - place  # an unfinished recording: up to its end, as libsndfile reads it
        yield Chunk(name, place, size)
        place += size + -size % layout.align
        if layout.align == 2 and size % 2 and place <= total:  # some programs forget to pad to an even length
            file.seek(place - 1)
            place -= file.read(1) > b"\0"


def _after_zeros(file: BinaryIO, place: int, layout: Layout) -> int:
    """The place of the first chunk after zeros, or the end of the file."""
    size = _LEAST_BLOCK
    file.seek(place)
    while block := file.read(size):
        if rest := block.lstrip(b"\0"):
            found = file.tell() - len(rest)
            return found - (found - place) % layout.align if found - place >= layout.header else place
        size = min(2 * size, _BLOCK)
    return file.tell()


def end_of_samples(path: Path) -> int | None:
    """Where the samples of a W64 file end, if that is before the end of the file."""
    with path.open("rb") as file:
        if layout_of(file) is not W64:
            return None
        total = os.fstat(file.fileno()).st_size
        ends = (chunk.place + chunk.size for chunk in _walk(file, W64) if chunk.name == W64.samples)
        return next((end for end in ends if end < total), None)


def samples_chunk(file: BinaryIO, layout: Layout) -> Chunk | None:
    """The samples, if they are there."""
    return next((chunk for chunk in _walk(file, layout) if chunk.name == layout.samples), None)


def is_followed(file: BinaryIO, layout: Layout) -> bool:
    """Whether another file follows the chunks, as after ``cat a.wav b.wav``."""
    return any(_starts_a_file(chunk) for chunk in _walk(file, layout))


def _starts_a_file(chunk: Chunk) -> bool:
    return chunk.name[:4] in _STARTS


def _samples(file: BinaryIO, layout: Layout) -> Chunk:
    if (chunk := samples_chunk(file, layout)) is None:
        raise ValueError("the result holds no samples")
    return chunk


def _copy(source: BinaryIO, file: BinaryIO, chunk: Chunk) -> None:
    source.seek(chunk.place)
    left = chunk.size
    while left:
        block = source.read(min(left, _BLOCK))
        left = left - len(block) if block else 0
        file.write(block)


def _correct_size(file: BinaryIO, layout: Layout) -> None:
    """Write the size of the whole file into its header, where there is a place for it."""
    total = file.seek(0, os.SEEK_END)
    file.seek(0)
    if layout is W64:
        file.seek(16)
        file.write(total.to_bytes(8, "little"))
    elif layout is RIFF and file.read(4) == b"RF64":
        file.seek(20)  # after the header of ds64
        file.write((total - 8).to_bytes(8, "little"))
    elif layout is not CAF:
        if total - 8 > _RIFF_LIMIT:
            raise ValueError("the metadata does not fit into a file of 4 GB")
        file.seek(4)
        file.write((total - 8).to_bytes(4, layout.order))


def _text(name: bytes) -> str:
    return repr(name[:4].decode("latin-1"))
