"""The process in which the cases run: one after the other, as long as none of them ends it."""

import contextlib
import io
import os
import re
import resource
import shutil
import signal
import sys
import tempfile
import traceback
from multiprocessing.connection import Connection
from pathlib import Path

import numpy as np

SECONDS, MEGABYTES = 30, 2048
_TRAINING_SECONDS = 5  # of a processor
_STOPPED = 128 + signal.SIGTERM
_ROUND = ("onnx", "recipe", "recipe", *(5 * (*(20 * ("sound",)), "checkpoint")))
ROUND = len(_ROUND)
KINDS = ("sound", "checkpoint", "recipe", "onnx")


def kind_of(number: int) -> str:
    """What is broken in a case: of every 108, a hundred sounds, five checkpoints, two recipes and an ONNX file."""
    return _ROUND[number % ROUND]


def work(pipe: Connection, folder: Path) -> None:
    """Run the cases whose seed and number come through a pipe; answer with exit code, fault and megabytes held."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the parent's business
    prepare(folder)
    _, most = resource.getrlimit(resource.RLIMIT_AS)
    with contextlib.suppress(ValueError, OSError):  # a flood is stopped before the machine suffers
        resource.setrlimit(resource.RLIMIT_AS, (_memory("VmSize") * 2**20 + 2 * MEGABYTES * 2**20, most))
    pipe.send("ready")
    with contextlib.suppress(EOFError):
        while True:
            pipe.send((*_run_case(*pipe.recv(), folder), _memory("VmRSS")))


def prepare(folder: Path) -> None:
    """Load all libraries, make what is mutated, and spare the program what is the same in every case."""
    import torch
    import typer

    import hamiltone.training  # noqa: F401
    from fuzz import mutate
    from hamiltone import cli
    from hamiltone.runtime import backend

    torch.set_num_threads(1)
    stock = folder / "stock"
    stock.mkdir(parents=True)
    mutate.make_sounds(stock)
    checkpoint = folder / "model.safetensors"
    mutate.make_checkpoint(checkpoint)
    resolve, sound_one = backend.resolve_model, backend.resolve_model(checkpoint)
    backend.resolve_model = lambda model=None, *rest: sound_one if model == str(checkpoint) else resolve(model, *rest)
    cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]


def _run_case(seed: int, number: int, folder: Path) -> tuple[int, str]:
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    arguments, sources = _make_case(number, np.random.default_rng((seed, number)), folder, work)
    _forget_peak()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # SIGPROF ends the process
    signal.signal(signal.SIGVTALRM, _stop_training)
    signal.setitimer(signal.ITIMER_VIRTUAL, _TRAINING_SECONDS)
    code = _run_program(arguments, work)
    for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
        signal.setitimer(timer, 0)
    said = (work / "said.txt").read_text(errors="replace")
    return code, _fault(code, said, _memory("VmHWM"), work, sources)


def _stop_training(*_: object) -> None:
    """A recipe may ask for years: where a training has begun, it is told to stop."""
    if callable(signal.getsignal(signal.SIGTERM)):
        signal.raise_signal(signal.SIGTERM)


def _make_case(number: int, rng: np.random.Generator, folder: Path, work: Path) -> tuple[list[str], dict[str, bytes]]:
    """The command line of a case, and the files that it must not change."""
    from fuzz import mutate

    kind = kind_of(number)
    if kind == "recipe":
        files = {"recipe.toml": mutate.mutate_recipe(rng)}
        arguments = ["train", "recipe.toml", "run.folder=run"]
    else:
        sounds = sorted((folder / "stock").iterdir())
        sound = sounds[int(rng.integers(len(sounds)))]
        name, content, model = f"in{sound.suffix}", sound.read_bytes(), str(folder / "model.safetensors")
        if kind == "sound":
            files = {name: mutate.mutate_bytes(content, rng)}
        elif kind == "checkpoint":
            files = {name: content, "model.safetensors": mutate.mutate_checkpoint(Path(model), rng)}
            model = "model.safetensors"
        else:
            files = {name: content, "model.onnx": mutate.mutate_graph(rng)}
            model = "model.onnx"
        arguments = ["enhance", name, "--model", model]
    for name, content in files.items():
        (work / name).write_bytes(content)
    return arguments, files


def _run_program(arguments: list[str], work: Path) -> int:
    """The command line in a folder, with all that it and its libraries say in said.txt; the exit code."""
    from hamiltone.cli import main

    before = Path.cwd(), sys.argv, sys.stdout, sys.stderr
    saved = os.dup(1), os.dup(2)
    os.chdir(work)
    os.environ["TMPDIR"], tempfile.tempdir = str(work / "tmp"), None
    with Path("said.txt").open("wb", buffering=0) as said:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        sys.stdout = sys.stderr = io.TextIOWrapper(said, write_through=True)
        sys.argv = ["hamiltone", *arguments]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
            code = 1
        directory, sys.argv, sys.stdout, sys.stderr = before
        for number, copy in enumerate(saved, 1):
            os.dup2(copy, number)
            os.close(copy)
    os.chdir(directory)
    return code


def _fault(code: int, said: str, peak: int, work: Path, sources: dict[str, bytes]) -> str:
    """What is wrong with the end of a case, if anything."""
    last = said.strip()[-200:]
    if "Traceback" in said:
        return f"traceback: {said.strip().splitlines()[-1][:200]}"
    if code not in (0, 2, _STOPPED):
        return f"exit code {code}: {last}"
    if code == 2 and not re.search(r"^(hamiltone: |Error: )", said, re.MULTILINE):
        return f"exit code 2 without a reason: {last}"
    if peak > MEGABYTES:
        return f"took {peak} MB"
    for name, content in sources.items():
        if not (work / name).exists() or (work / name).read_bytes() != content:
            return f"changed its source {name}"
    return _fault_of_files(code, work, sources)


def _fault_of_files(code: int, work: Path, sources: dict[str, bytes]) -> str:
    from hamiltone.audio.io import open_reader
    from hamiltone.errors import InputError

    for path in (path for path in work.rglob("*") if path.is_file()):
        name = path.relative_to(work)
        if str(name) in {"said.txt", *sources} or (name.parts[0] == "run" and not name.name.endswith(".part")):
            continue
        if code != 0 or ".enhanced." not in path.name:
            return f"left {name} behind"
        try:
            with open_reader(path) as reader:
                while len(block := reader.read(2**16)):
                    if not np.isfinite(block).all():
                        return f"wrote samples that are not finite to {name}"
        except InputError as error:
            return f"wrote what cannot be read: {error}"
    left = [path.name for path in (work / "tmp").iterdir()]
    return f"left {', '.join(left)} in the temporary folder" if left else ""


def _memory(field: str) -> int:
    """A line of /proc/self/status in megabytes; zero where there is none."""
    try:
        found = re.search(rf"{field}:\s+(\d+) kB", Path("/proc/self/status").read_text())
    except OSError:
        return 0
    return int(found[1]) // 1024 if found else 0


def _forget_peak() -> None:
    """Let the peak of the memory in use start again from now."""
    with contextlib.suppress(OSError):
        Path("/proc/self/clear_refs").write_text("5")
