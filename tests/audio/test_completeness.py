"""Files that were joined end to end, as ``cat`` and radio servers do it."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from enhancers import fixed_mask
from hamiltone.audio import media_reader
from hamiltone.audio.completeness import hides_another, is_joined, ogg_streams
from hamiltone.audio.io import open_reader, probe
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


@pytest.mark.parametrize("name", ["a.wav", "a.rf64", "a.aiff", "a.caf", "a.w64"])
def test_what_follows_a_file_of_chunks_is_missed_aloud(tmp_path: Path, name: str) -> None:
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
