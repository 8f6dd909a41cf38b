"""`make fuzz`: broken sounds, checkpoints and recipes through the real command line, for as long as you like.

Every case follows from the seed and its number, so any can be repeated: ``python -m fuzz.run --seed 0 --case 17`` in
tests/. The state file counts what was done; the same command goes on from there. A case fails if the program prints a
traceback, crashes, takes more than 30 s of a processor or 2 GB, changes its source, leaves a file behind that it should
not, or writes a sample that is not finite. A process with torch already loaded is forked for each.
"""

import argparse
import contextlib
import io
import json
import multiprocessing
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import time
import traceback
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from fuzz.mutate import make_checkpoint, make_sounds, mutate_bytes, mutate_checkpoint, mutate_recipe
from hamiltone.audio.io import open_reader

SECONDS, MEGABYTES = 30, 2048
_WALL_SECONDS = 300  # on a busy machine a processor second takes many of the wall's
KINDS = ("sound", "checkpoint", "recipe")
_SHARES = (0.9, 0.07, 0.03)


@dataclass
class State:
    """How far a series has come: cases done by kind, exit codes, and the faults."""

    seed: int
    done: int = 0
    kinds: dict[str, int] = field(default_factory=lambda: dict.fromkeys(KINDS, 0))
    codes: dict[str, int] = field(default_factory=dict)
    faults: list[str] = field(default_factory=list)


def fuzz(seed: int, minutes: float, state_path: Path | None = None, cases: int | None = None) -> State:
    """Run cases until the time is up, or as many as are asked for; with a state file, from where it stands."""
    state = State(seed)
    if state_path and state_path.exists():
        state = State(**json.loads(state_path.read_text()))
        if state.seed != seed:
            raise SystemExit(f"{state_path} is of seed {state.seed}, not {seed}")
    end = time.monotonic() + 60 * minutes
    with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
        stock = prepare(Path(folder))
        while time.monotonic() < end and (cases is None or state.done < cases):
            kind, code, fault = run_case(seed, state.done, stock)
            state.kinds[kind] += 1
            state.codes[str(code)] = state.codes.get(str(code), 0) + 1
            if fault:
                state.faults.append(f"case {state.done} ({kind}): {fault}")
                print(state.faults[-1], flush=True)
            state.done += 1
            if state_path and state.done % 20 == 0:
                state_path.write_text(json.dumps(state.__dict__))
    if state_path:
        state_path.write_text(json.dumps(state.__dict__))
    return state


def prepare(folder: Path) -> Path:
    """The sound files and the checkpoint that are mutated."""
    import torch

    torch.set_num_threads(1)
    stock = folder / "stock"
    stock.mkdir(parents=True)
    make_sounds(stock)
    make_checkpoint(folder / "model.safetensors")
    import hamiltone.runtime
    import hamiltone.training  # noqa: F401

    return folder


def run_case(seed: int, number: int, folder: Path) -> tuple[str, int | None, str]:
    """One case in a fresh folder and a process of its own: its kind, the exit code, and what is wrong, if anything."""
    rng = np.random.default_rng((seed, number))
    kind = str(rng.choice(KINDS, p=_SHARES))
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    arguments, sources = _make_case(kind, rng, folder, work)
    child = multiprocessing.get_context("fork").Process(target=_child, args=(arguments, work))
    started = time.monotonic()
    child.start()
    child.join(_WALL_SECONDS)
    if child.is_alive():
        child.kill()
        child.join()
        return kind, None, f"hangs: {_keep(work, seed, number)}"
    code, used = child.exitcode, _peak(work)
    said = (work / "said.txt").read_text(errors="replace") if (work / "said.txt").exists() else ""
    fault = _fault(code, said, used, work, sources)
    if fault:
        fault += f" ({time.monotonic() - started:.1f} s): {_keep(work, seed, number)}"
    return kind, code, fault


def _make_case(kind: str, rng: np.random.Generator, folder: Path, work: Path) -> tuple[list[str], dict[str, bytes]]:
    """The command line of a case, and the files that it must not change."""
    if kind == "recipe":
        (work / "recipe.toml").write_bytes(content := mutate_recipe(rng))
        return ["train", "recipe.toml", "run.folder=run"], {"recipe.toml": content}
    sounds = sorted((folder / "stock").iterdir())
    sound = sounds[int(rng.integers(len(sounds)))]
    checkpoint = folder / "model.safetensors"
    if kind == "sound":
        name, content = f"in{sound.suffix}", mutate_bytes(sound.read_bytes(), rng)
        (work / name).write_bytes(content)
        return ["enhance", name, "--model", str(checkpoint)], {name: content}
    content, model = sound.read_bytes(), mutate_checkpoint(checkpoint, rng)
    (work / f"in{sound.suffix}").write_bytes(content)
    (work / "model.safetensors").write_bytes(model)
    arguments = ["enhance", f"in{sound.suffix}", "--model", "model.safetensors"]
    return arguments, {f"in{sound.suffix}": content, "model.safetensors": model}


def _child(arguments: list[str], work: Path) -> None:
    os.chdir(work)
    os.environ["TMPDIR"] = str(work / "tmp")
    tempfile.tempdir = None
    resource.setrlimit(resource.RLIMIT_CPU, (SECONDS, SECONDS + 5))  # SIGXCPU ends it
    said = os.open("said.txt", os.O_WRONLY | os.O_CREAT)
    os.dup2(said, 1)
    os.dup2(said, 2)
    sys.stdout = sys.stderr = io.TextIOWrapper(os.fdopen(os.dup(1), "wb"), write_through=True)
    sys.argv = ["hamiltone", *arguments]
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    code = 0
    try:
        from hamiltone.cli import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 1
    except BaseException:
        traceback.print_exc()
        code = 1
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    Path("peak.txt").write_text(str(max(peak, before) // 1024))
    with contextlib.suppress(Exception):
        sys.stdout.flush()
    os._exit(code)


def _peak(work: Path) -> int:
    path = work / "peak.txt"
    return int(path.read_text()) if path.exists() else 0


def _fault(code: int | None, said: str, peak: int, work: Path, sources: dict[str, bytes]) -> str:
    if "Traceback" in said:
        return f"traceback: {said.strip().splitlines()[-1][:200]}"
    if code is None or code < 0:
        return f"crashed: {signal.Signals(-code).name if code else code}; {said.strip()[-200:]}"
    if code not in (0, 2):
        return f"exit code {code}: {said.strip()[-200:]}"
    if code == 2 and not re.search(r"^(hamiltone: |Error: )", said, re.MULTILINE):
        return f"exit code 2 without a reason: {said.strip()[-200:]}"
    if peak > MEGABYTES:
        return f"took {peak} MB"
    for name, content in sources.items():
        if not (work / name).exists() or (work / name).read_bytes() != content:
            return f"changed its source {name}"
    return _fault_of_files(code, work, sources)


def _fault_of_files(code: int, work: Path, sources: dict[str, bytes]) -> str:
    allowed = {"said.txt", "peak.txt", *sources}
    for path in (path for path in work.rglob("*") if path.is_file()):
        name = path.relative_to(work)
        if str(name) in allowed or name.parts[0] == "run":
            continue
        if code != 0 or ".enhanced." not in path.name:
            return f"left {name} behind"
        with open_reader(path) as reader:
            while len(block := reader.read(2**16)):
                if not np.isfinite(block).all():
                    return f"wrote samples that are not finite to {name}"
    left = [path.name for path in (work / "tmp").iterdir()]
    return f"left {', '.join(left)} in the temporary folder" if left else ""


def _keep(work: Path, seed: int, number: int) -> str:
    kept = Path(tempfile.gettempdir(), f"hamiltone-fault-{seed}-{number}")
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(work, kept)
    return f"kept in {kept}"


def main() -> None:
    """Parse, run, and print the counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--state", type=Path, help="count here, and go on from there")
    parser.add_argument("--case", type=int, help="repeat this case only")
    options = parser.parse_args()
    if options.case is not None:
        with tempfile.TemporaryDirectory(prefix="fuzz-") as folder:
            print(*run_case(options.seed, options.case, prepare(Path(folder))))
        return
    state = fuzz(options.seed, options.minutes, options.state)
    print(f"seed {state.seed}: {state.done} cases: {state.kinds}, exit codes {state.codes}, {len(state.faults)} faults")
    sys.exit(1 if state.faults else 0)


if __name__ == "__main__":
    main()
