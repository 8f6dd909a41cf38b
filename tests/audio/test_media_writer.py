import os
import sys
import tempfile
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.audio.formats import AudioInfo
from hamiltone.audio.io import open_reader, open_writer, output_encoding
from hamiltone.audio.media_copy import StreamCopy
from hamiltone.errors import InputError
from videos import CLICKS, RATE, av, click_times, clicks, make_video, packets, sound_of

VIDEOS = [
    ("mp4", "libx264", "aac"),
    ("m4v", "libx264", "alac"),
    ("mov", "mpeg4", "pcm_s16le"),
    ("mkv", "libx264", "ac3"),
    ("mkv", "libx264", "flac"),
    ("webm", "libvpx", "libopus"),
    ("avi", "mpeg4", "libmp3lame"),
    ("ts", "libx264", "aac"),
    ("mpg", "mpeg1video", "mp2"),
    ("flv", "flv", "aac"),
    ("wmv", "wmv2", "wmav2"),
    ("3gp", "mpeg4", "aac"),
]


def copy(source: Path, target: Path, scale: float = 1.0) -> tuple[AudioInfo, str]:
    """Write the sound of a file, scaled, in the place of what it was; returns what was known of the source."""
    with open_reader(source) as reader:
        info = reader.info
        with open_writer(target, output_encoding(info, target), info, info.frames) as writer:
            while len(block := reader.read(7001)):
                writer.write(block * np.float32(scale))
        assert not reader.damaged
    return info, writer.note


def streams(path: Path) -> list[tuple[str, str]]:
    with av.open(str(path)) as container:
        return [
            (stream.type, stream.codec_context.codec.canonical_name)
            for stream in container.streams
            if stream.codec_context
        ]


def chapters(path: Path) -> list[tuple[float, str]]:
    with av.open(str(path)) as container:
        return [(float(part["start"] * part["time_base"]), part["metadata"]["title"]) for part in container.chapters()]


@pytest.mark.parametrize("start", [0.0, 0.4])
@pytest.mark.parametrize(("suffix", "picture", "sound"), VIDEOS)
def test_the_picture_is_copied_and_the_sound_stays_with_it(
    tmp_path: Path, suffix: str, picture: str, sound: str, start: float
) -> None:
    format = "mp4" if suffix == "m4v" else None
    source = make_video(tmp_path / f"a.{suffix}", picture, sound, start=start, format=format)
    target = tmp_path / f"b.{suffix}"
    _, note = copy(source, target, scale=0.5)
    assert note == ""
    assert streams(target) == streams(source)

    before, after = packets(source), packets(target)
    assert [data for _, data in after] == [data for _, data in before]
    np.testing.assert_allclose(*(np.diff([time for time, _ in part]) for part in (before, after)), atol=1e-3)
    np.testing.assert_allclose(click_times(target), click_times(source), atol=1.1e-3)
    if suffix not in ("avi", "wmv"):  # they know no start, or hide it from PyAV
        np.testing.assert_allclose(click_times(target), np.array(CLICKS) + start, atol=0.03)

    loud = [np.abs(sound_of(path)[1]).max() for path in (source, target)]
    assert loud[1] == pytest.approx(loud[0] / 2, rel=0.1)
    with av.open(str(source)) as first, av.open(str(target)) as second:
        assert second.metadata.get("title") == first.metadata.get("title")
    assert chapters(target) == chapters(source)


def test_every_other_sound_is_copied(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mkv", "libx264", "ac3", sounds=3)
    copy(source, tmp_path / "b.mkv", scale=0.5)
    for number in (1, 2):
        before, after = (packets(path, "audio", number) for path in (source, tmp_path / "b.mkv"))
        assert [data for _, data in after] == [data for _, data in before]
    assert packets(source, "audio") != packets(tmp_path / "b.mkv", "audio")


@pytest.mark.parametrize(("suffix", "sound"), [("mp4", "aac"), ("mkv", "flac"), ("webm", "libopus")])
def test_a_gap_in_the_sound_keeps_what_follows_in_its_place(tmp_path: Path, suffix: str, sound: str) -> None:
    picture = "libvpx" if suffix == "webm" else "libx264"
    source = make_video(tmp_path / f"a.{suffix}", picture, sound, gap=0.5)
    assert click_times(source)[-1] == pytest.approx(CLICKS[-1] + 0.5, abs=0.03)
    copy(source, tmp_path / f"b.{suffix}")
    np.testing.assert_allclose(click_times(tmp_path / f"b.{suffix}"), click_times(source), atol=2e-3)


@pytest.mark.parametrize(("suffix", "picture"), [("mkv", "libx264"), ("flv", "flv"), ("mp4", "libx264")])
def test_sound_that_begins_late_is_not_taken_for_cut_short(tmp_path: Path, suffix: str, picture: str) -> None:
    source = make_video(tmp_path / f"a.{suffix}", picture, start=2.0)
    copy(source, tmp_path / f"b.{suffix}")  # asserts that nothing is missing
    assert click_times(tmp_path / f"b.{suffix}") == pytest.approx(click_times(source), abs=2e-3)
    assert click_times(source)[0] == pytest.approx(2 + CLICKS[0], abs=0.03)


@pytest.mark.skipif(sys.platform in {"win32", "darwin"}, reason="names are Unicode there")
@pytest.mark.parametrize("name", [b"a\xff.mp4", b"a.\xffmp4"])
def test_a_name_that_is_not_text_is_no_obstacle(tmp_path: Path, name: bytes) -> None:
    strange = make_video(tmp_path / "a.mp4", "libx264").rename(tmp_path / os.fsdecode(name))
    copy(strange, tmp_path / "b.mp4")
    assert streams(tmp_path / "b.mp4") == [("video", "h264"), ("audio", "aac")]
    assert not list(Path(tempfile.gettempdir()).glob("hamiltone-link-*"))


def test_a_picture_that_stands_on_its_side_still_does(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mp4", "libx264")
    data = bytearray(source.read_bytes())
    place = data.index(b"tkhd") + 4 + 40
    quarter = b"".join(number.to_bytes(4, "big", signed=True) for number in (0, 65536, 0, -65536, 0, 0, 0, 0, 1 << 30))
    data[place : place + 36] = quarter
    source.write_bytes(data)
    copy(source, tmp_path / "b.mp4")
    result = (tmp_path / "b.mp4").read_bytes()
    turned = result[result.index(b"tkhd") + 44 :][:16]
    assert turned == quarter[:16]


def add_data(path: Path, source: Path, *, divided: bool, places: bool) -> Path:
    """A copy of a video with a time code, perhaps chapters, and perhaps places as a stream of data."""
    with av.open(str(source)) as video, av.open(str(path), "w") as container:
        copies = {stream.index: container.add_stream_from_template(stream) for stream in video.streams}
        copies[video.streams.video[0].index].metadata["timecode"] = "01:00:00:00"
        container.set_chapters(video.chapters() if divided else [])
        if places:
            data = container.add_data_stream("bin_data")
            data.time_base = Fraction(1, 1000)
        container.start_encoding()
        for number in range(3 * places):
            packet = av.Packet(f"place {number}".encode())
            packet.pts = packet.dts = 1000 * number
            packet.duration, packet.time_base, packet.stream = 1000, Fraction(1, 1000), data
            container.mux(packet)
        for packet in video.demux():
            if packet.size:
                packet.stream = copies[packet.stream_index]
                container.mux(packet)
    return path


@pytest.mark.parametrize(
    ("suffix", "divided", "places"), [("mp4", True, True), ("mp4", False, True), ("mov", False, False)]
)
def test_chapters_a_time_code_and_other_data_are_all_kept(
    tmp_path: Path, suffix: str, divided: bool, places: bool
) -> None:
    source = make_video(tmp_path / "b.mkv", "libx264")
    path = add_data(tmp_path / f"a.{suffix}", source, divided=divided, places=places)
    before = chapters(path), packets(path, "data") if places else []
    assert copy(path, path)[1] == ""
    assert (chapters(path), packets(path, "data") if places else []) == before
    with av.open(str(path)) as container:
        assert "01:00:00:00" in [stream.metadata.get("timecode") for stream in container.streams.data]


def restamp(source: Path, path: Path, change: Callable[[int], int]) -> Path:
    """A copy of a video, in which `change` says the time of every packet of the picture in milliseconds."""
    with av.open(str(source)) as video, av.open(str(path), "w") as container:
        copies = {stream.index: container.add_stream_from_template(stream) for stream in video.streams}
        for packet in video.demux():
            if packet.size:
                if packet.stream.type == "video":
                    packet.pts = packet.dts = change(round(packet.dts * packet.time_base * 1000))
                    packet.time_base = Fraction(1, 1000)
                packet.stream = copies[packet.stream_index]
                container.mux(packet)
    return path


def test_pictures_with_the_same_time_stamp_are_all_copied(tmp_path: Path) -> None:
    source = restamp(make_video(tmp_path / "b.mkv"), tmp_path / "a.mkv", lambda time: time - 40 * (time == 1000))
    assert copy(source, tmp_path / "a.mp4")[1] == ""
    before, after = packets(source), packets(tmp_path / "a.mp4")
    assert [content for _, content in after] == [content for _, content in before]
    times = [time for time, _ in after]
    assert before[24][0] == before[25][0] and np.all(np.diff(times) > 0)
    assert np.allclose(times, [time for time, _ in before], atol=1e-3)
    assert copy(source, tmp_path / "c.mkv")[1] == ""
    assert packets(tmp_path / "c.mkv") == before


def test_pictures_whose_time_starts_again_are_refused_in_one_line(tmp_path: Path) -> None:
    path = make_video(tmp_path / "a.ts", "mpeg2video", "mp2")
    path.write_bytes(2 * path.read_bytes())
    with pytest.raises(InputError, match=r"b\.ts: cannot write: the source's time stamps start again midway"):
        copy(path, tmp_path / "b.ts")
    copy(path, tmp_path / "b.wav")
    assert {path.name for path in tmp_path.iterdir()} == {"a.ts", "b.wav"}


def test_the_codec_of_the_sound_changes_where_the_format_or_ffmpeg_cannot_hold_it(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mkv", "libx264", "flac")
    copy(source, tmp_path / "b.ts")
    assert streams(tmp_path / "b.ts") == [("video", "h264"), ("audio", "aac")]
    assert [data for _, data in packets(tmp_path / "b.ts")] != []


def test_sound_goes_out_of_a_video_and_its_cover_stays_with_it(tmp_path: Path) -> None:
    make_video(tmp_path / "a.mp4", "libx264")
    copy(tmp_path / "a.mp4", tmp_path / "b.m4a")
    assert streams(tmp_path / "b.m4a") == [("audio", "aac")]
    covered = tmp_path / "c.m4a"
    with av.open(str(tmp_path / "b.m4a")) as source, av.open(str(covered), "w", format="mp4") as container:
        sound = container.add_stream_from_template(source.streams.audio[0])
        cover = container.add_stream("png", rate=1, width=16, height=16)
        cover.pix_fmt, cover.disposition = "rgb24", av.stream.Disposition.attached_pic
        container.metadata["artist"] = "somebody"
        for packet in cover.encode(av.VideoFrame.from_ndarray(np.full((16, 16, 3), 99, np.uint8), "rgb24")):
            container.mux(packet)
        for packet in source.demux():
            if packet.size:
                packet.stream = sound
                container.mux(packet)
    copy(covered, tmp_path / "d.m4a")
    assert (tmp_path / "d.m4a").read_bytes()[4:12] == b"ftypM4A "
    with av.open(str(tmp_path / "d.m4a")) as container:
        assert container.metadata["artist"] == "somebody"
        assert container.streams.video[0].disposition & av.stream.Disposition.attached_pic
    assert [data for _, data in packets(tmp_path / "d.m4a")] == [data for _, data in packets(covered)]


@pytest.mark.parametrize(
    ("suffix", "most"), [("m4a", 1024), ("aac", 2048), ("ac3", 1536), ("mp2", 1152), ("wma", 4096), ("mka", 1024)]
)
def test_lossy_sound_is_as_long_as_it_was_up_to_a_frame_and_keeps_its_bit_rate(
    tmp_path: Path, suffix: str, most: int
) -> None:
    soundfile.write(tmp_path / "a.wav", clicks(), RATE)
    copy(tmp_path / "a.wav", tmp_path / f"b.{suffix}")
    info, _ = copy(tmp_path / f"b.{suffix}", tmp_path / f"c.{suffix}")
    for name in ("b", "c"):
        count = len(sound_of(tmp_path / f"{name}.{suffix}")[1])
        assert 0 <= count - len(clicks()) <= most + (most if name == "c" else 0)
    sizes = [(tmp_path / f"{name}.{suffix}").stat().st_size for name in ("b", "c")]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.05)
    assert info.track is not None


@pytest.mark.parametrize("seconds", [1.0, 1.008, 1.02])
def test_the_last_samples_leave_the_encoder_of_mp2(tmp_path: Path, seconds: float) -> None:
    """In mkv a decoder leaves out what the encoder has put before the sound."""
    sound = clicks()[: round(seconds * RATE)]
    sound[-200:] = 0.5 * np.sin(np.arange(200))[:, None]
    soundfile.write(tmp_path / "a.wav", sound, RATE)
    copy(tmp_path / "a.wav", tmp_path / "a.mp2")
    copy(tmp_path / "a.mp2", tmp_path / "b.mkv")
    for name in ("a.mp2", "b.mkv"):
        found = sound_of(tmp_path / name)[1]
        assert len(found) >= len(sound)
        assert np.flatnonzero(np.abs(found[:, 0]) > 0.2)[-1] >= len(sound) - 10


@pytest.mark.parametrize("suffix", ["wv", "tta"])
@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24"])
def test_lossless_sound_stays_exact(tmp_path: Path, suffix: str, subtype: str) -> None:
    soundfile.write(tmp_path / "a.wav", clicks(), RATE, subtype=subtype)
    copy(tmp_path / "a.wav", tmp_path / f"b.{suffix}")
    with open_reader(tmp_path / f"b.{suffix}", "float64") as reader:
        np.testing.assert_array_equal(reader.read(10**7), soundfile.read(tmp_path / "a.wav")[0])


@pytest.mark.parametrize("suffix", ["wv", "tta"])
@pytest.mark.parametrize("samples", [7999, 44_099])
def test_lossless_sound_stays_exact_in_a_video(tmp_path: Path, suffix: str, samples: int) -> None:
    """Its length is no whole number of milliseconds, which are all that Matroska has."""
    soundfile.write(tmp_path / "a.wav", clicks()[:samples], RATE)
    copy(tmp_path / "a.wav", tmp_path / f"b.{suffix}")
    copy(tmp_path / f"b.{suffix}", tmp_path / "c.mkv")
    with open_reader(tmp_path / "c.mkv", "float64") as reader:
        np.testing.assert_array_equal(reader.read(10**7), soundfile.read(tmp_path / "a.wav")[0])


def test_a_healthy_stream_without_a_header_is_not_damaged(tmp_path: Path) -> None:
    """Its length is guessed from the bit rate of its start, which here is far from the mean."""
    sound = np.zeros((4 * len(clicks()), 2))
    sound[len(clicks()) :] += 0.2 * np.random.default_rng(0).standard_normal((3 * len(clicks()), 2))
    soundfile.write(tmp_path / "a.wav", sound, RATE)
    copy(tmp_path / "a.wav", tmp_path / "a.aac")
    with open_reader(tmp_path / "a.aac") as reader:
        guessed, count = reader.info.frames, 0
        while len(block := reader.read(10_000)):
            count += len(block)
        assert (reader.missing, reader.damaged) == (0, False)
    assert abs(guessed - count) > RATE / 2  # or the test shows nothing
    assert count >= len(sound)


def test_a_failure_leaves_an_earlier_file_and_nothing_else(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mp4", "libx264")
    (tmp_path / "b.mp4").write_bytes(b"earlier")
    with open_reader(source) as reader:
        info = reader.info
        with (
            pytest.raises(RuntimeError, match="midway"),
            open_writer(tmp_path / "b.mp4", output_encoding(info, tmp_path / "b.mp4"), info, 0) as writer,
        ):
            writer.write(reader.read(RATE))
            raise RuntimeError("midway")
    assert (tmp_path / "b.mp4").read_bytes() == b"earlier"
    assert {path.name for path in tmp_path.iterdir()} == {"a.mp4", "b.mp4"}


def test_what_a_format_cannot_hold_is_one_line(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", np.zeros((100, 9), np.float32), RATE)
    with pytest.raises(InputError, match=r"b\.m4a: cannot write: mp4 holds at most 8 channels, not 9$"):
        copy(tmp_path / "a.wav", tmp_path / "b.m4a")
    assert {path.name for path in tmp_path.iterdir()} == {"a.wav"}


def tagged_sound(path: Path, tags: dict[str, str]) -> Path:
    """A mov or mp4 with tags of any name, as phones and editing programs write them."""
    with av.open(str(path), "w", container_options={"movflags": "use_metadata_tags"}) as container:
        stream = container.add_stream("aac", rate=RATE, layout="mono")
        container.metadata.update(tags)
        for start in range(0, 20 * 1024, 1024):
            frame = av.AudioFrame.from_ndarray(np.zeros((1, 1024), np.float32), "fltp", "mono")
            frame.sample_rate, frame.pts = RATE, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    return path


@pytest.mark.parametrize("suffix", ["mov", "mp4"])
def test_the_place_and_the_maker_of_a_phones_video_are_kept(tmp_path: Path, suffix: str) -> None:
    tags = {"com.apple.quicktime.location.ISO6709": "+52.5+013.4/", "com.apple.quicktime.make": "A", "title": "a walk"}
    path = tagged_sound(tmp_path / f"a.{suffix}", tags)
    assert copy(path, path)[1] == ""
    with av.open(str(path)) as container:
        assert tags.items() <= container.metadata.items()


def test_tags_that_ffmpeg_cannot_write_are_said_and_not_overwritten(tmp_path: Path) -> None:
    path = tagged_sound(tmp_path / "a.mp4", {"title": "a talk", "take": "3", "scene": "kitchen"})
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=r"a\.mp4: is not overwritten: FFmpeg cannot write its tags take, scene; choose"
    ):
        copy(path, path)
    assert path.read_bytes() == before
    assert {entry.name for entry in tmp_path.iterdir()} == {"a.mp4"}
    assert copy(path, tmp_path / "b.mp4")[1] == "FFmpeg cannot write its tags take, scene"
    assert copy(path, tmp_path / "c.mka")[1] == ""
    with av.open(str(tmp_path / "b.mp4")) as container:
        assert container.metadata["title"] == "a talk"


def test_all_streams_that_were_left_out_are_counted_also_after_a_second_attempt(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mkv")
    with open_reader(source) as reader:
        copying = StreamCopy(av, reader.info, "mp4", covers_only=False)
    picture, sound = copying._source.streams.video[0], copying._source.streams.audio[0]
    for left_out in ([picture], [], [sound], [picture]):
        copying._report(left_out)
    copying.close()
    assert copying.note == "the output's format cannot hold 2 of the streams (audio, video): left out"


def test_a_flv_gets_one_sound_since_ffmpeg_cannot_read_those_with_several_that_it_writes(tmp_path: Path) -> None:
    source = make_video(tmp_path / "a.mkv", "libx264", "aac", sounds=2)
    _, note = copy(source, tmp_path / "b.flv")
    assert note == "the output's format cannot hold 1 of the streams (audio): left out"
    assert sound_of(tmp_path / "b.flv")[1].any()
