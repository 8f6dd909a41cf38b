"""Enhancement of files and folders, in memory that does not grow with their length."""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hamiltone.audio.formats import PCM_BITS, AudioInfo, Encoding
from hamiltone.audio.io import AudioWriter, Block, open_reader, output_encoding, probe
from hamiltone.errors import InputError
from hamiltone.inference.jobs import Job, check_jobs, plan_jobs
from hamiltone.inference.settings import WINDOW_SECONDS, Model, Settings, resolve_model
from hamiltone.inference.stream import enhance_stream
from hamiltone.inference.survey import Survey, survey_recording

_COPY_FRAMES = 65536


@dataclass(frozen=True)
class FileReport:
    """What became of one file. `rtf` is processing time over duration; after an `error` there is no output."""

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
    `strength` 0 PCM samples are copied bit for bit. A truncated file is enhanced as far as it goes, and the report has
    a note. `target` appears when it is complete, in place of an earlier one; `source` itself is replaced only with
    `overwrite`. `progress` is told the seconds of audio written so far.
    """
    settings = Settings(resolve_model(model), strength, window_seconds)
    job = Job(Path(source), Path(target))
    check_jobs([job], overwrite=overwrite)
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
    that fails has the reason in its report, and the others go on. `progress` is told the seconds of audio behind us
    and in all.
    """
    settings = Settings(resolve_model(model), strength, window_seconds)
    jobs = plan_jobs(sources, out, overwrite=overwrite)
    return _run_all(jobs, settings, progress or (lambda done, total: None))


def _run_all(jobs: list[Job], settings: Settings, progress: Callable[[float, float], None]) -> Iterator[FileReport]:
    durations = [_promised_seconds(job.source) for job in jobs]
    done, total = 0.0, sum(durations)
    progress(done, total)
    for job, duration in zip(jobs, durations, strict=True):

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
    with open_reader(job.source) as reader:
        info = reader.info
        survey = survey_recording(
            reader.read,
            name=str(job.source),
            sample_rate=info.sample_rate,
            channels=info.channels,
            model_rate=settings.model.sample_rate,
        )
        missing = reader.missing
    rate, channels = info.sample_rate, info.channels
    encoding = output_encoding(info, job.target)
    written = 0
    with AudioWriter(job.target, encoding, sample_rate=rate, channels=channels, frames=survey.frames) as writer:
        for block in _output_blocks(info, survey, settings, encoding):
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
        note=f"damaged or cut short: {missing:.2f} s that the header promises are missing" if missing else None,
    )


def _output_blocks(info: AudioInfo, survey: Survey, settings: Settings, encoding: Encoding) -> Iterator[Block]:
    if settings.strength > 0:
        with open_reader(info.path) as reader:
            yield from enhance_stream(reader.read, survey, settings, info.sample_rate, name=str(info.path))
        return
    exact = encoding.subtype in PCM_BITS and encoding.subtype == info.encoding.subtype
    with open_reader(info.path, "int32" if exact else "float64") as reader:
        while len(block := reader.read(_COPY_FRAMES)):
            yield block
