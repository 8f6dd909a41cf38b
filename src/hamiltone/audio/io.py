"""Audio files in and out, block by block, by whichever library supports the format.

Blocks are arrays ``(L, C)`` of L frames and C channels. Floating-point samples have full scale one; ``int32`` samples
are PCM of any width, left-justified, and pass from file to file unchanged. What soundfile cannot open (m4a, mp4,
webm ...) goes through PyAV, if it is installed.
"""

from contextlib import suppress
from pathlib import Path

import soundfile  # type: ignore[import-untyped]

from hamiltone.audio.completeness import is_joined
from hamiltone.audio.formats import (
    FLOAT_SUBTYPES,
    FORMATS,
    MEDIA_FORMATS,
    PCM_BITS,
    READ_ONLY_SUBTYPES,
    WRITTEN_SUFFIXES,
    AudioInfo,
    Dtype,
    Encoding,
    media_codec,
)
from hamiltone.audio.media_reader import MediaReader
from hamiltone.audio.media_writer import BARE_FORMATS, MediaWriter
from hamiltone.audio.metadata import read_metadata
from hamiltone.audio.mp3 import read_mp3, says_length
from hamiltone.audio.partial import identity
from hamiltone.audio.sound_file import SoundFileReader, SoundFileWriter
from hamiltone.errors import InputError

_READ_AS = {"adts": "aac", "mp2": "mp3"}  # where FFmpeg's names for reading and writing a format differ

Reader = SoundFileReader | MediaReader
Writer = SoundFileWriter | MediaWriter


def open_reader(path: Path, dtype: Dtype = "float32") -> Reader:
    """Open an audio file for reading blocks; ``int32`` is for the subtypes in `PCM_BITS`."""
    _check_readable(path)
    reader = _open_by_header(path, dtype)
    if isinstance(reader, SoundFileReader) and is_joined(path, reader.info.encoding.format):
        try:
            media = _open_media(path, dtype)
        except InputError as error:
            reader.joined, reader.lacks_pyav = True, isinstance(error.__cause__, ImportError)
        else:
            reader.close()
            return media
    return reader


def _check_readable(path: Path) -> None:
    try:
        if path.exists() and not path.is_file() and not path.is_dir():
            raise InputError(f"{path}: cannot read: it is not a regular file")
        with path.open("rb") as file:
            if not file.read(1):
                raise InputError(f"{path}: is empty")
    except OSError as error:
        raise InputError(f"{path}: cannot read: {error.strerror}") from error


def _open_by_header(path: Path, dtype: Dtype) -> Reader:
    try:
        reader = SoundFileReader(path, dtype)
    except (soundfile.SoundFileError, TypeError):  # TypeError: a suffix that stands for headerless data
        return _open_media(path, dtype)
    if reader.info.encoding.format == "MP3" and not says_length(path):
        with suppress(InputError):  # libsndfile stops at the length that it guesses
            media = _open_media(path, dtype)
            reader.close()
            return media
    return reader


def _open_media(path: Path, dtype: Dtype) -> MediaReader:
    try:
        return MediaReader(path, dtype)
    except ImportError as error:
        if path.suffix.lower() in FORMATS:
            raise InputError(f"{path}: is not a readable audio file") from error
        raise InputError(f'{path}: this format needs PyAV: pip install "hamiltone[media]"') from error
    except Exception as error:  # FFmpeg's errors derive from many built-in ones
        raise InputError(f"{path}: is not a readable audio file") from error


def open_damaged(path: Path, dtype: Dtype = "float32") -> MediaReader:
    """Open a damaged file that `open_reader` reads only in part: PyAV reads on past the damage, which becomes silence.

    Raises an `InputError` if it cannot.
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
    _check_readable(path)
    with _open_by_header(path, "float32") as reader:
        return reader.info


def output_encoding(info: AudioInfo, target: Path) -> Encoding:
    """How to write `target`: like its source where the suffix is the same, else by suffix with the subtype kept.

    Samples wider than the new format holds become 24-bit PCM; those of a lossy source get the new format's default,
    which for wav and flac is 16-bit PCM. Formats that PyAV writes keep the source's codec if they accept it.
    """
    suffix, source = target.suffix.lower(), info.encoding
    if suffix in MEDIA_FORMATS:
        format, codec = MEDIA_FORMATS[suffix]
        return Encoding(format, media_codec(info.track, format, codec))
    if suffix not in FORMATS:
        raise InputError(f"{target}: cannot write this format; expected one of {' '.join(sorted(WRITTEN_SUFFIXES))}")
    encoded = source.format in soundfile.available_formats() and source.subtype not in READ_ONLY_SUBTYPES
    if suffix == info.path.suffix.lower() and encoded:
        return source
    format, subtype = FORMATS[suffix]
    wide = source.subtype in FLOAT_SUBTYPES or PCM_BITS.get(source.subtype, 0) > 16
    wanted = [source.subtype] if wide or source.subtype in PCM_BITS else []
    for candidate in [*wanted, "PCM_24"] if wide else wanted:
        if soundfile.check_format(format, candidate):
            return Encoding(format, candidate)
    return Encoding(format, subtype or soundfile.default_subtype(format))


def open_writer(target: Path, encoding: Encoding, info: AudioInfo, frames: int) -> Writer:
    """Open a file for `frames` frames of enhanced sound, whose source `info` describes."""
    in_place = identity(target) == identity(info.path)
    if in_place and _changes_container(info, encoding):
        raise InputError(
            f"{target}: is not overwritten: it is {info.encoding.format}, whatever its suffix says, and as "
            f"{encoding.format} would lose what it holds besides its sound; choose another output"
        )
    if encoding.format not in soundfile.available_formats():
        try:
            return MediaWriter(target, encoding, info)
        except ImportError as error:
            raise InputError(f'{target}: this format needs PyAV: pip install "hamiltone[media]"') from error
    both = encoding.format == "MP3" == info.encoding.format.upper()
    metadata, note = read_metadata(info.path, encoding.format)
    if note and in_place:
        raise InputError(f"{target}: is not overwritten: {note}; choose another output")
    return SoundFileWriter(
        target,
        encoding,
        sample_rate=info.sample_rate,
        channels=info.channels,
        frames=frames,
        tags=info.tags,
        like=read_mp3(info.path, frames / info.sample_rate) if both else None,
        metadata=metadata,
        note=note,
    )


def _changes_container(info: AudioInfo, encoding: Encoding) -> bool:
    """Whether a result is in another kind of container than its source, and other streams are not copied into it."""
    if info.track and encoding.format not in {*soundfile.available_formats(), *BARE_FORMATS}:
        return False
    kind = encoding.format.lower()
    return info.encoding.format.lower() not in {kind, _READ_AS.get(kind)}
