import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.audio.outer_tags import leading_tags, trailing_tags
from hamiltone.errors import InputError
from tagged import ID3V1, ape, copy_sound, id3v2

RATE = 44_100
ID3V1_MORE = b"TAG+" + b"a long title".ljust(223, b"\0")
LYRICS = b"LYRICSBEGIN" + b"IND0000210" + b"LYR00011[00:01]Hall"
LYRICS += b"%06d" % len(LYRICS) + b"LYRICS200"
OLD_LYRICS = b"LYRICSBEGIN" + b"hallo" + b"LYRICSEND"
APPENDED = b"ID3\4\0\x10\0\0\0\x0c" + b"TIT2\0\0\0\2\0\0\3a" + b"3DI\4\0\x10\0\0\0\x0c"
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE, 1))).astype(np.float32)


@pytest.mark.parametrize("head", [b"", id3v2("one"), id3v2("one") + id3v2("two")])
@pytest.mark.parametrize(
    "tail",
    [
        *(b"", ID3V1, ape(), ape(header=False), ape() + ID3V1, ID3V1_MORE + ID3V1, APPENDED, LYRICS),
        *(OLD_LYRICS + ID3V1, ape() + LYRICS + ID3V1, LYRICS + ape() + APPENDED + ID3V1_MORE + ID3V1),
    ],
)
def test_tags_are_found_exactly(tmp_path: Path, head: bytes, tail: bytes) -> None:
    path = tmp_path / "a"
    path.write_bytes(head + b"the sound" + tail)
    with path.open("rb") as file:
        assert leading_tags(file) == head
        assert trailing_tags(file, len(head)) == tail


def test_a_tag_that_claims_more_than_the_file_is_none(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"ID3\4\0\0\x7f\x7f\x7f\x7f" + bytes(100) + ape(header=False)[-32:])
    with path.open("rb") as file:
        assert leading_tags(file) == b""
        assert trailing_tags(file, 120) == b""


def test_a_file_of_tags_alone_is_given_up_quickly(tmp_path: Path) -> None:
    path = tmp_path / "a.mp3"
    path.write_bytes(id3v2("one") * 200_000)
    started = time.process_time()
    with path.open("rb") as file, pytest.raises(InputError, match=r"a\.mp3: .* begins with more than 10000 tags"):
        leading_tags(file)
    assert time.process_time() - started < 1


@pytest.mark.parametrize(
    ("suffix", "head", "tail"),
    [
        ("mp3", id3v2("a talk") + id3v2("another"), ape() + ID3V1),
        ("mp3", id3v2("a talk"), ape() + LYRICS + ID3V1),
        ("mp2", id3v2("a talk"), ID3V1),
        ("aac", id3v2("a talk"), b""),
        ("tta", id3v2("a talk"), ape()),
        ("wv", b"", ape()),
    ],
)
def test_tags_around_the_sound_are_kept(tmp_path: Path, suffix: str, head: bytes, tail: bytes) -> None:
    av = pytest.importorskip("av")
    soundfile.write(tmp_path / "a.wav", SOUND, RATE)
    path = tmp_path / f"a.{suffix}"
    copy_sound(tmp_path / "a.wav", path)
    path.write_bytes(head + path.read_bytes() + tail)
    for _ in range(2):
        assert copy_sound(path, path) == ""
        content = path.read_bytes()
        assert content.startswith(head) and content.endswith(tail)
        assert content.count(b"APETAGEX") == tail.count(b"APETAGEX")  # nothing piles up
    with av.open(str(path)) as container:
        assert {name.lower(): text for name, text in container.metadata.items()}["title"] == "a talk"
        assert sum(frame.samples for frame in container.decode(audio=0)) >= len(SOUND)
