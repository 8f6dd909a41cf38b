"""``python -m hamiltone``, and the command `hamiltone`."""

import signal
import sys
from types import FrameType


def main() -> None:
    """Run the command line; a signal to stop ends it quietly, and unfinished files are removed."""
    for number in _signals():
        if signal.getsignal(number) is not signal.SIG_IGN:  # as under nohup
            signal.signal(number, _leave)
    from hamiltone.cli import main as run  # only now: a signal may come while they are imported
    from hamiltone.leftovers import remove_all

    try:
        run()
    finally:
        remove_all()


def _signals() -> list[signal.Signals]:
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]


def _leave(number: int, frame: FrameType | None) -> None:
    """Unwind the program on the first signal; a second Ctrl-C ends it without cleaning up."""
    for other in _signals():
        signal.signal(other, signal.SIG_DFL if other == signal.SIGINT else signal.SIG_IGN)
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
