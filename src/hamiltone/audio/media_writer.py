"""Files that FFmpeg writes, through PyAV: enhanced sound beside the picture, subtitles and tags of its source."""

from fractions import Fraction
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from hamiltone.audio.formats import LOSSY_LIMIT, AudioInfo, Block, Encoding, Track, clipped_samples, is_exact, to_pcm
from hamiltone.audio.media_copy import StreamCopy
from hamiltone.audio.mp3 import lame_scale
from hamiltone.audio.outer_tags import leading_tags, trailing_tags
from hamiltone.audio.partial import PartialFile, PartialWriter, identity
from hamiltone.errors import InputError

_LAYOUTS = {1: "mono", 2: "stereo", 3: "2.1", 4: "quad", 5: "5.0", 6: "5.1", 7: "6.1", 8: "7.1"}
_BITS_PER_SECOND = {
    "aac": 80_000,
    "libmp3lame": 96_000,
    "libopus": 64_000,
    "mp2": 128_000,
    "wmav2": 64_000,
}  # per channel
_SAMPLE_TYPES = {"flt": (np.float32, 0), "dbl": (np.float64, 0), "s16": (np.int16, 16), "s32": (np.int32, 32)}
_MOV_FORMATS = {"3gp", "mov", "mp4"}
_BRANDS = {".m4a": "M4A ", ".m4b": "M4B "}  # players tell audio from video by these
BARE_FORMATS = {"adts", "ac3", "eac3", "mp2", "tta", "wv"}  # hold sound and nothing else
_SOUND_SUFFIXES = {".m4a", ".m4b", ".mka", ".wma"}  # hold sound and its cover
_MP3_DELAY = 1105  # samples: 576 of the encoder, 529 of every decoder
_NEVER_EMITTED = {"wmav1": 2048, "wmav2": 2048, "mp2": 481}  # samples that these encoders keep at the end


class MediaWriter(PartialWriter):
    """Writes blocks to a temporary file that replaces `target` once it is complete, and is removed otherwise.

    The sound is encoded and replaces that of `source`, starting at the same time. All other streams of the source are
    copied packet by packet if the target's format can hold them, with tags and chapters. Where sound is all that a
    format holds, the tags around it are copied.

    Attributes:
        clipped: How many samples exceeded what the encoder takes and were clipped.
    """

    def __init__(self, target: Path, encoding: Encoding, source: AudioInfo) -> None:
        self._av = import_module("av")
        self.clipped = 0
        self._target, self._suffix = target, target.suffix.lower()
        self._source, self._frames = source, 0
        self._skipped = self._delay = 0
        if encoding == Encoding("avi", "libmp3lame"):
            self._delay = _MP3_DELAY  # AVI cannot state the encoder's delay: drop as many samples of ours instead
        head, self._tail = _outer_tags(source.path, self._suffix, encoding.format)
        self._partial = PartialFile(target, errors=(self._av.FFmpegError, LookupError), head=head)
        self._copy: StreamCopy | None = None
        try:
            with self._partial.errors_in_one_line():
                if source.track and encoding.format not in BARE_FORMATS:
                    narrower = self._suffix in _SOUND_SUFFIXES and self._suffix != source.path.suffix.lower()
                    self._copy = StreamCopy(self._av, source, encoding.format, covers_only=narrower)
                self._open(encoding)
        except BaseException:
            self._end()
            raise

    def _open(self, encoding: Encoding) -> None:
        """Write the header; if the format refuses it, without data streams."""
        options = {}
        if encoding.format in _MOV_FORMATS:
            options["movie_timescale"] = str(self._source.sample_rate)
        if encoding.format in _MOV_FORMATS and self._copy and self._copy.has_keys:
            options["movflags"] = "use_metadata_tags"
        if encoding.format in BARE_FORMATS:
            options["fflags"] = "+bitexact"  # or wv and tta get a tag of FFmpeg's own before ours
        if self._suffix in _BRANDS:
            options["brand"] = _BRANDS[self._suffix]
        self._container = self._av.open(self._partial.sink, "w", format=encoding.format, container_options=options)
        if self._copy is None:
            self._stream = self._add_sound(encoding)
            self._container.start_encoding()
            return
        self._stream = self._copy.add_to(self._container, lambda: self._add_sound(encoding))
        try:
            self._container.start_encoding()
        except (self._av.FFmpegError, ValueError):
            if not self._copy.drop_data():
                raise
            self._partial.sink.seek(0)
            self._open(encoding)

    @property
    def note(self) -> str:
        """What could not be copied, if anything."""
        return self._copy.note if self._copy else ""

    def _add_sound(self, encoding: Encoding) -> Any:
        source, track = self._source, self._source.track
        codec = self._av.Codec(encoding.subtype, "w")
        layout = track.layout if track else _LAYOUTS.get(source.channels)
        if layout is None:
            raise ValueError(f"{encoding.format} holds at most 8 channels, not {source.channels}")
        stream = self._container.add_stream(
            encoding.subtype, rate=_nearest(source.sample_rate, codec.audio_rates), layout=layout
        )
        stream.format = _sample_format([format.name for format in codec.audio_formats], source.encoding.subtype)
        stream.codec_context.time_base = Fraction(1, stream.rate)
        if rate := _bit_rate(encoding.subtype, track, source.channels):
            stream.bit_rate = rate
        self._limit = np.inf if is_exact(encoding) else LOSSY_LIMIT
        self._scale = lame_scale(rate / 1000) if encoding.subtype == "libmp3lame" else 1.0
        name = stream.format.name
        self._sample_type, self._bits = _SAMPLE_TYPES[name.removesuffix("p")]
        if self._bits == 32 and encoding.subtype not in ("pcm_s32le", "pcm_s32be", "wavpack"):
            self._bits = 24  # all that flac, alac, tta and pcm_s24 hold
        return stream

    def write(self, block: Block) -> None:
        """Append a block ``(L, C)``."""
        if not len(block):
            return
        skipped = min(self._delay - self._skipped, len(block))
        self._skipped += skipped
        format = self._stream.format
        samples = self._converted(block)[skipped:]
        if not len(samples):
            return
        planes = np.ascontiguousarray(samples.T) if format.is_planar else samples.reshape(1, -1)
        rate, track = self._source.sample_rate, self._source.track
        with self._partial.errors_in_one_line():
            frame = self._av.AudioFrame.from_ndarray(planes, format.name, self._stream.layout.name)
            frame.sample_rate, frame.time_base = rate, Fraction(1, rate)
            frame.pts = self._delay + self._frames + round((track.start if self._copy and track else 0) * rate)
            self._container.mux(self._stream.encode(frame))
            self._frames += len(samples)
            if self._copy:
                self._copy.mux_until(float((frame.pts + len(samples)) * frame.time_base))
            self._partial.sink.check()

    def _converted(self, block: Block) -> Block:
        if self._bits:
            if block.dtype.kind == "f":
                self.clipped += clipped_samples(block, self._bits)
                block = to_pcm(block, self._bits)
            return block.astype(np.int32) if self._sample_type is np.int32 else (block >> 16).astype(np.int16)
        samples = block if block.dtype.kind == "f" else block * 2.0**-31
        self.clipped += int(np.count_nonzero(np.abs(samples) > self._limit))
        return (samples.clip(-self._limit, self._limit) / self._scale).astype(self._sample_type)

    def _finish(self) -> None:
        with self._partial.errors_in_one_line():
            if count := _NEVER_EMITTED.get(self._stream.name):
                self.write(np.zeros((count, self._source.channels), np.float32))
            self._container.mux(self._stream.encode(None))
            if self._copy:
                self._copy.mux_until(float("inf"))
            self._container.close()
            self._partial.sink.check()
            if self._copy and self._suffix == self._source.path.suffix.lower():
                self._copy.compare_tags(self._partial.temporary)
        if self.note and identity(self._target) == identity(self._source.path):
            raise InputError(f"{self._target}: is not overwritten: {self.note}; choose another output")
        self._partial.commit(self._tail)

    def _end(self) -> None:
        if self._copy:
            self._copy.close()
        self._partial.discard()


def _outer_tags(path: Path, suffix: str, format: str) -> tuple[bytes, bytes]:
    """The tags before and after the sound of a file, if it holds nothing else and the result has the same format."""
    if format not in BARE_FORMATS or path.suffix.lower() != suffix:
        return b"", b""
    with path.open("rb") as file:
        head = leading_tags(file)
        return head, trailing_tags(file, len(head))


def _nearest(rate: int, rates: list[int] | None) -> int:
    """The lowest sample rate of a codec that is at least this one, or else its highest."""
    if not rates or rate in rates:
        return rate
    return min((other for other in rates if other > rate), default=max(rates))


def _sample_format(formats: list[str], subtype: str) -> str:
    """The sample format of a codec for sound of this subtype: 16 bits for up to 16, else the widest."""
    wide = ["fltp", "flt", "dblp", "dbl", "s32p", "s32", "s16p", "s16"]
    order = wide if subtype not in ("PCM_U8", "PCM_S8", "PCM_16") else [*wide[-2:], *wide[:-2]]
    for format in order:
        if format in formats:
            return format
    raise ValueError("the codec accepts none of the usual sample formats")


def _bit_rate(codec: str, track: Track | None, channels: int) -> int:
    """The source's bit rate if the codec is the same; else a common one, or 0 for the codec's own default."""
    if track and track.bit_rate and track.encoder == codec:
        return track.bit_rate
    return channels * _BITS_PER_SECOND.get(codec, 0)
