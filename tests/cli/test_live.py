import json
import os
import shlex
import signal
import subprocess
import sys
import threading
import time
import warnings
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest

from hamiltone import cli, weights
from hamiltone.cli import live as verb
from hamiltone.errors import InputError
from hamiltone.models import Header, save_checkpoint
from hamiltone.runtime import Stream
from hamiltone.runtime.interrupt import Interrupt
from hamiltone.runtime.sound_device import Session, run_device
from streams import SMALL, Counting, streaming_model, untrained

NOISE = (0.1 * np.random.default_rng(0).standard_normal((12_000, 2))).astype(np.float32)


@pytest.fixture(scope="module")
def model() -> str:
    """The bundled graph: a child that runs it starts without torch, many times faster."""
    return str(weights.graphs()["live"])


@pytest.fixture(scope="module")
def checkpoint(tmp_path_factory) -> str:
    path = tmp_path_factory.mktemp("live") / "small.safetensors"
    save_checkpoint(path, untrained(), Header(SMALL))
    return str(path)


def command(*arguments: str) -> list[str]:
    return [sys.executable, "-m", "hamiltone", "live", *arguments]


def start(*arguments: str) -> "subprocess.Popen[bytes]":
    pipe = subprocess.PIPE
    return subprocess.Popen(command(*arguments), stdin=pipe, stdout=pipe, stderr=pipe)


def wait_for_sleep(child: "subprocess.Popen[bytes]") -> None:
    """Until the child, which has written, waits for input again."""
    stat = Path(f"/proc/{child.pid}/stat")
    while stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "S":
        time.sleep(0.05)
    time.sleep(0 if stat.exists() else 1)


def test_the_help_names_the_extra_as_pip_takes_it() -> None:
    shown = subprocess.run(command("--help"), capture_output=True, text=True, check=True).stdout
    assert 'pip install "hamiltone[live]"' in shown


@pytest.mark.parametrize(
    ("encoding", "kind", "which"),
    [("s16le", "<i2", "model"), ("f32le", "<f4", "model"), ("f32le", "<f4", "checkpoint")],
)
def test_a_pipe_gives_what_the_stream_gives_without_its_latency(encoding, kind, which, request):
    model = request.getfixturevalue(which)
    samples = (NOISE * 32768).astype(kind) if kind == "<i2" else NOISE
    arguments = ("-", "--rate", "48000", "--channels", "2", "--format", encoding, "--model", model, "--json")
    done = subprocess.run(command(*arguments), input=samples.tobytes() + b"?", capture_output=True, check=True)
    result = np.frombuffer(done.stdout, kind).reshape(-1, 2)
    assert result.shape == samples.shape
    stream = Stream(48_000, model, 2)
    alone = np.concatenate([stream.process(samples.T), stream.flush()], 1)[:, stream.latency :].T
    np.testing.assert_allclose(result, alone, atol=1 if kind == "<i2" else 1e-6)
    note, _, report = done.stderr.decode().partition("\n")
    assert note == "hamiltone: the input ended within a sample; 1 bytes were dropped"
    report = json.loads(report)
    assert report["latency_ms"] == pytest.approx(1000 * stream.latency / 48_000, abs=0.01)
    assert report["frames"] > 10 and 0 < report["frame_ms"]["p50"] <= report["frame_ms"]["max"]


def test_chunks_leave_while_the_pipe_is_open_and_signals_end_it_quietly(model):
    for number in (signal.SIGINT, signal.SIGTERM):
        child = start("-", "--model", model, "--stats")
        second = (NOISE[:8000, 0] * 32768).astype("<i2").tobytes()
        child.stdin.write(second)
        child.stdin.flush()
        early = child.stdout.read(2 * (8000 - 511))  # what is ready, before the input ends
        assert len(early) == 2 * (8000 - 511)
        wait_for_sleep(child)
        child.send_signal(number)
        rest, stderr = child.communicate(timeout=120)
        assert child.returncode == 0
        assert len(early) + len(rest) == len(second)
        assert stderr.decode().startswith("0.5 s of audio, 31.9 ms late; ms per frame: p50 ")
        assert stderr.count(b"\n") == 1


def test_a_closed_pipe_is_no_accident(model):
    child = start("-", "--model", model)
    child.stdout.close()
    with suppress(BrokenPipeError):
        child.stdin.write(bytes(200_000))
    with suppress(BrokenPipeError):
        child.stdin.close()
    with child.stderr as stderr:
        assert stderr.read() == b""
    assert child.wait(timeout=120) == 0


def test_nothing_in_is_nothing_out(model):
    done = subprocess.run(command("-", "--model", model), stdin=subprocess.DEVNULL, capture_output=True, check=True)
    assert (done.stdout, done.stderr) == (b"", b"")


@pytest.mark.skipif(sys.platform == "win32", reason="another shell")
def test_a_closed_standard_input_is_one_line(model):
    line = shlex.join(command("-", "--model", model))
    done = subprocess.run(["sh", "-c", f"{line} <&-"], capture_output=True, check=False)
    assert done.returncode == 2
    assert done.stderr == b"hamiltone: standard input or output is closed; give both a pipe or a file\n"


@pytest.mark.skipif(sys.platform == "win32", reason="pipes of another kind")
def test_a_pause_in_a_pipe_that_does_not_block_is_not_its_end(model):
    ours, theirs = os.pipe()
    os.set_blocking(ours, False)
    child = subprocess.Popen(command("-", "--model", model), stdin=ours, stdout=subprocess.PIPE)
    os.close(ours)
    with os.fdopen(theirs, "wb", buffering=0) as pipe:
        assert child.stdout is not None
        pipe.write(bytes(8000))
        assert child.stdout.read(1) == b"\0"  # it has taken all, and waits for more
        time.sleep(0.5)
        pipe.write(bytes(8000))
    assert len(child.stdout.read()) == 15_999 and child.wait() == 0
    child.stdout.close()


def test_nan_in_a_pipe_is_silence_and_one_line(model):
    samples = NOISE[:, 0].copy()
    samples[3000:9000] = np.nan
    arguments = ("-", "--format", "f32le", "--model", model)
    done = subprocess.run(command(*arguments), input=samples.tobytes(), capture_output=True, check=True)
    assert np.isfinite(np.frombuffer(done.stdout, "<f4")).all() and len(done.stdout) == samples.nbytes
    assert done.stderr.decode().splitlines() == [
        "hamiltone: NaN, infinite or absurdly loud samples in the stream count as silence"
    ]


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("-", "--format", "mp3"), "--format takes s16le or f32le, got 'mp3'"),
        (("-", "--model", "compact"), "looks ahead"),
        (("-", "--rate", "4000"), "sample rate"),
        (("-", "--rate", "0"), "--rate takes a positive number, got 0"),
        (("--block", "-1"), "--block takes a positive number, got -1"),
        (("-", "--threads", "0"), "--threads"),
        (("-", "--threads", "100000"), "--threads must lie between 1 and 64"),
        (("noisy.wav",), "files are for enhance"),
    ],
)
def test_what_the_user_can_mend_is_one_line(arguments, message, model, monkeypatch, capsys):
    arguments = arguments if "--model" in arguments else (*arguments, "--model", model)
    monkeypatch.setattr(sys, "argv", ["hamiltone", "live", *arguments])
    with pytest.raises(SystemExit) as end:
        cli.main()
    assert end.value.code == 2
    error = capsys.readouterr().err
    assert message in error and error.count("\n") == 1


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("raise ModuleNotFoundError('no')", "pip install 'hamiltone[live]'"),
        ("raise OSError('PortAudio library not found')", "libportaudio2"),
        (
            "class PortAudioError(Exception): pass\n"
            "def query_devices(*a): raise PortAudioError('Error querying device -1')",
            "there is no microphone to use: Error querying device -1; list the devices with hamiltone live --devices",
        ),
    ],
)
def test_missing_devices_and_libraries_are_named(content, message, model, tmp_path):
    """In a child, with a library of that name that behaves as the real one does without PortAudio or devices."""
    Path(tmp_path, "sounddevice.py").write_text(content)
    path = os.pathsep.join([str(tmp_path), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        command("--model", model), env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 2
    assert message in done.stderr and done.stderr.count("\n") == 1


class SoundCard:
    """Calls back from a thread of its own with buffers that it reuses, as PortAudio does, until it is closed."""

    def __init__(self, session: Session, sound: np.ndarray, block: int) -> None:
        self.heard: list[np.ndarray] = []
        self.active, self.closed = True, False
        self._session, self._sound, self._block = session, sound, block
        self._thread = threading.Thread(target=self._play)
        self._thread.start()

    def _play(self) -> None:
        channels = self._sound.shape[1]
        indata, outdata = (np.zeros((self._block, channels), np.float32) for _ in range(2))
        for start in range(0, len(self._sound) - self._block + 1, self._block):
            if not self.active:
                return
            indata[:] = self._sound[start : start + self._block]
            self._session.callback(indata, outdata, self._block, None, start == 0)
            self.heard.append(outdata.copy())

    def abort(self) -> None:
        self.active = False
        self._thread.join()

    def close(self) -> None:
        self.closed = True


def play(session: Session, card: SoundCard, keys: str, patience: float = 60.0) -> None:
    """Press a key for every block that has been heard."""
    pressed = iter(keys)

    def key(seconds: float) -> str:
        time.sleep(0.02)
        return next(pressed, "") if card.heard else ""

    run_device(session, card, key=key, show=lambda session: None, interrupt=Interrupt(), patience=patience)


def test_a_device_hears_what_the_stream_gives():
    session = Session(Stream(48_000, streaming_model(), 2))
    card = SoundCard(session, NOISE, 480)
    card._thread.join()
    play(session, card, "q")
    assert card.closed and session.error is None
    expected = Stream(48_000, streaming_model(), 2).process(NOISE.T).T
    np.testing.assert_allclose(np.concatenate(card.heard), expected, atol=1e-6)
    assert session.samples == len(NOISE) and session.times.count == 25
    assert session.dropouts == 1  # that which the card told of at its start
    assert session.levels()[0] == np.abs(NOISE).max()


def test_the_meter_shows_the_loudest_block_since_it_last_did():
    session, quiet = Session(Stream(16_000, Counting())), np.zeros((160, 1), np.float32)
    out = np.empty_like(quiet)
    for factor in (0.0, 0.5, 0.25):
        session.callback(quiet + np.float32(factor), out, 160, None, None)
    assert session.levels()[0] == session.levels()[0] == 0.5  # no block came in between
    session.callback(quiet, out, 160, None, None)
    assert session.levels()[0] == 0.0


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 3e38, 2.0])
def test_the_meter_survives_any_sample_of_a_device(value, monkeypatch, capsys):
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True)
    session, block = Session(Stream(16_000, Counting())), np.full((160, 1), 0.1, np.float32)
    block[7] = value
    with warnings.catch_warnings(), verb._meter() as show:
        warnings.simplefilter("ignore")  # the stream's own
        session.callback(block, np.empty_like(block), 160, None, None)
        show(session)
    shown = capsys.readouterr().err
    assert f"in {'█' * 20 if np.isfinite(value) else '█' * 13:20} " in shown and session.error is None


def test_the_bypass_key_lets_the_sound_through_and_back():
    session = Session(Stream(16_000, Counting(0.0)))
    sound = np.full((160_000, 1), 0.5, np.float32)
    halves = []
    for keys in ("bq", "bq"):
        card = SoundCard(session, sound, 160)
        card._thread.join()
        play(session, card, keys)
        halves.append(card.heard[-1][-1, 0])
    final = SoundCard(session, sound, 160)
    final._thread.join()
    play(session, final, "q")
    assert [*halves, final.heard[-1][-1, 0]] == [0, 0.5, 0]


def test_blocks_that_take_too_long_are_counted():
    class Slow(Counting):
        def step(self, spectrum):
            time.sleep(0.05)
            return super().step(spectrum)

    session = Session(Stream(16_000, Slow()))
    card = SoundCard(session, np.zeros((2560, 1), np.float32), 256)
    card._thread.join()
    assert session.late == 10


def test_a_microphone_that_vanishes_is_one_line():
    session = Session(Stream(16_000, Counting()))
    card = SoundCard(session, np.zeros((1024, 1), np.float32), 256)  # and then nothing more
    with pytest.raises(InputError, match="the audio device stopped; is it still connected"):
        play(session, card, "", patience=0.2)
    assert card.closed


def test_an_error_in_the_devices_thread_reaches_the_user():
    session = Session(Stream(16_000, Counting(np.nan)))
    card = SoundCard(session, np.zeros((1024, 1), np.float32), 256)
    with pytest.raises(InputError, match="diverged"):
        play(session, card, "")
    assert card.closed and not np.concatenate(card.heard).any()


def test_keys_are_read_from_a_terminal_without_enter(monkeypatch):
    pty = pytest.importorskip("pty")
    master, slave = pty.openpty()
    with os.fdopen(slave) as terminal:
        monkeypatch.setattr(sys, "stdin", terminal)
        with verb._keys() as key:
            assert key(0.01) == ""
            os.write(master, b"b")
            assert key(5) == "b"
    os.close(master)
