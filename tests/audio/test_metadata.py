"""Chunks and blocks are built by hand here, and read back by FFmpeg and by a walk over the file of the test's own."""

import io
from pathlib import Path

import numpy as np
import pytest
import soundfile
from hypothesis import given
from hypothesis import strategies as st

from hamiltone.audio.io import open_reader, open_writer, output_encoding
from hamiltone.audio.metadata import Blocks, Chunks, lost_comments, read_metadata
from hamiltone.errors import InputError

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)
CUE = (1).to_bytes(4, "little") + (7).to_bytes(4, "little") * 2 + b"data" + bytes(8) + (7).to_bytes(4, "little")
INFO = b"INFO" + b"INAM" + (6).to_bytes(4, "little") + b"a talk" + b"IENG" + (4).to_bytes(4, "little") + b"Mary"
CHUNKS = [
    (b"bext", b"a scene".ljust(602, b"\0")),
    (b"iXML", b"<BWFXML><TAKE>3</TAKE></BWFXML>"),  # of odd length
    (b"cue ", CUE),
    (b"LIST", INFO),
    (b"id3 ", bytes(70_000)),
]
PICTURE = b"".join(
    [(3).to_bytes(4, "big"), (9).to_bytes(4, "big"), b"image/png", bytes(4), bytes(16), (99_999).to_bytes(4, "big")]
) + bytes(99_999)


def comments(*texts: str) -> bytes:
    """A block of Vorbis comments."""
    lines = [text.encode() for text in ("the vendor", *texts)]
    parts = [len(line).to_bytes(4, "little") + line for line in lines]
    return parts[0] + len(texts).to_bytes(4, "little") + b"".join(parts[1:])


def copy(source: Path, target: Path) -> None:
    with open_reader(source) as reader:
        info = reader.info
        with open_writer(target, output_encoding(info, target), info, info.frames) as writer:
            writer.write(reader.read(info.frames))


def with_chunks(path: Path, chunks: list[tuple[bytes, bytes]], order: str) -> None:
    """Put some of the chunks before the sound and some after it; libsndfile takes no odd ones before that of RF64."""
    data = path.read_bytes()
    packed = [name + len(content).to_bytes(4, order) + content + bytes(len(content) % 2) for name, content in chunks]
    first = 12 + 8 + 28 if data.startswith(b"RF64") else 12  # ds64 comes first
    early = 1 if data.startswith(b"RF64") else 2
    whole = data[:first] + b"".join(packed[:early]) + data[first:] + bytes(len(data) % 2) + b"".join(packed[early:])
    if not data.startswith(b"RF64"):
        whole = whole[:4] + (len(whole) - 8).to_bytes(4, order) + whole[8:]
    path.write_bytes(whole)


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
    with_chunks(path, CHUNKS, order)
    before = soundfile.read(path)[0]
    copy(path, path)
    np.testing.assert_array_equal(soundfile.read(path)[0], before)
    found = chunks_of(path, order)
    for name, content in CHUNKS:
        assert found[name] == content
    assert soundfile.info(path).format == format
    copy(path, path)
    assert chunks_of(path, order).keys() == found.keys()  # nothing piles up
    assert path.stat().st_size == sum(8 + len(content) + len(content) % 2 for content in found.values()) + 12


def test_pictures_and_all_comments_of_a_flac_are_kept(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.flac"
    soundfile.write(path, SOUND, RATE)
    picture, notes = PICTURE, comments("TITLE=a talk", "REPLAYGAIN_TRACK_GAIN=-3 dB", "ALBUMARTIST=Émile")
    with path.open("r+b") as file:
        Blocks(((4, notes), (6, picture), (2, b"appldata"))).embed(file)
    before = soundfile.read(path)[0]
    for _ in range(2):
        copy(path, path)
        np.testing.assert_array_equal(soundfile.read(path)[0], before)
        found = read_metadata(path, "FLAC")
        assert found == Blocks(((4, notes), (6, picture), (2, b"appldata")))
    with av.open(str(path)) as container:
        tags = {name.lower(): text for name, text in container.metadata.items()}
        assert (tags["replaygain_track_gain"], tags["album_artist"]) == ("-3 dB", "Émile")
        assert sum(frame.samples for frame in container.decode(audio=0)) == len(SOUND)


@pytest.mark.parametrize("shorter", range(12))
def test_blocks_that_are_shorter_than_those_they_replace_leave_the_sound_alone(tmp_path: Path, shorter: int) -> None:
    path = tmp_path / "a.flac"
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        file.comment = "a long comment"
        file.write(SOUND)
    own = read_metadata(path, "FLAC")
    assert isinstance(own, Blocks)
    length = len(own.blocks[0][1])
    notes = comments("C=" + "x" * (length - len(comments("C=")) - shorter))
    assert len(notes) == length - shorter
    before = soundfile.read(path)[0]
    with path.open("r+b") as raw:
        Blocks(((4, notes),)).embed(raw)
    np.testing.assert_array_equal(soundfile.read(path)[0], before)
    assert read_metadata(path, "FLAC") == Blocks(((4, notes),))


def test_another_format_gets_the_tags(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "a.wav", SOUND, RATE)
    with_chunks(tmp_path / "a.wav", CHUNKS, "little")
    copy(tmp_path / "a.wav", tmp_path / "b.flac")
    with soundfile.SoundFile(tmp_path / "b.flac") as file:
        assert file.title == "a talk"


def test_a_chunk_that_ends_too_early_or_claims_too_much_is_left_out(tmp_path: Path) -> None:
    path = tmp_path / "a.wav"
    soundfile.write(path, SOUND, RATE)
    with path.open("ab") as file:
        file.write(b"iXML" + (4).to_bytes(4, "little") + b"good" + b"bext" + (2**31).to_bytes(4, "little") + b"bad")
    assert read_metadata(path, "WAV") == Chunks(b"iXML" + (4).to_bytes(4, "little") + b"good", "little")
    copy(path, path)
    assert chunks_of(path, "little")[b"iXML"] == b"good"


@given(st.data())
def test_no_damage_to_a_file_raises(tmp_path_factory: pytest.TempPathFactory, data: st.DataObject) -> None:
    path = tmp_path_factory.getbasetemp() / "damaged"
    format = data.draw(st.sampled_from(["WAV", "FLAC", "AIFF"]))
    sound = io.BytesIO()
    soundfile.write(sound, SOUND[:100], RATE, format=format)
    content = bytearray(sound.getvalue())
    for place in data.draw(st.lists(st.integers(0, min(len(content), 80) - 1), max_size=4)):
        content[place] = data.draw(st.integers(0, 255))
    path.write_bytes(bytes(content[: data.draw(st.integers(0, len(content)))]))
    assert isinstance(read_metadata(path, format), Chunks | Blocks | None)


@pytest.mark.parametrize(("suffix", "subtype"), [("ogg", "VORBIS"), ("opus", "OPUS")])
def test_an_ogg_whose_comments_would_be_lost_is_not_overwritten(tmp_path: Path, suffix: str, subtype: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / f"a.{suffix}"
    soundfile.write(tmp_path / "bare.ogg", SOUND, 48_000, subtype, format="OGG")
    with av.open(str(tmp_path / "bare.ogg")) as source, av.open(str(path), "w", format="ogg") as container:
        stream = container.add_stream_from_template(source.streams.audio[0])
        picture = "x" * 100_000  # spans pages
        stream.metadata.update({"title": "a talk", "metadata_block_picture": picture, "albumartist": "Mary"})
        for packet in source.demux(audio=0):
            if packet.size:
                packet.stream = stream
                container.mux(packet)
    before = path.read_bytes()
    assert lost_comments(path) == ["ALBUMARTIST", "METADATA_BLOCK_PICTURE"]
    with pytest.raises(InputError, match=r"is not overwritten: .* ALBUMARTIST, METADATA_BLOCK_PICTURE"):
        copy(path, path)
    assert path.read_bytes() == before
    with open_reader(path) as reader:
        info = reader.info
        with open_writer(tmp_path / f"b.{suffix}", output_encoding(info, path), info, info.frames) as writer:
            writer.write(reader.read(info.frames))
            assert "METADATA_BLOCK_PICTURE" in writer.note
    plain = tmp_path / f"b.{suffix}"
    assert lost_comments(plain) == []
    copy(plain, plain)
