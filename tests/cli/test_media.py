"""``hamiltone enhance`` on what people have: videos, m4a, loud files, music, folders behind links."""

import os
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from enhancers import fixed_mask
from hamiltone.audio import formats, media_copy
from hamiltone.runtime.torch_backend import TorchGain
from videos import av, click_times, clicks, make_video, packets, sound_of

RATE = 16_000
NOISE = (0.1 * np.random.default_rng(0).standard_normal(RATE)).astype(np.float32)


def write(name: str, samples: np.ndarray = NOISE, rate: int = RATE, subtype: str | None = "PCM_16") -> Path:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(name, samples, rate, subtype=subtype)
    return Path(name)


def files(folder: str = ".") -> set[str]:
    return {str(path) for path in Path(folder).rglob("*") if path.is_file()}


def write_media(
    name: str, codec: str, rate: int = 48_000, format: str | None = None, *, gain: float = 1, sample: str = ""
) -> Path:
    with av.open(name, "w", format=format) as container:
        stream = container.add_stream(codec, rate=rate, layout="stereo", bit_rate=128_000)
        names = [entry.name for entry in stream.codec_context.codec.audio_formats]
        stream.format = sample or names[0]
        frame = av.AudioFrame.from_ndarray(np.ascontiguousarray(gain * clicks().T), "fltp", "stereo")
        frame.sample_rate = rate
        for part in av.AudioResampler(stream.format.name, "stereo", rate).resample(frame):
            container.mux(stream.encode(part))
        container.mux(stream.encode(None))
    return Path(name)


@pytest.mark.parametrize(
    ("name", "picture", "sound"), [("talk.mp4", "libx264", "aac"), ("talk.webm", "libvpx", "libopus")]
)
def test_video_in_video_out(run: Any, name: str, picture: str, sound: str) -> None:
    source = make_video(Path(name), picture, sound)
    before = source.read_bytes()
    result = run(name)
    assert (result.code, "hamiltone:" in result.stderr) == (0, False)
    target = Path(f"talk.enhanced{source.suffix}")
    assert files() == {name, str(target)}
    assert source.read_bytes() == before
    assert [data for _, data in packets(target)] == [data for _, data in packets(source)]
    np.testing.assert_allclose(click_times(target), click_times(source), atol=2e-3)
    assert np.abs(sound_of(target)[1]).max() == pytest.approx(np.abs(sound_of(source)[1]).max() / 2, rel=0.1)
    assert run(name, "-o", "talk.wav").code == 0
    assert soundfile.info("talk.wav").subtype == "PCM_16"
    assert run(name, "-o", name, "--overwrite").code == 0
    assert [data for _, data in packets(source)] == [data for _, data in packets(target)]


@pytest.mark.parametrize("name", ["talk.wav", "talk.flac", "talk.mp3", "talk.aac", "talk.wv"])
def test_a_video_with_the_suffix_of_a_sound_is_not_overwritten(run: Any, name: str) -> None:
    before = make_video(Path(name), format="mp4").read_bytes()
    result = run(name, "-o", name, "--overwrite")
    assert (result.code, result.stderr.count("\n")) == (2, 1)
    assert f"{name}: is not overwritten: it is mov,mp4," in result.stderr
    assert (Path(name).read_bytes(), files()) == (before, {name})
    assert run(name, "-o", "b.wav").code == 0


def test_a_sound_with_the_suffix_of_a_video_is_not_overwritten(run: Any) -> None:
    write("a.wav")
    before = Path("a.wav").rename("a.mp4").read_bytes()
    result = run("a.mp4", "-o", "a.mp4", "--overwrite")
    assert (result.code, "a.mp4: is not overwritten: it is WAV, whatever" in result.stderr) == (2, True)
    assert Path("a.mp4").read_bytes() == before


@pytest.mark.parametrize("what", ["data", "damage"])
def test_a_video_is_not_overwritten_where_a_stream_would_be_lost(
    run: Any, what: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = make_video(Path("talk.mp4"))
    before = source.read_bytes()
    if what == "data":
        add = media_copy.StreamCopy.add_to

        def without_picture(self: Any, *arguments: Any) -> Any:
            sound = add(self, *arguments)
            self._report([stream for stream in self._others if stream.type == "video"])
            return sound

        monkeypatch.setattr(media_copy.StreamCopy, "add_to", without_picture)
        reason = "the output's format cannot hold 1 of the streams (video): left out"
    else:

        def broken(*_: Any) -> Any:
            raise av.InvalidDataError(1, "broken")
            yield

        monkeypatch.setattr(media_copy.StreamCopy, "_demux", broken)
        reason = "damaged: not all of its picture and other streams could be copied"
    result = run("talk.mp4", "-o", "talk.mp4", "--overwrite")
    message = f"hamiltone: talk.mp4: is not overwritten: {reason}; choose another output\n"
    assert (result.code, result.stderr) == (2, message)
    assert source.read_bytes() == before
    assert files() == {"talk.mp4"}
    assert reason in run("talk.mp4", "-o", "other.mp4").stderr


@pytest.mark.parametrize("pid", [0x100, 0x101])  # the picture's packets, and the sound's
def test_a_stream_that_lacks_packets_is_said_and_not_overwritten(run: Any, pid: int) -> None:
    content = make_video(Path("a.ts"), "mpeg2video", "mp2").read_bytes()
    parts = [content[place : place + 188] for place in range(0, len(content), 188)]
    own = [number for number, part in enumerate(parts) if int.from_bytes(part[1:3], "big") & 0x1FFF == pid]
    del parts[own[len(own) // 2]]
    Path("a.ts").write_bytes(b"".join(parts))
    result = run("a.ts", "-o", "a.ts", "--overwrite")
    assert (result.code, result.stderr.count("\n")) == (2, 1)
    assert "hamiltone: a.ts: is not overwritten" in result.stderr and "damaged" in result.stderr
    assert Path("a.ts").read_bytes() == b"".join(parts)
    result = run("a.ts")
    assert (result.code, "damaged" in result.stderr) == (0, True)


@pytest.mark.parametrize("name", ["a.wav", "a.flac", "a.ogg", "a.caf"])
def test_tags_are_kept(run: Any, name: str) -> None:
    tags = {"title": "Größe 日本", "artist": "A speaker", "album": "Talks", "date": "2026", "comment": "one, two"}
    with soundfile.SoundFile(name, "w", RATE, 1) as file:
        for tag, text in tags.items():
            setattr(file, tag, text)
        file.write(NOISE)
    assert run(name, "-o", name, "--overwrite").code == 0
    assert run(name, "-o", "b.flac").code == 0
    for path in (name, "b.flac"):
        with soundfile.SoundFile(path) as file:
            assert {tag: text for tag, text in file.copy_metadata().items() if tag != "software"} == tags


def test_a_second_sound_of_an_mka_is_copied(run: Any) -> None:
    with av.open("a.mka", "w") as container:
        streams = [container.add_stream("pcm_s16le", rate=RATE, layout="mono") for _ in range(2)]
        for stream in streams:
            frame = av.AudioFrame.from_ndarray((NOISE[None] * 2**15).astype(np.int16), "s16", "mono")
            frame.sample_rate, frame.pts = RATE, 0
            container.mux(stream.encode(frame))
    assert run("a.mka").code == 0
    with av.open("a.enhanced.mka") as container:
        assert [stream.type for stream in container.streams] == ["audio", "audio"]


def test_media_comes_back_in_its_own_format_and_what_cannot_be_written_as_wav(run: Any) -> None:
    for name, codec, format in [
        ("a.m4a", "aac", None), ("b.aac", "aac", None), ("c.wv", "wavpack", None), ("d.tta", "tta", None),
        ("e.mp2", "mp2", None), ("f.ts", "aac", None), ("g.m4v", "aac", "mp4"), ("h.amr", "libopencore_amrnb", None),
    ]:  # fmt: skip
        if codec == "libopencore_amrnb":
            with av.open(name, "w") as container:
                stream = container.add_stream(codec, rate=8000, layout="mono", bit_rate=12_200)
                frame = av.AudioFrame.from_ndarray(np.zeros((1, 8000), np.int16) + 99, "s16", "mono")
                frame.sample_rate = 8000
                container.mux(stream.encode(frame))
                container.mux(stream.encode(None))
        else:
            write_media(name, codec, format=format)
    result = run(".", "-o", "out")
    assert (result.code, "damaged" in result.stderr) == (0, False)
    assert files("out") == {
        f"out/{name}" for name in ("a.m4a", "b.aac", "c.wv", "d.tta", "e.mp2", "f.ts", "g.m4v", "h.wav")
    }


def test_a_single_frame_is_known_by_its_suffix(run: Any) -> None:
    with av.open("a.ac3", "w") as container:
        stream = container.add_stream("ac3", rate=48_000, layout="stereo", bit_rate=96_000)
        frame = av.AudioFrame.from_ndarray(np.full((2, 1536), 0.1, np.float32), "fltp", "stereo")
        frame.sample_rate = 48_000
        container.mux(stream.encode(frame))
        container.mux(stream.encode(None))
    assert Path("a.ac3").stat().st_size == 384
    assert run("a.ac3").code == 0
    assert run("a.enhanced.ac3", "-o", "a.wav").code == 0
    assert soundfile.info("a.wav").frames == 1536


def test_sources_that_differ_in_their_suffix_alone_have_two_results(run: Any) -> None:
    write_media("a.aac", "aac")
    write_media("a.ac3", "ac3")
    shutil.copy("a.aac", "a.dts")  # read by what it holds, written as wav
    shutil.copy("a.aac", "a.ape")
    write("a.wav")
    assert run("a.aac", "a.ac3", "a.dts", "a.ape", "a.wav").code == 0
    expected = {"aac", "ac3", "dts.enhanced.wav", "ape.enhanced.wav", "wav"}
    results = {name for name in files() if "enhanced" in name}
    assert results == {f"a.{name}" if "enhanced" in name else f"a.enhanced.{name}" for name in expected}
    assert run("a.dts", "a.ape", "-o", "out").code == 0
    assert files("out") == {"out/a.dts.wav", "out/a.ape.wav"}


def test_folders_behind_links_are_entered_once(run: Any) -> None:
    write("elsewhere/deep/b.wav")
    write("takes/a.wav")
    Path("takes/linked").symlink_to("../elsewhere", target_is_directory=True)
    Path("takes/again").symlink_to("../elsewhere", target_is_directory=True)
    Path("elsewhere/up").symlink_to("../takes", target_is_directory=True)
    assert run("takes").code == 0
    assert files("takes.enhanced") == {"takes.enhanced/a.wav", "takes.enhanced/again/deep/b.wav"}
    assert files("elsewhere") == {"elsewhere/deep/b.wav"}


def test_a_folder_takes_every_suffix_that_is_written() -> None:
    from hamiltone.runtime.jobs import is_recording

    named = {".m4v", ".ts", ".mp2", ".wv", ".tta", ".aac", ".ac3", ".mp4", ".mkv", ".mov", ".webm", ".m4a"}
    assert named <= set(formats.WRITTEN_SUFFIXES)
    assert all(is_recording(Path(f"a{suffix.upper()}")) for suffix in formats.WRITTEN_SUFFIXES | formats.READ_SUFFIXES)


@pytest.mark.parametrize("strength", ["0", "1"])
@pytest.mark.parametrize("target", ["b.flac", "b.wav", "b.mp3", "b.m4a"])
def test_a_loud_float_file_is_made_softer_with_a_note(run: Any, target: str, strength: str) -> None:
    loud = 2 * NOISE / np.abs(NOISE).max()
    if target == "b.wav":
        write("a.wav", loud, subtype="FLOAT")
        assert "softer" not in run("a.wav", "-o", target, "--strength", strength).stderr
        assert np.abs(soundfile.read(target)[0]).max() == pytest.approx(2 if strength == "0" else 1, rel=1e-3)
        return
    write("a.wav", loud, subtype="FLOAT")
    result = run("a.wav", "-o", target, "--strength", strength)
    note = "its peaks are 6.0 dB over full scale, which the output cannot hold: the whole file is 6.0 dB softer"
    assert (result.code, result.stderr.splitlines()[1:]) == (0, [f"hamiltone: a.wav: {note}"])
    if target == "b.flac":
        expected = loud * (0.5 if strength == "0" else 0.25)
        np.testing.assert_allclose(soundfile.read(target)[0], expected, atol=2e-6)


@pytest.mark.parametrize(("name", "codec", "sample"), [("a.mka", "pcm_f32le", "flt"), ("a.wv", "wavpack", "fltp")])
def test_floats_of_any_height_leave_as_they_came(run: Any, name: str, codec: str, sample: str) -> None:
    write_media(name, codec, gain=20, sample=sample)
    result = run(name, "--strength", "0")
    assert (result.code, result.stderr.count("\n")) == (0, 1)
    np.testing.assert_array_equal(sound_of(Path(f"a.enhanced{Path(name).suffix}"))[1], sound_of(Path(name))[1])


def test_no_lossy_codec_clips_without_a_note(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    wave = 3 * NOISE / np.abs(NOISE).max()
    soundfile.write("a.ogg", 3 * wave, RATE)
    result = run("a.ogg", "--strength", "0")
    assert "over full scale, which the output cannot hold: the whole file" in result.stderr
    assert np.abs(soundfile.read("a.enhanced.ogg")[0]).max() == pytest.approx(1, abs=0.2)

    soundfile.write("b.ogg", wave, RATE)
    monkeypatch.setattr("hamiltone.runtime.backend.resolve_model", lambda *_: TorchGain(fixed_mask(3.0)))
    for target in ("c.ogg", "c.m4a"):
        result = run("b.ogg", "-o", target)
        assert "softer" not in result.stderr
        assert "hamiltone: b.ogg: clipped at four times full scale: " in result.stderr


def test_what_is_clipped_is_counted(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    louder = TorchGain(fixed_mask(3.0))
    monkeypatch.setattr("hamiltone.runtime.backend.resolve_model", lambda *_: louder)
    wave = np.where(np.arange(RATE) % 1000 < 2, 0.9, 0.1)
    write("a.wav", wave)
    result = run("a.wav")
    assert "hamiltone: a.wav: clipped at full scale: " in result.stderr
    assert "softer" not in result.stderr


def test_kept_passages_stay_as_they_are_without_a_step(run: Any) -> None:
    tone = (0.5 * np.sin(2 * np.pi * 300 * np.arange(30 * RATE) / RATE)).astype(np.float32)
    write("a.wav", tone)
    assert run("a.wav", "--keep", "0-2,0:10-0:12.5,28-").code == 0
    before, after = (soundfile.read(name, dtype="float32")[0] for name in ("a.wav", "a.enhanced.wav"))
    time = np.arange(len(tone)) / RATE
    kept = (time <= 2) | ((time >= 10) & (time <= 12.5)) | (time >= 28)
    near = np.convolve(kept, np.ones(2 * round(0.05 * RATE) + 3), "same") > 0
    np.testing.assert_array_equal(after[kept], before[kept])
    np.testing.assert_allclose(after[~near], before[~near] / 2, atol=1e-4)
    assert np.abs(np.diff(after)).max() < 1.1 * np.abs(np.diff(before)).max()


@pytest.mark.parametrize("passages", ["5", "5-2", "a-b", "1:2:3:4-9"])
def test_wrong_passages_are_one_line(run: Any, passages: str) -> None:
    write("a.wav")
    result = run("a.wav", "--keep", passages)
    assert (result.code, result.stderr.count("\n"), "passage" in result.stderr) == (2, 1, True)


def test_passages_belong_to_one_recording(run: Any) -> None:
    write("a.wav")
    write("b.wav")
    result = run("a.wav", "b.wav", "--keep", "0-1")
    assert (result.code, files()) == (2, {"a.wav", "b.wav"})
    assert result.stderr == "hamiltone: passages to keep belong to one recording; give one file\n"


def test_preview_and_picture_are_beside_the_results_of_files_and_folders(run: Any) -> None:
    pytest.importorskip("matplotlib")
    write("takes/a.wav", np.tile(NOISE, 5))
    write("takes/sub/a.flac", np.tile(NOISE, 2))
    write("takes/sub/a.ogg", np.tile(NOISE, 2), subtype="VORBIS")
    assert run("takes/a.wav", "--preview", "2", "--picture").code == 0
    assert files() >= {"takes/a.enhanced.wav", "takes/a.enhanced.preview.wav", "takes/a.enhanced.png"}
    preview, rate = soundfile.read("takes/a.enhanced.preview.wav")
    assert (len(preview), rate) == (round(4.7 * RATE), RATE)
    np.testing.assert_allclose(preview[-2 * RATE + 500 : -500], preview[500 : 2 * RATE - 500] / 2, atol=1e-4)
    assert not preview[2 * RATE : round(2.7 * RATE)].any()

    result = run("takes/a.wav", "-o", "takes/other.wav", "--preview", "2")
    assert result.code == 0
    result = run("takes/a.wav", "-o", "takes/other.wav", "--preview", "2", "--overwrite")
    assert result.code == 0
    Path("takes/other.wav").unlink()
    result = run("takes/a.wav", "-o", "takes/other.wav", "--preview", "2")
    assert (result.code, result.stderr) == (
        2,
        "hamiltone: takes/other.preview.wav: exists already; to replace it, give --overwrite\n",
    )
    assert not Path("takes/other.wav").exists()
    for name in ("other.preview.wav", "a.enhanced.wav", "a.enhanced.preview.wav", "a.enhanced.png"):
        Path("takes", name).unlink()

    assert run("takes", "--preview", "1", "--picture").code == 0
    assert files("takes.enhanced") == {
        f"takes.enhanced/{name}"
        for name in (
            *("a.wav", "a.preview.wav", "a.png", "sub/a.flac", "sub/a.flac.preview.wav", "sub/a.flac.png"),
            *("sub/a.ogg", "sub/a.ogg.preview.wav", "sub/a.ogg.png"),
        )
    }


def test_a_result_without_its_preview_is_printed_with_the_reason(run: Any) -> None:
    write("a.wav", np.tile(NOISE, 2))
    Path("b.preview.wav").mkdir()
    result = run("a.wav", "-o", "b.wav", "--preview", "1", "--overwrite")
    assert (result.code, files()) == (2, {"a.wav", "b.wav"})
    first, second = result.stderr.splitlines()
    assert first.startswith("a.wav → b.wav: 2.0 s of audio")
    assert second.startswith("hamiltone: b.preview.wav: cannot write: it is not a regular file")


def test_a_preview_of_an_earlier_run_is_no_source(run: Any) -> None:
    write("a.wav", np.tile(NOISE, 2))
    assert run("a.wav", "--preview", "1").code == 0
    result = run(*sorted(files()))
    assert result.code == 0
    assert files() == {"a.wav", "a.enhanced.wav", "a.enhanced.preview.wav"}


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("a.wav", "--preview", "0"), "expected a preview of 1 to 600 seconds, got 0"),
        (("a.wav", "-o", "-", "--preview", "3"), "a preview and a picture are written beside the result"),
        (("a.wav", "-o", "a.wav", "--overwrite", "--preview", "3"), "a preview or a picture needs the source"),
    ],
)
def test_impossible_previews_are_one_line(run: Any, arguments: tuple[str, ...], message: str) -> None:
    before = write("a.wav").read_bytes()
    result = run(*arguments)
    assert (result.code, result.stderr.count("\n"), message in result.stderr) == (2, 1, True)
    assert Path("a.wav").read_bytes() == before


def test_a_picture_without_matplotlib_names_the_extra(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(__import__("sys").modules, "matplotlib", None)
    write("a.wav")
    result = run("a.wav", "--picture")
    assert (result.code, result.stderr) == (
        2,
        'hamiltone: a picture needs matplotlib: pip install "hamiltone[plots]"\n',
    )
    assert files() == {"a.wav"}


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everywhere")
def test_a_closed_folder_behind_a_link_is_reported(run: Any) -> None:
    write("takes/a.wav")
    Path("closed").mkdir(mode=0)
    Path("takes/linked").symlink_to("../closed", target_is_directory=True)
    result = run("takes")
    assert (result.code, "takes/linked: cannot read the folder: Permission denied" in result.stderr) == (2, True)
    assert Path("takes.enhanced/a.wav").exists()
