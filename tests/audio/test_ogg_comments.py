import time
from pathlib import Path

import numpy as np
import pytest
import soundfile

from hamiltone.audio.ogg_comments import lost_comments
from hamiltone.errors import InputError
from tagged import copy_sound

RATE = 16_000
SOUND = (0.1 * np.random.default_rng(0).standard_normal((RATE + 1, 1))).astype(np.float32)


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
        copy_sound(path, path)
    assert path.read_bytes() == before
    assert "METADATA_BLOCK_PICTURE" in copy_sound(path, tmp_path / f"b.{suffix}")
    plain = tmp_path / f"b.{suffix}"
    assert lost_comments(plain) == []
    copy_sound(plain, plain)


def test_the_comments_of_flac_in_ogg_are_known_too(tmp_path: Path) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / "a.oga"
    with av.open(str(path), "w", format="ogg") as container:
        stream = container.add_stream("flac", rate=RATE, layout="mono")
        stream.metadata.update({"title": "a talk", "take": "3"})
        for start in range(0, len(SOUND), 4096):
            part = np.ascontiguousarray((SOUND[start : start + 4096].T * 32767).astype(np.int16))
            frame = av.AudioFrame.from_ndarray(part, "s16", "mono")
            frame.sample_rate, frame.pts = RATE, start
            container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert lost_comments(path) == ["TAKE"]
    lost = "libsndfile cannot write its comments TAKE and its lossless sound becomes lossy"
    with pytest.raises(InputError, match=f"is not overwritten: {lost}"):
        copy_sound(path, path)
    assert copy_sound(path, tmp_path / "b.oga") == lost
    assert copy_sound(tmp_path / "b.oga", tmp_path / "c.oga") == ""  # Vorbis
    assert copy_sound(path, tmp_path / "a.flac") == ""


def pages(packets: list[bytes]) -> bytes:
    """An ogg file of these packets, without checksums."""
    lacing, content = [], b"".join(packets)
    for packet in packets:
        lacing += [255] * (len(packet) // 255) + [len(packet) % 255]
    parts, place = [], 0
    for start in range(0, len(lacing), 255):
        sizes = lacing[start : start + 255]
        parts.append(b"OggS" + bytes(22) + bytes([len(sizes)]) + bytes(sizes) + content[place : place + sum(sizes)])
        place += sum(sizes)
    return b"".join(parts)


def test_a_large_cover_is_read_as_far_as_it_goes(tmp_path: Path) -> None:
    picture = b"METADATA_BLOCK_PICTURE=" + bytes(8_000_000)
    notes = bytes(4) + (1).to_bytes(4, "little") + len(picture).to_bytes(4, "little") + picture
    path = tmp_path / "a.ogg"
    path.write_bytes(pages([b"\x01vorbis", b"\x03vorbis" + notes]))
    assert lost_comments(path) == ["METADATA_BLOCK_PICTURE"]
    path.write_bytes(path.read_bytes()[:5_000_000])  # cut off inside it
    assert lost_comments(path) == ["METADATA_BLOCK_PICTURE"]


def test_comments_beyond_number_are_given_up_quickly(tmp_path: Path) -> None:
    path, count = tmp_path / "a.ogg", 1_000_000
    notes = bytes(4) + count.to_bytes(4, "little") + ((4).to_bytes(4, "little") + b"abc=") * count
    path.write_bytes(pages([b"\x01vorbis", b"\x03vorbis" + notes]))
    started = time.process_time()
    assert lost_comments(path) == ["ABC", "of which there are more than 10000"]
    assert time.process_time() - started < 1
