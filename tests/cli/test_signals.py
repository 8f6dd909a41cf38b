"""Signals end the program quietly and leave nothing behind; what a killed one leaves, the next one sweeps."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import soundfile

# A model that takes its time, so that a signal finds the program at work.
PROGRAM = """
import sys, time
import hamiltone.runtime.backend as backend

class Slow:
    sample_rate, n_fft, hop = 16_000, 512, 256

    def gain(self, spectrum):
        time.sleep(0.2)
        return 0 * spectrum + 0.5

backend.resolve_model = lambda *_: Slow()
from hamiltone.__main__ import main
main()
"""
TESTS = Path(__file__).parents[1]


def start(folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir(exist_ok=True)
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM, "enhance", *arguments],
        cwd=folder,
        env={**os.environ, "PYTHONPATH": path, "TMPDIR": str(folder / "tmp"), "OMP_NUM_THREADS": "1"},
        stdin=stdin,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    )


def wait_for(folder: Path, pattern: str, child: subprocess.Popen[bytes]) -> None:
    while not list(folder.glob(pattern)):
        assert child.poll() is None, child.communicate()[1].decode()
        time.sleep(0.01)


@pytest.fixture(autouse=True)
def signals_are_heard() -> Iterator[None]:
    """A suite in the background ignores some signals (nohup), and its children would inherit that."""
    ignored = [number for number in (signal.SIGINT, signal.SIGHUP) if signal.getsignal(number) is signal.SIG_IGN]
    for number in ignored:
        signal.signal(number, signal.SIG_DFL)
    yield
    for number in ignored:
        signal.signal(number, signal.SIG_IGN)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    noise = 0.1 * np.random.default_rng(0).standard_normal(60 * 16_000)
    soundfile.write(tmp_path / "long.wav", noise, 16_000)
    soundfile.write(tmp_path / "short.wav", noise[:16_000], 16_000)
    return tmp_path


def rest(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file()}


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
@pytest.mark.parametrize("moment", ["starting", "writing", "reading standard input"])
def test_a_signal_ends_it_quietly_and_leaves_nothing(folder: Path, name: str, moment: str) -> None:
    number = signal.Signals[name]
    read, write = os.pipe()
    if moment == "reading standard input":
        child = start(folder, "-", "-o", "out.wav", stdin=read)
        wait_for(folder, "tmp/hamiltone-*/stdin", child)
    elif moment == "writing":
        child = start(folder, "long.wav", "-o", "out.flac")
        wait_for(folder, ".hamiltone-*.part", child)
    else:
        code = "import sys; from hamiltone.__main__ import main; sys.argv = ['', 'presets']; print(flush=True); main()"
        child = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
        time.sleep(0.1)
    child.send_signal(number)
    _, stderr = child.communicate(timeout=300)
    os.close(read)
    os.close(write)
    assert (child.returncode, stderr) == (128 + number, b"")
    assert rest(folder) == {"long.wav", "short.wav"}
    assert not list(folder.glob("tmp/hamiltone-*"))


def test_what_a_killed_run_left_is_swept_by_the_next(folder: Path) -> None:
    read, write = os.pipe()
    killed = [start(folder, "long.wav", "-o", "out.flac"), start(folder, "-", "-o", "out.wav", stdin=read)]
    wait_for(folder, ".hamiltone-*.part", killed[0])
    wait_for(folder, "tmp/hamiltone-*/stdin", killed[1])
    for child in killed:
        child.kill()
        child.communicate()
    alive = start(folder, "long.wav", "-o", "alive.flac")
    wait_for(folder, ".hamiltone-*.part", alive)
    with (folder / "short.wav").open("rb") as file:
        after = start(folder, "-", "-o", "next.wav", stdin=file.fileno())
        after.communicate(timeout=300)
    alive.communicate(timeout=300)
    assert (after.returncode, alive.returncode) == (0, 0)  # the file that one was writing, the other spared
    os.close(read)
    os.close(write)
    assert rest(folder) == {"long.wav", "short.wav", "alive.flac", "next.wav"}
    assert not list(folder.glob("tmp/hamiltone-*"))
    assert soundfile.info(folder / "alive.flac").frames == 60 * 16_000


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_one_line(folder: Path) -> None:
    command = [sys.executable, "-m", "hamiltone", "presets", "--json"]
    with Path("/dev/full").open("wb") as full:
        child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert child.returncode == 2
    assert child.stderr == b"hamiltone: cannot write standard output: No space left on device\n"
