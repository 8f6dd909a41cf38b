"""One table or figure, theirs beside ours."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import TypeVar

from hamiltone.analysis.statistics import Spread
from hamiltone.paper.pages.table_rows import Row
from hamiltone.paper.results import Result
from hamiltone.paper.store import Evidence

R = TypeVar("R", bound=Result)
T = TypeVar("T")
V = TypeVar("V")
OTHER_MODEL = "The paper's model is its QTransformer; ours is named below."


@dataclass(frozen=True)
class Section:
    """The rows, a remark on what they mean, and a picture by its path below the results; `wide` has a line a group."""

    rows: tuple[Row, ...] = ()
    remark: str = ""
    picture: str = ""
    wide: bool = False

    @property
    def status(self) -> str:
        """How much of what the paper prints has a number of ours beside it."""
        printed = [row for row in self.rows if row.paper is not None]
        measured = [row for row in printed if row.ours is not None]
        if self.picture and not printed:
            return "drawn"
        if not any(row.ours is not None for row in self.rows):
            return "not measured"
        return "measured" if len(measured) == len(printed) else "in part"


def get(evidence: Evidence, name: str, kind: type[R]) -> R | None:
    """The result of a measurement, or None."""
    stored = evidence.get(name)
    return stored.result if stored is not None and isinstance(stored.result, kind) else None


def twins_of(evidence: Evidence, name: str) -> str:
    """A sentence on whether the two models of a measurement come from one seed; empty if it was not made."""
    seeds = {model.seed for model in evidence[name].made.models} if name in evidence else set()
    if not seeds:
        return ""
    return (
        "Both models come from one seed: they share initialisation and order of data."
        if len(seeds) == 1
        else "The two models come from different seeds."
    )


def of(value: T | None, read: Callable[[T], V]) -> V | None:
    """What `read` finds in a value, or None where there is none."""
    return None if value is None else read(value)


def rounds_of(ratio: Spread) -> str:
    """A note on how many rounds the interval of a timing is taken over."""
    return f"{ratio.groups} rounds"


def short_layer(layer: str) -> str:
    """``time_layers.0`` of ``network.bottleneck.time_layers.0.attention``."""
    parts = layer.split(".")
    return ".".join(parts[next((n for n, part in enumerate(parts) if part.endswith("_layers")), 0) :][:2])
