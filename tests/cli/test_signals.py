"""Signals end the program quietly and leave nothing behind; what a killed one leaves, the next one sweeps."""

import os
import shutil
import signal
import subprocess
import sys
import time
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
# The first import of the command line says that it has begun, and lasts.
STARTING = """
import sys, time

class Lasting:
    def find_spec(self, name, path=None, target=None):
        if name == "hamiltone.cli":
            print(flush=True)
            time.sleep(60)

sys.meta_path.insert(0, Lasting())
sys.argv = ["", "presets"]
from hamiltone.__main__ import main
main()
"""
pytestmark = pytest.mark.usefixtures("signals_are_heard")
TESTS = Path(__file__).parents[1]


def start(
    folder: Path, *arguments: str, stdin: int = subprocess.DEVNULL, program: str = PROGRAM, verb: str = "enhance"
) -> subprocess.Popen[bytes]:
    (folder / "tmp").mkdir(exist_ok=True)
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    return subprocess.Popen(
        [sys.executable, "-c", program, verb, *arguments],
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
        child = subprocess.Popen([sys.executable, "-c", STARTING], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        assert child.stdout is not None
        child.stdout.readline()
    child.send_signal(number)
    _, stderr = child.communicate(timeout=300)
    os.close(read)
    os.close(write)
    assert (child.returncode, stderr) == (128 + number, b"")
    assert rest(folder) == {"long.wav", "short.wav"}
    assert not list(folder.glob("tmp/hamiltone-*"))


# What torch does where its compiled code asks an object for its length and a signal arrives.
TURNING = PROGRAM.replace(
    "        time.sleep(0.2)\n",
    """        try:
            time.sleep(0.2)
        except SystemExit:
            raise ValueError("could not determine the shape") from None
""",
)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM", "SIGHUP"])
def test_a_signal_that_a_library_turns_into_its_own_error_is_no_traceback(folder: Path, name: str) -> None:
    assert TURNING != PROGRAM
    child = start(folder, "long.wav", "-o", "out.flac", program=TURNING)
    wait_for(folder, ".hamiltone-*.part", child)
    time.sleep(0.3)
    child.send_signal(signal.Signals[name])
    _, stderr = child.communicate(timeout=300)
    assert (child.returncode, stderr) == (128 + signal.Signals[name], b"")
    assert rest(folder) == {"long.wav", "short.wav"}


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


CORPUS = (
    PROGRAM.replace("from hamiltone.__main__ import main\nmain()\n", "")
    + """
import hamiltone.corpus.cluster as cluster
import hamiltone.corpus.stage as stage
from contextlib import nullcontext
from hamiltone.corpus import in_process

cluster.RayEngine = lambda *_: nullcontext(in_process)  # the plain loop
stage.resolve_model = lambda *_, **options: Slow()
from hamiltone.__main__ import main
main()
"""
)


def test_ctrl_c_ends_a_corpus_quietly_and_the_same_command_goes_on(folder: Path) -> None:
    for number in range(6):
        shutil.copy(folder / "short.wav", folder / f"take{number}.wav")
    (folder / "long.wav").rename(folder / "zulu.wav")  # which comes last
    done = folder / "out" / ".hamiltone" / "done.jsonl"

    def begin() -> subprocess.Popen[bytes]:
        return start(folder, ".", "-o", "out", "--format", "wav", program=CORPUS, verb="corpus")

    stopped = begin()
    wait_for(folder, "out/.hamiltone/done.jsonl", stopped)
    while len(done.read_bytes().splitlines()) < 3:
        assert stopped.poll() is None
        time.sleep(0.01)
    stopped.send_signal(signal.SIGINT)
    _, stderr = stopped.communicate(timeout=300)
    assert stopped.returncode == 128 + signal.SIGINT
    assert all(line.startswith(b"clips ") for line in stderr.splitlines()), stderr.decode()
    before = done.read_bytes()
    assert 3 <= before.count(b"\n") < 8
    assert not list(folder.rglob("*.part"))
    assert not (folder / "out" / "manifest.jsonl").exists()

    resumed = begin()
    _, stderr = resumed.communicate(timeout=300)
    assert resumed.returncode == 0, stderr.decode()
    assert done.read_bytes().startswith(before) and done.read_bytes().count(b"\n") == 8
    assert (folder / "out" / "manifest.jsonl").read_bytes().count(b"\n") == 8


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no /dev/full")
def test_a_full_standard_output_is_one_line(folder: Path) -> None:
    command = [sys.executable, "-m", "hamiltone", "presets", "--json"]
    with Path("/dev/full").open("wb") as full:
        child = subprocess.run(command, stdout=full, stderr=subprocess.PIPE)
    assert child.returncode == 2
    assert child.stderr == b"hamiltone: cannot write standard output: No space left on device\n"
