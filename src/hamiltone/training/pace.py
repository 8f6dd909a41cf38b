"""The clock of a run: how long it has taken over all its sessions, and how fast it goes."""

import time


class Pace:
    """Counts from what earlier sessions of the run have taken."""

    def __init__(self, elapsed: float) -> None:
        self._start = time.monotonic() - elapsed
        self._saved = time.monotonic()
        self.restart()

    @property
    def elapsed(self) -> float:
        """Seconds of the whole run."""
        return time.monotonic() - self._start

    @property
    def since_save(self) -> float:
        """Seconds since `saved` was called."""
        return time.monotonic() - self._saved

    @property
    def rate(self) -> float:
        """Units per second since `restart` was called."""
        return self.units / max(time.monotonic() - self._since, 1e-9)

    def saved(self) -> None:
        """Remember the time of a save."""
        self._saved = time.monotonic()

    def restart(self) -> None:
        """Count units anew."""
        self.units, self._since = 0.0, time.monotonic()
