"""The annotation of an au file: free text between its header and its samples, copied byte for byte."""

from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from hamiltone.audio.in_place import shift

_HEADER = 24  # bytes
_MOST = 2**20  # bytes of annotation


@dataclass(frozen=True)
class Annotation:
    """The text and the zeros after it."""

    content: bytes

    @property
    def size(self) -> int:
        """Its length in bytes."""
        return len(self.content)

    def embed(self, file: BinaryIO) -> None:
        """Insert the annotation into a finished file in place of its own."""
        file.seek(4)
        start, end = int.from_bytes(file.read(4), "big"), _HEADER + len(self.content)
        shift(file, start, end - start)
        file.seek(4)
        file.write(end.to_bytes(4, "big"))
        file.seek(_HEADER)
        file.write(self.content)


def read_annotation(path: Path) -> tuple[Annotation | None, str]:
    """The annotation of an au file, if it has one, and what is lost."""
    with path.open("rb") as file:
        head = file.read(_HEADER)
        order = {b".snd": "big", b"dns.": "little"}.get(head[:4])
        if order is None:
            return None, ""
        length = int.from_bytes(head[4:8], "big" if order == "big" else "little") - _HEADER
        if length > _MOST:
            return None, "its annotation is too long to be copied"
        content = file.read(max(length, 0))
    return Annotation(content) if content.strip(b"\0") else None, ""
