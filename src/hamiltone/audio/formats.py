"""Names, sizes and sample conversion of audio file formats; nothing here touches a file."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

Block = NDArray[Any]
"""Samples ``(L, C)``."""
Dtype = Literal["float32", "float64", "int32"]

# Suffixes that soundfile writes, each with its format and, where it is not the format's default, its subtype.
FORMATS: dict[str, tuple[str, str | None]] = {
    ".wav": ("WAV", None),
    ".flac": ("FLAC", None),
    ".ogg": ("OGG", None),
    ".oga": ("OGG", None),
    ".opus": ("OGG", "OPUS"),
    ".mp3": ("MP3", None),
    ".aif": ("AIFF", None),
    ".aiff": ("AIFF", None),
    ".au": ("AU", None),
    ".caf": ("CAF", None),
    ".w64": ("W64", None),
    ".rf64": ("RF64", None),
}
# Suffixes that PyAV writes, each with FFmpeg's names for the format and for the codec to use if the source's cannot be.
MEDIA_FORMATS: dict[str, tuple[str, str]] = {
    ".3gp": ("3gp", "aac"),
    ".aac": ("adts", "aac"),
    ".ac3": ("ac3", "ac3"),
    ".asf": ("asf", "wmav2"),
    ".avi": ("avi", "libmp3lame"),
    ".eac3": ("eac3", "eac3"),
    ".flv": ("flv", "aac"),
    ".m2ts": ("mpegts", "aac"),
    ".m4a": ("mp4", "aac"),
    ".m4b": ("mp4", "aac"),
    ".m4v": ("mp4", "aac"),
    ".mka": ("matroska", "aac"),
    ".mkv": ("matroska", "aac"),
    ".mov": ("mov", "aac"),
    ".mp2": ("mp2", "mp2"),
    ".mp4": ("mp4", "aac"),
    ".mpeg": ("mpeg", "mp2"),
    ".mpg": ("mpeg", "mp2"),
    ".mts": ("mpegts", "aac"),
    ".ts": ("mpegts", "aac"),
    ".tta": ("tta", "tta"),
    ".webm": ("webm", "libopus"),
    ".wma": ("asf", "wmav2"),
    ".wmv": ("asf", "wmav2"),
    ".wv": ("wv", "wavpack"),
}
# Suffixes that are only read; their results are written as .wav.
READ_SUFFIXES = frozenset(
    {".amr", ".ape", ".avr", ".dts", ".mpc", ".nist", ".ogv", ".sd2", ".snd", ".sph", ".svx", ".vob", ".voc", ".wve"}
)
WRITTEN_SUFFIXES = FORMATS.keys() | MEDIA_FORMATS.keys()
# Formats that accept more than one codec, with the names of FFmpeg's encoders.
_ACCEPTED = {
    "3gp": {"aac"},
    "asf": {"wmav1", "wmav2", "libmp3lame", "ac3"},
    "avi": {"libmp3lame", "mp2", "ac3", "pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le"},
    "flv": {"aac", "libmp3lame"},
    "matroska": {"aac", "ac3", "eac3", "alac", "flac", "libmp3lame", "libopus", "mp2", "wavpack"}
    | {"pcm_s16le", "pcm_s24le", "pcm_s32le", "pcm_f32le", "pcm_f64le"},
    "mov": {"aac", "ac3", "alac", "libmp3lame", "pcm_s16le", "pcm_s16be", "pcm_s24le", "pcm_s24be"}
    | {"pcm_s32le", "pcm_s32be", "pcm_f32le", "pcm_f32be"},
    "mp4": {"aac", "ac3", "eac3", "alac", "flac", "libmp3lame", "libopus"},
    "mpeg": {"mp2", "ac3", "libmp3lame"},
    "mpegts": {"aac", "ac3", "eac3", "libmp3lame", "libopus", "mp2"},
}
_INSTEAD = {("matroska", "tta"): "flac"}  # Matroska does not say how many samples TTA's last block has
_ENCODERS = {"mp3": "libmp3lame", "mp3float": "libmp3lame", "mp2float": "mp2", "opus": "libopus"}  # by decoder

PCM_BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32, "ULAW": 16, "ALAW": 16}
FLOAT_SUBTYPES = frozenset({"FLOAT", "DOUBLE"})
_LOSSY_FLOAT = {"VORBIS", "OPUS", "MPEG_LAYER_I", "MPEG_LAYER_II", "MPEG_LAYER_III"}  # of libsndfile, from floats
READ_ONLY_SUBTYPES = {"MPEG_LAYER_I", "MPEG_LAYER_II"}
"""What libsndfile says that it encodes, and does not; under the name of an mp3 it becomes one."""
MOST_PARTS = 10_000
"""Chunks, blocks, comments or tags of a file; a file with more is not a recording and is read no further."""
LOSSY_LIMIT = 4.0
"""In full scales, what lossy encoders are given at most: LAME aborts the process on samples of 1e29."""
_SAMPLE_BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "DOUBLE": 8}
_WAV_DATA_LIMIT = 2**32 - 2**12  # the sizes in a RIFF header have 32 bits; the difference is room for the header


@dataclass(frozen=True)
class Encoding:
    """A file format and its sample subtype, by soundfile's names."""

    format: str
    subtype: str


TAGS = ("title", "artist", "album", "tracknumber", "date", "genre", "comment", "copyright", "license")
"""What a file may say about its content, by soundfile's names."""


@dataclass(frozen=True)
class AudioInfo:
    """What a file's header says; a truncated file has fewer frames than `frames` (0: unknown).

    If only PyAV reads the file, `encoding` holds FFmpeg's names instead of soundfile's, and `track` describes its audio
    stream.
    """

    path: Path
    sample_rate: int
    channels: int
    frames: int
    encoding: Encoding
    track: "Track | None" = None
    tags: Mapping[str, str] = field(default_factory=dict, compare=False)

    @property
    def seconds(self) -> float:
        """The duration according to the header."""
        return self.frames / self.sample_rate


@dataclass(frozen=True)
class Track:
    """The sound in a file that PyAV reads: the stream's number, FFmpeg's names for its codec and channel layout.

    `bit_rate` is in bit/s (0: unknown), `start` the time of the first sample in seconds.
    """

    stream: int
    codec: str
    layout: str
    bit_rate: int
    start: float

    @property
    def encoder(self) -> str:
        """FFmpeg's name for the encoder of this codec."""
        return _ENCODERS.get(self.codec, self.codec)


def media_codec(track: Track | None, format: str, default: str) -> str:
    """The encoder for a format of FFmpeg: that of the source's codec if the format holds it, else the default.

    >>> media_codec(Track(1, "ac3", "stereo", 192_000, 0.0), "matroska", default="aac")
    'ac3'
    >>> media_codec(Track(1, "vorbis", "stereo", 0, 0.0), "webm", default="libopus")
    'libopus'
    """
    encoder = _INSTEAD.get((format, track.encoder), track.encoder) if track else default
    return encoder if encoder in _ACCEPTED.get(format, ()) else default


def few(names: Sequence[str]) -> str:
    """The first three names, and dots if there are more.

    >>> few(["a", "b", "c", "d"])
    'a, b, c ...'
    """
    return f"{', '.join(names[:3])}{' ...' * (len(names) > 3)}"


def wav_or_rf64(encoding: Encoding, samples: int, metadata: int = 0) -> str:
    """The format for `samples` samples (over all channels) and bytes of metadata: RF64 instead of a wav beyond 4 GB.

    >>> wav_or_rf64(Encoding("WAV", "PCM_16"), samples=2_000_000_000)
    'WAV'
    >>> wav_or_rf64(Encoding("WAV", "PCM_24"), samples=2_000_000_000)
    'RF64'
    """
    size = samples * _SAMPLE_BYTES.get(encoding.subtype, 1) + metadata
    return "RF64" if encoding.format in {"WAV", "WAVEX"} and size > _WAV_DATA_LIMIT else encoding.format


def to_pcm(samples: NDArray[Any], bits: int) -> NDArray[np.int32]:
    """Floating-point samples to left-justified PCM of `bits` bits: rounded, and clipped at full scale only.

    >>> (to_pcm(np.array([-2.0, -1.0, 0.4 / 32768, 0.6 / 32768, 1.0]), 16) >> 16).tolist()
    [-32768, -32768, 0, 1, 32767]
    """
    scale = 2.0 ** (bits - 1)
    rounded = np.rint(samples.astype(np.float64) * scale).clip(-scale, scale - 1)
    return rounded.astype(np.int32) << (32 - bits)


def integer_bits(subtype: str) -> int:
    """The width of the integers that libsndfile encodes as this subtype; zero if it encodes floating point.

    >>> [integer_bits(subtype) for subtype in ("PCM_U8", "IMA_ADPCM", "ALAC_24", "VORBIS", "FLOAT")]
    [8, 16, 24, 0, 0]
    """
    if subtype in FLOAT_SUBTYPES | _LOSSY_FLOAT:
        return 0
    if subtype.startswith("ALAC_"):
        return int(subtype.removeprefix("ALAC_"))
    return PCM_BITS.get(subtype, 16)


def highest_peak(encoding: Encoding, source: Encoding) -> float:
    """The largest sample that survives, in full scales: any in floating point, some from one lossy format to another.

    >>> highest_peak(Encoding("FLAC", "PCM_24"), source=Encoding("WAV", "FLOAT"))
    1.0
    >>> highest_peak(Encoding("OGG", "VORBIS"), source=Encoding("MP3", "MPEG_LAYER_III"))
    4.0
    """
    floating = encoding.subtype in FLOAT_SUBTYPES or encoding.subtype.startswith("pcm_f")
    if floating or (encoding.subtype == "wavpack" and source.subtype not in PCM_BITS):
        return float("inf")
    return LOSSY_LIMIT if not is_exact(encoding) and not is_exact(source) else 1.0


def is_exact(encoding: Encoding) -> bool:
    """Whether the samples are integers or plain floating point, and not what a lossy codec makes of floats."""
    if encoding.subtype.isupper():  # a name of libsndfile's
        return encoding.subtype not in _LOSSY_FLOAT
    return encoding.subtype in {"alac", "flac", "tta", "wavpack"} or encoding.subtype.startswith("pcm_")


def clipped_samples(samples: NDArray[Any], bits: int) -> int:
    """How many floating-point samples `to_pcm` would clip by a step or more.

    >>> clipped_samples(np.array([-1.0, 1.0, 1.1, -2.0]), 16)
    2
    """
    return int(np.count_nonzero(np.abs(samples) >= 1 + 2.0 ** (1 - bits)))
