"""Finding audio files and decoding them: mono, at the sample rate wanted."""

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Protocol

import numpy as np

from hamiltone.audio.formats import FORMATS, PCM_BITS, AudioInfo
from hamiltone.audio.io import open_reader, probe
from hamiltone.audio.soxr_resampling import resample
from hamiltone.data.signals import SAMPLE_RATE, Signal, active_level
from hamiltone.errors import InputError

Progress = Callable[[int, int], None]
"""Called with how many files are done, and of how many."""

_BLOCK = 1 << 18


class Recordings(Protocol):
    """A numbered collection of mono recordings at one sample rate, read in slices."""

    paths: list[Path]

    def __len__(self) -> int:
        """The number of recordings."""

    def frames(self, index: int) -> int:
        """The length of a recording in samples."""

    def level(self, index: int) -> float:
        """The active level of a whole recording."""

    def read(self, index: int, start: int, count: int) -> Signal:
        """The samples ``(count,)`` from `start` on; full scale is one."""


def audio_files(folder: Path) -> list[Path]:
    """All audio files under a folder and its subfolders, in a fixed order, without hidden ones."""
    if not folder.is_dir():
        raise InputError(f"{folder}: is not a folder")
    files = [path for path in folder.rglob("*") if path.suffix.lower() in FORMATS and not path.name.startswith(".")]
    if not files:
        raise InputError(f"{folder}: holds no audio files")
    return sorted(files)


def speaker_of(path: Path) -> str:
    """The speaker by the name of a file: LibriVox's `reader_00123` if it occurs, else what precedes the first `_`.

    >>> speaker_of(Path("book_00012_chp_0009_reader_06709_0_seg_1.wav")), speaker_of(Path("p226_001.wav"))
    ('reader_06709', 'p226')
    """
    reader = re.search(r"reader_\d+", path.stem)
    return reader.group() if reader else path.stem.split("_")[0]


def check_header(path: Path) -> AudioInfo:
    """What the header says, after checking that it is readable and that the file is as long as it says."""
    info = probe(path)
    bits = PCM_BITS.get(info.encoding.subtype, 0) if info.encoding.format in {"WAV", "WAVEX"} else 0
    if path.stat().st_size < info.frames * info.channels * bits // 8:
        raise InputError(f"{path}: is truncated; its header says {info.seconds:.2f} s")
    if not info.frames:
        raise InputError(f"{path}: holds no samples")
    return info


def decode(path: Path, *, sample_rate: int = SAMPLE_RATE, first_channel: bool = False) -> Signal:
    """A whole file as the mean of its channels, or as the first of them.

    Shape:
        returns: ``(L,)`` at `sample_rate`
    """
    blocks = []
    with open_reader(path) as reader:
        rate = reader.info.sample_rate
        while len(block := reader.read(_BLOCK)):
            blocks.append(block[:, 0] if first_channel or block.shape[1] == 1 else block.mean(1))
        if reader.damaged:
            raise InputError(f"{path}: is truncated or damaged; {reader.missing:.2f} s are missing")
    if not blocks:
        raise InputError(f"{path}: holds no samples")
    signal: Signal = np.concatenate(blocks)
    if not np.isfinite(signal).all():
        raise InputError(f"{path}: holds samples that are NaN or infinite")
    return resample(signal, rate, sample_rate, quality="HQ")


def summarise(faults: Sequence[str], count: int, what: str) -> str:
    """One line for many faults: how many there are, and the first three.

    >>> summarise(["a.wav: is empty"], 10, "files")
    '1 fault in 10 files: a.wav: is empty'
    """
    more = f"; and {len(faults) - 3:,} more" if len(faults) > 3 else ""
    return f"{len(faults):,} fault{'s'[: len(faults) != 1]} in {count:,} {what}: {'; '.join(faults[:3])}{more}"


class FileRecordings:
    """Recordings decoded from their files whenever they are asked for: for corpora too large to keep decoded.

    The headers are read immediately, so that a broken file shows up before training and not during it.

    Args:
        paths: The audio files.
        skip: Whether to leave broken files out instead of raising an `InputError`.
    """

    def __init__(self, paths: Iterable[Path], *, skip: bool = False) -> None:
        self.paths: list[Path] = []
        self.faults: list[str] = []
        for path in paths:
            try:
                check_header(path)
                self.paths.append(path)
            except InputError as error:
                self.faults.append(str(error))
        if not self.paths or (self.faults and not skip):
            raise InputError(summarise(self.faults, len(self.paths) + len(self.faults), "files"))

    def __len__(self) -> int:
        return len(self.paths)

    def frames(self, index: int) -> int:
        """The length of a recording in samples."""
        return len(_decode_recent(self.paths[index]))

    def level(self, index: int) -> float:
        """The active level of a whole recording."""
        return active_level(_decode_recent(self.paths[index]))

    def read(self, index: int, start: int, count: int) -> Signal:
        """The samples ``(count,)`` from `start` on; full scale is one."""
        return _decode_recent(self.paths[index])[start : start + count].copy()


@lru_cache(maxsize=2)  # a recording is asked for its length, its level and a slice in turn
def _decode_recent(path: Path) -> Signal:
    return decode(path)
