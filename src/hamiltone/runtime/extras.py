"""What is written beside results: a preview and a picture."""

import os
from dataclasses import dataclass
from pathlib import Path

from hamiltone.audio.partial import identity
from hamiltone.errors import InputError
from hamiltone.runtime.faults import FAULTS, fault_of
from hamiltone.runtime.jobs import Job, is_there
from hamiltone.runtime.picture import draw_picture, require_matplotlib
from hamiltone.runtime.preview import check_preview_seconds, write_preview


def names_of(path: Path) -> set[str | tuple[int, int]]:
    """What identifies a file, before and after it is written."""
    return {os.path.realpath(path), identity(path)}


@dataclass(frozen=True)
class Extras:
    """What is written beside the results, and which files it must not replace."""

    preview: float | None
    picture: bool
    overwrite: bool
    taken: frozenset[str | tuple[int, int]] = frozenset()  # see `names_of`
    shared_stems: frozenset[Path] = frozenset()

    def __post_init__(self) -> None:
        if self.preview is not None:
            check_preview_seconds(self.preview)
        if self.picture:
            require_matplotlib()

    def paths(self, job: Job) -> tuple[Path | None, Path | None]:
        """Where the preview and the picture go, if they are wanted."""
        target = job.target
        base = target.name if target.with_suffix("") in self.shared_stems else target.stem
        preview = target.with_name(f"{base}.preview.wav") if self.preview is not None else None
        picture = target.with_name(f"{base}.png") if self.picture else None
        for path in filter(None, (preview, picture)):
            if identity(target) == identity(job.source):
                raise InputError(f"{target}: a preview or a picture needs the source, which would be replaced")
            if names_of(path) & (names_of(job.source) | self.taken):
                raise InputError(f"{path}: is an input or a result and would be replaced; choose another output")
            if is_there(path) and not self.overwrite:
                raise InputError(f"{path}: exists already; to replace it, give --overwrite")
        return preview, picture

    def write(self, job: Job, preview: Path | None, picture: Path | None, seconds: float) -> str:
        """Write them from the finished files; returns the reason if that failed; the result itself stays."""
        try:
            if preview is not None and self.preview is not None:
                write_preview(job.source, job.target, preview, self.preview)
            if picture is not None:
                draw_picture(job.source, job.target, picture, seconds=seconds)
        except FAULTS as error:
            return fault_of(job.source, error)
        return ""
