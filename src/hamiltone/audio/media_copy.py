"""The picture, subtitles, further sound tracks, tags and chapters of a media file, copied packet by packet by PyAV."""

from collections.abc import Callable, Iterator
from fractions import Fraction
from math import floor
from pathlib import Path
from typing import Any

from hamiltone.audio.formats import AudioInfo, few
from hamiltone.audio.media_reader import open_container

_KEYS = ("com.apple.quicktime.", "com.android.")  # prefixes of the tags that phones and cameras write
# Tags that describe the file itself, which FFmpeg writes
_TECHNICAL_TAGS = {"major_brand", "minor_version", "compatible_brands", "encoder", "duration", "iTunSMPB", "iTunNORM"}
_MOV_FORMATS = {"3gp", "mov", "mp4"}  # hold no data of an unknown codec
_TIME_CODED = {"mov", "mp4"}  # FFmpeg makes a track of the time code in the tags of the picture
_DAMAGED = "damaged: not all of its picture and other streams could be copied"
_MOST_MOVED = 1  # second
_NEVER_READ = 48  # AVDISCARD_ALL, with which a demuxer marks what it has read as chapters


class StreamCopy:
    """Copies what a source holds besides its first sound into another file: streams, tags and chapters.

    Attributes:
        note: What could not be copied, if anything.
    """

    def __init__(self, av: Any, source: AudioInfo, format: str, *, covers_only: bool) -> None:
        assert source.track is not None
        self._av, self._sound, self._format, self.note = av, source.track.stream, format, ""
        self._source = open_container(av, source.path)
        others = [stream for stream in self._source.streams if stream.index != self._sound]
        if covers_only:
            others = [stream for stream in others if stream.disposition & av.stream.Disposition.attached_pic]
        self._others = [stream for stream in others if not self._is_made_anew(stream)]
        self._targets: dict[int, Any] = {}
        self._times: dict[int, int] = {}  # the time stamp of the last packet of each target
        self._left_out: dict[int, str] = {}  # the kinds of streams that were not copied
        self._packets: Iterator[Any] = iter(())
        self._waiting: Any = None

    def _is_made_anew(self, stream: Any) -> bool:
        """Whether FFmpeg creates this data stream itself, from the chapters or from the time code of the picture."""
        if stream.type != "data":
            return False
        if stream.name:
            return bool(self._source.chapters()) and getattr(stream, "discard", _NEVER_READ) == _NEVER_READ
        codes = {video.metadata.get("timecode") for video in self._source.streams.video}
        return self._format in _TIME_CODED and stream.metadata.get("timecode", "") in codes

    def _is_refused(self, stream: Any) -> bool:
        """Whether a copy of this stream would damage the result.

        mov refuses unknown data at the end of the file, mp4 all other data because of it; FFmpeg cannot read an flv
        with several sounds, even its own.
        """
        if stream.type == "audio":
            return self._format == "flv"
        return stream.type == "data" and not stream.name and self._format in _MOV_FORMATS

    def add_to(self, target: Any, add_sound: Callable[[], Any]) -> Any:
        """Make a stream in `target` for each stream of the source, in order, with its metadata.

        Returns the stream of the sound, which `add_sound` makes.
        """
        self._target, self._targets, left_out = target, {}, []
        target.metadata.update(self._source.metadata)
        if chapters := self._source.chapters():
            target.set_chapters(chapters)
        sound = None
        for stream in self._source.streams:
            if stream.index == self._sound:
                copy = sound = add_sound()
            elif stream in self._others:
                if self._is_refused(stream):
                    left_out.append(stream)
                    continue
                try:
                    copy = self._targets[stream.index] = target.add_stream_from_template(stream, opaque=True)
                except (ValueError, self._av.FFmpegError):
                    left_out.append(stream)
                    continue
            else:
                continue
            copy.disposition = stream.disposition
            copy.metadata.update(stream.metadata)
        self._report(left_out)
        self._packets = self._demux()
        return sound

    @property
    def has_keys(self) -> bool:
        """Whether there are tags of a phone or a camera, which mov and mp4 hold only with `use_metadata_tags`."""
        return any(name.startswith(_KEYS) for name in self._source.metadata)

    def compare_tags(self, result: Path) -> None:
        """Note which tags a finished file of the same format lacks."""
        with open_container(self._av, result) as container:
            found = {name.lower() for name in container.metadata}
        names = [name for name, text in self._source.metadata.items() if text and name not in _TECHNICAL_TAGS]
        lost = [name for name in names if not {name.lower(), name.lower().rpartition("-")[0]} & found]
        if lost:
            self._add_note(f"FFmpeg cannot write its tags {few(lost)}")

    def _demux(self) -> Iterator[Any]:
        streams = [self._source.streams[index] for index in self._targets]
        return self._source.demux(streams) if streams else iter(())

    def drop_data(self) -> bool:
        """Drop data streams and attachments from now on; return whether there were any."""
        left_out = [stream for stream in self._others if stream.type not in ("video", "audio", "subtitle")]
        self._others = [stream for stream in self._others if stream not in left_out]
        self._report(left_out)
        return bool(left_out)

    def _report(self, left_out: list[Any]) -> None:
        self._left_out |= {stream.index: stream.type for stream in left_out}
        if self._left_out:
            kinds = ", ".join(sorted(set(self._left_out.values())))
            self.note = f"the output's format cannot hold {len(self._left_out)} of the streams ({kinds}): left out"

    def _add_note(self, text: str) -> None:
        if text not in self.note:
            self.note = "; ".join(filter(None, [self.note, text]))

    def mux_until(self, seconds: float) -> None:
        """Copy packets up to a time."""
        while (packet := self._waiting or self._next()) is not None:
            time = packet.dts if packet.dts is not None else packet.pts
            if time is not None and time * packet.time_base > seconds:
                self._waiting = packet
                return
            self._waiting = None
            if packet.is_corrupt:  # something before it is missing, as in the recording of a bad broadcast
                self._add_note(_DAMAGED)
            if packet.size:
                self._mux(packet)

    def _mux(self, packet: Any) -> None:
        """Write a packet; a time stamp that does not follow the one before it is moved on, as FFmpeg does in a copy."""
        stream = packet.stream = self._targets[packet.stream_index]
        if packet.dts is not None:
            time = floor(packet.dts * packet.time_base / stream.time_base + Fraction(1, 2))
            after = self._times.get(stream.index, time - 1) + self._least_step(stream)
            if time < after:
                if (after - time) * stream.time_base > _MOST_MOVED:
                    raise ValueError(
                        "the source's time stamps start again midway, as in videos that were joined end to end; "
                        "a wav of the sound can be written"
                    )
                ratio = packet.time_base / stream.time_base
                packet.pts = max(round((packet.dts if packet.pts is None else packet.pts) * ratio), after)
                packet.duration = round((packet.duration or 0) * ratio)
                packet.dts, packet.time_base = after, stream.time_base
            self._times[stream.index] = max(time, after)
        self._target.mux(packet)

    def _least_step(self, stream: Any) -> int:
        """By how much a time stamp must exceed the one before it for FFmpeg to write it."""
        loose = self._target.format.flags & self._av.format.Flags.ts_nonstrict.value
        return 0 if loose or stream.type in ("subtitle", "data") else 1

    def _next(self) -> Any:
        try:
            return next(self._packets, None)
        except self._av.FFmpegError:  # in the container: later packets are out of reach
            self._add_note(_DAMAGED)
            self._packets = iter(())
            return None

    def close(self) -> None:
        """Close the source."""
        self._source.close()
