"""A file that replaces its target once it is complete, and is removed otherwise."""

import os
import secrets
import signal
import stat
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO, Self

from hamiltone.errors import InputError
from hamiltone.leftovers import create, host, remove, sweep_once


class PartialFile:
    """A temporary file beside `target`; `commit` renames it to the target, `discard` removes it.

    Libraries write to `sink`, inside `errors_in_one_line`; `errors` are the exceptions they raise besides `OSError` and
    `ValueError`. `head` precedes everything they write and is invisible to them. `temporary` is the path of the file
    until it is committed.

    Attributes:
        replaces: Whether a file that has the target's name by the time of the commit is replaced; if not, it is an
            error.
    """

    replaces = True

    def __init__(self, target: Path, *, errors: tuple[type[Exception], ...] = (), head: bytes = b"") -> None:
        self._target = target
        self._errors: tuple[type[Exception], ...] = (*errors, ValueError)
        self._path = Path(os.path.realpath(target))  # if the target is a link, it stays one
        with self.errors_in_one_line():
            if self._path.exists() and not self._path.is_file():
                raise OSError("it is not a regular file")
            if not self._path.parent.exists():
                self._path.parent.mkdir(parents=True, exist_ok=True)
            sweep_once(self._path.parent, f".hamiltone-{host()}-*.part")
            self.temporary = self._path.with_name(f".hamiltone-{host()}-{secrets.token_hex(8)}.part")
            self._raw = create(self.temporary)
        self.sink = Sink(self._raw, head)

    def commit(self, tail: bytes = b"", edit: Callable[[BinaryIO], None] | None = None) -> None:
        """Append `tail`, let `edit` change the finished file, and replace the target with it."""
        with self.errors_in_one_line():
            self.sink.seek(0, os.SEEK_END)
            self.sink.write(tail)
            self.sink.check()
            if edit is not None:
                with self.temporary.open("r+b") as file:
                    edit(file)
            with suppress(OSError):  # nothing to replace, or a file system without modes
                self.temporary.chmod(stat.S_IMODE(self._path.stat().st_mode))  # a private file stays private
            os.fsync(self._raw.fileno())
            self._raw.close()
            self._take_name()

    def _take_name(self) -> None:
        if not self.replaces:
            with suppress(OSError):  # a link never replaces a file; some file systems have none
                os.link(self.temporary, self._path)
                return  # `discard` removes the other name
            if self._path.exists():
                raise OSError("a file of this name has appeared in the meantime")
        self.temporary.replace(self._path)

    def discard(self) -> None:
        """Remove the file, unless it has been committed."""
        self._raw.close()
        remove(self.temporary)

    @contextmanager
    def errors_in_one_line(self) -> Iterator[None]:
        """Turn errors while writing into an `InputError`, and hold signals back meanwhile."""
        try:
            with _signals_afterwards():
                yield
        except OSError as error:
            raise InputError(f"{self._target}: cannot write: {error.strerror or error}") from error
        except self._errors as error:
            reason = getattr(error, "error_string", str(error))
            raise InputError(f"{self._target}: cannot write: {' '.join(reason.split())}") from error


class PartialWriter(ABC):
    """A writer whose file is complete when its ``with`` block ends, and is removed if the block raises."""

    _partial: PartialFile

    def spare_others(self) -> None:
        """Fail rather than replace a file that appears under the target's name in the meantime."""
        self._partial.replaces = False

    def __enter__(self) -> Self:
        return self

    def __exit__(self, failure: type[BaseException] | None, *_: object) -> None:
        try:
            if failure is None:
                self._finish()
        finally:
            self._end()

    @abstractmethod
    def _finish(self) -> None:
        """Write what is left and commit the file."""

    @abstractmethod
    def _end(self) -> None:
        """Close everything and discard the file, unless it has been committed."""


class Sink:
    """A raw file that keeps its first error for later: libraries write through callbacks, which must not raise."""

    def __init__(self, raw: BinaryIO, head: bytes = b"") -> None:
        self._raw = raw
        self._error: OSError | None = None
        self._start = 0
        self.write(head)
        self._start = len(head)

    def write(self, data: bytes) -> int:
        rest = memoryview(data)
        try:
            while self._error is None and len(rest):
                rest = rest[self._raw.write(rest) :]
        except OSError as error:
            self._error = error
        return len(data)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        return self._raw.seek(offset + (self._start if whence == os.SEEK_SET else 0), whence) - self._start

    def tell(self) -> int:
        return self._raw.tell() - self._start

    @property
    def closed(self) -> bool:
        return self._raw.closed

    def check(self) -> None:
        if self._error is not None:
            raise self._error


@contextmanager
def _signals_afterwards() -> Iterator[None]:
    """Hold signals back: a library calls Python to write, and what a handler raises in such a call would be lost."""
    if threading.current_thread() is not threading.main_thread():  # the only one that handles signals
        yield
        return
    numbers = [getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name)]
    received: list[int] = []
    handlers = {number: signal.getsignal(number) for number in numbers}
    handlers = {number: handler for number, handler in handlers.items() if callable(handler)}
    for number in handlers:
        signal.signal(number, lambda number, _: received.append(number))
    try:
        yield
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)
        if received:
            signal.raise_signal(received[0])


def identity(path: Path) -> str | tuple[int, int]:
    """What two paths have in common if writing to one replaces the other.

    A file can have two paths without any link: names may differ in case alone, and a folder may be mounted twice. A
    file of several hard links is known by its name, since what replaces one of them leaves the others.
    """
    try:
        status = path.stat()
    except OSError:  # it is not there
        return os.path.realpath(path)
    return (status.st_dev, status.st_ino) if status.st_nlink == 1 and status.st_ino else os.path.realpath(path)
