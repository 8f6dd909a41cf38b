"""Durations, counted in constant memory."""

import math

_SHORTEST, _LONGEST, _PER_DECADE = 1e-6, 1e2, 200  # neighbouring bins are 1.2 % apart


class Times:
    """A histogram of durations in seconds."""

    def __init__(self) -> None:
        self._bins = [0] * (round(math.log10(_LONGEST / _SHORTEST) * _PER_DECADE) + 1)
        self.count, self.longest, self.total = 0, 0.0, 0.0

    def add(self, seconds: float) -> None:
        """Count one duration."""
        place = math.log10(min(max(seconds, _SHORTEST), _LONGEST) / _SHORTEST)
        self._bins[round(place * _PER_DECADE)] += 1
        self.count += 1
        self.total += seconds
        self.longest = max(self.longest, seconds)

    def percentile(self, percent: float) -> float:
        """The duration that `percent` of all do not exceed, to about one percent; 0 if there are none."""
        below = 0
        for number, counted in enumerate(self._bins):
            below += counted
            if counted and below >= self.count * percent / 100:
                return min(_SHORTEST * 10 ** (number / _PER_DECADE), self.longest)
        return 0.0
