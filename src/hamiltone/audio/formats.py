"""Names, sizes and sample conversion of audio file formats; nothing here touches a file."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

# Suffixes that are written, each with its format and, where the format's default is not meant, its subtype.
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
# Suffixes that are only read; their results are written as .wav.
MEDIA_SUFFIXES = frozenset(
    {".3gp", ".aac", ".ac3", ".amr", ".avi", ".m4a", ".m4b", ".mka", ".mkv", ".mov", ".mp4", ".webm", ".wma"}
)

PCM_BITS = {"PCM_S8": 8, "PCM_U8": 8, "PCM_16": 16, "PCM_24": 24, "PCM_32": 32, "ULAW": 16, "ALAW": 16}
FLOAT_SUBTYPES = frozenset({"FLOAT", "DOUBLE"})
_SAMPLE_BYTES = {"PCM_16": 2, "PCM_24": 3, "PCM_32": 4, "FLOAT": 4, "DOUBLE": 8}
_WAV_DATA_LIMIT = 2**32 - 2**12  # the sizes in a RIFF header have 32 bits; the difference is room for the header


@dataclass(frozen=True)
class Encoding:
    """A file format and its sample subtype, by soundfile's names."""

    format: str
    subtype: str


@dataclass(frozen=True)
class AudioInfo:
    """What a file's header says; `frames` is its promise, which a truncated file does not keep (0: unknown).

    `encoding` holds the names of FFmpeg in place of soundfile's where only PyAV reads the file.
    """

    path: Path
    sample_rate: int
    channels: int
    frames: int
    encoding: Encoding

    @property
    def seconds(self) -> float:
        """The promised duration."""
        return self.frames / self.sample_rate


def wav_or_rf64(encoding: Encoding, samples: int) -> str:
    """The format for `samples` samples (over all channels): RF64 in place of a wav whose data would exceed 4 GB.

    >>> wav_or_rf64(Encoding("WAV", "PCM_16"), samples=2_000_000_000)
    'WAV'
    >>> wav_or_rf64(Encoding("WAV", "PCM_24"), samples=2_000_000_000)
    'RF64'
    """
    size = samples * _SAMPLE_BYTES.get(encoding.subtype, 1)
    return "RF64" if encoding.format in {"WAV", "WAVEX"} and size > _WAV_DATA_LIMIT else encoding.format


def to_pcm(samples: NDArray[Any], bits: int) -> NDArray[np.int32]:
    """Floating-point samples to left-justified PCM of `bits` bits: rounded, and clipped at full scale only.

    >>> (to_pcm(np.array([-2.0, -1.0, 0.4 / 32768, 0.6 / 32768, 1.0]), 16) >> 16).tolist()
    [-32768, -32768, 0, 1, 32767]
    """
    scale = 2.0 ** (bits - 1)
    rounded = np.rint(samples.astype(np.float64) * scale).clip(-scale, scale - 1)
    return rounded.astype(np.int32) << (32 - bits)
