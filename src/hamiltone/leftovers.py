"""Temporary files left by killed processes: each is locked while its process lives, so a later one can recognise it."""

import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

if sys.platform != "win32":  # no locks there, so no sweeping either
    import fcntl

_LOCK, _NEW = "lock", "new"


def create(path: Path) -> BinaryIO:
    """Create a new unbuffered file; `sweep` leaves it alone until it is closed."""
    while True:
        file = path.open("xb", buffering=0)
        if sys.platform == "win32":
            return file
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return file
        file.close()  # another process swept it before it was locked


def sweep(folder: Path, pattern: str) -> None:
    """Remove the files in a folder that `create` made for processes that have ended."""
    with suppress(OSError):
        for path in list(folder.glob(pattern)):
            if _is_abandoned(path):
                path.unlink(missing_ok=True)


@contextmanager
def scratch_folder(prefix: str) -> Iterator[Path]:
    """A temporary folder; those of processes that have ended are removed first."""
    with suppress(OSError):
        for lock in list(Path(gettempdir()).glob(f"{prefix}*/{_LOCK}")):
            if _is_abandoned(lock):
                shutil.rmtree(lock.parent, ignore_errors=True)
    with TemporaryDirectory(prefix=prefix) as folder, create(Path(folder, _NEW)):
        if sys.platform != "win32":  # an open file cannot be renamed there
            Path(folder, _NEW).rename(Path(folder, _LOCK))  # now that it is locked, others may look at it
        yield Path(folder)


def _is_abandoned(path: Path) -> bool:
    if sys.platform == "win32":
        return False
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False
