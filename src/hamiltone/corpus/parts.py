"""Clips that are a part of a file, as files of their own."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hamiltone.audio.formats import FLOAT_SUBTYPES, Encoding
from hamiltone.audio.io import open_reader, probe
from hamiltone.audio.sound_file import SoundFileReader, SoundFileWriter
from hamiltone.corpus.inputs import Clip
from hamiltone.errors import InputError
from hamiltone.leftovers import scratch_folder

SCRATCH = "hamiltone-corpus-"
_EXACT = ("PCM_16", "PCM_24", "PCM_32")
_FRAMES = 65_536
_BYTES = 1 << 20
_THIN = 8000
"""Bytes per second of tightly packed sound: 64 kbit/s."""


@contextmanager
def as_file(clip: Clip) -> Iterator[Path]:
    """The clip as a file of its own: the original if the clip is all of it, else a copy of its part."""
    if clip.byte_count is None and clip.offset is None:
        yield Path(clip.path)
        return
    with scratch_folder(SCRATCH) as folder:
        copy = folder / f"clip{clip.suffix or '.wav'}"
        if clip.byte_count is not None:
            _copy_bytes(clip, copy)
        else:
            _copy_stretch(clip, copy)
        yield copy


def clip_seconds(clip: Clip) -> float:
    """The most that a clip lasts, roughly: by its row, its header or the size of its member; 0 if it is broken."""
    if clip.byte_count is not None:
        return clip.byte_count / _THIN
    if clip.offset is not None and clip.duration is not None:
        return clip.duration
    try:
        return probe(Path(clip.path)).seconds
    except InputError:
        return 0.0


def _copy_bytes(clip: Clip, copy: Path) -> None:
    left = clip.byte_count or 0
    try:
        with Path(clip.path).open("rb") as source, copy.open("wb") as target:
            source.seek(clip.first_byte)
            while left and (block := source.read(min(left, _BYTES))):
                target.write(block)
                left -= len(block)
    except OSError as error:
        raise InputError(f"{clip.path}: cannot read: {error.strerror}") from error
    if left:
        raise InputError(f"{clip.id}: the shard ends {left} bytes too early")


def _copy_stretch(clip: Clip, copy: Path, lossy: str = "PCM_16") -> None:
    """Seconds `offset` to `offset + duration`, or to the end, sample by sample.

    Samples of a lossy file get the subtype `lossy`, or floating point if some of them exceed full scale.
    """
    with open_reader(Path(clip.path)) as reader:
        info = reader.info
    rate = info.sample_rate
    skipped = round((clip.offset or 0.0) * rate)
    left = 1 << 62 if clip.duration is None else round(clip.duration * rate)
    exact, floating = info.encoding.subtype in _EXACT, info.encoding.subtype in FLOAT_SUBTYPES
    encoding = Encoding("WAV", info.encoding.subtype if exact else "FLOAT" if floating else lossy)
    with (
        open_reader(Path(clip.path), "int32" if exact else "float32") as reader,
        SoundFileWriter(copy, encoding, sample_rate=rate, channels=info.channels, frames=info.frames) as writer,
    ):
        if isinstance(reader, SoundFileReader):
            skipped -= reader.skip(skipped)
        while skipped and (block := len(reader.read(min(skipped, _FRAMES)))):
            skipped -= block
        while left and len(samples := reader.read(min(left, _FRAMES))):
            writer.write(samples)
            left -= len(samples)
    if skipped or (clip.duration is not None and left > rate):
        raise InputError(f"{clip.path}: is shorter than offset and duration say")
    if writer.clipped:
        _copy_stretch(clip, copy, "FLOAT")
