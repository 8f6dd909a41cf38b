"""Score every file of a test set, in parallel.

The reference never touches the output: no alignment of sign, level or time before a metric sees it.
"""

import math
import multiprocessing
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache, partial
from pathlib import Path

import numpy as np
import torch

from hamiltone.audio.io import probe
from hamiltone.data.files import audio_files, decode
from hamiltone.data.pairs import Pair, scan_folders
from hamiltone.data.signals import SAMPLE_RATE, Signal
from hamiltone.errors import InputError
from hamiltone.metrics import check_metrics, compute
from hamiltone.nn.rules import register_rule, registered_rules

DEFAULT_METRICS = ("pesq", "csig", "cbak", "covl", "stoi", "sisdr", "ssnr")


@dataclass(frozen=True)
class Unprocessed:
    """The noisy input itself."""

    def __str__(self) -> str:
        return "unprocessed"

    def sample_rate(self, pair: Pair) -> int:
        """That of the noisy file."""
        return pair.sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        """What came in."""
        return noisy


@dataclass(frozen=True)
class Folder:
    """Results of any system, in files named as the noisy ones."""

    path: Path

    def __post_init__(self) -> None:
        audio_files(self.path)  # refuses a folder that is not there or holds none

    def __str__(self) -> str:
        return self.path.resolve().name

    def sample_rate(self, pair: Pair) -> int:
        """That of the file of the same name."""
        return probe(self._file(pair)).sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        """The file of the same name."""
        return decode(self._file(pair))

    def _file(self, pair: Pair) -> Path:
        files = _by_stem(self.path)
        if Path(pair.name).stem not in files:
            raise InputError(f"{self.path}: has no file for {pair.name}")
        return files[Path(pair.name).stem]


@dataclass(frozen=True)
class ModelName:
    """A bundled model, a checkpoint or an exported graph; None is the default."""

    name: str | None = None

    def __str__(self) -> str:
        return self.name or "default"

    def sample_rate(self, pair: Pair) -> int:
        """That of the noisy file."""
        return pair.sample_rate

    def output(self, pair: Pair, noisy: Signal) -> Signal:
        """The noisy signal through the model, as `hamiltone enhance` would do it."""
        from hamiltone.inference import enhance

        return enhance(noisy, SAMPLE_RATE, model=_model(self.name))


System = Unprocessed | Folder | ModelName


@lru_cache(maxsize=1)
def _by_stem(folder: Path) -> dict[str, Path]:
    return {path.stem: path for path in audio_files(folder)}


@lru_cache(maxsize=1)
def _model(name: str | None):  # type: ignore[no-untyped-def]
    from hamiltone.inference.settings import resolve_model

    return resolve_model(name)


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


def score_pair(pair: Pair, system: System, metrics: Sequence[str]) -> FileScores:
    """Run the system on one pair and score it; what fails is NaN with a reason."""
    torch.set_num_threads(1)  # one file per process keeps all cores busy
    seconds = pair.frames / pair.sample_rate
    try:
        clean, noisy = decode(pair.clean), decode(pair.noisy)
        output = system.output(pair, noisy)
        scores = compute(metrics, output, clean, SAMPLE_RATE)
        rates = (pair.sample_rate, system.sample_rate(pair))
    except InputError as error:
        return FileScores(
            pair.name, math.nan, seconds, dict.fromkeys(metrics, math.nan), dict.fromkeys(metrics, str(error))
        )
    resampled = next((rate for rate in rates if rate != SAMPLE_RATE), None)
    return FileScores(pair.name, _input_snr(noisy, clean), seconds, dict(scores), scores.reasons, resampled)


def _input_snr(noisy: Signal, clean: Signal) -> float:
    noise = np.square(noisy.astype(np.float64) - clean).sum()
    speech = np.square(clean, dtype=np.float64).sum()
    return float(10 * np.log10(speech / noise)) if noise > 0 and speech > 0 else math.nan


def evaluate(
    noisy: Path,
    clean: Path,
    system: System,
    *,
    metrics: Sequence[str] = DEFAULT_METRICS,
    workers: int = 1,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> list[FileScores]:
    """Score a system on the pairs of two folders; `progress` hears how many files are done.

    Files of another rate are resampled to 16 kHz first. What would fail for every file, such as a model that cannot be
    loaded or a package that is not installed, is raised at once.
    """
    check_metrics(metrics)
    for folder in (noisy, clean):
        if not folder.is_dir():
            raise InputError(f"{folder}: is not a folder")
    pairs = scan_folders(clean, noisy, sample_rate=None).pairs
    if isinstance(system, ModelName):
        _model(system.name)
    results = []
    for done, scores in enumerate(_score_all(pairs, system, metrics, workers), 1):
        results.append(scores)
        progress(done, len(pairs))
    return results


def _score_all(pairs: Sequence[Pair], system: System, metrics: Sequence[str], workers: int) -> Iterator[FileScores]:
    score = partial(score_pair, system=system, metrics=tuple(metrics))
    if workers <= 1 or len(pairs) == 1:
        yield from map(score, pairs)
        return
    spawn, rules = multiprocessing.get_context("spawn"), registered_rules()
    with ProcessPoolExecutor(min(workers, len(pairs)), spawn, _register, (rules,)) as pool:
        yield from pool.map(score, pairs, chunksize=max(1, min(8, len(pairs) // (4 * workers))))


def _register(rules: Sequence[str]) -> None:
    """Let a worker know the rules of the process that started it."""
    for rule in rules:
        register_rule(rule)
