"""Audio files in and out, block by block: the only module that touches soundfile and PyAV.

Blocks are arrays ``(L, C)`` of L frames and C channels. Floating-point samples have full scale one; ``int32`` samples
are PCM of any width, left-justified, and pass from file to file as they are. What soundfile cannot open (m4a, mp4,
webm ...) is decoded by PyAV, if it is installed; such files are read, never written.
"""

import os
import re
import secrets
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import Any, BinaryIO, Literal, Self

import numpy as np
import soundfile  # type: ignore[import-untyped]
from numpy.typing import NDArray

from hamiltone.audio.formats import FLOAT_SUBTYPES, FORMATS, PCM_BITS, AudioInfo, Encoding, to_pcm, wav_or_rf64
from hamiltone.errors import InputError
from hamiltone.leftovers import create, sweep

Block = NDArray[Any]
Dtype = Literal["float32", "float64", "int32"]

_READ_FRAMES = 4096  # a damaged file loses at most this much of what precedes the damage
_WRITE_FRAMES = 16384  # libsndfile's Vorbis encoder keeps a whole block on the stack
_LOSSY_LIMIT = 4.0  # in full scales: LAME aborts the process on samples of 1e29
_STREAMED_SIZE = 0x7FFF0000  # a header that was written to a pipe claims this much or more: no promise to hold it to
_LONGEST_GAP = 10  # seconds: the time stamp of a damaged frame may say anything
_DECODED_PCM = {"u8": "PCM_U8", "s16": "PCM_16", "s32": "PCM_32"}


def open_reader(path: Path, dtype: Dtype = "float32") -> "SoundFileReader | MediaReader":
    """Open an audio file for reading blocks; ``int32`` is for the subtypes in `PCM_BITS`."""
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: cannot read: it is not a regular file")
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: is empty")
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error
    try:
        return SoundFileReader(path, dtype)
    except (soundfile.SoundFileError, TypeError):  # TypeError: a suffix that stands for headerless data
        return _open_media(path, dtype)


def _open_media(path: Path, dtype: Dtype) -> "MediaReader":
    try:
        return MediaReader(path, dtype)
    except ImportError as error:
        if path.suffix.lower() in FORMATS:
            raise InputError(f"{path}: is not a readable audio file") from error
        raise InputError(f'{path}: this format needs PyAV: pip install "hamiltone[media]"') from error
    except Exception as error:  # FFmpegError comes as any of them
        raise InputError(f"{path}: is not a readable audio file") from error


def open_damaged(path: Path, dtype: Dtype = "float32") -> "MediaReader":
    """Open a file that `open_reader` reads only up to a damage: PyAV goes on behind it, and silence fills the gap.

    An `InputError` says that it cannot.
    """
    with open_reader(path) as reader:
        info = reader.info
    media = _open_media(path, dtype)
    if (media.info.sample_rate, media.info.channels) != (info.sample_rate, info.channels):
        media.close()
        raise InputError(f"{path}: is damaged")
    media.info, media.fills_gaps = info, True
    return media


def probe(path: Path) -> AudioInfo:
    """What the header of an audio file says."""
    with open_reader(path) as reader:
        return reader.info


class _SequentialFile(soundfile.SoundFile):  # type: ignore[misc]
    """A SoundFile that only goes forward: soundfile seeks after every block, which damages what follows in an mp3."""

    def seekable(self) -> bool:
        return False


class SoundFileReader:
    """Reads what libsndfile knows. A truncated or damaged stream ends where it breaks, and `missing` tells."""

    def __init__(self, path: Path, dtype: Dtype) -> None:
        self._file = file = _SequentialFile(os.fsencode(path))  # a name need not be text in the encoding of the system
        self._dtype = dtype
        self._frames_read = 0
        frames = _promised_frames(file.frames, file.extra_info)
        self.info = AudioInfo(path, file.samplerate, file.channels, frames, Encoding(file.format, file.subtype))

    def read(self, frames: int) -> Block:
        """The next `frames` frames ``(L, C)``; fewer only at the end."""
        blocks = [np.empty((0, self.info.channels), self._dtype)]
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

    @property
    def missing(self) -> float:
        """Once all is read: the seconds that the header promises and the file does not hold."""
        return max(self.info.frames - self._frames_read, 0) / self.info.sample_rate

    @property
    def damaged(self) -> bool:
        """Once all is read: whether anything is missing."""
        return self.missing > 0

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()


def _promised_frames(frames: int, log: str) -> int:
    """The frames a header claims, from the line of libsndfile's log that corrects the size of the sample data."""
    correction = re.search(r"(?:data|SSND) : (\d+) \(should be (\d+)\)", log)
    claimed, present = map(int, correction.groups()) if correction else (0, 0)
    return frames * claimed // present if 0 < present < claimed < _STREAMED_SIZE else frames


class MediaReader:
    """Decodes the first audio stream of whatever PyAV opens, packet by packet; broken packets are left out.

    The subtype is soundfile's where the decoded samples are PCM or the codec is plain floating point, else the name of
    the codec.
    """

    def __init__(self, path: Path, dtype: Dtype) -> None:
        self._av = import_module("av")
        name = str(path.absolute())  # or a colon in it would look like a protocol
        self._container = self._av.open(name, options={"protocol_whitelist": "file"}, metadata_errors="replace")
        self._broken = False
        try:
            stream = self._container.streams.audio[0]
            self._decoded = self._decode(stream)
            first = next(self._decoded, None)
            if first is None or self._broken:
                raise EOFError("no audio in the stream, or none at its start")
        except BaseException:
            self._container.close()
            raise
        codec = stream.codec_context.name
        subtype = "FLOAT" if codec.startswith("pcm_f") else codec
        encoding = Encoding(self._container.format.name, _DECODED_PCM.get(first.format.name.removesuffix("p"), subtype))
        seconds = stream.duration * stream.time_base if stream.duration else (self._container.duration or 0) / 1e6
        rate = first.sample_rate
        self.info = AudioInfo(path, rate, first.layout.nb_channels, round(seconds * rate), encoding)
        self.fills_gaps = False
        self._dtype = dtype
        self._frames_read = 0
        self._pending = self._convert(first)
        self._frames_decoded = len(self._pending)

    def _decode(self, stream: Any) -> Iterator[Any]:
        packets = self._container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except self._av.FFmpegError:  # of the container: no way to the packets behind
                self._broken = True
                return
            if packet is None:
                return
            try:
                yield from packet.decode()
            except self._av.FFmpegError:
                self._broken = True

    def read(self, frames: int) -> Block:
        """The next `frames` frames ``(L, C)``; fewer only at the end."""
        blocks, count = [self._pending], len(self._pending)
        while count < frames and (frame := next(self._decoded, None)) is not None:
            block = self._convert(frame)
            if gap := self._gap_before(frame):
                block = np.concatenate([np.zeros((gap, self.info.channels), block.dtype), block])
            blocks.append(block)
            count += len(block)
            self._frames_decoded += len(block)
        joined = np.concatenate(blocks)
        block, self._pending = joined[:frames], joined[frames:]
        self._frames_read += len(block)
        return block

    def _gap_before(self, frame: Any) -> int:
        """How many frames are missing before this one by its time stamp, where gaps are to be filled."""
        if not self.fills_gaps or frame.pts is None or frame.time_base * self.info.sample_rate != 1:
            return 0
        gap = frame.pts - self._frames_decoded
        return gap if 0 < gap < _LONGEST_GAP * self.info.sample_rate else 0

    def _convert(self, frame: Any) -> Block:
        rate, channels = frame.sample_rate, frame.layout.nb_channels
        if (rate, channels) != (self.info.sample_rate, self.info.channels):
            raise InputError(f"{self.info.path}: changes its sample rate or channels midway; convert it to wav first")
        samples = frame.to_ndarray()
        samples = samples.T if frame.format.is_planar else samples.reshape(-1, channels)  # (L, C)
        if samples.dtype == np.uint8:
            samples = (samples.astype(np.int32) - 128) << 24
        elif samples.dtype == np.int16:
            samples = samples.astype(np.int32) << 16
        if samples.dtype == np.int32 and self._dtype != "int32":
            samples = samples * 2.0**-31
        return samples.astype(self._dtype)

    @property
    def missing(self) -> float:
        """Once all is read: the seconds that the header promises and the file does not hold, from half a second up.

        Durations in these containers include the padding of the codec; that of a damaged file, which soundfile reads
        too, is exact.
        """
        missing = self.info.seconds - self._frames_read / self.info.sample_rate
        return missing if missing > (0 if self.fills_gaps else 0.5) else 0.0

    @property
    def damaged(self) -> bool:
        """Once all is read: whether anything is missing or could not be decoded."""
        return self._broken or self.missing > 0

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def output_encoding(info: AudioInfo, target: Path) -> Encoding:
    """How to write `target`: like its source where the suffix is the same, else by suffix with the subtype kept.

    Samples wider than the new format holds become 24-bit PCM; those of a lossy source get the new format's default,
    which for wav and flac is 16-bit PCM.
    """
    suffix, source = target.suffix.lower(), info.encoding
    if suffix not in FORMATS:
        raise InputError(f"{target}: cannot write this format; expected one of {' '.join(FORMATS)}")
    if suffix == info.path.suffix.lower() and source.format in soundfile.available_formats():
        return source
    format, subtype = FORMATS[suffix]
    wide = source.subtype in FLOAT_SUBTYPES or PCM_BITS.get(source.subtype, 0) > 16
    wanted = [source.subtype] if wide or source.subtype in PCM_BITS else []
    for candidate in [*wanted, "PCM_24"] if wide else wanted:
        if soundfile.check_format(format, candidate):
            return Encoding(format, candidate)
    return Encoding(format, subtype or soundfile.default_subtype(format))


class AudioWriter:
    """Writes blocks to a temporary file beside `target` that takes its place when all is written, else leaves no trace.

    Floating-point blocks are rounded and clipped at full scale where the subtype is PCM, and clipped far beyond it
    where the subtype is lossy. ``int32`` blocks, for PCM subtypes, are written as they are. `frames` is the length to
    come: it decides between wav and RF64.
    """

    def __init__(self, target: Path, encoding: Encoding, *, sample_rate: int, channels: int, frames: int) -> None:
        self._target = target
        self._path = Path(os.path.realpath(target))  # where target is a link, it stays one
        self._bits = PCM_BITS.get(encoding.subtype)
        self._limit = None if encoding.subtype in FLOAT_SUBTYPES else _LOSSY_LIMIT
        with self._errors_in_one_line():
            if self._path.exists() and not self._path.is_file():
                raise OSError("it is not a regular file")
            if not self._path.parent.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
            sweep(self._path.parent, ".hamiltone-*.part")
            self._temporary = self._path.with_name(f".hamiltone-{secrets.token_hex(8)}.part")
            self._raw = create(self._temporary)
        self._sink = _Sink(self._raw)
        try:
            with self._errors_in_one_line():
                format = wav_or_rf64(encoding, frames * channels)
                self._file = _SequentialFile(self._sink, "w", sample_rate, channels, encoding.subtype, format=format)
        except BaseException:
            self._discard()
            raise

    def write(self, block: Block) -> None:
        """Append a block ``(L, C)``."""
        if self._bits and block.dtype.kind == "f":
            block = to_pcm(block, self._bits)
        elif self._limit and block.dtype.kind == "f":
            block = block.clip(-self._limit, self._limit)
        with self._errors_in_one_line():
            for start in range(0, len(block), _WRITE_FRAMES):
                self._file.write(block[start : start + _WRITE_FRAMES])
                self._sink.check()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            if failure is None:
                self._commit()
        finally:
            with suppress(InputError), self._errors_in_one_line():
                self._file.close()
            self._discard()

    def _commit(self) -> None:
        with self._errors_in_one_line():
            self._file.close()
            self._sink.check()
            os.fsync(self._raw.fileno())
            self._raw.close()
            self._temporary.replace(self._path)

    def _discard(self) -> None:
        self._raw.close()
        self._temporary.unlink(missing_ok=True)

    @contextmanager
    def _errors_in_one_line(self) -> Iterator[None]:
        try:
            with _signals_afterwards():
                yield
        except OSError as error:
            raise InputError(f"{self._target}: cannot write: {error.strerror or error}") from error
        except (soundfile.SoundFileError, ValueError) as error:
            reason = getattr(error, "error_string", str(error))
            raise InputError(f"{self._target}: cannot write: {' '.join(reason.split())}") from error


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Hold signals back: libsndfile calls Python to write, and what a handler raises in such a call would be lost."""
    if threading.current_thread() is not threading.main_thread():  # others handle no signals
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        for number in received[:1]:
            signal.raise_signal(number)


class _Sink:
    """A raw file that keeps its first error for later: libsndfile writes through callbacks, which must not raise."""

    def __init__(self, raw: BinaryIO) -> None:
        self._raw = raw
        self._error: OSError | None = None
        self.seek, self.tell = raw.seek, raw.tell

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        try:
            while self._error is None and len(rest):
                rest = rest[self._raw.write(rest) :]
        except OSError as error:
            self._error = error
        return len(data)

    def check(self) -> None:
        if self._error is not None:
            raise self._error
