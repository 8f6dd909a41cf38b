"""Enhancement of files and folders, in memory that does not grow with their length."""

import os
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

from hamiltone.audio.formats import PCM_BITS, AudioInfo, Encoding
from hamiltone.audio.io import (
    AudioWriter,
    Block,
    MediaReader,
    SoundFileReader,
    open_damaged,
    open_reader,
    output_encoding,
    probe,
)
from hamiltone.errors import InputError
from hamiltone.inference.jobs import Job, Plan, check_jobs, is_there, plan_jobs, refuse_existing
from hamiltone.inference.settings import WINDOW_SECONDS, Model, Settings, resolve_model
from hamiltone.inference.stream import enhance_stream
from hamiltone.inference.survey import Survey, survey_recording

_COPY_FRAMES = 65536


@dataclass(frozen=True)
class FileReport:
    """What became of one file. `rtf` is processing time over duration; after an `error` there is no output.

    Where the output was there already and was left as it is, only a `note` says so.
    """

    input: str
    output: str | None = None
    sample_rate: int | None = None
    channels: int | None = None
    seconds: float | None = None
    elapsed: float | None = None
    rtf: float | None = None
    note: str | None = None
    error: str | None = None


def enhance_file(
    source: str | Path,
    target: str | Path,
    *,
    model: Model = None,
    strength: float = 1.0,
    overwrite: bool = False,
    window_seconds: float = WINDOW_SECONDS,
    progress: Callable[[float], None] | None = None,
) -> FileReport:
    """Enhance one audio file, as `hamiltone.inference.enhance` does a waveform.

    Sample rate, channels and length are kept; so is the encoding, unless the suffix of `target` asks for another. At
    `strength` 0 PCM samples are copied bit for bit. Of a damaged or truncated file, what can be decoded is enhanced,
    and the report has a note. `target` appears when it is complete. Only with `overwrite` may it be a file that is
    there, and `source` itself only if that is sound. `progress` is told the seconds of audio written so far.
    """
    settings = Settings(resolve_model(model), strength, window_seconds)
    job = Job(Path(source), Path(target))
    check_jobs([job], overwrite=overwrite)
    if not overwrite:
        refuse_existing(job)
    return _run(job, settings, progress or (lambda seconds: None))


def enhance_paths(
    sources: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    model: Model = None,
    strength: float = 1.0,
    overwrite: bool = False,
    window_seconds: float = WINDOW_SECONDS,
    progress: Callable[[float, float], None] | None = None,
) -> Iterator[FileReport]:
    """Enhance files and folders; `hamiltone.inference.jobs.plan_jobs` says what is written where.

    What is wrong with the call as a whole is raised at once. Then reports are yielded as the files are done; a file
    that fails has the reason in its report, and the others go on. Of several files, those whose results are there
    already are passed over unless `overwrite` is given. `progress` is told the seconds of audio behind us and in all.
    """
    settings = Settings(resolve_model(model), strength, window_seconds)
    plan = plan_jobs(sources, out, overwrite=overwrite)
    kept = set() if overwrite else {job for job in plan.jobs if is_there(job.target)}
    return _run_all(plan, kept, settings, progress or (lambda done, total: None))


def _run_all(
    plan: Plan, kept: set[Job], settings: Settings, progress: Callable[[float, float], None]
) -> Iterator[FileReport]:
    for path, reason in plan.faults.items():
        yield FileReport(str(path), error=reason)
    jobs = plan.jobs
    durations = [0.0 if job in kept else _promised_seconds(job.source) for job in jobs]
    done, total = 0.0, sum(durations)
    progress(done, total)
    for job, duration in zip(jobs, durations, strict=True):
        if job in kept:
            note = f"passed over: {job.target} is there already; to replace it, give --overwrite"
            yield FileReport(str(job.source), str(job.target), note=note)
            continue

        def advance(seconds: float, before: float = done, duration: float = duration) -> None:
            progress(before + min(seconds, duration), total)

        try:
            report = _run(job, settings, advance)
        except InputError as error:
            report = FileReport(str(job.source), error=str(error))
        done += duration
        progress(done, total)
        yield report


def _promised_seconds(path: Path) -> float:
    try:
        return probe(path).seconds
    except InputError:  # is reported when the turn of this file comes
        return 0.0


def _run(job: Job, settings: Settings, progress: Callable[[float], None]) -> FileReport:
    started = time.perf_counter()
    recording = _examine(job.source, settings.model.sample_rate)
    info, survey = recording.info, recording.survey
    if recording.damage and os.path.realpath(job.target) == os.path.realpath(job.source):
        raise InputError(f"{job.source}: is not overwritten, since it is {recording.damage}; choose another output")
    rate, channels = info.sample_rate, info.channels
    encoding = output_encoding(info, job.target)
    written = 0
    with AudioWriter(job.target, encoding, sample_rate=rate, channels=channels, frames=survey.frames) as writer:
        for block in _output_blocks(recording, settings, encoding):
            writer.write(block)
            written += len(block)
            progress(written / rate)

    seconds, elapsed = survey.frames / rate, time.perf_counter() - started
    return FileReport(
        input=str(job.source),
        output=str(job.target),
        sample_rate=rate,
        channels=channels,
        seconds=seconds,
        elapsed=elapsed,
        rtf=elapsed / seconds,
        note=recording.damage or None,
    )


@dataclass(frozen=True)
class _Recording:
    """A source after the first pass: how to open it again, and what is wrong with it, if anything."""

    info: AudioInfo
    survey: Survey
    damage: str
    open: Callable[..., SoundFileReader | MediaReader]


def _examine(source: Path, model_rate: int) -> _Recording:
    """Read a source to its end; where it breaks off early, by the decoder that gets further."""
    recording = _read_through(source, open_reader, model_rate)
    if not recording.damage:
        return recording
    with suppress(InputError):
        further = _read_through(source, open_damaged, model_rate)
        if recording.survey.frames < further.survey.frames <= further.info.frames:
            return replace(
                further, damage=further.damage or "damaged; it was read to its end, but may sound wrong where it is"
            )
    return recording


def _read_through(
    source: Path, open_source: Callable[..., SoundFileReader | MediaReader], model_rate: int
) -> _Recording:
    with open_source(source) as reader:
        info = reader.info
        survey = survey_recording(
            reader.read,
            name=str(source),
            sample_rate=info.sample_rate,
            channels=info.channels,
            model_rate=model_rate,
        )
        damage = ""
        if reader.missing:
            damage = f"damaged or cut short: {reader.missing:.2f} s that the header promises are missing"
        elif reader.damaged:
            damage = "damaged: parts of it could not be decoded"
        return _Recording(info, survey, damage, open_source)


def _output_blocks(recording: _Recording, settings: Settings, encoding: Encoding) -> Iterator[Block]:
    info = recording.info
    if settings.strength > 0:
        with recording.open(info.path) as reader:
            yield from enhance_stream(reader.read, recording.survey, settings, info.sample_rate, name=str(info.path))
        return
    exact = encoding.subtype in PCM_BITS and encoding.subtype == info.encoding.subtype
    with recording.open(info.path, "int32" if exact else "float64") as reader:
        while len(block := reader.read(_COPY_FRAMES)):
            yield block
