"""Chunks are built by hand here, and read back by FFmpeg and by a walk over the file of the test's own."""

import struct
import time
from pathlib import Path
from typing import Literal

import numpy as np
import pytest
import soundfile

from hamiltone.audio.chunks import CAF, RIFF, W64, Chunks, read_chunks
from hamiltone.audio.formats import Encoding, wav_or_rf64
from hamiltone.errors import InputError
from tagged import ID3V1, WAV_CHUNKS, copy_sound, with_chunks

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)
CAF_CHUNKS = [
    (b"info", struct.pack(">I", 2) + b"title\0a talk\0" + b"recorded by\0Mary\0"),
    (b"strg", struct.pack(">IIq", 1, 1, 0) + b"first marker\0"),
    (b"mark", struct.pack(">II", 0, 0)),
    (b"regn", bytes(8)),
    (b"uuid", bytes(range(16)) + b"of some program"),  # of odd length
]
W64_CHUNKS = [
    (b"bext" + bytes.fromhex("f3acd3118cd100c04f8edb8a"), b"a scene".ljust(602, b"\0")),
    (bytes.fromhex("bc945f925a52d21186dc00c04f8edb8a"), b""),  # the summary, filled below
    (bytes.fromhex("5662f7ab2d39d21186c700c04f8edb8a"), bytes(23)),  # markers, to be filled up to 8
]
TITLE = "a talk".encode("utf-16-le")
W64_CHUNKS[1] = (W64_CHUNKS[1][0], struct.pack("<I4sI", 1, b"INAM", len(TITLE)) + TITLE)


def chunks_of(path: Path, order: str) -> dict[bytes, bytes]:
    """All chunks by name, after checking that they fill the file exactly."""
    data, place, found = path.read_bytes(), 12, {}
    size = int.from_bytes(data[20:28], "little") if data.startswith(b"RF64") else int.from_bytes(data[4:8], order)
    assert size == len(data) - 8
    while place < len(data):
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 8], order)
        if name == b"data" and size == 0xFFFFFFFF:
            size = int.from_bytes(data[28:36], "little")
        found[name] = data[place + 8 : place + 8 + size]
        place += 8 + size + size % 2
    assert place == len(data)
    return found


@pytest.mark.parametrize(
    ("suffix", "format", "subtype"),
    [
        ("wav", "WAV", "PCM_16"),
        ("wav", "WAV", "PCM_U8"),
        ("wav", "WAV", "FLOAT"),
        ("wav", "WAVEX", "PCM_24"),
        ("rf64", "RF64", "PCM_16"),
        ("aiff", "AIFF", "PCM_16"),
        ("aiff", "AIFF", "FLOAT"),
    ],
)
def test_chunks_are_kept_byte_for_byte_when_a_file_is_replaced(
    tmp_path: Path, suffix: str, format: str, subtype: str
) -> None:
    path, order = tmp_path / f"a.{suffix}", "big" if format == "AIFF" else "little"
    soundfile.write(path, SOUND, RATE, subtype, format=format)
    with_chunks(path, WAV_CHUNKS, order)
    before = soundfile.read(path)[0]
    copy_sound(path, path)
    np.testing.assert_array_equal(soundfile.read(path)[0], before)
    found = chunks_of(path, order)
    for name, content in WAV_CHUNKS:
        assert found[name] == content
    assert soundfile.info(path).format == format
    copy_sound(path, path)
    assert chunks_of(path, order).keys() == found.keys()  # nothing piles up
    assert path.stat().st_size == sum(8 + len(content) + len(content) % 2 for content in found.values()) + 12


@pytest.mark.parametrize(("suffix", "format"), [("wav", "WAVEX"), ("rf64", "RF64")])
@pytest.mark.parametrize("tagged", [False, True])
def test_channels_stay_with_their_speakers(tmp_path: Path, suffix: str, format: str, tagged: bool) -> None:
    path = tmp_path / f"a.{suffix}"
    soundfile.write(path, np.repeat(SOUND, 6, 1), RATE, "PCM_24", format=format)
    if tagged:
        with_chunks(path, WAV_CHUNKS, "little")
    for speakers in (0x60F, 0):  # at the sides, and those of a field recorder: nowhere
        data = bytearray(path.read_bytes())
        place = data.index(b"fmt ") + 8
        data[place + 20 : place + 24] = speakers.to_bytes(4, "little")
        path.write_bytes(data)
        copy_sound(path, path)
        assert chunks_of(path, "little")[b"fmt "] == data[place : place + 40]


def ffmpeg_frames(path: Path) -> int:
    with pytest.importorskip("av").open(str(path)) as container:
        return sum(frame.samples for frame in container.decode(audio=0))


def with_caf_chunks(path: Path) -> None:
    """Put two chunks before the sound, and the others after it, without the byte that libsndfile adds."""
    data, place = path.read_bytes(), 8
    while data[place : place + 4] != b"data":
        place += 12 + int.from_bytes(data[place + 4 : place + 12], "big")
    end = place + 12 + int.from_bytes(data[place + 4 : place + 12], "big")
    packed = [name + len(content).to_bytes(8, "big") + content for name, content in CAF_CHUNKS]
    path.write_bytes(data[:place] + b"".join(packed[:2]) + data[place:end] + b"".join(packed[2:]))


def caf_chunks_of(path: Path) -> dict[bytes, bytes]:
    """All chunks by name, after checking that they fill the file exactly and that none comes twice."""
    data, place, found = path.read_bytes(), 8, {}
    while place < len(data):
        name, size = data[place : place + 4], int.from_bytes(data[place + 4 : place + 12], "big")
        assert name not in found
        found[name] = data[place + 12 : place + 12 + size]
        place += 12 + size
    assert place == len(data)
    return found


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT", "ALAC_16", "ULAW"])
def test_the_chunks_of_a_caf_are_kept(tmp_path: Path, subtype: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.caf"
    soundfile.write(path, SOUND, RATE, subtype)
    with_caf_chunks(path)
    before, by_ffmpeg = soundfile.read(path)[0], ffmpeg_frames(path)
    for _ in range(2):
        assert copy_sound(path, path) == ""
        found = caf_chunks_of(path)
        for name, content in CAF_CHUNKS:
            assert found[name] == content
        np.testing.assert_array_equal(soundfile.read(path)[0], before)
        assert soundfile.info(path).subtype == subtype
    with av.open(str(path)) as container:
        assert (container.metadata["title"], container.metadata["recorded by"]) == ("a talk", "Mary")
    assert ffmpeg_frames(path) == by_ffmpeg


def test_what_describes_the_old_samples_of_a_caf_is_not_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.caf"
    soundfile.write(path, SOUND, RATE, "PCM_16")
    path.write_bytes(path.read_bytes()[:-1] if path.stat().st_size % 2 else path.read_bytes())
    with path.open("ab") as file:
        for name in (b"peak", b"ovvw"):
            file.write(name + (20).to_bytes(8, "big") + b"of the old samples!!")
    assert read_chunks(path, CAF) == (None, "")


def w64_chunks_of(path: Path) -> dict[bytes, bytes]:
    """All chunks by name; libsndfile does not fill up the last one, its samples."""
    data, place, found = path.read_bytes(), 40, {}
    assert int.from_bytes(data[16:24], "little") == len(data)
    while place < len(data):
        name, size = data[place : place + 16], int.from_bytes(data[place + 16 : place + 24], "little")
        assert name not in found
        found[name] = data[place + 24 : place + size]
        place += size + -size % 8
    assert 0 <= place - len(data) < 8
    return found


@pytest.mark.parametrize("subtype", ["PCM_16", "PCM_24", "FLOAT", "GSM610"])
def test_the_chunks_of_a_w64_are_kept(tmp_path: Path, subtype: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.w64"
    soundfile.write(path, SOUND, RATE, subtype, format="W64")
    before = soundfile.read(path)[0]
    data = path.read_bytes()
    data += bytes(-len(data) % 8)
    packed = [
        name + (24 + len(content)).to_bytes(8, "little") + content + bytes(-len(content) % 8)
        for name, content in W64_CHUNKS
    ]
    whole = data[:40] + packed[0] + data[40:] + b"".join(packed[1:])
    path.write_bytes(whole[:16] + len(whole).to_bytes(8, "little") + whole[24:])
    for _ in range(2):
        assert copy_sound(path, path) == ""
        found = w64_chunks_of(path)
        for name, content in W64_CHUNKS:
            assert found[name] == content
        if subtype != "GSM610":  # which is lossy
            np.testing.assert_array_equal(soundfile.read(path)[0], before)
        assert len(soundfile.read(path)[0]) == len(before)
    with av.open(str(path)) as container:
        assert container.metadata["title"] == "a talk"
    assert ffmpeg_frames(path) == len(before)


@pytest.mark.parametrize(("suffix", "order"), [("caf", "big"), ("w64", "little")])
def test_a_chunk_may_claim_any_size(tmp_path: Path, suffix: str, order: Literal["big", "little"]) -> None:
    path, layout = tmp_path / f"a.{suffix}", {"caf": CAF, "w64": W64}[suffix]
    soundfile.write(path, SOUND, RATE, "PCM_16")
    with path.open("ab") as file:
        file.write(bytes(-path.stat().st_size % layout.align) + b"x" * layout.name_bytes)
        file.write((2**64 - 50).to_bytes(layout.size_bytes, order) + bytes(8))
    assert read_chunks(path, layout) == (None, "its chunk 'xxxx' is cut off or damaged and cannot be copied")


def test_a_chunk_may_have_any_size(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE)
    size, length = 3 * 2**30, path.stat().st_size
    with path.open("r+b") as file:  # sparse: it takes no space
        file.seek(0, 2)
        file.write(bytes(length % 2) + b"axml" + size.to_bytes(4, "little"))
        file.truncate(file.tell() + size)
    assert read_chunks(path, RIFF) == (Chunks(path, RIFF, 8 + size), "")


def test_a_wav_whose_chunks_exceed_its_sizes_becomes_rf64() -> None:
    assert wav_or_rf64(Encoding("WAV", "PCM_16"), 2**30, metadata=2**30) == "WAV"
    assert wav_or_rf64(Encoding("WAV", "PCM_16"), 2**30, metadata=2**31) == "RF64"


@pytest.mark.parametrize(
    ("tail", "name"),
    [(b"bext" + (2**31).to_bytes(4, "little") + b"bad", "bext"), (ID3V1, "TAGa")],
    ids=["cut", "not a chunk"],
)
def test_what_is_cut_off_is_said_and_not_overwritten(tmp_path: Path, tail: bytes, name: str) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE)
    with path.open("ab") as file:
        file.write(b"iXML" + (4).to_bytes(4, "little") + b"good" + tail)
    before = path.read_bytes()
    with pytest.raises(
        InputError, match=rf"a\.wav: is not overwritten: its chunk '{name}' is cut off .* choose another"
    ):
        copy_sound(path, path)
    assert path.read_bytes() == before
    assert f"its chunk '{name}' is cut off" in copy_sound(path, tmp_path / "b.wav")
    assert chunks_of(tmp_path / "b.wav", "little")[b"iXML"] == b"good"


def test_a_chunk_behind_an_odd_one_that_is_not_filled_up_is_found(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE, "PCM_U8")
    data = path.read_bytes()
    assert len(SOUND) % 2
    end = data.index(b"data") + 8 + len(SOUND)
    path.write_bytes(data[:end] + b"iXML" + (4).to_bytes(4, "little") + b"good")
    assert copy_sound(path, path) == ""
    assert chunks_of(path, "little")[b"iXML"] == b"good"


def test_samples_of_an_unfinished_recording_are_not_taken_for_chunks(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    sound = np.frombuffer(b"LIST" + (4).to_bytes(4, "little") + b"abcd" * 100, np.int16)
    soundfile.write(path, sound, RATE, "PCM_16")
    data = bytearray(path.read_bytes())
    place = data.index(b"data") + 4
    data[place : place + 4] = bytes(4)  # as it is until the recorder closes the file
    path.write_bytes(data)
    assert read_chunks(path, RIFF) == (None, "")


def test_zeros_at_the_end_are_passed_quickly(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE)
    length = path.stat().st_size
    with path.open("r+b") as file:
        file.seek(length + length % 2 + 2**24)
        file.write(b"iXML" + (4).to_bytes(4, "little") + b"good")
    started = time.process_time()
    assert read_chunks(path, RIFF) == (Chunks(path, RIFF, 12), "")
    assert time.process_time() - started < 0.5


@pytest.mark.parametrize("junk", [b"abcd" + bytes(4), bytes(8) + b"abcd" + bytes(4)])
def test_a_file_of_chunks_alone_is_given_up_quickly(tmp_path: Path, junk: bytes) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE)
    with path.open("ab") as file:
        file.write(500_000 * junk)
    before, started = path.read_bytes(), time.process_time()
    with pytest.raises(InputError, match="is not overwritten: it has more than 10000 chunks, which cannot be copied"):
        copy_sound(path, path)
    assert path.read_bytes() == before
    assert "more than 10000 chunks" in copy_sound(path, tmp_path / "b.wav")
    assert time.process_time() - started < 1


def test_ten_thousand_chunks_are_kept(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE, "PCM_16")
    with path.open("ab") as file:
        file.write(9_990 * (b"abcd" + (2).to_bytes(4, "little") + b"ab"))
    assert copy_sound(path, path) == ""
    assert path.read_bytes().count(b"abcd") == 9_990


def test_big_endian_chunks_are_said(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE, "PCM_16", endian="BIG")
    assert path.read_bytes().startswith(b"RIFX")
    assert copy_sound(path, path) == ""
    soundfile.write(path, SOUND, RATE, "PCM_16", endian="BIG")
    with path.open("ab") as file:
        file.write(b"bext" + (4).to_bytes(4, "big") + b"good")
    with pytest.raises(InputError, match="is not overwritten: its big-endian chunks 'bext' cannot be copied"):
        copy_sound(path, path)
