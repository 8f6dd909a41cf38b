"""Blocks are built by hand here, and read back by FFmpeg and libsndfile."""

import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.audio import flac_blocks
from hamiltone.audio.flac_blocks import Blocks, read_blocks
from hamiltone.errors import InputError
from tagged import ID3V1, copy_sound, id3v2

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)
PICTURE = b"".join(
    [(3).to_bytes(4, "big"), (9).to_bytes(4, "big"), b"image/png", bytes(4), bytes(16), (99_999).to_bytes(4, "big")]
) + bytes(99_999)


def comments(*texts: str) -> bytes:
    """A block of Vorbis comments."""
    lines = [text.encode() for text in ("the vendor", *texts)]
    parts = [len(line).to_bytes(4, "little") + line for line in lines]
    return parts[0] + len(texts).to_bytes(4, "little") + b"".join(parts[1:])


def test_pictures_and_all_comments_of_a_flac_are_kept(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.flac"
    soundfile.write(path, SOUND, RATE)
    picture, notes = PICTURE, comments("TITLE=a talk", "REPLAYGAIN_TRACK_GAIN=-3 dB", "ALBUMARTIST=Émile")
    with path.open("r+b") as file:
        Blocks(((4, notes), (6, picture), (2, b"appldata"))).embed(file)
    before = soundfile.read(path)[0]
    for _ in range(2):
        copy_sound(path, path)
        np.testing.assert_array_equal(soundfile.read(path)[0], before)
        found = read_blocks(path)[0]
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
    own = read_blocks(path)[0]
    assert isinstance(own, Blocks)
    length = len(own.blocks[0][1])
    notes = comments("C=" + "x" * (length - len(comments("C=")) - shorter))
    assert len(notes) == length - shorter
    before = soundfile.read(path)[0]
    with path.open("r+b") as raw:
        Blocks(((4, notes),)).embed(raw)
    np.testing.assert_array_equal(soundfile.read(path)[0], before)
    assert read_blocks(path)[0] == Blocks(((4, notes),))


@pytest.mark.parametrize("comment", ["", "some words"])
def test_tags_around_a_flac_are_kept(tmp_path: Path, comment: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.flac"
    with soundfile.SoundFile(path, "w", RATE, 1) as file:
        if comment:
            file.comment = comment
        file.write(SOUND)
    before = soundfile.read(path)[0]
    head = id3v2(title="a talk") + id3v2(title="another")
    path.write_bytes(head + path.read_bytes() + ID3V1)
    for _ in range(2):
        copy_sound(path, path)
        content = path.read_bytes()
        assert content.startswith(head + b"fLaC") and content.endswith(ID3V1)
        assert content.count(b"ID3") == 2 and content.count(b"TAG") == 1  # nothing piles up
        np.testing.assert_array_equal(soundfile.read(path)[0], before)
    with av.open(str(path)) as container:
        assert container.metadata.get("title") == (None if comment else "a talk")  # it prefers comments
        assert sum(frame.samples for frame in container.decode(audio=0)) == len(SOUND)


def test_more_blocks_than_are_copied_are_said_and_not_overwritten(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, SOUND, RATE)
    with path.open("r+b") as file:
        Blocks(((6, PICTURE),)).embed(file)
    before = path.read_bytes()
    monkeypatch.setattr(flac_blocks, "_MOST", 50_000)
    with pytest.raises(
        InputError, match=r"a\.flac: is not overwritten: its metadata takes more than .* choose another"
    ):
        copy_sound(path, path)
    assert path.read_bytes() == before
    assert "its metadata takes more than" in copy_sound(path, tmp_path / "b.flac")


CUES = bytes(395) + b"\1" + bytes(35) + b"\2" + bytes(24)


@pytest.mark.parametrize(
    ("kind", "whole"),
    [(4, comments("TITLE=a talk", "TAKE=3")), (5, CUES), (6, PICTURE)],
    ids=["comments", "cues", "cover"],
)
def test_a_damaged_block_is_left_out_aloud(tmp_path: Path, kind: int, whole: bytes) -> None:
    """libsndfile opens a file that has one, but reads nothing of it."""
    path, lost = tmp_path / "a.flac", "its metadata is damaged and cannot be copied"
    for content in (whole, whole[:-1]):
        soundfile.write(path, SOUND, RATE)
        with path.open("r+b") as file:
            Blocks(((2, b"appldata"), (kind, content))).embed(file)
        found, note = read_blocks(path)
        assert found is not None
        assert note == ("" if content is whole else lost)
        assert ((kind, content) in found.blocks) == (content is whole)
        assert (2, b"appldata") in found.blocks


def test_a_flac_of_blocks_alone_is_given_up_quickly(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, SOUND, RATE)
    content = path.read_bytes()
    path.write_bytes(content[:42] + (b"\2" + bytes(3)) * 1_000_000 + content[42:])  # after the description
    started = time.process_time()
    assert read_blocks(path) == (None, "its metadata has more than 10000 blocks and cannot be copied")
    assert time.process_time() - started < 1
