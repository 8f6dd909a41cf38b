"""The clips to enhance: the rows of a folder, of a JSONL manifest (NeMo's convention) or of WebDataset shards.

The rows are listed again whenever they are needed, in the same order, so that no corpus has to fit into memory.
"""

import hashlib
import json
import math
import tarfile
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hamiltone.audio.formats import READ_SUFFIXES, WRITTEN_SUFFIXES
from hamiltone.errors import InputError
from hamiltone.runtime.jobs import is_recording, walk

_SUFFIXES = WRITTEN_SUFFIXES | READ_SUFFIXES
_STRETCH = ("offset", "duration")
_LONGEST_TEXT = 1 << 20
_COMPRESSED = (".tar.gz", ".tgz", ".tar.xz", ".txz", ".tar.bz2", ".tar.zst")
_DECOMPRESS = "shards are read in place and must not be compressed; decompress it first"


@dataclass(frozen=True)
class Clip:
    """A recording, or part of one: a range of bytes (a member of a tar, with its suffix) or of seconds."""

    id: str
    path: str
    first_byte: int = 0
    byte_count: int | None = None
    suffix: str | None = None
    offset: float | None = None
    duration: float | None = None

    @property
    def name(self) -> str:
        """Its name in file names: the last part of its id, without the suffix."""
        return Path(self.id.split("#")[0]).stem


@dataclass(frozen=True)
class InputRow:
    """A row of the input with all its fields, and the clip that it names or the reason why there is none."""

    id: str
    fields: dict[str, Any] = field(default_factory=dict)
    clip: Clip | None = None
    fault: str = ""


def default_id(path: str, offset: float | None, duration: float | None) -> str:
    """The id of a clip that has none of its own: its path, and which part it is.

    >>> default_id("a.wav", None, 2.5), default_id("a.wav", 10800.25, 2.5), default_id("a.wav", 3.0, None)
    ('a.wav', 'a.wav#10800.25+2.5', 'a.wav#3')
    """
    if offset is None:  # without an offset, the duration is for information only
        return path
    return f"{path}#{offset:.12g}" + ("" if duration is None else f"+{duration:.12g}")


def fingerprint(clip: Clip) -> str | None:
    """A hash of a clip's path, size and place in its file, to notice that it has changed; None if the file is gone."""
    try:
        size = Path(clip.path).stat().st_size if clip.byte_count is None else clip.byte_count
    except (OSError, ValueError):
        return None
    content = repr((clip.path, size, clip.offset, clip.duration))
    return hashlib.sha256(content.encode(errors="surrogateescape")).hexdigest()[:16]


def list_rows(source: Path, output: Path) -> Iterator[InputRow]:
    """The rows of an input, in a stable order; a repeated id is a fault, not a second clip."""
    try:
        yield from _without_repetition(_list(source, output))
    except OSError as error:
        raise InputError(f"{error.filename or source}: cannot read: {error.strerror or error}") from error


def _without_repetition(rows: Iterator[InputRow]) -> Iterator[InputRow]:
    seen: set[int] = set()
    for row in rows:
        key = hash(row.id)  # a fraction of the memory of the ids themselves
        if row.clip is not None and not _is_text(row.id + row.clip.path):
            yield InputRow(row.id, row.fields, fault="its name is not UTF-8; rename it")
            continue
        if row.clip is not None and key in seen:
            yield InputRow(row.id, row.fields, fault=f"the id {row.id!r} occurs earlier in this input")
            continue
        seen.add(key)
        yield row


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _list(source: Path, output: Path) -> Iterator[InputRow]:
    if source.is_dir():
        holds_shards = any(_is_shard(path) and not _is_compressed(path) for path in source.iterdir())
        return _shards(source, output) if holds_shards else _folder(source, output)
    if not source.is_file():
        raise InputError(f"{source}: no such file or folder")
    if _is_compressed(source):
        raise InputError(f"{source}: {_DECOMPRESS}")
    if source.suffix.lower() in _SUFFIXES:
        raise InputError(f"{source}: expected a folder, a JSONL manifest or .tar shards; for files: hamiltone enhance")
    return _shard(source, source.name) if source.suffix.lower() == ".tar" else _manifest(source)


def _is_compressed(path: Path) -> bool:
    return path.name.lower().endswith(_COMPRESSED)


def _is_shard(path: Path) -> bool:
    return (path.suffix.lower() == ".tar" or _is_compressed(path)) and not path.name.startswith(".")


def _folder(source: Path, output: Path) -> Iterator[InputRow]:
    """Every audio file below a folder in the order of the names, following links, except in the output folder."""
    closed: list[OSError] = []
    for path in walk(source, closed, without=[output]):
        name = path.relative_to(source).as_posix()
        if is_recording(path):
            yield InputRow(name, {"audio_filepath": name}, Clip(name, str(path.absolute())))
        elif _is_shard(path):
            fault = _DECOMPRESS if _is_compressed(path) else "is a shard, not audio; give its folder as another input"
            yield InputRow(name, fault=fault)
    yield from _closed(closed)


def _shards(source: Path, output: Path) -> Iterator[InputRow]:
    """The samples of every shard below a folder, in the order of the names; audio files beside them are refused."""
    closed: list[OSError] = []
    for path in walk(source, closed, without=[output]):
        if is_recording(path):
            raise InputError(f"{source}: holds shards and audio files, such as {path.name}; keep them in two folders")
        if _is_shard(path):
            yield from _shard(path, path.relative_to(source).as_posix())
    yield from _closed(closed)


def _closed(folders: list[OSError]) -> Iterator[InputRow]:
    for error in folders:
        yield InputRow(str(error.filename), fault=f"cannot read the folder: {error.strerror}")


def _manifest(source: Path) -> Iterator[InputRow]:
    """A line of JSON per clip; `audio_filepath` is relative to the manifest, `offset` and `duration` select a part."""
    with source.open("rb") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _manifest_row(source, number, line)


def _manifest_row(source: Path, number: int, line: bytes) -> InputRow:
    where = f"{source.name}:{number}"
    try:
        fields = json.loads(line)
    except UnicodeDecodeError:
        return InputRow(where, fault="is not UTF-8")
    except (ValueError, RecursionError):
        return InputRow(where, fault="is not a line of JSON")
    if (
        not isinstance(fields, dict)
        or not isinstance(fields.get("audio_filepath"), str)
        or not fields["audio_filepath"]
    ):
        return InputRow(where, fields if isinstance(fields, dict) else {}, fault="has no audio_filepath")
    path = fields["audio_filepath"]
    stretch = [_seconds(fields.get(name)) for name in _STRETCH]
    if any(value is None and fields.get(name) is not None for value, name in zip(stretch, _STRETCH, strict=True)):
        return InputRow(where, fields, fault="offset and duration must be seconds, zero or more")
    offset, duration = stretch if stretch[0] is not None else (None, None)
    id = default_id(path, offset, duration) if fields.get("id") in (None, "") else str(fields["id"])
    return InputRow(id, fields, Clip(id, str(source.parent.absolute() / path), offset=offset, duration=duration))


def _seconds(value: Any) -> float | None:
    if not isinstance(value, int | float) or isinstance(value, bool):
        return None
    try:
        seconds = float(value)
    except OverflowError:  # a whole number of hundreds of digits
        return None
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _shard(shard: Path, shard_name: str) -> Iterator[InputRow]:
    """The samples of a tar: members that share a name up to the first dot of its last part, unless it is hidden."""
    if _is_compressed(shard):
        yield InputRow(shard_name, {"shard": shard_name}, fault=_DECOMPRESS)
        return
    size, key, members = 0, "", list[tarfile.TarInfo]()
    try:
        size = shard.stat().st_size
        with tarfile.open(shard, "r:") as tar:
            for member in tar:
                tar.members = []  # type: ignore[attr-defined]  # or tarfile keeps every member in memory
                folder, _, name = member.name.rpartition("/")
                if name.startswith(".") or not (member.isfile() or member.islnk() or member.issym()):
                    continue
                this = f"{folder}/{name.split('.')[0]}" if folder else name.split(".")[0]
                if members and this != key:
                    yield from _sample(shard, shard_name, key, members, size)
                    members = []
                key = this
                members.append(member)
            if not _ends(shard, tar.offset):
                raise tarfile.ReadError(f"no header and no end at byte {tar.offset}")
    except (tarfile.TarError, EOFError, OSError) as error:
        about = {"shard": shard_name}
        if members:  # the sample may not be complete
            yield InputRow(f"{shard_name}/{key}", {**about, "key": key}, fault="the shard ends in the middle of it")
        yield InputRow(shard_name, about, fault=f"the shard is damaged or ends in the middle: {error}")
        return
    yield from _sample(shard, shard_name, key, members, size)


def _ends(shard: Path, end: int) -> bool:
    """Whether zeros stand where tarfile saw the end: it also mistakes a broken or missing header for the end."""
    with shard.open("rb") as file:
        file.seek(end)
        return file.read(tarfile.BLOCKSIZE) == bytes(tarfile.BLOCKSIZE)


def _sample(shard: Path, shard_name: str, key: str, members: list[tarfile.TarInfo], size: int) -> Iterator[InputRow]:
    """The row of a sample: its JSON as fields, other small texts by suffix, the first audio file as the clip."""
    if not members:
        return
    id, about, sound = f"{shard_name}/{key}", {"shard": shard_name, "key": key}, None
    fields: dict[str, Any] = dict(about)
    for member in members:
        suffix = member.name[len(key) :].removeprefix(".")
        if not member.isfile() or member.issparse():  # its content is not in one place after its header
            if sound is None and Path(member.name).suffix.lower() in _SUFFIXES:
                kind = "a sparse file" if member.isfile() else "a link"
                yield InputRow(id, about, fault=f"{member.name} is {kind} in the shard; pack the whole file")
                return
            continue
        if member.offset_data + member.size > size:
            yield InputRow(id, about, fault=f"the shard ends in the middle of {member.name}")
            return
        if Path(member.name).suffix.lower() in _SUFFIXES:
            sound = sound or member
        elif member.size <= _LONGEST_TEXT:
            fields |= _fields(shard, member, suffix)
    if sound is None:
        yield InputRow(id, fields, fault="the sample holds no audio")
        return
    clip = Clip(id, str(shard.absolute()), sound.offset_data, sound.size, Path(sound.name).suffix)
    yield InputRow(id, fields, clip)


def _fields(shard: Path, member: tarfile.TarInfo, suffix: str) -> dict[str, Any]:
    """What a member that is not audio adds to the fields; those that are not text, or have no suffix, are ignored."""
    with shard.open("rb") as file:
        file.seek(member.offset_data)
        content = file.read(member.size)
    try:
        text = content.decode()
        value = json.loads(text) if suffix == "json" else text
    except (ValueError, RecursionError):
        return {}
    if isinstance(value, dict):
        return value
    return {suffix: value} if suffix else {}
