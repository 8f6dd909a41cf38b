"""Score every file of a test set, in parallel.

The output is never aligned with the reference in sign, level or time before it is scored.
"""

import hashlib
import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch

from hamiltone.audio.io import probe
from hamiltone.data.files import audio_files, check_header, decode, speaker_of
from hamiltone.data.pairs import Pair, scan_folders
from hamiltone.data.signals import SAMPLE_RATE, Signal
from hamiltone.errors import InputError
from hamiltone.metrics import WITHOUT_REFERENCE, check_metrics, compute
from hamiltone.nn.rules import register_rule, registered_rules

DEFAULT_METRICS = ("pesq", "csig", "cbak", "covl", "stoi", "sisdr", "ssnr")


def default_metrics(clean: Path | None) -> tuple[str, ...]:
    """The default metrics: those with a reference, or without a clean folder those that need none."""
    return WITHOUT_REFERENCE if clean is None else DEFAULT_METRICS


@dataclass(frozen=True)
class Unprocessed:
    """The noisy input itself."""

    checkpoint = ""

    def __str__(self) -> str:
        return "unprocessed"

    def sample_rate(self, pair: Pair) -> int:
        """The sample rate of the noisy file."""
        return pair.sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        return noisy


@dataclass(frozen=True)
class Folder:
    """Results of any system, in files named as the noisy ones."""

    path: Path
    checkpoint = ""

    def __post_init__(self) -> None:
        audio_files(self.path)  # raises if the folder does not exist or is empty

    def __str__(self) -> str:
        return self.path.resolve().name

    def sample_rate(self, pair: Pair) -> int:
        """The sample rate of the file of the same name."""
        return probe(self._file(pair)).sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        return decode(self._file(pair))

    def _file(self, pair: Pair) -> Path:
        """The file at the same place as the noisy one, or else the only one of its name in any subfolder."""
        files = _by_name(self.path)
        found = files.get(f"/{pair.name}") or files.get(pair.name.rpartition("/")[2]) or []
        if not found:
            raise InputError(f"{self.path}: has no file for {pair.name}")
        if len(found) > 1:
            places = " and ".join(path.relative_to(self.path).as_posix() for path in found[:2])
            raise InputError(f"{self.path}: has several files for {pair.name}: {places}")
        return found[0]


@dataclass(frozen=True)
class ModelName:
    """A bundled model, a checkpoint or an exported graph; None is the default."""

    name: str | None = None

    def __str__(self) -> str:
        return self.name or "default"

    @property
    def checkpoint(self) -> str:
        """The SHA-256 of the checkpoint; a graph carries that of the one it was exported from."""
        from hamiltone.runtime.backend import GRAPH_SUFFIX, model_file
        from hamiltone.runtime.onnx_graph import OnnxGraph

        file = model_file(self.name)
        if file.suffix.lower() == GRAPH_SUFFIX:
            return OnnxGraph(file, threads=1).description.checkpoint
        return hashlib.sha256(file.read_bytes()).hexdigest()

    def sample_rate(self, pair: Pair) -> int:
        """The sample rate of the noisy file."""
        return pair.sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        """The noisy signal through the model, as `hamiltone enhance` would do it."""
        from hamiltone.runtime import enhance

        return enhance(noisy, SAMPLE_RATE, model=_model(self.name))


System = Unprocessed | Folder | ModelName


@lru_cache(maxsize=1)
def _by_name(folder: Path) -> dict[str, list[Path]]:
    """The files of a folder by their paths in it, after a slash, and by their names alone, both without suffixes."""
    files: dict[str, list[Path]] = {}
    for path in audio_files(folder):
        for name in (f"/{_place(path, folder)}", path.stem):
            files.setdefault(name, []).append(path)
    return files


def _place(path: Path, folder: Path) -> str:
    """The place of a file in a folder, without its suffix: ``rooms/001`` for rooms/001.wav."""
    return path.relative_to(folder).with_suffix("").as_posix()


@lru_cache(maxsize=1)
def _model(name: str | None):  # type: ignore[no-untyped-def]
    from hamiltone.runtime.backend import resolve_model

    return resolve_model(name, threads=1)


@dataclass(frozen=True)
class FileScores:
    """One file: its input SNR in dB, its scores (NaN where undefined) and the reasons for each NaN.

    `resampled` is the sample rate of the file where it is not the one at which it is scored.
    """

    name: str
    snr: float
    seconds: float
    scores: dict[str, float]
    reasons: dict[str, str] = field(default_factory=dict)
    resampled: int | None = None


def _unscored(name: str, seconds: float, metrics: Sequence[str], reason: str) -> FileScores:
    return FileScores(name, math.nan, seconds, dict.fromkeys(metrics, math.nan), dict.fromkeys(metrics, reason))


def score_pair(pair: Pair, system: System, metrics: Sequence[str], limit: float | None = None) -> FileScores:
    """Run the system on the first `limit` seconds of a pair and score it; a metric that fails is NaN with a reason."""
    torch.set_num_threads(1)  # one file per process keeps all cores busy
    end = None if limit is None else round(limit * SAMPLE_RATE)
    seconds = min(pair.frames / pair.sample_rate, limit or math.inf)
    try:
        noisy = decode(pair.noisy)[:end]
        clean = None if pair.clean == pair.noisy else decode(pair.clean)[:end]
        output = system.output(pair, noisy)[:end]
        scores = compute(metrics, output, clean, SAMPLE_RATE)
        rates = (pair.sample_rate, system.sample_rate(pair))
    except InputError as error:
        return _unscored(pair.name, seconds, metrics, str(error))
    resampled = next((rate for rate in rates if rate != SAMPLE_RATE), None)
    return FileScores(pair.name, _input_snr(noisy, clean), seconds, dict(scores), scores.reasons, resampled)


def _input_snr(noisy: Signal, clean: Signal | None) -> float:
    if clean is None:
        return math.nan
    noise = np.square(noisy.astype(np.float64) - clean).sum()
    speech = np.square(clean, dtype=np.float64).sum()
    return float(10 * np.log10(speech / noise)) if noise > 0 and speech > 0 else math.nan


def evaluate(
    noisy: Path,
    clean: Path | None,
    system: System,
    *,
    metrics: Sequence[str] | None = None,
    seconds: float | None = None,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[FileScores]:
    """Score a system on the pairs of two folders; `progress` is called with the number of finished files.

    Without a `clean` folder only metrics that need no reference can be scored; those are the default then. With
    `seconds` only that much of every recording is scored. Files of another rate are resampled to 16 kHz first. What
    would fail for every file, such as a missing model or package, is raised immediately; a file that cannot be scored,
    such as one that is unreadable or lacks a partner, gets no score but a reason, and comes last.
    """
    metrics = metrics or default_metrics(clean)
    check_metrics(metrics)
    if seconds is not None and not 0 < seconds < math.inf:
        raise InputError(f"expected a number of seconds of each file, got {seconds}")
    if clean is None and (blind := [name for name in metrics if name not in WITHOUT_REFERENCE]):
        raise InputError(f"{', '.join(blind)}: needs --clean; without it choose from {', '.join(WITHOUT_REFERENCE)}")
    for folder in (noisy, clean or noisy):
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a folder")
    if clean is not None and clean.samefile(noisy):
        raise InputError(f"{clean}: expected a folder of clean files, but this is the noisy one")
    pairs, faulty = unpaired(noisy) if clean is None else _paired(clean, noisy)
    if type(system) is ModelName:
        _model(system.name)
    results = []
    for done, scores in enumerate(_score_all(pairs, system, metrics, workers, seconds), 1):
        results.append(scores)
        progress(done, len(pairs))
    return results + [_unscored(name, 0.0, metrics, reason) for name, reason in faulty.items()]


def _paired(clean: Path, noisy: Path) -> tuple[list[Pair], dict[str, str]]:
    """The pairs of two folders, and by name what is wrong with the other files."""
    scan = scan_folders(clean, noisy, sample_rate=None, skip=True)
    pairs = [pair for pair in scan.pairs if pair.name not in scan.faulty]  # a file that exists twice is ambiguous
    return pairs, {name: "; ".join(lines) for name, lines in scan.faulty.items()}


def unpaired(folder: Path) -> tuple[list[Pair], dict[str, str]]:
    """The recordings of a folder without references, and by name what is wrong with those that cannot be read.

    Both sides of such a pair are the same file. It is named by its place in the folder, since files in different
    subfolders may share their names.
    """
    pairs, faulty = [], {}
    for path in audio_files(folder):
        name = _place(path, folder)
        try:
            header = check_header(path)
        except InputError as error:
            faulty[name] = str(error)
            continue
        pairs.append(Pair(name, speaker_of(path), path, path, header.frames, header.sample_rate))
    return pairs, faulty


def _score_all(
    pairs: Sequence[Pair], system: System, metrics: Sequence[str], workers: int, limit: float | None
) -> Iterator[FileScores]:
    score = partial(score_pair, system=system, metrics=tuple(metrics), limit=limit)
    if workers <= 1 or len(pairs) <= 1:
        yield from map(score, pairs)
        return
    spawn, rules = multiprocessing.get_context("spawn"), registered_rules()
    with ProcessPoolExecutor(min(workers, len(pairs)), spawn, _register, (rules,)) as pool:
        try:
            yield from pool.map(score, pairs, chunksize=max(1, min(8, len(pairs) // (4 * workers))))
        except BrokenProcessPool:
            raise InputError(
                "a process that scored files was ended, perhaps for lack of memory; choose fewer workers"
            ) from None
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)  # running files finish, no others start
            raise


def _register(rules: Sequence[str]) -> None:
    """Register in a worker the score rules of the process that started it."""
    for rule in rules:
        register_rule(rule)
