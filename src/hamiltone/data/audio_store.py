"""Decoded audio in one memory-mapped file: decoded once, then read in slices by every worker."""

import hashlib
import json
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np

from hamiltone.atomic import replacing
from hamiltone.audio.formats import to_pcm
from hamiltone.data.files import Progress, decode, summarise
from hamiltone.data.signals import SAMPLE_RATE, Signal, active_level
from hamiltone.errors import InputError
from hamiltone.leftovers import sweep

_VERSION = 1


class AudioStore:
    """Recordings kept as 16-bit samples; 16-bit sources are kept exactly. Open one with `open_store`.

    A source that exceeds full scale is kept with a scale of its own, so it does not clip. Worker processes map the
    same pages: a pickled store carries its paths, not its samples.
    """

    def __init__(self, index: Path) -> None:
        self._index = index
        content = json.loads(index.read_text("utf-8"))
        self.paths = [Path(path) for path in content["paths"]]
        self._rows = {path: row for row, path in enumerate(self.paths)}
        self.faults: list[str] = content["faults"]
        self._frames: list[int] = content["frames"]
        self._scales: list[float] = content["scales"]
        self._levels: list[float] = content["levels"]
        self._starts = np.cumsum([0, *self._frames]).tolist()
        self._samples = np.memmap(index.with_suffix(".i16"), np.int16, "r")
        if len(self._samples) != self._starts[-1]:
            raise ValueError(f"{index}: the samples do not match the index")

    def __len__(self) -> int:
        return len(self.paths)

    def row(self, path: Path) -> int:
        """The number of the recording that came from `path`."""
        return self._rows[path.absolute()]

    def frames(self, index: int) -> int:
        """The length of a recording in samples."""
        return self._frames[index]

    def level(self, index: int) -> float:
        """The active level of a whole recording."""
        return self._levels[index]

    def read(self, index: int, start: int, count: int) -> Signal:
        """The samples ``(count,)`` from `start` on, fewer at the end; full scale is one."""
        first = self._starts[index] + start
        samples = self._samples[first : min(first + count, self._starts[index + 1])].astype(np.float32)
        samples *= self._scales[index] / 32768
        return samples

    def __reduce__(self) -> tuple[type["AudioStore"], tuple[Path]]:
        return type(self), (self._index,)


def open_store(
    paths: Sequence[Path],
    cache: Path,
    *,
    sample_rate: int = SAMPLE_RATE,
    skip: bool = False,
    progress: Progress | None = None,
) -> AudioStore:
    """The decoded audio of `paths` from the folder `cache`; it is decoded first if it is not there or a file changed.

    The cache is keyed by the path, size and modification time of every file. Files of another rate are resampled,
    channels averaged. Two runs may build the same store at once; each sees a complete one or none. Stores of files that
    have changed since stay in the cache until they are deleted by hand.

    All files that cannot be decoded are named in one `InputError`, or with `skip` left out and listed in `faults`.
    """
    paths = [path.absolute() for path in paths]
    if not paths:
        raise InputError("no audio files to store: the list is empty")
    index = cache / f"{_fingerprint(paths, sample_rate)}.json"
    store = _find(index)
    if store is None:
        try:
            cache.mkdir(parents=True, exist_ok=True)
            sweep(cache, ".*.part")
            _build(paths, index, sample_rate, skip, progress)
        except OSError as error:
            raise InputError(f"{cache}: cannot write the audio cache: {error.strerror}") from error
        store = AudioStore(index)
    if store.faults and not skip:
        raise InputError(summarise(store.faults, len(paths), "files"))
    return store


def _find(index: Path) -> AudioStore | None:
    with suppress(OSError, ValueError, KeyError):  # absent or damaged
        return AudioStore(index)
    return None


def _fingerprint(paths: Sequence[Path], sample_rate: int) -> str:
    digest = hashlib.sha256(f"{_VERSION} {sample_rate}".encode())
    for path in paths:
        try:
            status = path.stat()
        except OSError as error:
            raise InputError(f"{path}: cannot read: {error.strerror}") from error
        digest.update(f"\n{path}\0{status.st_size}\0{status.st_mtime_ns}".encode(errors="surrogateescape"))
    return digest.hexdigest()[:24]


def _build(paths: Sequence[Path], index: Path, sample_rate: int, skip: bool, progress: Progress | None) -> None:
    content: dict[str, list[Any]] = {"paths": [], "frames": [], "scales": [], "levels": [], "faults": []}
    with replacing(index.with_suffix(".i16")) as temporary, temporary.open("wb") as file:
        for done, path in enumerate(paths, 1):
            try:
                signal = decode(path, sample_rate=sample_rate)
            except InputError as error:
                content["faults"].append(str(error))
            else:
                scale = max(1.0, float(np.abs(signal).max()))
                file.write((to_pcm(signal / np.float32(scale), 16) >> 16).astype(np.int16).tobytes())
                content["paths"].append(str(path))
                content["frames"].append(len(signal))
                content["scales"].append(scale)
                content["levels"].append(active_level(signal))
            if progress:
                progress(done, len(paths))
        if content["faults"] and not (skip and content["paths"]):
            raise InputError(summarise(content["faults"], len(paths), "files"))
    # The index comes last: if it exists, the samples are complete.
    with replacing(index) as temporary:
        temporary.write_text(json.dumps(content), "utf-8")
