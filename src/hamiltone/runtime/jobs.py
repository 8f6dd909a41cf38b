"""From what the user names to pairs of source and target files."""

import os
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from hamiltone.audio.formats import READ_SUFFIXES, WRITTEN_SUFFIXES
from hamiltone.audio.partial import identity
from hamiltone.errors import InputError


@dataclass(frozen=True)
class Job:
    """A recording and where its enhanced version goes."""

    source: Path
    target: Path


@dataclass(frozen=True)
class Plan:
    """The jobs, and the faults of folders that have none."""

    jobs: list[Job]
    faults: dict[Path, str]


def plan_jobs(sources: Sequence[str | Path], out: str | Path | None = None, *, overwrite: bool = False) -> Plan:
    """A job for every file, and for every audio file below every folder, in `sources`.

    `out` is the target file of a single source file; otherwise, or when it is a folder, ends in a slash or has no
    suffix, it is the folder for all targets, where files keep their names and folders their structure. Without it,
    ``noisy.wav`` becomes ``noisy.enhanced.wav`` beside it and the folder ``takes`` becomes ``takes.enhanced``. Formats
    that cannot be written become ``.wav``; if two of them would get the same name, each keeps its suffix before it.
    Links to folders are followed, each once. A file that is named twice, or also found in a folder, is one job.

    Results and previews of an earlier call beside their sources, as in ``noisy*.wav``, are not sources. A source is
    only replaced by its own result, and only with `overwrite`; so is the output of a single file, if it exists.
    """
    paths, faults = [Path(source) for source in sources], dict[Path, str]()
    if out is not None and not _is_folder(out, paths):
        jobs = [Job(paths[0], Path(out))]
    else:
        folder = None if out is None else Path(out)
        jobs = []
        for path in paths:
            jobs += _folder_jobs(path, folder, faults) if path.is_dir() else [_file_job(path, folder)]
    results = {_entry(path) for job in jobs for path in _results(job.source)}
    jobs = _apart(_once([job for job in jobs if _entry(job.source) not in results]))
    check_jobs(jobs, overwrite=overwrite)
    if not overwrite and len(paths) == 1 and not paths[0].is_dir():
        refuse_existing(jobs[0])
    return Plan(jobs, faults)


def _is_folder(out: str | Path, sources: list[Path]) -> bool:
    path = Path(out)
    several = len(sources) > 1 or any(source.is_dir() for source in sources)
    if not is_there(path):
        return several or str(out).endswith(("/", os.sep)) or not path.suffix
    if several and not path.is_dir():
        raise InputError(f"{out}: expected a folder for the results of several files, but this is a file")
    return path.is_dir()


def _file_job(source: Path, folder: Path | None) -> Job:
    return Job(source, _beside(source) if folder is None else folder / f"{source.stem}{_suffix(source)}")


def _beside(source: Path) -> Path:
    """The default target of a file."""
    return source.with_name(f"{source.stem}.enhanced{_suffix(source)}")


def _suffix(source: Path) -> str:
    return source.suffix if source.suffix.lower() in WRITTEN_SUFFIXES else ".wav"


def _results(source: Path) -> list[Path]:
    """The results that an earlier call may have written beside a file."""
    result = _beside(source)
    return [result, result.with_name(f"{result.stem}.preview.wav"), result.with_name(f"{result.name}.preview.wav")]


def _entry(path: Path) -> Path:
    """A name in its real folder: where it is a link, what it points to may well be a source."""
    return Path(os.path.realpath(path.parent), path.name)


def _once(jobs: list[Job]) -> list[Job]:
    """The jobs, without those that would write the same file from the same source again."""
    return list({(identity(job.source), _entry(job.target)): job for job in jobs}.values())


def _apart(jobs: list[Job]) -> list[Job]:
    """The jobs, with the full name of the source in the target where two targets would otherwise be the same."""
    count = Counter(job.target for job in jobs)
    return [
        Job(job.source, job.target.with_name(job.target.name.replace(job.source.stem, job.source.name, 1)))
        if count[job.target] > 1 and job.target.suffix != job.source.suffix
        else job
        for job in jobs
    ]


def _folder_jobs(source: Path, folder: Path | None, faults: dict[Path, str]) -> list[Job]:
    if folder is None:
        named = source if source.name not in ("", "..") else source.resolve()
        folder = named.with_name(f"{named.name}.enhanced")
    closed: list[OSError] = []
    files = sorted(path for path in walk(source, closed) if is_recording(path))
    results, place = Path(os.path.realpath(folder)), Path(os.path.realpath(source))
    if results not in (place, *place.parents):  # else results replace their sources, or lie above them
        files = [path for path in files if results not in Path(os.path.realpath(path)).parents]
    for error in closed:
        faults[Path(error.filename)] = f"{error.filename}: cannot read the folder: {error.strerror}"
    if not files and not closed:
        faults[source] = f"{source}: holds no audio files"
    return [_file_job(path, folder / path.parent.relative_to(source)) for path in files]


def walk(folder: Path, closed: list[OSError], *, without: Sequence[Path] = ()) -> Iterator[Path]:
    """All files below a folder but not below those of `without`, in the order of the names of each folder.

    Links to folders are followed, each once; `closed` gets the errors of folders that cannot be read.
    """
    seen = {os.path.realpath(path) for path in (folder, *without)}
    for root, folders, names in os.walk(folder, onerror=closed.append, followlinks=True):
        yield from (Path(root, name) for name in sorted(names))
        places = {os.path.realpath(Path(root, name)): name for name in sorted(folders, reverse=True)}
        folders[:] = sorted(name for place, name in places.items() if place not in seen)
        seen.update(places)


def is_recording(path: Path) -> bool:
    """Whether the name of a file has the suffix of a recording and is not hidden."""
    return path.suffix.lower() in WRITTEN_SUFFIXES | READ_SUFFIXES and not path.name.startswith(".")


def is_there(path: Path) -> bool:
    """Whether a path exists; one that the system cannot look up, such as an overlong name, does not."""
    try:
        return path.exists()
    except OSError:
        return False


def refuse_existing(job: Job) -> None:
    """Raise an `InputError` if the target exists already (`check_jobs` deals with sources)."""
    if is_there(job.target) and identity(job.target) != identity(job.source):
        raise InputError(f"{job.target}: exists already; choose another output, or replace it with --overwrite")


def check_jobs(jobs: Sequence[Job], *, overwrite: bool) -> None:
    """Raise an `InputError` if a source would be lost or two results would go to one file."""
    sources = {identity(job.source) for job in jobs}
    taken: dict[str | tuple[int, int], Path] = {}
    for job in jobs:
        source, target = identity(job.source), identity(job.target)  # loops of links do not matter here
        if target in taken:
            raise InputError(f"{taken[target]} and {job.source} would both be written to {job.target}")
        if target == source and not overwrite:
            raise InputError(
                f"{job.target}: would replace its source; choose another output or allow it with --overwrite"
            )
        if target != source and target in sources:
            raise InputError(f"{job.target}: is itself an input and would be replaced; choose another output")
        taken[target] = job.source
