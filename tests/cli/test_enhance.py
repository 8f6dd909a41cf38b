import errno
import io
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import soundfile

from hamiltone.audio import media_reader, partial

RATE = 16_000
NOISE = (0.1 * np.random.default_rng(0).standard_normal(RATE)).astype(np.float32)


Run = Callable[..., Any]


def write(name: str, samples: np.ndarray = NOISE, rate: int = RATE, subtype: str | None = "PCM_16") -> Path:
    Path(name).parent.mkdir(parents=True, exist_ok=True)
    soundfile.write(name, samples, rate, subtype=subtype)
    return Path(name)


def files() -> set[str]:
    return {str(path) for path in Path().rglob("*") if path.is_file()}


def assert_halved(output: str | io.BytesIO, source: str = "noisy.wav") -> None:
    halved, original = soundfile.read(output)[0], soundfile.read(source)[0]
    np.testing.assert_allclose(halved, original / 2, atol=2e-5)


def test_default_name_is_beside_the_input(run: Run) -> None:
    write("noisy.wav")
    result = run("noisy.wav")
    assert (result.code, result.stdout) == (0, b"")
    assert result.stderr.startswith("noisy.wav → noisy.enhanced.wav: 1.0 s of audio in ")
    assert files() == {"noisy.wav", "noisy.enhanced.wav"}
    assert_halved("noisy.enhanced.wav")


def test_a_file_that_is_there_is_only_replaced_with_overwrite(run: Run) -> None:
    write("noisy.wav")
    for out, arguments in [("keep.wav", ("-o", "keep.wav")), ("noisy.enhanced.wav", ())]:
        Path(out).write_text("a year of work")
        result = run("noisy.wav", *arguments)
        assert (result.code, result.stderr) == (
            2,
            f"hamiltone: {out}: exists already; choose another output, or replace it with --overwrite\n",
        )
        assert Path(out).read_text() == "a year of work"
        assert run("noisy.wav", *arguments, "--overwrite").code == 0
        assert_halved(out)


def test_a_second_run_over_all_files_does_only_what_is_new(run: Run) -> None:
    for name in ("a.wav", "b.wav"):
        write(name)
    assert run("a.wav", "b.wav").code == 0
    before = {name: Path(name).stat().st_mtime_ns for name in files()}
    write("c.wav")
    result = run(*sorted(files()))  # a.enhanced.wav, a.wav ...
    assert result.code == 0
    assert result.stderr.splitlines()[:2] == [
        "hamiltone: a.wav: skipped: a.enhanced.wav exists already; to replace it, give --overwrite",
        "hamiltone: b.wav: skipped: b.enhanced.wav exists already; to replace it, give --overwrite",
    ]
    assert files() == before.keys() | {"c.wav", "c.enhanced.wav"}
    assert {name: Path(name).stat().st_mtime_ns for name in before} == before
    assert run(".", "-o", "out").code == 0
    assert {path.name for path in Path("out").iterdir()} == {"a.wav", "b.wav", "c.wav"}
    Path("out/b.wav").unlink()
    assert run(".", "-o", "out").stderr.count("skipped") == 2
    assert_halved("out/b.wav", "b.wav")


@pytest.mark.skipif(sys.platform == "win32", reason="links need a privilege there")
def test_a_link_with_the_name_of_a_result_hides_no_source(run: Run) -> None:
    for name in ("a.wav", "b.wav"):
        write(name)
    Path("a.enhanced.wav").symlink_to("b.wav")
    assert run("a.wav", "b.wav", "-o", "out").code == 0
    assert {path.name for path in Path("out").iterdir()} == {"a.wav", "b.wav"}
    Path("b.enhanced.wav").symlink_to("b.wav")
    result = run("b.wav")
    assert (result.code, result.stderr.count("\n"), "would replace its source" in result.stderr) == (2, 1, True)


def test_output_can_be_a_file_of_another_format_or_a_folder(run: Run) -> None:
    write("noisy.wav")
    for out, expected in [
        ("b.flac", "b.flac"),
        ("new/c.wav", "new/c.wav"),
        ("d", "d/noisy.wav"),
        ("e.f/", "e.f/noisy.wav"),
    ]:
        assert run("noisy.wav", "-o", out).code == 0
        assert_halved(expected)


def test_folders_keep_their_structure(run: Run) -> None:
    for name in ("takes/a.wav", "takes/deep/er/b.flac", "c.wav"):
        write(name)
    Path("takes/notes.txt").write_text("not audio")
    write("takes/._a.wav")
    assert run("takes", "c.wav", "-o", "out").code == 0
    assert files() >= {"out/a.wav", "out/deep/er/b.flac", "out/c.wav"}
    assert len(list(Path("out").rglob("*.*"))) == 3
    assert run("takes").code == 0
    assert_halved("takes.enhanced/deep/er/b.flac", "takes/deep/er/b.flac")


def test_results_inside_the_folder_are_not_enhanced_again(run: Run) -> None:
    write("takes/a.wav")
    for _ in range(2):
        assert run("takes", "-o", "takes/out").code == 0
    assert files() == {"takes/a.wav", "takes/out/a.wav"}


def test_a_folder_is_replaced_in_place_with_overwrite(run: Run) -> None:
    names = ("takes/a.wav", "takes/deep/b.flac")
    for name in names:
        before = write(name).read_bytes()
    result = run("takes", "-o", "takes")
    assert (result.code, "takes/a.wav: would replace its source" in result.stderr) == (2, True)
    assert Path(names[-1]).read_bytes() == before
    assert run("takes", "-o", "copies").code == 0
    assert run("takes", "-o", "takes", "--overwrite").code == 0
    assert files() == {*names, "copies/a.wav", "copies/deep/b.flac"}
    for name in names:
        assert Path(name).read_bytes() == Path(name.replace("takes", "copies")).read_bytes()


def test_results_may_lie_above_their_folder(run: Run) -> None:
    write("talks/takes/a.wav")
    for out in ("talks", "."):
        assert run("talks/takes", "-o", out).code == 0
    assert files() == {"talks/takes/a.wav", "talks/a.wav", "a.wav"}


def test_an_input_is_only_replaced_with_overwrite(run: Run) -> None:
    before = write("noisy.wav").read_bytes()
    for arguments in [
        ("noisy.wav", "-o", "noisy.wav"),
        ("noisy.wav", "-o", "."),
        ("noisy.wav", "./noisy.wav", "-o", "."),
    ]:
        result = run(*arguments)
        assert (result.code, result.stdout, result.stderr.count("\n")) == (2, b"", 1)
        assert Path("noisy.wav").read_bytes() == before
    write("copy.wav")
    assert run("noisy.wav", "-o", "noisy.wav", "--overwrite").code == 0
    assert_halved("noisy.wav", "copy.wav")


def test_two_inputs_never_meet_in_one_output(run: Run) -> None:
    for name in ("a/x.wav", "b/x.wav", "x.wav"):
        write(name)
    result = run("a", "b", "-o", "out")
    assert (result.code, result.stderr) == (2, "hamiltone: a/x.wav and b/x.wav would both be written to out/x.wav\n")
    write("y.flac")
    for extra in ((), ("--overwrite",)):
        result = run("y.flac", "x.wav", "-o", "x.wav", *extra)
        assert (result.code, "expected a folder" in result.stderr) == (2, True)
        result = run("a/x.wav", "x.wav", "-o", ".", *extra)
        assert (result.code, "would" in result.stderr) == (2, True)


def test_a_file_that_is_named_twice_is_enhanced_once(run: Run) -> None:
    write("noisy.wav")
    write("takes/a.wav")
    write("b.ogg", subtype=None).rename("b.voc")  # known by its content; its result becomes a wav
    for names in (("noisy.wav", "noisy.wav"), ("./noisy.wav", "takes/../noisy.wav"), ("b.voc", "b.voc")):
        for arguments in ((*names, "-o", "out", "--overwrite"), (*names, "--overwrite")):
            result = run(*arguments)
            assert (result.code, result.stderr.count("→")) == (0, 1)
    for names in (("takes", "takes/a.wav"), ("takes/a.wav", "takes", "noisy.wav", "noisy.wav")):
        assert run(*names, "-o", "out", "--overwrite").code == 0
    assert files() == {
        *("noisy.wav", "noisy.enhanced.wav", "takes/a.wav", "b.voc", "b.enhanced.wav"),
        *("out/noisy.wav", "out/a.wav", "out/b.wav"),
    }


def test_standard_input_and_output(run: Run) -> None:
    data = write("noisy.wav").read_bytes()
    for arguments in [("-",), ("-", "-o", "-"), ("noisy.wav", "-o", "-")]:
        result = run(*arguments, stdin=data)
        assert result.code == 0
        assert_halved(io.BytesIO(result.stdout))
        assert "→ -: 1.0 s" in result.stderr
    assert run("-", "-o", "b.wav", stdin=data).code == 0
    assert_halved("b.wav")
    assert run("-", "noisy.wav", "-o", "out", stdin=data).code == 0
    assert files() >= {"out/stdin.wav", "out/noisy.wav"}
    flac = write("noisy.flac").read_bytes()
    assert_halved(io.BytesIO(run("-", stdin=flac).stdout), "noisy.flac")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "noisy.wav"), "standard input among other inputs needs a folder"),
        (("noisy.wav", "other.wav", "-o", "-"), "standard output takes the result of one file"),
        (("noisy.wav", "-o", "-", "--json"), "cannot take both audio and --json"),
        (("noisy.wav", "--strength", "1.5"), "expected a strength from 0 to 1, got 1.5"),
        (("noisy.wav", "--threads", "0"), "--threads must lie between 1 and "),
        (("noisy.wav", "--threads", "100000"), "--threads must lie between 1 and "),
        (("noisy.wav", "--device", "meta"), "cannot use --device meta: "),
        (("noisy.wav", "--device", "abacus"), "cannot use --device abacus: "),
        (("noisy.wav", "--model", "nobody"), "there is no model 'nobody'"),
        (("noisy.wav", "--model", ""), "there is no model ''"),
        (("noisy.wav", "noisy.wav", "-o", "noisy.wav"), "expected a folder for the results of several files"),
        (("empty",), "empty: holds no audio files"),
    ],
)
def test_wrong_calls_are_one_line_and_exit_code_two(run: Run, arguments: tuple[str, ...], message: str) -> None:
    write("noisy.wav")
    Path("empty").mkdir()
    result = run(*arguments)
    assert (result.code, result.stdout) == (2, b"")
    assert result.stderr.startswith("hamiltone: ")
    assert message in result.stderr
    assert result.stderr.count("\n") == 1
    assert files() == {"noisy.wav"}


def test_broken_standard_input_is_named(run: Run) -> None:
    for stdin, reason in [(b"", "is empty"), (b"text" * 99, "is not a readable audio file")]:
        result = run("-", stdin=stdin)
        assert (result.code, result.stdout) == (2, b"")
        assert result.stderr == f"hamiltone: standard input: {reason}\n"


def test_a_system_without_room_for_temporary_files_is_one_line(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    data = write("noisy.wav").read_bytes()
    for arguments in [("-",), ("noisy.wav", "-o", "-")]:
        with monkeypatch.context() as patch:
            patch.setattr(tempfile, "tempdir", str(Path("missing").absolute()))
            result = run(*arguments, stdin=data)
        assert (result.code, result.stdout) == (2, b"")
        assert result.stderr == (
            "hamiltone: no folder for temporary files: No such file or directory; name one in TMPDIR\n"
        )


def test_broken_files_are_reported_and_the_others_go_on(run: Run) -> None:
    write("in/a.wav")
    write("in/nan.wav", np.array([0.0, np.nan], np.float32), subtype="FLOAT")
    write("in/inf.wav", np.array([0.0, np.inf], np.float32), subtype="FLOAT")
    write("in/noframes.wav", np.zeros(0))
    write("in/rate.wav", rate=768_001)
    write("in/wide.wav", np.zeros((9, 257)))
    Path("in/empty.wav").touch()
    Path("in/text.wav").write_text("This is not a recording.\n" * 50)
    write("in/z.wav")
    result = run("in", "missing.wav", "-o", "out")
    assert result.code == 2
    assert [line for line in result.stderr.splitlines() if "→" not in line] == [
        "hamiltone: in/empty.wav: is empty",
        "hamiltone: in/inf.wav: contains NaN or infinite samples",
        "hamiltone: in/nan.wav: contains NaN or infinite samples",
        "hamiltone: in/noframes.wav: holds no samples",
        "hamiltone: in/rate.wav: expected a sample rate from 1000 to 768000 Hz, got 768001",
        "hamiltone: in/text.wav: is not a readable audio file",
        "hamiltone: in/wide.wav: expected at most 256 channels, got 257",
        "hamiltone: missing.wav: cannot read: No such file or directory",
    ]
    assert {str(path) for path in Path("out").iterdir()} == {"out/a.wav", "out/z.wav"}


def test_names_of_any_bytes_are_enhanced_and_printed_in_one_line(run: Run) -> None:
    for name in (
        b"caf\xe9.wav",
        "gr\u00fcn \u2615.wav".encode(),
        b"two\nlines.wav",
        b"\x1b[2Jclear.wav",
        b"http:a.flac",
    ):
        Path("in").mkdir(exist_ok=True)
        write("noisy.flac" if name.endswith(b"flac") else "noisy.wav").rename(os.fsdecode(b"in/" + name))
    result = run("in", "-o", "out", "--json")
    assert result.code == 0
    assert result.stderr.count("\n") == 5
    assert "in/caf\\udce9.wav → out/caf\\udce9.wav" in result.stderr
    assert "\x1b" not in result.stderr
    assert len(json.loads(result.stdout)["files"]) == 5
    assert {path.name for path in Path("out").iterdir()} == {path.name for path in Path("in").iterdir()}


def test_the_c_locale_is_no_obstacle(tmp_path: Path) -> None:
    folder = tmp_path / "gr\u00fcn"
    write(str(folder / "caf\u00e9.wav"))
    Path(tmp_path, "na\u00efve.m4a").write_bytes(b"nothing")
    code = "import torch; torch.set_num_threads(1); from hamiltone.cli import main; main()"
    child = subprocess.run(
        [sys.executable, "-c", code, "enhance", folder, tmp_path / "na\u00efve.m4a", "-o", tmp_path / "out"],
        env={**os.environ, "LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0"},
        capture_output=True,
    )
    assert child.returncode == 2
    assert child.stderr.count(b"\n") == 2
    assert (tmp_path / "out" / "caf\u00e9.wav").exists()
    assert b"Traceback" not in child.stderr


def test_one_bad_name_loop_or_folder_never_stops_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def scandir(path: str, real: Callable[..., object] = os.scandir) -> object:
        if isinstance(path, str) and Path(path).name == "locked":
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES), path)
        return real(path)

    monkeypatch.setattr(os, "scandir", scandir)
    long = "l" * 245
    for name in ("in/a.wav", "in/locked/b.wav", "in/sub/z.wav", f"{long}.wav"):
        write(name)
    Path("in/loop.wav").symlink_to("loop.wav")
    Path("in/dangling.wav").symlink_to("nowhere.wav")
    Path("in/sub/up").symlink_to("..", target_is_directory=True)
    Path("empty").mkdir()
    result = run("empty", "in", "in/loop.wav", "locked", "-o", "out")
    assert result.code == 2
    assert [line for line in result.stderr.splitlines() if "→" not in line] == [
        "hamiltone: empty: holds no audio files",
        "hamiltone: in/locked: cannot read the folder: Permission denied",
        "hamiltone: in/dangling.wav: cannot read: No such file or directory",
        "hamiltone: in/loop.wav: cannot read: Too many levels of symbolic links",
        "hamiltone: locked: cannot read: No such file or directory",
    ]
    assert {str(path) for path in Path("out").rglob("*.wav")} == {"out/a.wav", "out/sub/z.wav"}
    result = run(f"{long}.wav", "in/a.wav")
    assert (result.code, result.stderr.count("\n")) == (2, 2)
    assert f"hamiltone: {long}.enhanced.wav: cannot write: File name too long\n" in result.stderr
    assert Path("in/a.enhanced.wav").exists()


def test_any_error_of_pyav_is_reported_and_the_others_go_on(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    av = pytest.importorskip("av")

    def broken(*_: object, **__: object) -> None:
        raise av.error.PatchWelcomeError(0, "not yet implemented")

    monkeypatch.setattr(av, "open", broken)
    Path("a.m4a").write_bytes(b"media")
    write("b.wav")
    result = run("a.m4a", "b.wav")
    assert (result.code, result.stderr.count("\n")) == (2, 2)
    assert result.stderr.startswith("hamiltone: a.m4a: is not a readable audio file\n")


@pytest.mark.parametrize(
    ("samples", "rate", "subtype"),
    [
        (NOISE[:1], 16_000, "PCM_16"),
        (NOISE[:1], 44_100, "PCM_16"),
        (np.zeros(RATE), 48_000, "PCM_16"),
        (np.clip(50 * NOISE, -1, 1), 16_000, "PCM_16"),
        (NOISE, 8000, "ULAW"),
        (NOISE, 11_025, "PCM_U8"),
        (NOISE, 44_101, "PCM_24"),
        (NOISE, 96_000, "FLOAT"),
        (NOISE[: 8 * 1999].reshape(-1, 8), 48_000, "PCM_16"),
    ],
)
def test_unusual_recordings_keep_their_shape(run: Run, samples: np.ndarray, rate: int, subtype: str) -> None:
    write("noisy.wav", samples, rate, subtype)
    assert run("noisy.wav").code == 0
    found, wanted = soundfile.info("noisy.enhanced.wav"), soundfile.info("noisy.wav")
    for field in ("samplerate", "channels", "frames", "format", "subtype"):
        assert getattr(found, field) == getattr(wanted, field)
    tolerance = {"PCM_U8": 2**-8, "ULAW": 0.01}.get(subtype, 2e-5)
    halved = soundfile.read("noisy.enhanced.wav")[0]
    np.testing.assert_allclose(halved, soundfile.read("noisy.wav")[0] / 2, atol=tolerance)


def test_truncated_recording_is_enhanced_with_a_note(run: Run) -> None:
    path = write("noisy.wav")
    path.write_bytes(path.read_bytes()[: path.stat().st_size - RATE])
    result = run("noisy.wav")
    assert result.code == 0
    assert "noisy.wav: damaged or truncated: it is 0.50 s shorter than its header says\n" in result.stderr
    assert soundfile.info("noisy.enhanced.wav").frames == RATE // 2


def damaged_flac(name: str, seconds: int = 10) -> Path:
    """A recording with eight wrong bytes in its middle."""
    path = write(name, np.tile(NOISE, seconds))
    content = bytearray(path.read_bytes())
    for place in range(len(content) // 2, len(content) // 2 + 8):
        content[place] ^= 0x5A
    path.write_bytes(content)
    return path


def test_a_damaged_recording_is_read_to_its_end(run: Run) -> None:
    pytest.importorskip("av")
    damaged_flac("noisy.flac")
    write("sound.flac", np.tile(NOISE, 10))
    result = run("noisy.flac")
    assert result.code == 0
    assert "noisy.flac: damaged; it was read to its end, but may sound wrong at the damage\n" in result.stderr
    halved, sound = soundfile.read("noisy.enhanced.flac")[0], soundfile.read("sound.flac")[0]
    assert len(halved) == len(sound)
    assert (np.abs(halved - sound / 2) > 2e-5).mean() < 0.05


def test_time_stamps_cannot_turn_a_second_into_an_hour_of_silence(run: Run) -> None:
    pytest.importorskip("av")
    path = write("noisy.caf")
    content = bytearray(path.read_bytes())
    assert content[40:44] == (1).to_bytes(4)  # frames per packet
    content[40:44] = (4097).to_bytes(4)
    content[154:154] = bytes(12)  # libsndfile gives up here, FFmpeg does not
    path.write_bytes(content)
    result = run("noisy.caf")
    assert result.code == 0 and "noisy.caf: damaged" in result.stderr
    assert soundfile.info("noisy.enhanced.caf").frames <= 12 * RATE


@pytest.mark.parametrize("pyav", [True, False])
def test_a_damaged_recording_is_never_overwritten(run: Run, pyav: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def no_module(name: str) -> None:
        raise ModuleNotFoundError(name)

    if not pyav:
        monkeypatch.setattr(media_reader, "import_module", no_module)
    cut = write("cut.wav")
    cut.write_bytes(cut.read_bytes()[:-2])
    for path in (damaged_flac("noisy.flac"), cut):
        before = path.read_bytes()
        result = run(str(path), "-o", str(path), "--overwrite")
        assert (result.code, result.stderr.count("\n")) == (2, 1)
        assert result.stderr.startswith(f"hamiltone: {path}: is not overwritten, since it is damaged")
        assert path.read_bytes() == before
    assert files() == {"noisy.flac", "cut.wav"}


def test_strength_zero_is_bit_exact(run: Run) -> None:
    write("noisy.wav", subtype="PCM_24")
    assert run("noisy.wav", "--strength", "0").code == 0
    output = soundfile.read("noisy.enhanced.wav", dtype="int32")[0]
    np.testing.assert_array_equal(output, soundfile.read("noisy.wav", dtype="int32")[0])


def test_json_has_one_entry_per_file(run: Run) -> None:
    write("a.wav", NOISE.repeat(3), 48_000)
    Path("b.wav").touch()
    result = run("a.wav", "b.wav", "--json", "--model", "half", "--threads", "1", "--device", "cpu")
    assert result.code == 2
    good, bad = json.loads(result.stdout)["files"]
    elapsed, rtf = good.pop("elapsed"), good.pop("rtf")
    assert rtf == pytest.approx(elapsed)
    assert good == {
        "input": "a.wav",
        "output": "a.enhanced.wav",
        "sample_rate": 48_000,
        "channels": 1,
        "seconds": 1.0,
        "scale": 1.0,
        "preview": None,
        "picture": None,
        "note": None,
        "error": None,
    }
    assert bad == dict.fromkeys([*good, "elapsed", "rtf"]) | {"input": "b.wav", "error": "b.wav: is empty"}


def test_folder_that_cannot_be_made_is_one_line(run: Run) -> None:
    write("noisy.wav")
    Path("file").touch()
    result = run("noisy.wav", "-o", "file/out.wav")
    assert (result.code, result.stderr) == (2, "hamiltone: file/out.wav: cannot write: Not a directory\n")


@pytest.mark.skipif(os.geteuid() == 0, reason="root may write everywhere")
def test_folder_that_is_not_writable_is_one_line(run: Run) -> None:
    write("noisy.wav")
    Path("locked").mkdir(mode=0o555)
    result = run("noisy.wav", "-o", "locked/")
    assert (result.code, result.stderr) == (2, "hamiltone: locked/noisy.wav: cannot write: Permission denied\n")


def test_device_file_is_not_replaced(run: Run) -> None:
    write("noisy.wav")
    result = run("noisy.wav", "-o", "/dev/null")
    assert result.code == 2
    assert result.stderr.count("\n") == 1
    assert Path("/dev/null").is_char_device()


def test_full_disk_keeps_the_earlier_output(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    write("noisy.wav")
    Path("noisy.enhanced.wav").write_text("earlier")
    monkeypatch.setattr(partial.Sink, "check", full)
    result = run("noisy.wav", "--overwrite")
    assert (result.code, result.stderr) == (
        2,
        "hamiltone: noisy.enhanced.wav: cannot write: No space left on device\n",
    )
    assert files() == {"noisy.wav", "noisy.enhanced.wav"}
    assert Path("noisy.enhanced.wav").read_text() == "earlier"


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_progress_is_shown_on_a_terminal_only(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    write("a.wav", NOISE.repeat(30))
    write("b.wav")
    assert "%" not in run("a.wav", "b.wav", "-o", "out").stderr
    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setenv("TERM", "xterm")
    assert run("a.wav", "b.wav", "-o", "out", "--overwrite").code == 0
    assert "31 of 31 s of audio 0:00:00 left" in terminal.getvalue()
    assert "a.wav → out/a.wav: 30.0 s of audio" in terminal.getvalue()


def test_help_says_what_it_is_for(run: Run) -> None:
    text = " ".join(run("--help").stdout.decode().split())
    assert "For live sound use hamiltone live." in text
    assert text.count("Example: hamiltone enhance") == 3
    assert 'pip install "hamiltone[media]"' in text
    assert "<bool>" not in text
