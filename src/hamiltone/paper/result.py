"""One table or figure, theirs beside ours, and the file it is kept in."""

import json
import math
from collections.abc import Iterator
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any, Literal, Protocol

from hamiltone.errors import InputError
from hamiltone.paper.reference import Printed

Status = Literal["reproduced", "in part", "not reproduced"]


class Mean(Protocol):
    """What a measured number comes as: a mean with an interval."""

    @property
    def mean(self) -> float:
        """The number."""

    @property
    def low(self) -> float:
        """The lower end of its 95 % interval."""

    @property
    def high(self) -> float:
        """The upper end of its 95 % interval."""


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
    ours: float | Mean | None = None,
    *,
    scale: float = 1.0,
    decimals: int | None = None,
    note: str = "",
) -> Row:
    """A row from a printed number, or None, and a measured one, multiplied by `scale`; `decimals` only if unprinted."""
    digits = printed.decimals if printed and decimals is None else decimals if decimals is not None else 2
    theirs = Row(
        group, quantity, printed.value if printed else None, decimals=digits, spread=printed.spread if printed else ""
    )
    if ours is None or isinstance(ours, float | int):
        return replace(theirs, ours=_finite(None if ours is None else scale * ours), note=note)
    ends = [_finite(scale * end) for end in (ours.low, ours.high)]
    return replace(theirs, ours=scale * ours.mean, low=ends[0], high=ends[1], note=note)


def _finite(value: float | None) -> float | None:
    return None if value is None or not math.isfinite(value) else value


@dataclass(frozen=True)
class Result:
    """A table or figure. `why` says in one line what keeps the numbers from being comparable; `command` remakes it."""

    name: str
    title: str
    rows: tuple[Row, ...]
    status: Status
    why: str = ""
    command: str = ""
    data: str = ""
    seed: int | None = None
    picture: str = ""
    wide: bool = False
    made: dict[str, Any] = field(default_factory=dict)

    @property
    def quick(self) -> bool:
        """Whether it was made with ``--quick``."""
        return bool(self.made.get("quick"))

    def find(self, group: str, quantity: str) -> Row:
        """The row of that name."""
        return next(row for row in self.rows if (row.group, row.quantity) == (group, quantity))


def file_name(name: str, *, quick: bool) -> str:
    """Where a result is kept: a quick one never takes the place of a full one."""
    return f"{name}.quick.json" if quick else f"{name}.json"


def write_result(folder: Path, result: Result) -> Path:
    """Keep a result in a folder, which is made if need be."""
    path = folder / file_name(result.name, quick=result.quick)
    try:
        folder.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(asdict(result), indent=1, ensure_ascii=False) + "\n", "utf-8")
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    return path


def read_result(path: Path) -> Result:
    """Read what `write_result` wrote."""
    content = json.loads(path.read_text("utf-8"))
    try:
        return Result(**{**content, "rows": tuple(Row(**entry) for entry in content["rows"])})
    except (TypeError, KeyError):
        raise InputError(f"{path} was not written by this version of hamiltone reproduce") from None


def read_results(folder: Path, names: list[str]) -> Iterator[Result]:
    """The kept results of those names, the full one before the quick one."""
    for name in names:
        for quick in (False, True):
            path = folder / file_name(name, quick=quick)
            if path.exists():
                yield read_result(path)
                break
