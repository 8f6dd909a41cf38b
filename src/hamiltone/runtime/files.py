"""Enhancement of files and folders, in memory that does not grow with their length."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from math import log10
from pathlib import Path

import numpy as np

from hamiltone.audio.formats import PCM_BITS, Block, Encoding, highest_peak, is_exact
from hamiltone.audio.io import open_writer, output_encoding, probe
from hamiltone.audio.partial import identity
from hamiltone.errors import InputError
from hamiltone.runtime.backend import resolve_model
from hamiltone.runtime.enhancement import WINDOW_SECONDS, Model, Settings, enhance_blocks
from hamiltone.runtime.extras import Extras, names_of
from hamiltone.runtime.faults import FAULTS, fault_of
from hamiltone.runtime.jobs import Job, Plan, check_jobs, is_there, plan_jobs, refuse_existing
from hamiltone.runtime.passages import Passages, beyond, outside
from hamiltone.runtime.survey import Recording, examine

_COPY_FRAMES = 65536


@dataclass(frozen=True)
class FileReport:
    """The outcome of one file. `rtf` is processing time over duration; after an `error` there is no output, unless only
    the preview or the picture failed.

    If the output existed already and was left unchanged, only a `note` says so. `scale` is below one if the whole file
    was made softer, since its peaks exceed what the output can hold.
    """

    input: str
    output: str | None = None
    sample_rate: int | None = None
    channels: int | None = None
    seconds: float | None = None
    elapsed: float | None = None
    rtf: float | None = None
    scale: float | None = None
    preview: str | None = None
    picture: str | None = None
    note: str | None = None
    error: str | None = None


def enhance_file(
    source: str | Path,
    target: str | Path,
    *,
    model: Model = None,
    strength: float = 1.0,
    keep: Passages = (),
    preview: float | None = None,
    picture: bool = False,
    overwrite: bool = False,
    window_seconds: float = WINDOW_SECONDS,
    progress: Callable[[float], None] | None = None,
) -> FileReport:
    """Enhance one audio file, as `hamiltone.runtime.enhance` does a waveform.

    Sample rate, channels and length are kept; so is the encoding, unless the suffix of `target` asks for another, and
    so are the picture and the other streams of a video. At `strength` 0 PCM samples are copied bit for bit; so are, at
    any strength, the passages in `keep`, start and end in seconds. If peaks exceed what `target` can hold, the whole
    file is made softer. `preview` seconds before and after, and a `picture` of both, are written beside `target`.

    A damaged or truncated file is enhanced as far as it can be decoded, and the report has a note. `target` appears
    when it is complete. Only with `overwrite` may it replace an existing file, and `source` only if that is undamaged.
    `progress` is called with the seconds of audio written so far.
    """
    settings = Settings(resolve_model(model), strength, window_seconds, keep)
    extras = Extras(preview, picture, overwrite)
    job = Job(Path(source), Path(target))
    check_jobs([job], overwrite=overwrite)
    if not overwrite:
        refuse_existing(job)
    report = _run(job, settings, extras, progress or (lambda seconds: None))
    if report.error:
        raise InputError(report.error)
    return report


def enhance_paths(
    sources: Sequence[str | Path],
    out: str | Path | None = None,
    *,
    model: Model = None,
    strength: float = 1.0,
    keep: Passages = (),
    preview: float | None = None,
    picture: bool = False,
    overwrite: bool = False,
    window_seconds: float = WINDOW_SECONDS,
    progress: Callable[[float, float], None] | None = None,
) -> Iterator[FileReport]:
    """Enhance files and folders; `hamiltone.runtime.jobs.plan_jobs` says what is written where.

    Errors of the call as a whole are raised immediately. Then reports are yielded as the files are done; a file that
    fails has the reason in its report, and the others are still enhanced. Among several files, those that already have
    a result are skipped unless `overwrite` is given. `progress` is called with the seconds of audio done and in total.
    """
    settings = Settings(resolve_model(model), strength, window_seconds, keep)
    extras = Extras(preview, picture, overwrite)
    plan = plan_jobs(sources, out, overwrite=overwrite)
    if keep and len(plan.jobs) > 1:
        raise InputError("passages to keep belong to one recording; give one file")
    kept = set() if overwrite else {job for job in plan.jobs if is_there(job.target)}
    return _run_all(plan, kept, settings, extras, progress or (lambda done, total: None))


def _run_all(
    plan: Plan, kept: set[Job], settings: Settings, extras: Extras, progress: Callable[[float, float], None]
) -> Iterator[FileReport]:
    for path, reason in plan.faults.items():
        yield FileReport(str(path), error=reason)
    jobs = plan.jobs
    stems = Counter(job.target.with_suffix("") for job in jobs)
    extras = replace(
        extras,
        taken=frozenset(name for job in jobs for path in (job.source, job.target) for name in names_of(path)),
        shared_stems=frozenset(stem for stem, count in stems.items() if count > 1),
    )
    durations = [0.0 if job in kept else _promised_seconds(job.source) for job in jobs]
    done, total, written = 0.0, sum(durations), dict[str | tuple[int, int], Path]()
    progress(done, total)
    for job, duration in zip(jobs, durations, strict=True):
        if job in kept:
            note = f"skipped: {job.target} exists already; to replace it, give --overwrite"
            yield FileReport(str(job.source), str(job.target), note=note)
            continue

        def advance(seconds: float, before: float = done, duration: float = duration) -> None:
            progress(before + min(seconds, duration), total)

        try:
            if (other := written.get(identity(job.target))) is not None:  # names that differ in case alone
                raise InputError(f"{other} and {job.source} would both be written to {job.target}")
            report = _run(job, settings, extras, advance)
            written[identity(job.target)] = job.source
        except BrokenPipeError:  # the reader of the progress has gone
            raise
        except FAULTS as error:
            report = FileReport(str(job.source), error=fault_of(job.source, error))
        done += duration
        progress(done, total)
        yield report


def _promised_seconds(path: Path) -> float:
    try:
        return probe(path).seconds
    except FAULTS:  # reported when this file is processed
        return 0.0


def _run(job: Job, settings: Settings, extras: Extras, progress: Callable[[float], None]) -> FileReport:
    started = time.perf_counter()
    preview, picture = extras.paths(job)
    recording = examine(job.source, settings.model.sample_rate)
    info, survey = recording.info, recording.survey
    if recording.damage and identity(job.target) == identity(job.source):
        raise InputError(f"{job.source}: is not overwritten, since it is {recording.damage}; choose another output")
    encoding = output_encoding(info, job.target)
    scale = 1.0 if survey.peak <= highest_peak(encoding, info.encoding) else 1 / survey.peak
    written = 0
    with open_writer(job.target, encoding, info, survey.frames) as writer:
        if not extras.overwrite:
            writer.spare_others()
        for block in _output_blocks(recording, settings, encoding):
            writer.write(block if scale == 1 else block * block.dtype.type(scale))
            written += len(block)
            progress(written / info.sample_rate)
    seconds = survey.frames / info.sample_rate
    error = extras.write(job, preview, picture, seconds)

    elapsed = time.perf_counter() - started
    clipped = _clipped(writer.clipped, encoding)
    notes = [recording.damage, _softer(scale), clipped, beyond(settings.keep, seconds), writer.note]
    return FileReport(
        input=str(job.source),
        output=str(job.target),
        sample_rate=info.sample_rate,
        channels=info.channels,
        seconds=seconds,
        elapsed=elapsed,
        rtf=elapsed / seconds,
        scale=scale,
        preview=str(preview) if preview and not error else None,
        picture=str(picture) if picture and not error else None,
        note="; ".join(filter(None, notes)) or None,
        error=error or None,
    )


def _softer(scale: float) -> str:
    if scale == 1:
        return ""
    over = f"{-20 * log10(scale):.1f} dB"
    return f"its peaks are {over} over full scale, which the output cannot hold: the whole file is {over} softer"


def _clipped(samples: int, encoding: Encoding) -> str:
    if not samples:
        return ""
    limit = "full scale" if is_exact(encoding) else "four times full scale"
    return f"clipped at {limit}: {samples} sample{'s' if samples > 1 else ''} of the result"


def _output_blocks(recording: Recording, settings: Settings, encoding: Encoding) -> Iterator[Block]:
    info = recording.info
    if settings.strength > 0:
        with recording.open(info.path) as reader:
            read = recording.second_pass(reader)
            blocks = enhance_blocks(read, recording.survey, settings, info.sample_rate, name=str(info.path))
            yield from _restore(blocks, recording, settings.keep) if settings.keep else blocks
        return
    exact = encoding.subtype in PCM_BITS and encoding.subtype == info.encoding.subtype
    with recording.open(info.path, "int32" if exact else "float64") as reader:
        read = recording.second_pass(reader)
        while len(block := read(_COPY_FRAMES)):
            yield block


def _restore(blocks: Iterator[Block], recording: Recording, passages: Passages) -> Iterator[Block]:
    """The blocks, which are in float32 and rounded at seams, with the source's own samples in every passage."""
    info, start = recording.info, 0
    with recording.open(info.path, "float64") as reader:
        read = recording.second_pass(reader)
        for block in blocks:
            kept = outside(passages, start, len(block), info.sample_rate) == 0
            yield np.where(kept, read(len(block)), block)
            start += len(block)
