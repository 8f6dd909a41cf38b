"""Files that appear whole or not at all, whatever happens while they are written."""

import errno
import glob
import os
import secrets
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hamiltone.errors import InputError
from hamiltone.leftovers import create, remove, sweep


@contextmanager
def replacing(path: Path) -> Iterator[Path]:
    """Yield a new, empty file beside `path` for the block to write.

    At the end of the block it is synced to the disk and takes the place of `path`; if the block fails, it is removed.
    If the process is killed, the next one that writes to `path` removes it.
    """
    sweep(path.parent, f".{glob.escape(path.name)}.*.part")
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.part")
    with create(temporary) as lock:
        try:
            yield temporary
            with temporary.open("rb+") as file:
                os.fsync(file.fileno())
            if sys.platform == "win32":  # an open file cannot be renamed there
                lock.close()
            temporary.replace(path)
        finally:
            remove(temporary)


def sync_folder(folder: Path) -> None:
    """Sync the names in a folder, and its own, to the disk, so that they survive a loss of power.

    Some network file systems cannot sync a folder; there its names are as safe as the file system makes them.
    """
    if sys.platform == "win32":  # a folder cannot be opened there
        return
    for path in (folder, folder.parent):
        handle = os.open(path, os.O_RDONLY)
        try:
            os.fsync(handle)
        except OSError as error:
            if error.errno not in (errno.EINVAL, errno.ENOTSUP):
                raise
        finally:
            os.close(handle)


def write_bytes(path: Path, content: bytes) -> None:
    """Write a file atomically; failure raises an `InputError`."""
    try:
        with replacing(path) as temporary:
            temporary.write_bytes(content)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror or error}") from error


def write_text(path: Path, text: str) -> None:
    """Write a UTF-8 text file atomically; failure raises an `InputError`."""
    write_bytes(path, text.encode())
