"""Files that were joined end to end, as ``cat`` and radio servers do it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from enhancers import fixed_mask
from hamiltone.audio import media_reader
from hamiltone.audio.completeness import breaks_off, hides_another, is_joined, ogg_streams
from hamiltone.audio.formats import MEDIA_FORMATS
from hamiltone.audio.io import open_reader, probe
from hamiltone.audio.metadata import read_metadata
from hamiltone.audio.sound_file import SoundFileReader
from hamiltone.errors import InputError
from hamiltone.runtime import enhance_file
from hamiltone.runtime.torch_backend import TorchGain
from sounds import noise
from tagged import ID3V1, ape, copy_sound, id3v2

av = pytest.importorskip("av")
RATE = 48_000
NAMES = ["a.mp3", "a.ogg", "a.opus", "a.flac"]


def write(path: Path, seconds: float, seed: int = 0) -> bytes:
    subtype = "OPUS" if path.suffix == ".opus" else None
    sound = noise(round(seconds * RATE), seed=seed)
    soundfile.write(path, sound, RATE, subtype, format="OGG" if subtype else None)
    return path.read_bytes()


def join(path: Path, *seconds: float) -> bytes:
    path.write_bytes(b"".join([write(path, length, number) for number, length in enumerate(seconds)]))
    return path.read_bytes()


def write_media(path: Path, seconds: float, options: dict[str, str] | None = None, codec: str = "") -> bytes:
    format, codec = ("ogg", codec) if codec else MEDIA_FORMATS[path.suffix]
    with av.open(str(path), "w", format=format, options=options or {}) as container:
        stream = container.add_stream(codec, rate=RATE, layout="mono")
        frame = av.AudioFrame.from_ndarray(noise(1, round(seconds * RATE)).astype(np.float32), "fltp", "mono")
        frame.sample_rate, frame.pts = RATE, 0
        parts = av.AudioResampler(stream.codec_context.format, "mono", RATE, frame_size=4096)
        for part in [*parts.resample(frame), *parts.resample(None)]:
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return path.read_bytes()


def length(path: Path) -> float:
    with open_reader(path) as reader:
        return sum(iter(lambda: len(reader.read(10_000)), 0)) / reader.info.sample_rate


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("seconds", [(1.0, 2.0), (1.0, 1.0), (2.0, 0.5, 1.0)])
def test_all_parts_are_read(tmp_path: Path, name: str, seconds: tuple[float, ...]) -> None:
    join(tmp_path / name, *seconds)
    assert length(tmp_path / name) == pytest.approx(sum(seconds), abs=0.06 * len(seconds))


@pytest.mark.parametrize("name", NAMES)
def test_a_single_file_is_not_joined(tmp_path: Path, name: str) -> None:
    content = write(tmp_path / name, 1)
    if name == "a.mp3":
        (tmp_path / name).write_bytes(id3v2("fLaC") + content + ape() + ID3V1)
    assert not is_joined(tmp_path / name, probe(tmp_path / name).encoding.format)
    with open_reader(tmp_path / name) as reader:
        assert isinstance(reader, SoundFileReader)


def test_what_precedes_an_mp3_is_no_part_of_it(tmp_path: Path) -> None:
    path, model = tmp_path / "a.mp3", TorchGain(fixed_mask(0.5))
    junk, content = 1000 * b"junk", write(path, 1)
    path.write_bytes(junk + content)
    assert not is_joined(path, "MP3")
    assert enhance_file(path, tmp_path / "b.wav", model=model).note is None
    assert soundfile.info(tmp_path / "b.wav").frames == RATE
    path.write_bytes(junk + 2 * content)  # which PyAV cannot open
    report = enhance_file(path, tmp_path / "b.wav", model=model, overwrite=True)
    assert report.note == "several files in one, of which only the first is read"


@pytest.mark.parametrize("name", ["a.mp3", "a.flac"])
def test_what_replaces_a_joined_file_is_as_long(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    join(path, 1, 2)
    size = path.stat().st_size
    report = enhance_file(path, path, model=TorchGain(fixed_mask(0.5)), overwrite=True)
    assert report.note is None
    assert soundfile.info(path).duration == pytest.approx(3, abs=0.1)
    assert not is_joined(path, path.suffix[1:].upper())
    assert 0.5 * size < path.stat().st_size < 1.3 * size


@pytest.mark.parametrize("name", NAMES)
def test_without_pyav_the_rest_is_missed_aloud(tmp_path: Path, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_module(name: str) -> Any:
        raise ModuleNotFoundError(name)

    before = join(tmp_path / name, 1, 2)
    monkeypatch.setattr(media_reader, "import_module", no_module)
    model, reason = TorchGain(fixed_mask(0.5)), "several files in one, of which only the first is read without PyAV"
    with pytest.raises(InputError, match=f"is not overwritten, since it is {reason}"):
        enhance_file(tmp_path / name, tmp_path / name, model=model, overwrite=True)
    assert (tmp_path / name).read_bytes() == before
    assert reason in str(enhance_file(tmp_path / name, tmp_path / "b.wav", model=model).note)
    assert soundfile.info(tmp_path / "b.wav").duration == pytest.approx(1, abs=0.05)


@pytest.mark.parametrize("name", ["a.wav", "a.rf64", "a.aiff", "a.caf", "a.w64", "a.au"])
def test_what_follows_a_file_that_says_its_length_is_missed_aloud(tmp_path: Path, name: str) -> None:
    path, model = tmp_path / name, TorchGain(fixed_mask(0.5))
    write(path, 1)
    assert not hides_another(path)
    before = join(path, 1, 2)
    reason = "several files in one, of which only the first is read"
    with pytest.raises(InputError, match=f"is not overwritten, since it is {reason}; choose another output"):
        enhance_file(path, path, model=model, overwrite=True)
    assert path.read_bytes() == before
    for result in (tmp_path / f"b{path.suffix}", tmp_path / "c.flac"):
        assert enhance_file(path, result, model=model).note == reason
        assert soundfile.info(result).frames == RATE


@pytest.mark.parametrize("name", ["a.m4a", "a.mp4", "a.mov", "a.3gp", "a.flv", "a.tta"])
def test_what_follows_a_file_that_ffmpeg_reads_is_missed_aloud(tmp_path: Path, name: str) -> None:
    path, model = tmp_path / name, TorchGain(fixed_mask(0.5))
    single = write_media(path, 1)
    assert not hides_another(path)
    before = single + write_media(path, 2)
    path.write_bytes(before)
    reason = "several files in one, of which only the first is read"
    with pytest.raises(InputError, match=f"is not overwritten, since it is {reason}; choose another output"):
        enhance_file(path, path, model=model, overwrite=True)
    assert path.read_bytes() == before
    assert enhance_file(path, tmp_path / "b.wav", model=model).note == reason
    assert soundfile.info(tmp_path / "b.wav").duration == pytest.approx(1, abs=0.05)


def test_tags_hide_no_tta_behind_another(tmp_path: Path) -> None:
    path = tmp_path / "a.tta"
    content = id3v2("a talk") + write_media(path, 1) + ape() + ID3V1
    path.write_bytes(content)
    assert not hides_another(path)
    path.write_bytes(content * 2)
    assert hides_another(path)


@pytest.mark.parametrize(
    "options", [{"movflags": "faststart"}, {"movflags": "empty_moov+default_base_moof", "frag_duration": "100000"}]
)
def test_a_movie_of_any_order_is_one_file(tmp_path: Path, options: dict[str, str]) -> None:
    path = tmp_path / "a.mp4"
    content = write_media(path, 1, options)
    assert not hides_another(path)
    path.write_bytes(content + (8).to_bytes(4, "big") + b"free" + bytes(100))
    assert not hides_another(path)
    path.write_bytes(content * 2)
    assert hides_another(path)


def test_an_avi_goes_on_after_a_gigabyte(tmp_path: Path) -> None:
    path = tmp_path / "a.avi"
    path.write_bytes(write_media(path, 1) + b"RIFF" + (12).to_bytes(4, "little") + b"AVIXJUNK" + bytes(4))
    assert not hides_another(path)
    assert read_metadata(path, "WAV") == (None, "")  # its picture is no chunk of a wav


@pytest.mark.parametrize("codec", ["VORBIS", "OPUS", "libopus", "flac"])
def test_an_ogg_without_its_end_is_truncated(tmp_path: Path, codec: str) -> None:
    path = tmp_path / "a.ogg"
    if codec.isupper():
        soundfile.write(path, noise(3 * RATE), RATE, codec)
        whole = path.read_bytes()
    else:
        whole = write_media(path, 1, codec=codec)
    last_page = whole.rindex(b"OggS")
    assert not breaks_off(path)
    for content in (whole * 2, whole * 100, whole + ID3V1):
        path.write_bytes(content)
        assert not breaks_off(path)
    for content in (whole[:-1], whole[: last_page + 20], whole[:last_page], whole[: len(whole) // 2]):
        for joined in (content, whole + content, content + whole):
            path.write_bytes(joined)
            assert breaks_off(path)


@pytest.mark.parametrize("name", ["a.ogg", "a.opus"])
@pytest.mark.parametrize("share", [0.5, 0.9])
def test_a_truncated_ogg_is_not_overwritten(tmp_path: Path, name: str, share: float) -> None:
    path, model = tmp_path / name, TorchGain(fixed_mask(0.5))
    content = write(path, 4)
    assert enhance_file(path, tmp_path / "b.wav", model=model).note is None
    before = content[: round(share * len(content))]
    path.write_bytes(before)
    reason = "truncated, or its recording was never finished: it lacks the end of an ogg stream"
    with pytest.raises(InputError, match=f"is not overwritten, since it is {reason}; choose another output"):
        enhance_file(path, path, model=model, overwrite=True)
    assert path.read_bytes() == before
    assert enhance_file(path, tmp_path / "c.wav", model=model).note == reason
    assert 0.9 < soundfile.info(tmp_path / "c.wav").duration < 4


def test_streams_side_by_side_are_not_joined(tmp_path: Path) -> None:
    path = tmp_path / "a.ogg"
    with av.open(str(path), "w") as container:
        streams = [container.add_stream("libopus", rate=RATE, layout="mono") for _ in range(2)]
        for start in range(0, RATE, 960):
            for stream in streams:
                frame = av.AudioFrame.from_ndarray(noise(960)[None], "flt", "mono")
                frame.sample_rate, frame.pts = RATE, start
                container.mux(stream.encode(frame))
        for stream in streams:
            container.mux(stream.encode(None))
    assert (ogg_streams(path), is_joined(path, "OGG")) == (2, False)
    with pytest.raises(InputError, match="is not overwritten: its 2 streams become one; choose another"):
        copy_sound(path, path)
    assert copy_sound(path, tmp_path / "b.ogg") == "its 2 streams become one"
    assert copy_sound(path, tmp_path / "b.wav") == ""
    path.write_bytes(path.read_bytes() * 2)
    assert (ogg_streams(path), is_joined(path, "OGG")) == (4, True)


@pytest.mark.parametrize("name", ["a.ogg", "a.opus"])
def test_an_ogg_that_was_joined_is_not_overwritten(tmp_path: Path, name: str) -> None:
    before = join(tmp_path / name, 1, 2)
    with pytest.raises(InputError, match="is not overwritten: its 2 streams become one; choose another"):
        copy_sound(tmp_path / name, tmp_path / name)
    assert (tmp_path / name).read_bytes() == before


def test_the_answer_is_not_that_of_an_earlier_file(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    write(path, 1)
    assert not is_joined(path, "FLAC")
    path.write_bytes(path.read_bytes() * 2)
    assert is_joined(path, "FLAC")
    assert np.isclose(length(path), 2)


@pytest.mark.parametrize("before", [0, 2**20 - 9, 2**20 - 8, 2**20 - 4, 2**20 - 1, 2**20, 2**21 - 3])
def test_a_file_behind_another_is_found_wherever_blocks_of_it_meet(tmp_path: Path, before: int) -> None:
    """It is searched block by block, so that memory does not grow with it."""
    mark = b"fLaC\0\0\0\x22"
    (tmp_path / "a.flac").write_bytes(bytes(before) + mark)
    assert not is_joined(tmp_path / "a.flac", "FLAC")
    (tmp_path / "b.flac").write_bytes(mark + bytes(before) + mark)
    (tmp_path / "c.flac").write_bytes(bytes(before) + mark + mark)
    assert is_joined(tmp_path / "b.flac", "FLAC") and is_joined(tmp_path / "c.flac", "FLAC")
