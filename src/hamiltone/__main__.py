"""``python -m hamiltone``, and the command `hamiltone`."""

import signal
import sys
from types import FrameType

_received = 0
"""The signal that ends the program."""


def main() -> None:
    """Run the command line; a signal to stop ends it quietly, and unfinished files are removed."""
    for number in _signals():
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    from hamiltone.leftovers import remove_all  # only now: a signal may come while it is imported

    try:
        from hamiltone.cli import main as run

        run()
    except BaseException:
        if _received:  # compiled code may have turned the SystemExit of the handler into an error of its own
            sys.exit(128 + _received)
        raise
    finally:
        remove_all()


def _signals() -> list[signal.Signals]:
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind the program on the first signal; a second Ctrl-C ends it without cleaning up."""
    global _received
    _received = number
    for other in _signals():
        signal.signal(other, signal.SIG_DFL if other == signal.SIGINT else signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
