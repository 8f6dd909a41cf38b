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

from fuzz.cases import Case, make_case

SECONDS, MEGABYTES = 30, 2048
_TRAINING_SECONDS = 5  # of a processor
_RATE, _CODEC_FRAMES = 16_000, 4608  # two of the longest, and what a decoder leaves out at the start
_RECOGNISED = 0.1  # seconds: of less sound, FFmpeg may not know what it has written itself
_STOPPED = 128 + signal.SIGTERM


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
    from fuzz import mutate, stock
    from hamiltone import cli
    from hamiltone.runtime import backend

    torch.set_num_threads(1)
    (folder / "stock").mkdir(parents=True)
    stock.make_sounds(folder / "stock")
    checkpoint = folder / "model.safetensors"
    mutate.make_checkpoint(checkpoint)
    resolve, sound_one = backend.resolve_model, backend.resolve_model(checkpoint)
    backend.resolve_model = lambda model=None, *rest: sound_one if model == str(checkpoint) else resolve(model, *rest)
    cli.app = typer.main.get_command(cli.app)  # type: ignore[assignment]


def _run_case(seed: int, number: int, folder: Path) -> tuple[int, str]:
    work = folder / "work"
    shutil.rmtree(work, ignore_errors=True)
    (work / "tmp").mkdir(parents=True)
    case = make_case(number, np.random.default_rng((seed, number)), folder)
    for name, content in case.files.items():
        (work / name).write_bytes(content)
    _forget_peak()
    signal.setitimer(signal.ITIMER_PROF, SECONDS)  # SIGPROF ends the process
    signal.signal(signal.SIGVTALRM, _stop_training)
    signal.setitimer(signal.ITIMER_VIRTUAL, _TRAINING_SECONDS)
    code = _run_program(case, work)
    for timer in (signal.ITIMER_PROF, signal.ITIMER_VIRTUAL):
        signal.setitimer(timer, 0)
    said = (work / "said.txt").read_text(errors="replace")
    return code, _fault(code, said, _memory("VmHWM"), work, case)


def _stop_training(*_: object) -> None:
    """A recipe may ask for years: where a training has begun, it is told to stop."""
    if callable(signal.getsignal(signal.SIGTERM)):
        signal.raise_signal(signal.SIGTERM)


def _run_program(case: Case, work: Path) -> int:
    """The command line in a folder, with all that it and its libraries say in said.txt; the exit code."""
    from hamiltone.cli import main

    before = Path.cwd(), sys.argv, sys.stdin, sys.stdout, sys.stderr
    saved = os.dup(1), os.dup(2)
    os.chdir(work)
    os.environ["TMPDIR"], tempfile.tempdir = str(work / "tmp"), None
    with Path("said.txt").open("wb", buffering=0) as said, Path(case.stdin or os.devnull).open() as source:
        os.dup2(said.fileno(), 1)
        os.dup2(said.fileno(), 2)
        sys.stdout = sys.stderr = io.TextIOWrapper(said, write_through=True)
        sys.stdin, sys.argv = source, ["hamiltone", *case.arguments]
        try:
            main()
            code = 0
        except SystemExit as end:
            code = end.code if isinstance(end.code, int) else 1
        except BaseException:
            traceback.print_exc()
            code = 1
        directory, sys.argv, sys.stdin, sys.stdout, sys.stderr = before
        for number, copy in enumerate(saved, 1):
            os.dup2(copy, number)
            os.close(copy)
    os.chdir(directory)
    return code


def _fault(code: int, said: str, peak: int, work: Path, case: Case) -> str:
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
    if re.search(r"enough memory|memory alloc|allocat(?!ion)|bad_alloc", said):  # refused by the limit of `work`
        return f"asked for more memory than there is: {last}"
    for name, content in case.files.items():
        replaced = code == 0 and name in case.outputs
        if not (work / name).exists() or (not replaced and (work / name).read_bytes() != content):
            return f"changed its source {name}"
    return _fault_of_files(code, work, case) or _fault_of_length(code, work, case)


def _fault_of_files(code: int, work: Path, case: Case) -> str:
    from hamiltone.audio.formats import MEDIA_FORMATS
    from hamiltone.audio.io import open_reader
    from hamiltone.errors import InputError

    for path in (path for path in work.rglob("*") if path.is_file()):
        name = str(path.relative_to(work))
        kept = name in {"said.txt", *case.files} or (name.startswith("run/") and not name.endswith(".part"))
        if kept and (code != 0 or name not in case.outputs):
            continue
        if code != 0 or name not in case.outputs:
            return f"left {name} behind"
        try:
            with open_reader(path) as reader:
                while len(block := reader.read(2**16)):
                    if not np.isfinite(block).all():
                        return f"wrote samples that are not finite to {name}"
        except InputError as error:
            if path.suffix not in MEDIA_FORMATS or _seconds_of_source(work, case) > _RECOGNISED:
                return f"wrote what cannot be read: {error}"
    left = [path.name for path in (work / "tmp").iterdir()]
    return f"left {', '.join(left)} in the temporary folder" if left else ""


def _fault_of_length(code: int, work: Path, case: Case) -> str:
    """Lossy codecs work in frames, and some have few sample rates to offer."""
    from hamiltone.audio.formats import PCM_BITS
    from hamiltone.errors import InputError
    from hamiltone.runtime.survey import examine

    if code != 0 or not case.outputs:
        return ""
    if missing := [name for name in case.outputs if not (work / name).exists()]:
        return f"did not write {', '.join(missing)}"
    before = _seconds_of_source(work, case)
    try:
        result = examine(work / case.outputs[0], _RATE)
    except InputError:
        return ""  # so short that it may be like that
    after, exact = result.survey.frames, result.info.track is None and result.info.encoding.subtype in PCM_BITS
    if abs(after / result.info.sample_rate - before) > (1 if exact else _CODEC_FRAMES) / result.info.sample_rate:
        return f"wrote {after / result.info.sample_rate:.3f} s instead of {before:.3f}"
    return ""


def _seconds_of_source(work: Path, case: Case) -> float:
    from hamiltone.runtime.survey import examine

    with tempfile.TemporaryDirectory(dir=work) as folder:
        source = Path(folder, "stdin" if case.stdin else case.source)  # a suffix may decide about the decoder
        source.write_bytes(case.files[case.source])
        found = examine(source, _RATE)
    return found.survey.frames / found.info.sample_rate


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
