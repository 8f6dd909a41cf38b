"""Temporary files that outlive their purpose: a process removes its own as it ends, a later one those of a killed one.

Each file is locked while its process lives, so that a later process can recognise what was left behind.
"""

import re
import shutil
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory, gettempdir
from typing import BinaryIO

if sys.platform != "win32":  # no locks there, so no sweeping either
    import fcntl

_LOCK, _NEW = "lock", "new"
_created: set[Path] = set()
_swept: set[tuple[Path, str]] = set()


def create(path: Path) -> BinaryIO:
    """Create a new unbuffered file, to be given to `remove` in the end; `sweep` leaves it alone until it is closed."""
    _created.add(path)  # first: a signal may come at any point from here to the `try` that would remove the file
    while True:
        try:
            file = path.open("xb", buffering=0)
        except OSError:
            _created.discard(path)
            raise
        if sys.platform == "win32":
            return file
        with suppress(OSError):  # a file system without locks
            fcntl.flock(file, fcntl.LOCK_EX)
        if path.exists():
            return file
        file.close()  # another process swept it before it was locked


def remove(path: Path) -> None:
    """Remove a file that `create` made, unless it has been renamed."""
    path.unlink(missing_ok=True)
    _created.discard(path)


def remove_all() -> None:
    """Remove the files of this process that no `remove` has reached, as it ends."""
    for path in list(_created):
        with suppress(OSError):
            remove(path)


def sweep(folder: Path, pattern: str) -> None:
    """Remove the files in a folder that `create` made for processes that have ended."""
    with suppress(OSError):
        for path in list(folder.glob(pattern)):
            if _is_abandoned(path):
                path.unlink(missing_ok=True)


def sweep_once(folder: Path, pattern: str) -> None:
    """`sweep`, but only the first time in this process: listing a large folder for each of its files takes long."""
    if (folder, pattern) not in _swept:
        _swept.add((folder, pattern))
        sweep(folder, pattern)


def host() -> str:
    """The name of this host, as a part of the name of a file.

    Where hosts share a folder, a lock may be seen on its own host only: no host can tell what another has abandoned.
    """
    return re.sub(r"[^A-Za-z0-9_]", "_", socket.gethostname())[:64]


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
        try:
            yield Path(folder)
        finally:
            remove(Path(folder, _NEW))


def _is_abandoned(path: Path) -> bool:
    if sys.platform == "win32":
        return False
    try:
        with path.open("rb+") as file:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
    except OSError:
        return False
