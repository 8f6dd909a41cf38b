"""Ctrl-C, SIGTERM and SIGHUP: noticed immediately, acted on where the run can be saved."""

import signal
import threading
from types import FrameType, TracebackType
from typing import Any, Self


def stop_signals() -> list[signal.Signals]:
    """The signals of this system that ask to stop; the last one comes when the terminal is closed."""
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]


class StopSignal:
    """Within this context `received` is the number of a signal that asks to stop, or zero.

    A second signal has its usual effect: a second Ctrl-C interrupts immediately. One that is ignored, as SIGHUP is
    under nohup, stays ignored.
    """

    def __init__(self) -> None:
        self.received = 0
        self._handlers: dict[int, Any] = {}

    def __enter__(self) -> Self:
        if threading.current_thread() is threading.main_thread():  # other threads cannot handle signals
            for number in stop_signals():
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._handlers[number] = signal.signal(number, self._notice)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for number, handler in self._handlers.items():
            signal.signal(number, handler)

    def _notice(self, number: int, frame: FrameType | None) -> None:
        self.received = number
        signal.signal(number, self._handlers[number])
