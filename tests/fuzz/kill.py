"""`make kill`: SIGKILL, SIGTERM, SIGINT and SIGHUP at random moments of ``enhance`` on a folder and of ``train``.

A process that has loaded all libraries is forked for every run of the program; a signal comes at a random moment of the
time that an undisturbed run took. Afterwards every source must be as it was and every finished result whole; a signal
that can be handled must leave no temporary file and end the program quietly. Where a folder is enhanced in place, every
recording must be the old one or the whole result. After a few such runs the last one may
finish: its results must be those of the undisturbed run, of training bit for bit, and nothing may be left behind.
"""

import argparse
import os
import shutil
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import soundfile
from safetensors.numpy import load_file

from fuzz.mutate import make_checkpoint
from hamiltone.audio.io import open_reader
from tasks import SMALL, TOY

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
_SUFFIXES = (".wav", ".flac", ".mp3", ".ogg", ".aiff")
_RUN = Path("run")


@dataclass
class Counts:
    """How often each signal met each command at work, and what went wrong."""

    moments: Counter[str] = field(default_factory=Counter)
    late: int = 0
    finished: int = 0
    faults: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Job:
    """A command in a folder, how often it is hit before it may finish, and how to look at what is there."""

    name: str
    arguments: list[str]
    hits: int
    look: Callable[[Path], dict[str, np.ndarray]]
    in_place: bool = False

    def prepare(self, folder: Path) -> None:
        """Put the recordings back that a job in place has replaced."""
        if self.in_place:
            shutil.copytree(folder / "sources", folder / _RUN, dirs_exist_ok=True)


def enhance_job(folder: Path) -> Job:
    """Five short recordings in a folder."""
    rng = np.random.default_rng(0)
    for number, suffix in enumerate(_SUFFIXES):
        (folder / "sources").mkdir(parents=True, exist_ok=True)
        soundfile.write(folder / "sources" / f"{number}{suffix}", 0.1 * rng.standard_normal(16_000), 16_000)
    make_checkpoint(folder / "sources" / "model.safetensors")
    arguments = ["enhance", "sources", "-o", "run", "--model", "sources/model.safetensors"]
    return Job("enhance", arguments, 2, _sounds)


def in_place_job(folder: Path) -> Job:
    """The same recordings, replaced by their results."""
    enhance_job(folder)
    arguments = ["enhance", "run", "-o", "run", "--overwrite", "--model", "sources/model.safetensors"]
    return Job("in place", arguments, 1, _sounds, in_place=True)


def train_job(folder: Path) -> Job:
    """The toy recipe, so small that a step takes milliseconds, over three epochs."""
    (folder / "sources").mkdir(parents=True, exist_ok=True)
    shutil.copy(TOY, folder / "sources")
    overrides = [*SMALL, "budget={epochs=3}", "run.folder=run"]
    return Job("train", ["train", "sources/toy.toml", *overrides], 4, _weights)


def _sounds(folder: Path) -> dict[str, np.ndarray]:
    sounds = {}
    for path in sorted(path for path in folder.glob("run/[!.]*") if path.suffix in _SUFFIXES):
        with open_reader(path) as reader:
            sounds[path.name] = reader.read(2**20)
    return sounds


def _weights(folder: Path) -> dict[str, np.ndarray]:
    return {
        f"{path.name}: {name}": array
        for path in sorted(folder.glob("run/[!.]*.safetensors"))
        for name, array in load_file(path).items()
    }


def strike(job: Job, folder: Path, moments: int, seed: int, counts: Counts) -> None:
    """Send signals to a job at this many moments, and count what came of it."""
    rng = np.random.default_rng((seed, len(job.name)))
    job.prepare(folder)
    started = time.monotonic()
    if _wait(_start(job, folder)) != 0:
        raise SystemExit(f"{job.name} fails undisturbed: {(folder / 'said.txt').read_text()}")
    seconds = time.monotonic() - started
    sources, whole = _bytes(folder / "sources"), job.look(folder)
    met = 0
    while met < moments:
        shutil.rmtree(folder / _RUN)
        job.prepare(folder)
        for _ in range(min(job.hits, moments - met)):
            number = SIGNALS[int(rng.integers(len(SIGNALS)))]
            abandoned = _leftovers(folder)  # by an earlier SIGKILL, to be swept as soon as this run writes
            child = _start(job, folder)
            time.sleep(seconds * float(rng.random()))
            if late := os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None:
                counts.late += 1
            else:
                os.kill(child, number)
                counts.moments[f"{job.name} {number.name}"] += 1
                met += 1
            code = _wait(child)
            fault = _fault_of_moment(job, folder, 0 if late else number, code, sources, whole, abandoned)
            if fault:
                counts.faults.append(f"{job.name} after {number.name}: {fault}")
                print(counts.faults[-1], flush=True)
        if fault := _fault_of_end(job, folder, sources, whole):
            counts.faults.append(f"{job.name} at the end: {fault}")
            print(counts.faults[-1], flush=True)
        counts.finished += 1
        print(f"{job.name}: {met} moments", flush=True)


def _start(job: Job, folder: Path) -> int:
    """Fork the program; whatever meets the child, it never runs on in the code of its parent."""
    signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
    child = os.fork()
    if child:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
        return child
    code = 1
    try:
        code = _run(job, folder)
    finally:
        os._exit(code)


def _run(job: Job, folder: Path) -> int:
    """Run the program in this process, and return its exit code."""
    os.chdir(folder)
    shutil.rmtree("tmp", ignore_errors=True)
    Path("tmp").mkdir()
    os.environ["TMPDIR"], tempfile.tempdir = str(folder / "tmp"), None
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.stdout, sys.stderr = (os.fdopen(os.dup(number), "w", buffering=1) for number in (1, 2))
    sys.argv = ["hamiltone", *job.arguments]
    from hamiltone.__main__ import main

    signal.signal(signal.SIGINT, signal.SIG_DFL)  # no traceback of a program that has not begun
    signal.pthread_sigmask(signal.SIG_UNBLOCK, SIGNALS)
    try:
        main()
    except SystemExit as end:
        return end.code if isinstance(end.code, int) else 1
    except BaseException:
        sys.excepthook(*sys.exc_info())
        return 1
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, SIGNALS)
        sys.stdout.flush()
    return 0


def _wait(child: int) -> int:
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


def _fault_of_moment(
    job: Job,
    folder: Path,
    number: int,
    code: int,
    sources: dict[str, bytes],
    whole: dict[str, np.ndarray],
    abandoned: list[str],
) -> str:
    said = (folder / "said.txt").read_text() if (folder / "said.txt").exists() else ""
    if _bytes(folder / "sources") != sources:
        return "a source has changed"
    if "Traceback" in said:
        return f"a traceback: {said[said.index('Traceback') :][-3000:]}"
    if code not in (0, -number, 128 + number):  # -number: before the program could handle it
        return f"exit code {code}: {said.strip()[-200:]}"
    left = [name for name in _leftovers(folder) if number == 0 or name not in abandoned]
    if number != signal.SIGKILL and left:
        return f"left {', '.join(left)}"
    found = job.look(folder)  # raises where a file is not whole
    if job.name == "enhance":
        return _differences({name: whole[name] for name in found}, found)
    if job.in_place:
        old = {name for name, content in _bytes(folder / _RUN).items() if content == sources.get(name)}
        return _differences(
            {name: found.get(name, whole[name]) if name in old else whole[name] for name in whole}, found
        )
    return ""


def _fault_of_end(job: Job, folder: Path, sources: dict[str, bytes], whole: dict[str, np.ndarray]) -> str:
    job.prepare(folder)
    code = _wait(_start(job, folder))
    said = (folder / "said.txt").read_text()
    if code or "Traceback" in said:
        return f"exit code {code}: {said.strip()[-200:]}"
    if left := _leftovers(folder):
        return f"left {', '.join(left)}"
    if _bytes(folder / "sources") != sources:
        return "a source has changed"
    return _differences(whole, job.look(folder))


def _differences(expected: dict[str, np.ndarray], found: dict[str, np.ndarray]) -> str:
    if expected.keys() != found.keys():
        return f"other results: {', '.join(sorted(expected.keys() ^ found.keys()))}"
    wrong = [name for name, array in expected.items() if not np.array_equal(array, found[name])]
    return f"{', '.join(wrong)} differ" if wrong else ""


def _leftovers(folder: Path) -> list[str]:
    parts = [str(path.relative_to(folder)) for path in folder.rglob("*.part")]
    return parts + [f"tmp/{path.name}" for path in (folder / "tmp").glob("hamiltone-*")]


def _bytes(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


JOBS = {"enhance": enhance_job, "in place": in_place_job, "train": train_job}


def kill(moments: int, seed: int, names: Sequence[str] = tuple(JOBS)) -> Counts:
    """Send this many signals in all, spread evenly over the commands."""
    import torch

    import hamiltone.runtime
    import hamiltone.training  # noqa: F401

    torch.set_num_threads(1)
    counts = Counts()
    with tempfile.TemporaryDirectory(prefix="kill-") as folder:
        for number, name in enumerate(names):
            place = Path(os.path.realpath(folder), name)
            strike(JOBS[name](place), place, (moments + number) // len(names), seed, counts)
    return counts


def main() -> None:
    """Parse, run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--command", choices=JOBS, help="meet this one alone")
    options = parser.parse_args()
    counts = kill(options.moments, options.seed, [options.command] if options.command else tuple(JOBS))
    print(
        f"seed {options.seed}: {counts.moments.total()} moments: {dict(sorted(counts.moments.items()))}, "
        f"{counts.late} too late; {counts.finished} runs finished; {len(counts.faults)} faults"
    )
    sys.exit(1 if counts.faults else 0)


if __name__ == "__main__":
    main()
