"""Files that FFmpeg reads, through PyAV: m4a, mp4, webm and the like."""

import re
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Self

import numpy as np

from hamiltone.audio.completeness import share_of_samples
from hamiltone.audio.formats import TAGS, AudioInfo, Block, Dtype, Encoding, Track
from hamiltone.errors import InputError
from hamiltone.leftovers import scratch_folder

_LONGEST_GAP = 10  # seconds: the time stamp of a damaged frame can be anything
_LONGEST_SILENCE = 6 * 3600  # seconds: in a video, the sound may start late
_SILENT_FRAMES = 65_536  # in a block of silence
_LEAST_GAP = 0.05  # seconds: time stamps are rounded
_TIMED = {"asf", "flv", "matroska,webm", "mov,mp4,m4a,3gp,3g2,mj2", "mpeg", "mpegts"}  # formats whose time stamps count
# Formats without a header: their length is guessed from the bit rate.
_LENGTH_GUESSED = {"aac", "ac3", "amr", "amrnb", "amrwb", "dts", "eac3", "mp3", "mpeg", "mpegvideo"}
_BARE = {".aac": "aac", ".ac3": "ac3", ".eac3": "eac3"}  # FFmpeg does not recognise very short ones
_DECODED_PCM = {"u8": "PCM_U8", "s16": "PCM_16", "s32": "PCM_32"}


def open_container(av: Any, path: Path, format: str | None = None) -> Any:
    """A file opened by PyAV, which accepts names in UTF-8 only: any other is read through a link."""
    name = str(path.absolute())  # or a colon in it would look like a protocol
    options: dict[str, Any] = {"options": {"protocol_whitelist": "file"}, "metadata_errors": "replace"}
    try:
        name.encode()
    except UnicodeEncodeError:
        with scratch_folder("hamiltone-link-") as folder:
            suffix = path.suffix.encode(errors="replace").decode()
            (folder / f"sound{suffix}").symlink_to(name)
            return av.open(str(folder / f"sound{suffix}"), format=format, **options)
    return av.open(name, format=format, **options)


class MediaReader:
    """Decodes the first audio stream of whatever PyAV opens, packet by packet; broken packets are skipped.

    Where the time stamps of a video show a gap, silence keeps sound and picture in sync. The subtype is
    soundfile's where the decoded samples are PCM or the codec is plain floating point, else the name of the codec.
    """

    joined = lacks_pyav = False  # files that were joined end to end are read to the end

    def __init__(self, path: Path, dtype: Dtype) -> None:
        self._av = import_module("av")
        self._container = self._open(path)
        self._broken = self._corrupt = False
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
        rate = first.sample_rate
        stamp = first.pts if first.pts is not None else stream.start_time or 0
        start = float(stamp * stream.time_base)
        seconds, self._guessed = self._promise(stream, start)
        track = Track(stream.index, codec, first.layout.name, stream.bit_rate or 0, start)
        tags = {name.lower(): text for name, text in self._container.metadata.items() if name.lower() in TAGS}
        self.info = AudioInfo(path, rate, first.layout.nb_channels, round(seconds * rate), encoding, track, tags)
        self.fills_gaps, self._broken = False, share_of_samples(path) < 1
        self._dtype = dtype
        self._frames_read = 0
        self._pending = self._convert(first)
        self._frames_decoded = len(self._pending)
        self._frames_filled = 0
        self._sound = self._blocks()

    def _open(self, path: Path) -> Any:
        try:
            return open_container(self._av, path)
        except self._av.FFmpegError:
            if path.suffix.lower() not in _BARE:
                raise
            return open_container(self._av, path, _BARE[path.suffix.lower()])

    def _promise(self, stream: Any, start: float) -> tuple[float, bool]:
        """The length in seconds according to the header, and whether that is a guess or the length of the picture."""
        format = self._container.format.name
        if stream.duration:
            return float(stream.duration * stream.time_base), format in _LENGTH_GUESSED
        if end := re.fullmatch(r"(\d+):(\d+):(\d+\.\d+)", stream.metadata.get("DURATION", "")):
            hours, minutes, seconds = map(float, end.groups())
            return max(3600 * hours + 60 * minutes + seconds - start, 0.0), False
        return (self._container.duration or 0) / 1e6, format in _LENGTH_GUESSED or len(self._container.streams) > 1

    def _decode(self, stream: Any) -> Iterator[Any]:
        packets = self._container.demux(stream)
        while True:
            try:
                packet = next(packets, None)
            except self._av.FFmpegError:  # in the container: later packets are out of reach
                self._broken = True
                return
            if packet is None:
                return
            self._corrupt |= packet.is_corrupt  # what was missing before it is gone, but it may still be decoded
            try:
                yield from packet.decode()
            except self._av.FFmpegError:
                self._broken = True

    def read(self, frames: int) -> Block:
        """The next `frames` frames ``(L, C)``; fewer only at the end."""
        blocks, count = [self._pending], len(self._pending)
        while count < frames and (block := next(self._sound, None)) is not None:
            blocks.append(block)
            count += len(block)
        joined = np.concatenate(blocks)
        block, self._pending = joined[:frames], joined[frames:]
        self._frames_read += len(block)
        return block

    def _blocks(self) -> Iterator[Block]:
        """The sound after the first frame, with silence in place of gaps."""
        for frame in self._decoded:
            block, gap = self._convert(frame), self._gap_before(frame)
            self._frames_decoded += gap + len(block)
            self._frames_filled += gap
            for start in range(0, gap, _SILENT_FRAMES):
                yield np.zeros((min(gap - start, _SILENT_FRAMES), self.info.channels), block.dtype)
            yield block

    def _gap_before(self, frame: Any) -> int:
        """How many frames are missing before this one by its time stamp, if gaps are to be filled."""
        rate, track = self.info.sample_rate, self.info.track
        if frame.pts is None:
            return 0
        if self.fills_gaps:
            gap = frame.pts - self._frames_decoded if frame.time_base * rate == 1 else 0
            # stamps that would make most of the recording silent are not to be trusted
            most = min(_LONGEST_GAP * rate, self._frames_decoded - 2 * self._frames_filled + _LONGEST_GAP * rate)
            return gap if 0 < gap < most else 0
        if track is None or self.info.encoding.format not in _TIMED:
            return 0
        gap = round((float(frame.pts * frame.time_base) - track.start) * rate) - self._frames_decoded
        # a stamp beyond the end of the file is not to be trusted
        fits = self._frames_decoded + gap + frame.samples <= self.info.frames + rate
        return gap if _LEAST_GAP * rate < gap < _LONGEST_SILENCE * rate and fits else 0

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
        """After the last read: how many seconds shorter the sound is than the header says, if more than half a second.

        Durations in these containers include the padding of the codec; that of a damaged file, which soundfile reads
        too, is exact. The length of a stream without a header is a guess, so nothing counts as missing.
        """
        if self._guessed and not self.fills_gaps:
            return 0.0
        missing = self.info.seconds - self._frames_read / self.info.sample_rate
        return missing if missing > (0 if self.fills_gaps else 0.5) else 0.0

    @property
    def damaged(self) -> bool:
        """After the last read: whether anything is missing or could not be decoded, or samples are cut off."""
        return self._broken or self._corrupt or self.missing > 0

    def close(self) -> None:
        """Close the file."""
        self._container.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()
