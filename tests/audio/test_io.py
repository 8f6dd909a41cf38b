import errno
import os
import resource
import signal
import tracemalloc
from fractions import Fraction
from pathlib import Path
from typing import BinaryIO

import numpy as np
import pytest
import soundfile

from hamiltone.audio import media_reader, partial
from hamiltone.audio.formats import AudioInfo, Dtype, Encoding, to_pcm, wav_or_rf64
from hamiltone.audio.io import open_reader, output_encoding, probe
from hamiltone.audio.media_reader import MediaReader
from hamiltone.audio.sound_file import SoundFileWriter
from hamiltone.errors import InputError

av = pytest.importorskip("av")

RATE = 48_000
NOISE = np.random.default_rng(0).uniform(-0.9, 0.9, (RATE, 2)).astype(np.float32)


def read_all(path: Path, dtype: Dtype = "float32") -> tuple[np.ndarray, float]:
    """All samples, read in uneven blocks, and the seconds missing."""
    blocks = []
    with open_reader(path, dtype) as reader:
        while len(block := reader.read(7001)):
            blocks.append(block)
        return np.concatenate(blocks), reader.missing


def write(path: Path, *blocks: np.ndarray, subtype: str = "PCM_16", format: str = "WAV", frames: int = 0) -> None:
    channels = blocks[0].shape[1]
    with SoundFileWriter(path, Encoding(format, subtype), sample_rate=RATE, channels=channels, frames=frames) as writer:
        for block in blocks:
            writer.write(block)


def make_media(path: Path, codec: str, samples: np.ndarray, format: str = "fltp") -> None:
    layout = {1: "mono", 2: "stereo"}[samples.shape[1]]
    with av.open(str(path), "w") as container:
        stream = container.add_stream(codec, rate=RATE, layout=layout)
        planes = np.ascontiguousarray(samples.T) if format.endswith("p") else samples.reshape(1, -1)
        frame = av.AudioFrame.from_ndarray(planes, format, layout)
        frame.sample_rate, frame.pts, frame.time_base = RATE, 0, Fraction(1, RATE)
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))


@pytest.mark.parametrize(("seconds", "filled"), [(600, 600), (7 * 3600, 0)])
def test_a_long_gap_is_filled_in_little_memory_and_an_absurd_one_is_not(
    tmp_path: Path, seconds: int, filled: int
) -> None:
    path = tmp_path / "a.mka"
    with av.open(str(path), "w") as container:
        stream = container.add_stream("pcm_s16le", rate=RATE, layout="mono")
        for start in (0, seconds * RATE):
            frame = av.AudioFrame.from_ndarray(np.full((1, 1000), 99, np.int16), "s16", "mono")
            frame.sample_rate, frame.pts, frame.time_base = RATE, start, Fraction(1, RATE)
            container.mux(stream.encode(frame))
    tracemalloc.start()
    try:
        with open_reader(path) as reader:
            frames = sum(iter(lambda: len(reader.read(4096)), 0))
        assert tracemalloc.get_traced_memory()[1] < 10e6
    finally:
        tracemalloc.stop()
    assert abs(frames - filled * RATE - (1000 if filled else 2000)) <= 2000


@pytest.mark.parametrize(
    ("name", "subtype"),
    [("a.wav", "PCM_U8"), ("a.wav", "FLOAT"), ("a.flac", "PCM_24"), ("a.ogg", "VORBIS"), ("a.mp3", "MPEG_LAYER_III")],
)
def test_blocks_add_up_to_the_file(tmp_path: Path, name: str, subtype: str) -> None:
    tones = 0.5 * np.sin(2 * np.pi * np.array([440, 3000]) * np.arange(RATE)[:, None] / RATE)
    soundfile.write(tmp_path / name, tones, RATE, subtype=subtype)
    samples, missing = read_all(tmp_path / name)
    np.testing.assert_array_equal(samples, soundfile.read(tmp_path / name, dtype="float32")[0])
    assert not missing


def test_probe_tells_what_the_header_says(tmp_path: Path) -> None:
    path = tmp_path / "a.flac"
    soundfile.write(path, NOISE, RATE, subtype="PCM_24")
    assert probe(path) == AudioInfo(path, RATE, 2, len(NOISE), Encoding("FLAC", "PCM_24"))
    assert probe(path).seconds == 1.0


@pytest.mark.parametrize("subtype", ["PCM_U8", "PCM_16", "PCM_24", "PCM_32", "ULAW", "ALAW"])
def test_integers_and_floats_both_come_back_exactly(tmp_path: Path, subtype: str) -> None:
    source, copy = tmp_path / "a.wav", tmp_path / "b.wav"
    soundfile.write(source, NOISE, RATE, subtype=subtype)
    for dtype in ("int32", "float64"):
        write(copy, read_all(source, dtype)[0], subtype=subtype)
        np.testing.assert_array_equal(soundfile.read(copy, dtype="int32")[0], soundfile.read(source, dtype="int32")[0])


def test_an_au_without_header_is_read_from_its_first_sample(tmp_path: Path) -> None:
    """Mu-law at 8 kHz, as the oldest of these files are."""
    path, mono = tmp_path / "old.au", NOISE[:3000, 0]
    soundfile.write(path, mono, 8000, format="RAW", subtype="ULAW")
    assert path.stat().st_size == 3000
    found, missing = read_all(path)
    assert (found.shape, missing, probe(path).sample_rate) == ((3000, 1), 0.0, 8000)
    np.testing.assert_allclose(found[:, 0], mono, atol=0.05)


@pytest.mark.parametrize("bits", [8, 16, 24, 32])
def test_pcm_is_rounded_and_clipped_at_full_scale_without_wrapping(bits: int) -> None:
    step = 2.0 ** (1 - bits)
    samples = np.array([-9.0, -1.0, -1.6 * step, -0.4 * step, 0.6 * step, 1 - step, 1.0, 9.0])
    top = 2 ** (bits - 1) - 1
    assert (to_pcm(samples, bits) >> (32 - bits)).tolist() == [-top - 1, -top - 1, -2, 0, 1, top, top, top]


def test_wav_becomes_rf64_only_beyond_four_gigabytes() -> None:
    fits, hour = 2**32 - 2**12, 3600 * 48_000
    assert wav_or_rf64(Encoding("WAV", "PCM_16"), fits // 2) == "WAV"
    assert wav_or_rf64(Encoding("WAV", "PCM_16"), fits // 2 + 1) == "RF64"
    assert wav_or_rf64(Encoding("WAVEX", "FLOAT"), 8 * hour) == "RF64"
    assert wav_or_rf64(Encoding("WAV", "PCM_U8"), 8 * hour) == "WAV"
    assert wav_or_rf64(Encoding("FLAC", "PCM_24"), 100 * hour) == "FLAC"


def test_rf64_is_written_and_read(tmp_path: Path) -> None:
    write(tmp_path / "long.wav", NOISE, frames=2**31)
    assert probe(tmp_path / "long.wav").encoding == Encoding("RF64", "PCM_16")
    np.testing.assert_allclose(read_all(tmp_path / "long.wav")[0], NOISE, atol=1 / 65536)


@pytest.mark.parametrize(
    ("source", "target", "expected"),
    [
        (("a.wav", "WAVEX", "PCM_24"), "b.wav", ("WAVEX", "PCM_24")),
        (("a.ogg", "OGG", "OPUS"), "b.OGG", ("OGG", "OPUS")),
        (("a.wav", "WAV", "FLOAT"), "b.flac", ("FLAC", "PCM_24")),
        (("a.wav", "WAV", "PCM_U8"), "b.aiff", ("AIFF", "PCM_U8")),
        (("a.mp3", "MP3", "MPEG_LAYER_III"), "b.wav", ("WAV", "PCM_16")),
        (("a.m4a", "mov,mp4", "aac"), "b.wav", ("WAV", "PCM_16")),
        (("a.wav", "mov,mp4", "aac"), "b.wav", ("WAV", "PCM_16")),
        (("a.mkv", "matroska", "FLOAT"), "b.wav", ("WAV", "FLOAT")),
        (("a.flac", "FLAC", "PCM_16"), "b.opus", ("OGG", "OPUS")),
        (("stdin", "WAV", "PCM_32"), "b.wav", ("WAV", "PCM_32")),
    ],
)
def test_output_keeps_the_encoding_where_the_suffix_allows(
    source: tuple[str, str, str], target: str, expected: tuple[str, str]
) -> None:
    info = AudioInfo(Path(source[0]), RATE, 1, 1, Encoding(*source[1:]))
    assert output_encoding(info, Path(target)) == Encoding(*expected)


def test_unknown_output_suffix_is_refused() -> None:
    info = AudioInfo(Path("a.m4a"), RATE, 1, 1, Encoding("mov,mp4", "aac"))
    with pytest.raises(InputError, match=r"b\.xyz: cannot write this format; expected one of .*\.wav"):
        output_encoding(info, Path("b.xyz"))


@pytest.mark.parametrize(("name", "codec"), [("a.m4a", "aac"), ("a.webm", "libopus"), ("a.mp4", "aac")])
def test_media_is_decoded_through_pyav(tmp_path: Path, name: str, codec: str) -> None:
    tone = 0.5 * np.sin(2 * np.pi * 440 * np.arange(RATE) / RATE)
    make_media(
        tmp_path / name, codec, np.stack([tone, -tone], axis=1).astype(np.float32), "flt" if "opus" in codec else "fltp"
    )
    with open_reader(tmp_path / name) as reader:
        assert isinstance(reader, MediaReader)
        assert (reader.info.sample_rate, reader.info.channels) == (RATE, 2)
        assert abs(reader.info.seconds - 1) < 0.1
    samples, missing = read_all(tmp_path / name)
    assert not missing
    assert abs(len(samples) - RATE) < 0.1 * RATE
    spectrum = np.abs(np.fft.rfft(samples[: RATE // 2, 0]))
    assert spectrum.argmax() == 220
    np.testing.assert_allclose(samples[5000:40000, 0], -samples[5000:40000, 1], atol=0.02)


def test_opus_needs_no_pyav(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_media(tmp_path / "a.opus", "libopus", NOISE, "flt")
    monkeypatch.setattr(media_reader, "import_module", no_module)
    assert probe(tmp_path / "a.opus").encoding == Encoding("OGG", "OPUS")


@pytest.mark.parametrize(
    ("codec", "format", "subtype"), [("pcm_s16le", "s16", "PCM_16"), ("pcm_s32le", "s32", "PCM_32")]
)
def test_pcm_in_other_containers_stays_exact(tmp_path: Path, codec: str, format: str, subtype: str) -> None:
    bits = int(format[1:])
    samples = (to_pcm(NOISE, bits) >> (32 - bits)).astype(f"int{bits}")
    make_media(tmp_path / "a.mov", codec, samples, format)
    assert probe(tmp_path / "a.mov").encoding.subtype == subtype
    np.testing.assert_array_equal(read_all(tmp_path / "a.mov", "int32")[0], to_pcm(NOISE, bits))
    np.testing.assert_array_equal(read_all(tmp_path / "a.mov", "float64")[0], to_pcm(NOISE, bits) / 2.0**31)


def no_module(name: str) -> None:
    raise ModuleNotFoundError(name)


def test_without_pyav_the_error_names_the_install_command(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    make_media(tmp_path / "a.m4a", "aac", NOISE)
    monkeypatch.setattr(media_reader, "import_module", no_module)
    with pytest.raises(InputError, match=r'a\.m4a: this format needs PyAV: pip install "hamiltone\[media\]"'):
        open_reader(tmp_path / "a.m4a")


@pytest.mark.parametrize("pyav", [True, False])
@pytest.mark.parametrize("name", ["text.wav", "text.flac", "text.m4a", "text.raw", "text"])
def test_text_is_not_audio(tmp_path: Path, name: str, pyav: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not pyav:
        monkeypatch.setattr(media_reader, "import_module", no_module)
    (tmp_path / name).write_text("This is not a recording.\n" * 50)
    with pytest.raises(InputError, match=r"text[^:]*: (is not a readable audio file|this format needs PyAV)") as error:
        open_reader(tmp_path / name)
    assert "\n" not in str(error.value)


def test_what_cannot_be_opened_says_why(tmp_path: Path) -> None:
    (tmp_path / "empty.wav").touch()
    os.mkfifo(tmp_path / "pipe.wav")
    for name, reason in [
        ("none.wav", "cannot read: No such file"),
        ("empty.wav", "is empty"),
        ("pipe.wav", "cannot read: it is not a regular file"),
        (".", "cannot read: Is a directory"),
    ]:
        with pytest.raises(InputError, match=reason):
            open_reader(tmp_path / name)


@pytest.mark.parametrize(
    ("name", "subtype"),
    [
        *((f"a.{suffix}", "PCM_16") for suffix in ["wav", "flac", "aiff", "au", "w64", "rf64", "nist", "avr", "voc"]),
        *((f"a.{suffix}", "FLOAT") for suffix in ["wav", "au", "w64", "rf64"]),
    ],
)
def test_truncated_file_is_read_as_far_as_it_goes(tmp_path: Path, name: str, subtype: str) -> None:
    path = tmp_path / name
    soundfile.write(path, NOISE, RATE, subtype=subtype)
    whole = soundfile.read(path, dtype="float32")[0]
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    samples, missing = read_all(path)
    assert 0.3 * RATE < len(samples) < 0.5 * RATE
    np.testing.assert_array_equal(samples, whole[: len(samples)])
    assert missing == pytest.approx(1 - len(samples) / RATE, abs=1e-3)


@pytest.mark.parametrize("share", [0.5, 0.9, 0.99])
@pytest.mark.parametrize("subtype", ["PCM_16", "FLOAT", "ULAW", "ALAC_16"])
def test_a_truncated_caf_is_damaged(tmp_path: Path, subtype: str, share: float) -> None:
    """libsndfile does not open all of them."""
    path = tmp_path / "a.caf"
    soundfile.write(path, NOISE, RATE, subtype)
    with open_reader(path) as reader:
        assert len(reader.read(2 * RATE)) == RATE
        assert not reader.damaged
    path.write_bytes(path.read_bytes()[: round(path.stat().st_size * share)])
    with open_reader(path) as reader:
        assert len(reader.read(2 * RATE)) < RATE
        assert reader.damaged


@pytest.mark.parametrize("size", [0x7FFF0000, 0x7FFFFFFF - 36, 0x80000000, 0xFFFFF000, 0xFFFFFFFF])
def test_placeholder_size_of_a_streamed_wav_is_no_promise(tmp_path: Path, size: int) -> None:
    read, missing = read_all(claiming(tmp_path / "a.wav", size))
    assert (len(read), missing) == (len(NOISE), 0)


@pytest.mark.parametrize("size", [0x7FFE0000, 0x90000000, 0xFFFE0000])
def test_a_long_wav_that_is_cut_off_is_no_stream(tmp_path: Path, size: int) -> None:
    read, missing = read_all(claiming(tmp_path / "a.wav", size))
    assert len(read) == len(NOISE)
    assert missing == pytest.approx(size / 4 / RATE - 1, abs=0.1)


def claiming(path: Path, size: int) -> Path:
    """A second of sound in a wav whose header claims this many bytes of samples."""
    soundfile.write(path, NOISE, RATE)
    header, samples = path.read_bytes().split(b"data", 1)
    path.write_bytes(header + b"data" + size.to_bytes(4, "little") + samples[4:])
    return path


def test_a_streamed_au_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "a.au"
    soundfile.write(path, NOISE, RATE)
    path.write_bytes(path.read_bytes()[:8] + b"\xff\xff\xff\xff" + path.read_bytes()[12:])
    assert [len(read_all(path)[0]), read_all(path)[1]] == [len(NOISE), 0]


def test_target_appears_only_when_complete(tmp_path: Path) -> None:
    target = tmp_path / "new" / "a.wav"
    encoding = Encoding("WAV", "PCM_16")
    with SoundFileWriter(target, encoding, sample_rate=RATE, channels=2, frames=len(NOISE)) as writer:
        writer.write(NOISE)
        assert not target.exists()
        assert len(list(target.parent.iterdir())) == 1
    assert list(target.parent.iterdir()) == [target]
    umask = os.umask(0)
    os.umask(umask)
    assert target.stat().st_mode & 0o777 == 0o666 & ~umask


@pytest.mark.parametrize(("format", "subtype"), [("MP3", "MPEG_LAYER_III"), ("OGG", "VORBIS"), ("OGG", "OPUS")])
def test_samples_far_beyond_full_scale_do_not_break_a_lossy_encoder(tmp_path: Path, format: str, subtype: str) -> None:
    write(tmp_path / "a", NOISE * np.float32(1e30), format=format, subtype=subtype)
    assert np.isfinite(read_all(tmp_path / "a")[0]).all()


@pytest.mark.parametrize(
    ("format", "subtype"),
    [
        *(("WAV", name) for name in ("IMA_ADPCM", "MS_ADPCM", "NMS_ADPCM_16", "NMS_ADPCM_32", "GSM610", "G721_32")),
        *(("AU", name) for name in ("G723_24", "G723_40")),
        *(("CAF", name) for name in ("ALAC_16", "ALAC_24", "ALAC_32")),
    ],
)
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_encoders_of_integers_clip_and_never_wrap(tmp_path: Path, format: str, subtype: str, dtype: Dtype) -> None:
    tone = 1.1 * np.sin(2 * np.pi * 440 * np.arange(16_000) / 16_000)
    encoding, clipped = Encoding(format, subtype), np.abs(tone) > 1.001
    with SoundFileWriter(tmp_path / "a", encoding, sample_rate=8000, channels=1, frames=len(tone)) as writer:
        writer.write(tone[:, None].astype(dtype))
    assert 0 <= writer.clipped - clipped.sum() < (500 if not subtype.startswith("G72") else 6000)
    written = soundfile.read(tmp_path / "a")[0]
    loud = np.abs(tone) > (0.9 if subtype == "GSM610" else 0.7)  # which smears
    assert (written[: len(tone)][loud] * tone[loud] > 0).all()


def test_samples_are_synced_before_the_target_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    target, synced = tmp_path / "a.wav", []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append((os.fstat(handle).st_size, target.exists())))
    write(target, NOISE)
    assert synced == [(target.stat().st_size, False)]


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("appears", [True, False])
def test_a_file_that_appears_meanwhile_is_spared_if_asked(
    tmp_path: Path, links: bool, appears: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_links(*_: object) -> None:
        raise PermissionError

    if not links:
        monkeypatch.setattr(os, "link", no_links)
    target = tmp_path / "a.wav"

    def work() -> None:
        with SoundFileWriter(target, Encoding("WAV", "PCM_16"), sample_rate=RATE, channels=2, frames=9) as writer:
            writer.spare_others()
            writer.write(NOISE)
            if appears:
                target.write_bytes(b"of another")

    if appears:
        with pytest.raises(InputError, match=r"a\.wav: cannot write: a file of this name has appeared"):
            work()
        assert target.read_bytes() == b"of another"
    else:
        work()
        assert probe(target).frames == len(NOISE)
    assert list(tmp_path.iterdir()) == [target]


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_waits_until_a_library_has_written(tmp_path: Path, name: str) -> None:
    number, heard = signal.Signals[name], list[int]()
    before = signal.signal(number, lambda number, _: heard.append(number))
    try:
        file = partial.PartialFile(tmp_path / "a.wav")
        with file.errors_in_one_line():
            signal.raise_signal(number)
            assert not heard
        assert heard == [number]
        file.discard()
    finally:
        signal.signal(number, before)


def test_link_stays_a_link(tmp_path: Path) -> None:
    (tmp_path / "link.wav").symlink_to(tmp_path / "real.wav")
    write(tmp_path / "link.wav", NOISE)
    assert (tmp_path / "link.wav").is_symlink()
    assert probe(tmp_path / "real.wav").frames == len(NOISE)


def test_failure_leaves_an_earlier_target_and_nothing_else(tmp_path: Path) -> None:
    target = tmp_path / "a.wav"
    target.write_bytes(b"earlier")
    with (
        pytest.raises(RuntimeError, match="midway"),
        SoundFileWriter(target, Encoding("WAV", "PCM_16"), sample_rate=RATE, channels=2, frames=1) as writer,
    ):
        writer.write(NOISE)
        raise RuntimeError("midway")
    assert [(path.name, path.read_bytes()) for path in tmp_path.iterdir()] == [("a.wav", b"earlier")]


class FullDisk:
    """A raw file on a disk without space."""

    def __init__(self, raw: BinaryIO) -> None:
        self.seek, self.tell = raw.seek, raw.tell

    def write(self, data: memoryview) -> int:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


@pytest.mark.parametrize(("format", "subtype"), [("WAV", "PCM_16"), ("FLAC", "PCM_16"), ("OGG", "VORBIS")])
def test_full_disk_is_one_line_and_leaves_no_trace(
    tmp_path: Path, format: str, subtype: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    sink = partial.Sink
    monkeypatch.setattr(partial, "Sink", lambda raw, head: sink(FullDisk(raw), head))
    with pytest.raises(InputError, match=r"a: cannot write: No space left on device$"):
        write(tmp_path / "a", NOISE, format=format, subtype=subtype)
    assert not list(tmp_path.iterdir())


def test_size_limit_of_the_system_is_one_line_and_leaves_no_trace(tmp_path: Path) -> None:
    limits = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, limits[1]))
    try:
        with pytest.raises(InputError, match="cannot write: File too large"):
            write(tmp_path / "a.wav", NOISE)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert not list(tmp_path.iterdir())


def test_target_that_cannot_be_says_why(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "folder.wav").mkdir()
    for name, reason in [("file/a.wav", "Not a directory"), ("folder.wav", "it is not a regular file")]:
        with pytest.raises(InputError, match=f"cannot write: ({reason})"):
            write(tmp_path / name, NOISE)
    with pytest.raises(InputError, match=r"a\.mp3: cannot write: "):
        write(tmp_path / "a.mp3", np.zeros((9, 5), np.float32), format="MP3", subtype="MPEG_LAYER_III")
    assert {path.name for path in tmp_path.iterdir()} == {"file", "folder.wav"}
