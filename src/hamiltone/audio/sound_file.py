"""Files that libsndfile reads and writes: wav, flac, ogg, mp3 and the like."""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Self

import numpy as np
import soundfile  # type: ignore[import-untyped]

from hamiltone.audio.chunks import end_of_samples
from hamiltone.audio.completeness import share_of_samples
from hamiltone.audio.formats import (
    FLOAT_SUBTYPES,
    LOSSY_LIMIT,
    PCM_BITS,
    TAGS,
    AudioInfo,
    Block,
    Dtype,
    Encoding,
    clipped_samples,
    integer_bits,
    to_pcm,
    wav_or_rf64,
)
from hamiltone.audio.in_place import FirstBytes
from hamiltone.audio.metadata import Metadata
from hamiltone.audio.mp3 import Mp3, lame_scale, says_length
from hamiltone.audio.partial import PartialFile, PartialWriter
from hamiltone.errors import InputError

_READ_FRAMES = 4096  # a damaged file loses at most this much of what precedes the damage
_WRITE_FRAMES = 16384  # libsndfile's Vorbis encoder keeps a whole block on the stack
_G72X_LIMIT = 0.8  # these codecs overshoot, and libsndfile's decoder then wraps around
_SEEKABLE = {"WAV", "WAVEX", "RF64", "W64", "AIFF", "AU", "CAF", "FLAC"}  # without decoding what is skipped
_UNTAGGED = {"AU", "MP3", "W64"}  # no place for tags, or, in an mp3, only for letters of Latin-1
_LONGEST_TAG = 10_000  # libsndfile keeps headers short


class _SequentialFile(soundfile.SoundFile):  # type: ignore[misc]
    """A SoundFile that only goes forward: soundfile seeks after every block, which damages what follows in an mp3."""

    def seekable(self) -> bool:
        return False


class SoundFileReader:
    """Reads what libsndfile supports. A truncated or damaged stream ends at the damage; `missing` says what is lost.

    Attributes:
        joined: Whether more sound follows in the file, which libsndfile does not read.
        lacks_pyav: Whether PyAV, which may read that, is not installed.
    """

    def __init__(self, path: Path, dtype: Dtype) -> None:
        end = end_of_samples(path)  # in W64 libsndfile would take what follows for samples
        self._raw = FirstBytes(path, end) if end is not None else None
        try:
            self._file = file = _SequentialFile(self._raw or os.fsencode(path))  # a name need not be valid UTF-8
        except BaseException:
            self._close_raw()
            raise
        if file.format == "RAW":  # an au without header: libsndfile starts after the twelve bytes that it looked at
            file.seek(0)
        self.joined = self.lacks_pyav = False
        self._dtype = dtype
        self._frames_read = 0
        frames = round(file.frames / share_of_samples(path))
        encoding, tags = Encoding(file.format, file.subtype), file.copy_metadata()
        tags = {name: text for name in TAGS if 0 < len(text := tags.get(name, "")) < _LONGEST_TAG}
        self.info = AudioInfo(path, file.samplerate, file.channels, frames, encoding, tags=tags)

    def read(self, frames: int) -> Block:
        """The next `frames` frames ``(L, C)``; fewer only at the end."""
        blocks = [np.empty((0, self.info.channels), self._dtype)]
        if self.info.encoding.format == "FLAC":  # the decoder fails on tags after the sound
            frames = min(frames, max(self._file.frames - self._frames_read, 0))
        while frames > 0:
            try:
                block = self._file.read(min(frames, _READ_FRAMES), dtype=self._dtype, always_2d=True)
            except soundfile.SoundFileError:
                break
            if not len(block):
                break
            blocks.append(block)
            frames -= len(block)
            self._frames_read += len(block)
        return np.concatenate(blocks)

    def skip(self, frames: int) -> int:
        """Skip up to `frames` frames and return how many: none where they would have to be decoded."""
        frames = min(frames, self._file.frames - self._frames_read)
        if (
            self.info.encoding.format not in _SEEKABLE
            or self.info.encoding.subtype not in PCM_BITS.keys() | FLOAT_SUBTYPES
        ):
            return 0
        try:
            self._file.seek(self._frames_read + frames)
        except soundfile.SoundFileError:
            return 0
        self._frames_read += frames
        return frames

    @property
    def missing(self) -> float:
        """After the last read: how many seconds shorter the sound is than the header says."""
        if self.info.encoding.format == "MP3" and not says_length(self.info.path):
            return 0.0
        return max(self.info.frames - self._frames_read, 0) / self.info.sample_rate

    @property
    def damaged(self) -> bool:
        """After the last read: whether anything is missing."""
        return self.joined or self.missing > 0

    def __enter__(self) -> Self:
        return self

    def close(self) -> None:
        """Close the file."""
        self._file.close()
        self._close_raw()

    def _close_raw(self) -> None:
        if self._raw is not None:
            self._raw.close()

    def __exit__(self, *_: object) -> None:
        self.close()


class SoundFileWriter(PartialWriter):
    """Writes blocks to a temporary file that replaces `target` once it is complete, and is removed otherwise.

    Floating-point blocks are rounded and clipped at full scale where the encoder takes integers, and clipped far beyond
    it where a lossy one takes floating point. ``int32`` blocks, for PCM subtypes, are written unchanged. `frames` is
    the expected length: it decides between wav and RF64. An mp3 gets the bit rate, tags and cover of the one that it is
    `like`, and other formats the `metadata` of their source; `tags` are for sources of another format.

    Attributes:
        clipped: How many samples exceeded what the encoder takes and were clipped.
        note: What could not be copied, if anything.
    """

    def __init__(
        self,
        target: Path,
        encoding: Encoding,
        *,
        sample_rate: int,
        channels: int,
        frames: int,
        tags: Mapping[str, str] | None = None,
        like: Mp3 | None = None,
        metadata: Metadata | None = None,
        note: str = "",
    ) -> None:
        self.clipped, self.note = 0, note
        self._bits = integer_bits(encoding.subtype)
        self._limit = _G72X_LIMIT if encoding.subtype.startswith("G72") else 1.0 if self._bits else LOSSY_LIMIT
        self._exact = encoding.subtype in FLOAT_SUBTYPES
        self._tail = like.tail if like else b""
        self._metadata = metadata
        self._scale = lame_scale(like.bit_rate) if like else 1.0
        self._partial = PartialFile(target, errors=(soundfile.SoundFileError,), head=like.head if like else b"")
        try:
            with self._partial.errors_in_one_line():
                self._file = _SequentialFile(
                    self._partial.sink,
                    "w",
                    sample_rate,
                    channels,
                    encoding.subtype,
                    format=wav_or_rf64(encoding, frames * channels, metadata.size if metadata else 0),
                    **(like.quality(sample_rate) if like else {}),  # type: ignore[typeddict-item]
                )
                if encoding.format not in _UNTAGGED and not metadata:
                    for name, text in (tags or {}).items():
                        setattr(self._file, name, text)
        except BaseException:
            self._partial.discard()
            raise

    def write(self, block: Block) -> None:
        """Append a block ``(L, C)``."""
        if block.dtype.kind == "f" and self._bits:
            self.clipped += clipped_samples(block / self._limit, self._bits)
            block = to_pcm(block.clip(-self._limit, self._limit), self._bits)
        elif block.dtype.kind == "f" and not self._exact:
            self.clipped += int(np.count_nonzero(np.abs(block) > self._limit))
            block = block.clip(-self._limit, self._limit) / block.dtype.type(self._scale)
        with self._partial.errors_in_one_line():
            for start in range(0, len(block), _WRITE_FRAMES):
                self._file.write(block[start : start + _WRITE_FRAMES])
                self._partial.sink.check()

    def _finish(self) -> None:
        with self._partial.errors_in_one_line():
            self._file.close()
        self._partial.commit(self._tail, self._metadata.embed if self._metadata else None)

    def _end(self) -> None:
        try:
            with suppress(InputError), self._partial.errors_in_one_line():
                self._file.close()
        finally:
            self._partial.discard()
