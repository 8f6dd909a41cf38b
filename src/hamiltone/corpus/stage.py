"""The stage that enhances clips: in a plain loop, or over batches inside ``ray.data.Dataset.map_batches``."""

import hashlib
import math
import os
import re
import socket
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np

from hamiltone.audio.formats import FLOAT_SUBTYPES, Encoding
from hamiltone.audio.io import AudioWriter, open_reader
from hamiltone.corpus.inputs import Clip
from hamiltone.corpus.noise import estimate_noise, rate_speech
from hamiltone.errors import InputError
from hamiltone.runtime.backend import resolve_model
from hamiltone.runtime.files import enhance_file

AUDIO = "audio"
RATINGS = ("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808")
_EXACT = ("PCM_16", "PCM_24", "PCM_32")
_BLOCK = 65_536
_COPIED = 1 << 20


@dataclass(frozen=True)
class Result:
    """What became of a clip; after an `error` there is no file.

    `enhanced_filepath` is relative to the output folder; `bytes` is its size. The ratings are None unless asked for.
    """

    id: str
    enhanced_filepath: str | None = None
    seconds: float | None = None
    noise_db: float | None = None
    snr_db: float | None = None
    dnsmos_sig: float | None = None
    dnsmos_bak: float | None = None
    dnsmos_ovrl: float | None = None
    dnsmos_p808: float | None = None
    dnsmos_sig_before: float | None = None
    dnsmos_bak_before: float | None = None
    dnsmos_ovrl_before: float | None = None
    dnsmos_p808_before: float | None = None
    note: str | None = None
    error: str | None = None
    bytes: int | None = None
    elapsed: float | None = None
    worker: str | None = None


class EnhanceStage:
    """Enhances clips into ``audio/`` of an output folder; the model is loaded once, with the stage.

    A clip that cannot be enhanced has the reason in its `Result`; nothing is raised. A file is in its place only when
    it is whole and synced. Its name follows from the id alone, and its content from clip, model and settings, so that
    a clip may be done twice, even at the same time, without harm. A recording of any length takes the same memory.

    Args:
        output: The folder; every host must see it under the same name.
        model: A bundled model, a checkpoint or an exported ``.onnx``; None is the bundled one.
        strength: How much of the result to take, from 0 to 1.
        format: ``flac`` or ``wav``; rate and channels are kept, and so are the bits of a sample.
        score: Rate each clip with DNSMOS, before and after.
        threads: CPU threads of this process; results are the same only for the same number.

    >>> stage = EnhanceStage("cleaned", format="mp3")
    Traceback (most recent call last):
    hamiltone.errors.InputError: the format must be flac or wav, got 'mp3'
    """

    def __init__(
        self,
        output: str | Path,
        *,
        model: str | None = None,
        strength: float = 1.0,
        format: str = "flac",
        score: bool = False,
        threads: int = 1,
    ) -> None:
        if format not in ("flac", "wav"):
            raise InputError(f"the format must be flac or wav, got {format!r}")
        self.output, self.strength, self.format, self.score = Path(output).absolute(), strength, format, score
        self.model = resolve_model(model, threads=threads)
        self._worker = f"{socket.gethostname()}:{os.getpid()}"

    def target(self, clip: Clip) -> str:
        """Where a clip goes, below the output folder: at most 256 folders, names that every file system takes."""
        digest = hashlib.sha256(clip.id.encode(errors="surrogateescape")).hexdigest()
        name = re.sub(r"[^A-Za-z0-9_-]+", "_", clip.name)[:60]
        return f"{AUDIO}/{digest[:2]}/{name}-{digest[:16]}.{self.format}"

    def enhance(self, clip: Clip) -> Result:
        """Enhance one clip."""
        started = time.perf_counter()
        try:
            found = self._enhance(clip)
        except InputError as error:
            found = {"error": str(error)}
        except Exception as error:  # one clip must not end the others
            found = {"error": f"{type(error).__name__}: {' '.join(str(error).split())}"}
        return Result(clip.id, **found, elapsed=round(time.perf_counter() - started, 3), worker=self._worker)

    def __call__(self, batch: dict[str, Any]) -> dict[str, Any]:
        """Enhance a batch of Ray Data: the columns of `Result` join it, NaN and "" standing for None.

        Shape:
            batch: arrays ``(N,)`` by column: `audio_filepath`, and optionally the other fields of `Clip`
        """
        results = [self.enhance(clip) for clip in batch_clips(batch)]
        return {**batch, **result_columns(results)}

    def _enhance(self, clip: Clip) -> dict[str, Any]:
        relative = self.target(clip)
        target = self.output / relative
        if self.output / AUDIO in Path(os.path.realpath(clip.path)).parents:
            raise InputError(f"{clip.path}: lies in the output folder")
        with _as_file(clip) as source:
            report = enhance_file(source, target, model=self.model, strength=self.strength, overwrite=True)
            noise = estimate_noise(source, target)
            ratings = self._rate(source, target) if self.score else {}
        sync_folder(target.parent)
        seconds = round(report.seconds or 0.0, 6)
        size = target.stat().st_size
        found = {"enhanced_filepath": relative, "seconds": seconds, **asdict(noise), **ratings}
        return {**found, "note": report.note, "bytes": size}

    def _rate(self, source: Path, target: Path) -> dict[str, float | None]:
        before = {f"{name}_before": value for name, value in rate_speech(source).items()}
        return {**rate_speech(target), **before}


def sync_folder(folder: Path) -> None:
    """Make the names in a folder, and its own, last over a loss of power."""
    if sys.platform == "win32":  # no handle of a folder can be had there
        return
    for path in (folder, folder.parent):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)


def batch_clips(batch: dict[str, Any]) -> list[Clip]:
    """The clips of a batch; columns that are missing, NaN, negative or "" have their defaults."""
    paths = batch["audio_filepath"]

    def column(name: str) -> list[Any]:
        values = [None] * len(paths) if name not in batch else [_plain(value) for value in batch[name]]
        return [None if value in ("", -1) else value for value in values]

    ids = [id or str(path) for id, path in zip(column("id"), paths, strict=True)]
    names = ("byte_count", "suffix", "offset", "duration")
    rows = zip(ids, paths, column("first_byte"), *map(column, names), strict=True)
    return [Clip(str(id), str(path), start or 0, *rest) for id, path, start, *rest in rows]


def clip_columns(clips: list[Clip]) -> dict[str, list[Any]]:
    """The columns that `batch_clips` turns into clips again."""
    return {
        "id": [clip.id for clip in clips],
        "audio_filepath": [clip.path for clip in clips],
        "first_byte": [clip.first_byte for clip in clips],
        "byte_count": [-1 if clip.byte_count is None else clip.byte_count for clip in clips],
        "suffix": [clip.suffix or "" for clip in clips],
        "offset": [math.nan if clip.offset is None else clip.offset for clip in clips],
        "duration": [math.nan if clip.duration is None else clip.duration for clip in clips],
    }


_TEXT = ("id", "enhanced_filepath", "note", "error", "worker")


def result_columns(results: list[Result]) -> dict[str, Any]:
    """Results as columns of a batch, each of one type whatever is missing."""
    columns: dict[str, Any] = {}
    for entry in fields(Result):
        values = [getattr(result, entry.name) for result in results]
        if entry.name in _TEXT:
            columns[entry.name] = np.array([value or "" for value in values], dtype=object)
        else:
            columns[entry.name] = np.array([math.nan if value is None else value for value in values], np.float64)
    return columns


def column_results(batch: dict[str, Any]) -> list[Result]:
    """Undo `result_columns`."""
    names = [entry.name for entry in fields(Result)]
    results = []
    for values in zip(*(batch[name] for name in names), strict=True):
        plain = [None if value == "" else value for value in map(_plain, values)]
        row: dict[str, Any] = dict(zip(names, plain, strict=True))
        row["bytes"] = None if row["bytes"] is None else int(row["bytes"])
        results.append(Result(**row))
    return results


def _plain(value: Any) -> Any:
    """A value of numpy's as Python's, NaN as None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value


@contextmanager
def _as_file(clip: Clip) -> Iterator[Path]:
    """The clip as a file of its own: the one that is there, or a copy of the part that it is."""
    if clip.byte_count is None and clip.offset is None:
        yield Path(clip.path)
        return
    with TemporaryDirectory(prefix="hamiltone-corpus-") as folder:
        copy = Path(folder, f"clip{clip.suffix or '.wav'}")
        if clip.byte_count is not None:
            _copy_bytes(clip, copy)
        else:
            _copy_stretch(clip, copy)
        try:
            yield copy
        except InputError as error:
            raise InputError(str(error).replace(str(copy), clip.id)) from None


def _copy_bytes(clip: Clip, copy: Path) -> None:
    left = clip.byte_count or 0
    try:
        with Path(clip.path).open("rb") as source, copy.open("wb") as target:
            source.seek(clip.first_byte)
            while left and (block := source.read(min(left, _COPIED))):
                target.write(block)
                left -= len(block)
    except OSError as error:
        raise InputError(f"{clip.path}: cannot read: {error.strerror}") from error
    if left:
        raise InputError(f"{clip.id}: the shard ends {left} bytes too early")


def _copy_stretch(clip: Clip, copy: Path) -> None:
    """Seconds `offset` to `offset + duration`, or to the end, sample by sample."""
    with open_reader(Path(clip.path)) as reader:
        info = reader.info
    rate = info.sample_rate
    skipped = round((clip.offset or 0.0) * rate)
    left = 1 << 62 if clip.duration is None else round(clip.duration * rate)
    exact, floating = info.encoding.subtype in _EXACT, info.encoding.subtype in FLOAT_SUBTYPES
    encoding = Encoding("WAV", info.encoding.subtype if exact else "FLOAT" if floating else "PCM_16")
    with (
        open_reader(Path(clip.path), "int32" if exact else "float32") as reader,
        AudioWriter(copy, encoding, sample_rate=rate, channels=info.channels, frames=info.frames) as writer,
    ):
        while skipped and (block := len(reader.read(min(skipped, _BLOCK)))):
            skipped -= block
        while left and len(samples := reader.read(min(left, _BLOCK))):
            writer.write(samples)
            left -= len(samples)
    if skipped or (clip.duration is not None and left > rate):
        raise InputError(f"{clip.path}: is shorter than offset and duration say")
