"""The list of finished clips, which outlives the run: one line of JSON each, append-only.

A line is written after the clip's file is in place and synced, and is itself synced before it is reported. So no
matter what is killed and when, a clip in the list is complete; a missing one is done again, with the same result.
"""

import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Any, Self

from hamiltone.errors import InputError


class Ledger:
    """The finished ids and the offsets of their lines, which stay on disk."""

    def __init__(self, path: Path) -> None:
        self._where: dict[str, int] = {}
        self._failed: set[str] = set()
        self.seconds = 0.0
        """Seconds of audio in the finished clips."""
        self._file = path.open("a+b")
        _drop_torn_line(self._file)
        self._file.seek(0)
        while line := self._file.readline():
            entry = _parse(line)
            if entry is not None:  # a damaged line only means that its clip is done again
                self._note(entry, self._file.tell() - len(line))

    def __contains__(self, id: str) -> bool:
        return id in self._where

    def __len__(self) -> int:
        return len(self._where)

    @property
    def failed(self) -> int:
        """How many clips could not be enhanced."""
        return len(self._failed)

    def get(self, id: str) -> dict[str, Any] | None:
        """The entry of a clip."""
        if id not in self._where:
            return None
        self._file.seek(self._where[id])
        return _parse(self._file.readline())

    def forget(self, wanted: Iterable[str]) -> None:
        """Count clips as not done, so that they are tried again; the list itself is not touched."""
        for id in list(wanted):
            self.seconds -= (self.get(id) or {}).get("seconds") or 0.0
            self._where.pop(id, None)
            self._failed.discard(id)

    def failures(self) -> list[str]:
        """The ids of the clips that could not be enhanced."""
        return list(self._failed)

    def add(self, entries: Iterable[dict[str, Any]]) -> list[dict[str, Any]]:
        """Append what is new and return it: a batch that arrives twice, because its worker died, counts once."""
        new = list({entry["id"]: entry for entry in entries if entry["id"] not in self}.values())
        if not new:
            return []
        start = self._file.seek(0, os.SEEK_END)
        lines = [to_line(entry) for entry in new]
        try:
            self._file.write(b"".join(lines))
            self._file.flush()
            os.fsync(self._file.fileno())
        except OSError as error:
            raise InputError(
                f"{self._file.name}: cannot write: {error.strerror}; run the same command again to resume"
            ) from error
        for entry, line in zip(new, lines, strict=True):
            self._note(entry, start)
            start += len(line)
        return new

    def _note(self, entry: dict[str, Any], start: int) -> None:
        if entry["id"] not in self or entry["id"] in self._failed:
            self.seconds += entry.get("seconds") or 0.0
        self._where[entry["id"]] = start
        (self._failed.add if entry.get("error") else self._failed.discard)(entry["id"])

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        with suppress(OSError):  # a write failed before and was reported; all others are synced
            self._file.close()


def to_line(row: dict[str, Any]) -> bytes:
    """A row as a line of JSON; what is not valid UTF-8 is escaped.

    >>> to_line({"text": "Grüße \\udce9"}).decode()
    '{"text": "Grüße \\\\udce9"}\\n'
    """
    return json.dumps(row, ensure_ascii=False).encode(errors="backslashreplace") + b"\n"


def _drop_torn_line(file: Any) -> None:
    """Cut off what follows the last line break: a write that a kill or a crash interrupted."""
    end = position = file.seek(0, os.SEEK_END)
    while position:
        start = max(position - 65536, 0)
        file.seek(start)
        found = file.read(position - start).rfind(b"\n")
        if found >= 0:
            position = start + found + 1
            break
        position = start
    if position < end:
        file.truncate(position)


def _parse(line: bytes) -> dict[str, Any] | None:
    try:
        entry = json.loads(line)
    except ValueError:
        return None
    return entry if isinstance(entry, dict) and isinstance(entry.get("id"), str) else None
