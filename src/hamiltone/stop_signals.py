"""The signals that ask a program to stop."""

import signal


def stop_signals() -> list[signal.Signals]:
    """Those that this system has of Ctrl-C, SIGTERM and SIGHUP, which comes when the terminal is closed."""
    return [signal.Signals[name] for name in ("SIGINT", "SIGTERM", "SIGHUP") if name in signal.Signals.__members__]
