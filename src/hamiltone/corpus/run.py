"""A run over a corpus: list, enhance what is missing, write the manifests."""

import errno
import hashlib
import itertools
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from hamiltone import __version__
from hamiltone.corpus.columns import RATINGS, Result
from hamiltone.corpus.inputs import Clip, InputRow, fingerprint, list_rows
from hamiltone.corpus.keep import Filter, parse_filter
from hamiltone.corpus.ledger import Ledger
from hamiltone.corpus.output import OutputFolder, writing
from hamiltone.corpus.stage import EnhanceStage, check_format, target
from hamiltone.errors import InputError
from hamiltone.runtime.backend import GRAPH_SUFFIX, model_file, resolve_model

ROUND, SHARE = 65_536, 4_096
"""Clips that an engine is given at once, and per worker if that is more: the end of a round, when workers wait for the
last ones and a new pool is made, must be rare. This bounds the memory of the driver apart from the ids."""
BATCH = 8
"""Clips that a worker is given at once; they are done again if it dies."""
_ADDED = ("enhanced_filepath", "seconds", "noise_db", "snr_db")
_LOST = "its worker died each time it was tried"
_LATE = "was added during the run; run the same command again to enhance it"


@dataclass(frozen=True)
class CorpusJob:
    """What to enhance, where to, and how; `keep` is an expression for `parse_filter`."""

    source: Path
    output: Path
    model: str | None = None
    strength: float = 1.0
    format: str = "flac"
    score: bool = False
    keep: str | None = None

    def stage_arguments(self) -> dict[str, Any]:
        """The arguments of `EnhanceStage`."""
        output, model = str(self.output.absolute()), self.model
        if model is not None and Path(model).suffix and Path(model).is_file():
            model = str(Path(model).absolute())  # workers may have another working directory
        how = {"model": model, "strength": self.strength, "format": self.format, "score": self.score}
        return {"output": output, **how}

    def settings(self) -> dict[str, Any]:
        """Everything that the audio and its measurements depend on; a run is only resumed with the same settings.

        A model is identified by the content of its file, so that a bundled one which an update has changed is noticed.
        """
        file = model_file(self.model)
        engine = "onnxruntime" if file.suffix.lower() == GRAPH_SUFFIX else "torch"
        model = f"sha256:{hashlib.sha256(file.read_bytes()).hexdigest()}"
        how = {"model": model, "strength": self.strength, "format": self.format, "score": self.score}
        return {
            "input": str(self.source.absolute()),
            **how,
            "hamiltone": __version__,
            "engine": f"{engine} {version(engine)}",
        }

    @property
    def added(self) -> tuple[str, ...]:
        """The fields that are added to a row."""
        before = tuple(f"{name}_before" for name in RATINGS)
        return (*_ADDED, *RATINGS, *before, "note") if self.score else (*_ADDED, "note")


@dataclass(frozen=True)
class Status:
    """The progress of a run: clips in total, done and failed, seconds of audio, workers active in the last minutes."""

    total: int
    done: int
    errors: int
    audio: float
    elapsed: float
    new: int
    workers: int

    @property
    def left(self) -> float | None:
        """Seconds left at the pace so far."""
        return (self.total - self.done) * self.elapsed / self.new if self.new else None


@dataclass(frozen=True)
class Summary:
    """The outcome of a run; `new` clips, seconds `elapsed` and `busy` seconds of all workers are since this start."""

    clips: int
    enhanced: int
    dropped: int
    errors: int
    hours: float
    new: int
    elapsed: float
    busy: float


Engine = Callable[[list[Clip], CorpusJob, int], Iterator[list[Result]]]
"""Enhances clips in batches of a given size and yields results in any order as they come; it may lose some.

Its largest number of workers may be an attribute `most`."""


def in_process(clips: list[Clip], job: CorpusJob, batch: int) -> Iterator[list[Result]]:
    """The plain loop: one process, one thread, the model loaded once."""
    stage = EnhanceStage(**job.stage_arguments())
    for clip in clips:
        yield [stage.enhance(clip)]


def run_corpus(
    job: CorpusJob, engine: Engine = in_process, tick: Callable[[Status], None] = lambda status: None
) -> Summary:
    """Enhance the missing clips of a corpus, then write its manifests; the same call resumes a killed run.

    Clips that failed before are tried again. A fault of the call as a whole raises an `InputError`; a fault of a clip
    is a row of the error manifest, and so is a clip that twice killed its worker.
    """
    keep = parse_filter(job.keep) if job.keep else None
    _check(job)
    folder = OutputFolder(job.output)
    if job.source.absolute() == job.output.absolute():
        raise InputError(f"{job.output}: is the input; choose another output")
    total = _survey(job, keep)
    with folder.claimed(job.settings()), Ledger(folder.ledger) as ledger:
        ledger.forget([*ledger.failures(), *_outdated(job, ledger)])
        pace = _Pace(total, ledger, tick)
        for batch in (BATCH, 1):  # clips that were lost with their batch are tried once more one by one
            expected = pace.new
            for clips in _rounds(_missing(job, ledger), getattr(engine, "most", 1)):
                expected += len(clips)
                for results in _while_there_is_room(engine(clips, job, batch), job.output):
                    pace.add(results)
            if pace.new == expected:
                break
        else:
            for clip in list(_missing(job, ledger)):  # alone: a clip that kills its worker may lose the next one too
                for results in _while_there_is_room(engine([clip], job, 1), job.output):
                    pace.add(results)
            for clip in list(_missing(job, ledger)):
                (job.output / target(clip, job.format)).unlink(missing_ok=True)  # it may have died after it wrote
                pace.add([Result(clip.id, error=_LOST)])
        folder.sweep()
        counts = _write_manifests(job, folder, ledger, keep)
        return Summary(**counts, new=pace.new, elapsed=round(pace.elapsed, 3), busy=round(pace.busy, 3))


def _check(job: CorpusJob) -> None:
    """Check before any worker starts that the settings are valid, and that the model and the ratings are available."""
    from hamiltone.metrics import check_metrics

    if not 0 <= job.strength <= 1:
        raise InputError(f"expected a strength from 0 to 1, got {job.strength}")
    check_format(job.format)
    resolve_model(job.model)
    if job.score:
        check_metrics(RATINGS)


def _survey(job: CorpusJob, keep: Filter | None) -> int:
    """Count the clips, and check their fields against those that are added and those that `keep` names."""
    total, names, fault = 0, dict.fromkeys(("id", "audio_filepath")), ""
    for row in list_rows(job.source, job.output):
        total += row.clip is not None
        fault = fault or (row.fault and f"; {row.id}: {row.fault}")
        names |= dict.fromkeys(row.fields)
    if taken := [name for name in (*job.added, "error") if name in names]:
        raise InputError(f"{job.source}: has a field {taken[0]!r}, which this run writes itself; rename it")
    if not total:
        raise InputError(f"{job.source}: holds no clips{fault}")
    names |= dict.fromkeys(job.added)
    unknown = sorted((keep.fields if keep else frozenset()) - names.keys())
    if unknown:
        rated = "; ratings come with --score" if unknown[0].startswith("dnsmos_") and not job.score else ""
        raise InputError(f"--keep: there is no field {unknown[0]!r}; there are {', '.join(names)}{rated}")
    return total


def _missing(job: CorpusJob, ledger: Ledger) -> Iterator[Clip]:
    for row in list_rows(job.source, job.output):
        if row.clip is not None and row.id not in ledger:
            yield row.clip


def _outdated(job: CorpusJob, ledger: Ledger) -> Iterator[str]:
    """Finished clips whose file has vanished or changed in size, or whose row now names something else."""
    for row in list_rows(job.source, job.output) if len(ledger) else ():
        if row.clip is not None and (entry := ledger.get(row.id)) and entry.get("enhanced_filepath"):
            path = job.output / entry["enhanced_filepath"]
            versions = {fingerprint(row.clip), entry.get("fingerprint")} - {None}  # None: its source is gone
            if len(versions) > 1 or not path.is_file() or path.stat().st_size != entry.get("bytes"):
                yield row.id


def _rounds(clips: Iterator[Clip], workers: int) -> Iterator[list[Clip]]:
    while chosen := list(itertools.islice(clips, max(ROUND, SHARE * workers))):
        yield chosen


def _while_there_is_room(batches: Iterator[list[Result]], output: Path) -> Iterator[list[Result]]:
    """Pass results on until the disk of the output is full: no fault of the clips, all of which would fail then."""
    reasons = tuple(f"cannot write: {os.strerror(number)}" for number in (errno.ENOSPC, errno.EDQUOT))
    for results in batches:
        yield results
        for error in (result.error or "" for result in results):
            if error.startswith(str(output.absolute())) and error.endswith(reasons):
                reason = error.rpartition(": ")[2]
                raise InputError(f"{output}: {reason}; make room and run the same command again to resume")


class _Pace:
    """Records results and reports how fast they come."""

    def __init__(self, total: int, ledger: Ledger, tick: Callable[[Status], None]) -> None:
        self._total, self._ledger, self._tick = total, ledger, tick
        self._started = time.monotonic()
        self._heard: dict[str, float] = {}
        self.new, self.busy = 0, 0.0
        self.add([])

    @property
    def elapsed(self) -> float:
        return time.monotonic() - self._started

    def add(self, results: Iterable[Result]) -> None:
        results = list(results)
        now = self.elapsed
        self.new += len(self._ledger.add(_entry(result) for result in results))
        self.busy += sum(result.elapsed or 0.0 for result in results)
        self._heard |= {result.worker: now for result in results if result.worker}
        workers = sum(now - when < 120 for when in self._heard.values())
        ledger = self._ledger
        self._tick(Status(self._total, len(ledger), ledger.failed, ledger.seconds, now, self.new, workers))


def _entry(result: Result) -> dict[str, Any]:
    return {name: value for name, value in asdict(result).items() if value is not None}


def _write_manifests(job: CorpusJob, folder: OutputFolder, ledger: Ledger, keep: Filter | None) -> dict[str, Any]:
    """Write the rows of the input in order, each with its outcome; return the counts."""
    counts, seconds = dict.fromkeys(("clips", "enhanced", "dropped", "errors"), 0), 0.0
    with ExitStack() as files:
        paths = {"enhanced": folder.manifest, "errors": folder.errors, **({"dropped": folder.dropped} if keep else {})}
        write = {name: files.enter_context(writing(path)) for name, path in paths.items()}
        for row in list_rows(job.source, job.output):
            entry: dict[str, Any] = {"error": row.fault or _LATE}
            if row.clip is not None:
                entry = ledger.get(row.id) or entry
            name, line = _line(row, entry, job.added, keep)
            write[name](line)
            counts[name] += 1
            counts["clips"] += 1
            seconds += entry.get("seconds") or 0.0
    if not keep:
        folder.dropped.unlink(missing_ok=True)
    return {**counts, "hours": round(seconds / 3600, 6)}


def _line(
    row: InputRow, entry: dict[str, Any], added: tuple[str, ...], keep: Filter | None
) -> tuple[str, dict[str, Any]]:
    fields = {"id": row.id, **row.fields}
    if fields["id"] in (None, ""):
        fields["id"] = row.id
    if "error" in entry:
        return "errors", {**fields, "error": entry["error"]}
    line = {**fields, **{name: entry.get(name) for name in added}}
    return "enhanced" if keep is None or keep(line) else "dropped", line
