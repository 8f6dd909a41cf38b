"""Ctrl-C and SIGTERM as a regular way to end."""

import signal
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType


class Interrupt:
    """While handled, a signal ends the current or the next wait with a KeyboardInterrupt, but never a computation."""

    def __init__(self) -> None:
        self._asked = self._waiting = False

    @contextmanager
    def wait(self) -> Iterator[None]:
        """A block that waits for something external and may be interrupted."""
        self._waiting = True
        try:
            if self._asked:
                self._asked = False
                raise KeyboardInterrupt
            yield
        finally:
            self._waiting = False

    @contextmanager
    def handled(self) -> Iterator["Interrupt"]:
        """Handle both signals, in the main thread, and restore their handlers at the end."""
        before = {number: signal.signal(number, self._take) for number in (signal.SIGINT, signal.SIGTERM)}
        try:
            yield self
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)

    def _take(self, number: int, frame: FrameType | None) -> None:
        if self._waiting:
            raise KeyboardInterrupt
        self._asked = True
