from fractions import Fraction
from pathlib import Path

import av
import numpy as np
import pytest
import soundfile

from hamiltone.audio.io import open_reader, open_writer, output_encoding
from hamiltone.audio.mp3 import read_mp3, says_length

RATE = 44_100
SOUND = (0.1 * np.random.default_rng(0).standard_normal((3 * RATE, 2))).astype(np.float32)
PNG = bytes.fromhex(
    "89504e470d0a1a0a0000000d4948445200000001000000010802000000907753de0000000c49444154789c63606060000000040001f61738550000"
    "000049454e44ae426082"
)


def frame(identity: bytes, content: bytes) -> bytes:
    return identity + len(content).to_bytes(4, "big") + b"\0\0" + content


def id3v2() -> bytes:
    """A tag with a title, a chapter and a cover of some size."""
    cover = b"\0image/png\0\3\0" + PNG + bytes(100_000)
    frames = frame(b"TIT2", b"\0a talk") + frame(b"CHAP", b"one\0" + bytes(16)) + frame(b"APIC", cover)
    size = len(frames)
    return b"ID3\3\0\0" + bytes((size >> 7 * place) & 127 for place in (3, 2, 1, 0)) + frames


def copy(source: Path, target: Path) -> int:
    """Write what is read from an mp3 to another one; returns the number of frames."""
    count = 0
    with open_reader(source) as reader:
        info = reader.info
        with open_writer(target, output_encoding(info, target), info, info.frames) as writer:
            while len(block := reader.read(10_000)):
                writer.write(block)
                count += len(block)
    return count


@pytest.mark.parametrize(("rate", "kbits"), [(44_100, 64), (44_100, 128), (48_000, 320), (22_050, 64), (11_025, 32)])
def test_a_constant_bit_rate_is_kept(tmp_path: Path, rate: int, kbits: int) -> None:
    lowest, highest = {44_100: (32, 320), 48_000: (32, 320), 22_050: (8, 160), 11_025: (8, 64)}[rate]
    level = min((highest - kbits) / (highest - lowest), 0.999)
    with soundfile.SoundFile(
        tmp_path / "a.mp3", "w", rate, 2, format="MP3", bitrate_mode="CONSTANT", compression_level=level
    ) as file:
        file.write(SOUND)
    assert copy(tmp_path / "a.mp3", tmp_path / "b.mp3") == len(SOUND)
    before, after = (read_mp3(tmp_path / name, len(SOUND) / rate) for name in ("a.mp3", "b.mp3"))
    assert before is not None
    assert before == after
    assert (before.bit_rate, before.constant) == (kbits, True)
    assert soundfile.info(tmp_path / "b.mp3").frames == len(SOUND)


@pytest.mark.parametrize("kbits", [64, 128, 192, 224, 320])
@pytest.mark.parametrize("mode", ["CONSTANT", "AVERAGE"])
def test_the_level_is_kept_at_every_bit_rate(tmp_path: Path, kbits: int, mode: str) -> None:
    """LAME makes everything softer below 256 kbit/s."""
    tone = 0.2 * np.sin(2 * np.pi * 440 * np.arange(2 * RATE) / RATE)[:, None].repeat(2, 1)
    with soundfile.SoundFile(
        tmp_path / "a.mp3", "w", RATE, 2, format="MP3", bitrate_mode=mode, compression_level=(320 - kbits) / 288
    ) as file:
        file.write(tone)
    copy(tmp_path / "a.mp3", tmp_path / "b.mp3")
    before, after = (soundfile.read(tmp_path / name)[0][5000:-5000].std() for name in ("a.mp3", "b.mp3"))
    assert after == pytest.approx(before, rel=0.005)


def test_a_variable_bit_rate_keeps_its_mean(tmp_path: Path) -> None:
    loud = SOUND * np.repeat([0.001, 1, 0.03], RATE)[:, None]
    with soundfile.SoundFile(tmp_path / "a.mp3", "w", RATE, 2, format="MP3", bitrate_mode="VARIABLE") as file:
        file.write(loud)
    copy(tmp_path / "a.mp3", tmp_path / "b.mp3")
    sizes = [(tmp_path / name).stat().st_size for name in ("a.mp3", "b.mp3")]
    assert sizes[1] == pytest.approx(sizes[0], rel=0.15)


def test_tags_and_cover_are_kept_byte_for_byte(tmp_path: Path) -> None:
    soundfile.write(tmp_path / "plain.mp3", SOUND, RATE)
    head, tail = id3v2(), b"TAG" + b"a talk".ljust(125, b"\0")
    (tmp_path / "a.mp3").write_bytes(head + (tmp_path / "plain.mp3").read_bytes() + tail)
    assert copy(tmp_path / "a.mp3", tmp_path / "b.mp3") == len(SOUND)
    data = (tmp_path / "b.mp3").read_bytes()
    assert data.startswith(head)
    assert data.endswith(tail)
    np.testing.assert_allclose(
        soundfile.read(tmp_path / "b.mp3")[0][5000:-5000].std(), SOUND[5000:-5000].std(), rtol=0.1
    )


@pytest.mark.parametrize("size", [b"\x7f\x7f\x7f\x7f", b"\xff\0\0\0"])
def test_a_tag_of_absurd_size_is_none(tmp_path: Path, size: bytes) -> None:
    soundfile.write(tmp_path / "plain.mp3", SOUND, RATE)
    (tmp_path / "a.mp3").write_bytes(b"ID3\3\0\0" + size + (tmp_path / "plain.mp3").read_bytes())
    mp3 = read_mp3(tmp_path / "a.mp3", 3)
    assert mp3 is not None
    assert mp3.head == b""


@pytest.mark.parametrize("codec", ["libmp3lame", "mp2"])
def test_a_stream_that_does_not_tell_its_length_is_read_to_its_end_and_not_damaged(tmp_path: Path, codec: str) -> None:
    av = pytest.importorskip("av")
    path = tmp_path / f"a.{codec[-3:]}"
    options = {"write_xing": "0"} if codec == "libmp3lame" else {}
    with av.open(str(path), "w", format="mp3" if options else "mp2", container_options=options) as container:
        stream = container.add_stream(codec, rate=RATE, layout="stereo", bit_rate=128_000)
        block = av.AudioFrame.from_ndarray(np.ascontiguousarray(SOUND.T), "fltp", "stereo")
        block.sample_rate, block.pts, block.time_base = RATE, 0, Fraction(1, RATE)
        container.mux(stream.encode(block))
        container.mux(stream.encode(None))
    assert not says_length(path)
    with open_reader(path) as reader:
        count = 0
        while len(block := reader.read(10_000)):
            count += len(block)
        assert (reader.missing, reader.damaged) == (0, False)
    assert len(SOUND) <= count < len(SOUND) + 3 * 1152


@pytest.mark.parametrize("tags", [b"", id3v2()])
def test_layer_two_under_the_name_of_an_mp3_becomes_one(tmp_path: Path, tags: bytes) -> None:
    """libsndfile reads it, and says that it writes it, but does not."""
    with av.open(str(tmp_path / "a.mp2"), "w") as container:
        stream = container.add_stream("mp2", rate=RATE, layout="stereo")
        stream.bit_rate = 192_000
        frame = av.AudioFrame.from_ndarray((SOUND * 2**15).astype(np.int16).reshape(1, -1), format="s16")
        frame.sample_rate = RATE
        container.mux([*stream.encode(frame), *stream.encode(None)])
    source = tmp_path / "a.mp3"
    source.write_bytes(tags + (tmp_path / "a.mp2").read_bytes())
    with open_reader(tmp_path / "a.mp2") as reader:
        before = reader.read(10**7)
    assert copy(source, tmp_path / "b.mp3") == len(before) >= len(SOUND)
    after = soundfile.read(tmp_path / "b.mp3")[0]
    assert soundfile.info(tmp_path / "b.mp3").subtype == "MPEG_LAYER_III"
    assert (tmp_path / "b.mp3").read_bytes().startswith(tags)
    assert len(before) == len(after) and np.std(before - after) < 0.5 * np.std(before)
