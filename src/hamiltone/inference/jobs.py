"""From what the user names to pairs of source and target files."""

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hamiltone.audio.formats import FORMATS, MEDIA_SUFFIXES
from hamiltone.errors import InputError


@dataclass(frozen=True)
class Job:
    """A recording and where its enhanced version goes."""

    source: Path
    target: Path


def plan_jobs(sources: Sequence[str | Path], out: str | Path | None = None, *, overwrite: bool = False) -> list[Job]:
    """A job for every file, and for every audio file below every folder, in `sources`.

    `out` is the target file of a single source file; otherwise, or when it is a folder, ends in a slash or has no
    suffix, it is the folder for all targets, where files keep their names and folders their structure. Without it,
    ``noisy.wav`` becomes ``noisy.enhanced.wav`` beside it and the folder ``takes`` becomes ``takes.enhanced``. Formats
    that cannot be written become ``.wav``.

    Results of an earlier call beside their sources, as in ``noisy*.wav``, are no sources. A source is only replaced by
    its own result, and only with `overwrite`; so is the output of a single file, if it is there already.
    """
    paths = [Path(source) for source in sources]
    if out is not None and not _is_folder(out, paths):
        jobs = [Job(paths[0], Path(out))]
    else:
        folder = None if out is None else Path(out)
        jobs = [job for path in paths for job in (_folder_jobs if path.is_dir() else _file_jobs)(path, folder)]
    results = {_beside(job.source).resolve() for job in jobs}
    jobs = [job for job in jobs if job.source.resolve() not in results]
    check_jobs(jobs, overwrite=overwrite)
    if not overwrite and len(paths) == 1 and not paths[0].is_dir():
        refuse_existing(jobs[0])
    return jobs


def _is_folder(out: str | Path, sources: list[Path]) -> bool:
    path = Path(out)
    several = len(sources) > 1 or any(source.is_dir() for source in sources)
    if not path.exists():
        return several or str(out).endswith(("/", os.sep)) or not path.suffix
    if several and not path.is_dir():
        raise InputError(f"{out}: expected a folder for the results of several files, this is a file")
    return path.is_dir()


def _file_jobs(source: Path, folder: Path | None) -> Iterator[Job]:
    yield Job(source, _beside(source) if folder is None else folder / f"{source.stem}{_suffix(source)}")


def _beside(source: Path) -> Path:
    """The default target of a file."""
    return source.with_name(f"{source.stem}.enhanced{_suffix(source)}")


def _suffix(source: Path) -> str:
    return source.suffix if source.suffix.lower() in FORMATS else ".wav"


def _folder_jobs(source: Path, folder: Path | None) -> Iterator[Job]:
    if folder is None:
        named = source if source.name not in ("", "..") else source.resolve()
        folder = named.with_name(f"{named.name}.enhanced")
    files = sorted(path for path in source.rglob("*") if _is_recording(path))
    results = folder.resolve()
    files = [path for path in files if results not in path.resolve().parents]
    if not files:
        raise InputError(f"{source}: holds no audio files")
    for path in files:
        yield from _file_jobs(path, folder / path.parent.relative_to(source))


def _is_recording(path: Path) -> bool:
    return path.suffix.lower() in FORMATS.keys() | MEDIA_SUFFIXES and not path.name.startswith(".") and path.is_file()


def refuse_existing(job: Job) -> None:
    """Raise an `InputError` if the target is a file that is there already (a source is `check_jobs`'s business)."""
    if job.target.exists() and job.target.resolve() != job.source.resolve():
        raise InputError(
            f"{job.target}: is there already; choose another output or let it be replaced with --overwrite"
        )


def check_jobs(jobs: Sequence[Job], *, overwrite: bool) -> None:
    """Raise an `InputError` if a source would be lost or two results would meet in one file."""
    sources = {job.source.resolve() for job in jobs}
    taken: dict[Path, Path] = {}
    for job in jobs:
        source, target = job.source.resolve(), job.target.resolve()
        if target in taken:
            raise InputError(f"{taken[target]} and {job.source} would both be written to {job.target}")
        if target == source and not overwrite:
            raise InputError(
                f"{job.target}: would replace its source; choose another output or allow it with --overwrite"
            )
        if target != source and target in sources:
            raise InputError(f"{job.target}: is itself an input and would be replaced; choose another output")
        taken[target] = job.source
