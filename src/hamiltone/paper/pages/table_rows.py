"""A number of the paper beside one of ours."""

import math
from dataclasses import dataclass, replace

from hamiltone.analysis.statistics import Spread
from hamiltone.paper.reference import Printed


@dataclass(frozen=True)
class Row:
    """One number: the paper's with its printed digits, and ours with its 95 % interval; None where there is none."""

    group: str
    quantity: str
    paper: float | None = None
    ours: float | None = None
    low: float | None = None
    high: float | None = None
    decimals: int = 2
    spread: str = ""
    note: str = ""

    @property
    def difference(self) -> float | None:
        """Ours less theirs."""
        return None if self.paper is None or self.ours is None else self.ours - self.paper

    def show(self, value: float | None, *, sign: bool = False) -> str:
        """A number with the digits of the paper's; tiny ones, such as errors, with an exponent."""
        if value is None:
            return ""
        if value and abs(value) < 0.5 * 10**-self.decimals and not sign:
            return f"{value:.1e}"
        return f"{value:{'+' if sign else ''},.{self.decimals}f}"

    @property
    def interval(self) -> str:
        """Our interval, or nothing."""
        return "" if self.low is None else f"{self.show(self.low)} to {self.show(self.high)}"


def row(
    group: str,
    quantity: str,
    printed: Printed | None,
    ours: float | Spread | None = None,
    *,
    scale: float = 1.0,
    decimals: int | None = None,
    note: str = "",
) -> Row:
    """A row from a printed number, or None, and a measured one, multiplied by `scale`; `decimals` only if unprinted."""
    digits = printed.decimals if printed and decimals is None else decimals if decimals is not None else 2
    value, spread = (printed.value, printed.spread) if printed else (None, "")
    theirs = Row(group, quantity, value, decimals=digits, spread=spread, note=note)
    if ours is None or isinstance(ours, float | int):
        return replace(theirs, ours=_finite(None if ours is None else scale * ours))
    low, high = (_finite(scale * end) for end in (ours.low, ours.high))
    return replace(theirs, ours=_finite(scale * ours.mean), low=low, high=high)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value
