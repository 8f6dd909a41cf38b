"""`make fuzz`: broken sounds, checkpoints, recipes and ONNX files through the command line, for as long as you like.

Every case follows from the seed and its number, so any can be repeated: ``python -m fuzz.run --seed 0 --case 17`` in
tests/. The state file counts what was done; the same command goes on from there, unless another commit is checked out.
A case fails if the program prints a traceback, crashes, takes more than 30 s of a processor or 2 GB, changes its
source, leaves a file behind that it should not, ends well without a result or with one of another length, or writes a
sample that is not finite. The cases run one after the other in a few long-lived processes (`worker`); one that a case
ends is replaced. A training that goes on for longer is stopped by a signal, and must end by it.
"""

import argparse
import contextlib
import json
import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from queue import SimpleQueue

from fuzz.cases import KINDS, ROUND, kind_of
from fuzz.worker import MEGABYTES, work

_WALL_SECONDS = 900  # on a busy machine a processor second takes many of the wall's
_CASES = 500  # after so many a worker is replaced


@dataclass
class State:
    """How far a series has come: cases done by kind, exit codes, and the faults."""

    seed: int
    commit: str = ""
    done: int = 0
    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    codes: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)

    def count(self, number: int, code: int | None, fault: str) -> None:
        """Count the next case."""
        kind = kind_of(number)
        self.done = number + 1
        self.kinds[kind] += 1
        self.codes[str(code)] = self.codes.get(str(code), 0) + 1
        if fault:
            self.faults.append(f"case {number} ({kind}): {fault}")
            print(self.faults[-1], flush=True)


class Worker:
    """A process that runs cases, and the next one where a case has ended it."""

    def __init__(self, folder: Path) -> None:
        self._folder, self._number, self._left = folder, 0, 0

    def run(self, seed: int, number: int) -> tuple[int | None, str]:
        """The exit code of a case, and what is wrong, if anything."""
        if not self._left:
            self._start()
        started = time.monotonic()
        self._pipe.send((seed, number))
        code, fault = self._answer()
        if fault:
            fault += f" ({time.monotonic() - started:.1f} s): {self._keep(seed, number)}"
        return code, fault

    def _start(self) -> None:
        self.close()
        self._number += 1
        context = multiprocessing.get_context("spawn")
        self._pipe, other = context.Pipe()
        self._process = context.Process(target=work, args=(other, self._folder / str(self._number)), daemon=True)
        self._process.start()
        other.close()
        self._pipe.recv()
        self._left = _CASES

    def _answer(self) -> tuple[int | None, str]:
        if not self._pipe.poll(_WALL_SECONDS):
            self._left = 0
            return None, "hangs"
        try:
            code, fault, megabytes = self._pipe.recv()
        except EOFError:
            self._process.join()
            self._left, code = 0, self._process.exitcode
            name = signal.Signals(-code).name if code and code < 0 else str(code)
            return code, "hangs" if name == "SIGPROF" else f"crashed: {name}"
        self._left = 0 if megabytes > MEGABYTES // 2 else self._left - 1
        return code, fault

    def _keep(self, seed: int, number: int) -> str:
        kept = Path(tempfile.gettempdir(), f"hamiltone-fault-{seed}-{number}")
        shutil.rmtree(kept, ignore_errors=True)
        shutil.copytree(self._folder / str(self._number) / "work", kept)
        return f"kept in {kept}"

    def close(self) -> None:
        """End the process and remove its files."""
        if self._number:
            self._process.kill()
            self._process.join()
            self._pipe.close()
            shutil.rmtree(self._folder / str(self._number), ignore_errors=True)


def fuzz(seed: int, minutes: float, state_path: Path | None = None, cases: int | None = None, jobs: int = 1) -> State:
    """Run cases until the time is up, or as many as are asked for; with a state file, from where it stands."""
    state = State(seed, _commit())
    if state_path and state_path.exists():
        earlier = State(**json.loads(state_path.read_text()))
        if earlier.seed != seed:
            raise SystemExit(f"{state_path} is of seed {earlier.seed}, not {seed}")
        if earlier.commit == state.commit:
            state = earlier
        else:
            print(f"{state_path} is of another commit: its cases are run again", flush=True)
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder, ThreadPoolExecutor(jobs) as pool:
        workers = [Worker(Path(folder, f"worker{number}")) for number in range(jobs)]
        free = SimpleQueue[Worker]()
        for worker in workers:
            free.put(worker)

        def run(number: int) -> tuple[int | None, str]:
            worker = free.get()
            try:
                return worker.run(seed, number)
            finally:
                free.put(worker)

        try:
            while time.monotonic() < end and (cases is None or state.done < cases):
                last = (state.done // ROUND + 1) * ROUND
                numbers = range(state.done, last if cases is None else min(last, cases))
                for number, (code, fault) in zip(numbers, pool.map(run, numbers), strict=True):
                    state.count(number, code, fault)
                if state_path:
                    state_path.write_text(json.dumps(state.__dict__))
        finally:
            for worker in workers:
                worker.close()
    return state


def _commit() -> str:
    """The commit that is checked out; empty without git."""
    with contextlib.suppress(OSError, subprocess.CalledProcessError):
        command = ["git", "rev-parse", "--short", "HEAD"]
        return subprocess.run(
            command, capture_output=True, text=True, check=True, cwd=Path(__file__).parent
        ).stdout.strip()
    return ""


def main() -> None:
    """Parse, run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, help="how long; ten by default, without end with --cases")
    parser.add_argument("--cases", type=int, help="how many: of 10800, 10000 are sounds, 500 checkpoints, 200 recipes")
    parser.add_argument("--state", type=Path, help="count here, and go on from there")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; by default one per core")
    parser.add_argument("--case", type=int, help="repeat this case only")
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            worker = Worker(Path(folder))
            print(kind_of(options.case), *worker.run(options.seed, options.case))
            worker.close()
        return
    minutes = options.minutes or (10.0 if options.cases is None else float("inf"))
    state = fuzz(options.seed, minutes, options.state, options.cases, options.jobs)
    print(
        f"seed {state.seed}, commit {state.commit}: {state.done} cases: {state.kinds}, "
        f"exit codes {state.codes}, {len(state.faults)} faults"
    )

    sys.exit(1 if state.faults else 0)


if __name__ == "__main__":
    main()
