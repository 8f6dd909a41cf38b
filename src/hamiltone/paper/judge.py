"""Verdicts: what an interval says about a claim, and the default of not knowing.

A judgement is made of parts. A part is supported when the whole 95 % interval lies where the claim wants it,
contradicted when the whole interval lies where it must not, and undecided otherwise; wider intervals can only move it
towards undecided. What is counted or exact has no interval. A number or an interval that is missing raises
`MissingError`, and the claim was not tested.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TypeVar

from hamiltone.analysis.statistics import Spread
from hamiltone.paper.reference import reference
from hamiltone.paper.results import Result
from hamiltone.paper.store import Evidence, Stored

K = TypeVar("K")
V = TypeVar("V")
R = TypeVar("R", bound=Result)


class Verdict(Enum):
    """How a claim fared."""

    SUPPORTED = "supported"
    CONTRADICTED = "contradicted"
    UNDECIDED = "undecided"
    NOT_TESTED = "not tested"


class MissingError(Exception):
    """A number that a claim needs was not measured."""


@dataclass(frozen=True)
class Judgement:
    """A verdict and the numbers that it rests on."""

    verdict: Verdict
    numbers: tuple[tuple[str, Spread | float], ...] = ()


def find(evidence: Evidence, name: str, kind: type[R]) -> R:
    """The result of a measurement, or a `MissingError`."""
    stored: Stored[Result] | None = evidence.get(name)
    if stored is None or not isinstance(stored.result, kind):
        raise MissingError(name)
    return stored.result


def pick(entries: Mapping[K, V], key: K) -> V:
    """The entry with this key, or a `MissingError`."""
    if key not in entries:
        raise MissingError(str(key))
    return entries[key]


def some(entries: Iterable[V]) -> list[V]:
    """The entries as a list, or a `MissingError` if there are none."""
    found = list(entries)
    if not found:
        raise MissingError("no rows")
    return found


def need(value: V | None) -> V:
    """The value, or a `MissingError` if it is None."""
    if value is None:
        raise MissingError("no value")
    return value


def known(value: float) -> float:
    """A number without an interval, or a `MissingError` for NaN, as which a gap in a file is read."""
    if not math.isfinite(value):
        raise MissingError("no number")
    return value


def line(name: str) -> float:
    """One of the fixed limits by which claims are judged."""
    return float(reference()["lines"][name])


def margin(metric: str) -> float | None:
    """The difference within which two rules count as equally good by a metric; None if no margin was fixed."""
    found = reference()["margins"].get(metric)
    return None if found is None else float(found)


def _ends(value: Spread) -> tuple[float, float]:
    if not value.has_interval or not math.isfinite(value.mean):
        raise MissingError("no interval")
    return min(value.low, value.mean, value.high), max(value.low, value.mean, value.high)


def above(value: Spread, limit: float) -> Verdict:
    """Whether a mean lies above a limit."""
    low, high = _ends(value)
    return Verdict.SUPPORTED if low > limit else Verdict.CONTRADICTED if high < limit else Verdict.UNDECIDED


def below(value: Spread, limit: float) -> Verdict:
    """Whether a mean lies below a limit."""
    low, high = _ends(value)
    return Verdict.SUPPORTED if high < limit else Verdict.CONTRADICTED if low > limit else Verdict.UNDECIDED


def within(value: Spread, low: float, high: float) -> Verdict:
    """Whether a mean lies between two limits: the test of equivalence."""
    return every(above(value, low), below(value, high))


def exactly(condition: bool) -> Verdict:
    """The verdict on a count or an identity, which has no interval and is never undecided."""
    return Verdict.SUPPORTED if condition else Verdict.CONTRADICTED


def every(*parts: Verdict) -> Verdict:
    """All parts must hold: one that is contradicted decides, then one that is undecided."""
    return _first(parts, Verdict.NOT_TESTED, Verdict.CONTRADICTED, Verdict.UNDECIDED, Verdict.SUPPORTED)


def either(*parts: Verdict) -> Verdict:
    """One part must hold: one that is supported decides, then one that is undecided."""
    return _first(parts, Verdict.NOT_TESTED, Verdict.SUPPORTED, Verdict.UNDECIDED, Verdict.CONTRADICTED)


def _first(parts: tuple[Verdict, ...], *order: Verdict) -> Verdict:
    """The first verdict of this order that is among the parts."""
    if not parts:
        raise MissingError("nothing to judge")
    return next(verdict for verdict in order if verdict in parts)


def alike(*parts: Verdict) -> Verdict:
    """Whatever the setting: supported if all parts are, contradicted if all are, undecided otherwise."""
    if not parts:
        raise MissingError("nothing to judge")
    return parts[0] if len(set(parts)) == 1 else Verdict.UNDECIDED


def equivalent(differences: Mapping[str, Spread], metrics: Iterable[str]) -> Judgement:
    """Whether the differences by all of these metrics lie within their margins."""
    judged = some((name, pick(differences, name), need(margin(name))) for name in metrics)
    verdict = every(*(within(one, -limit, limit) for _, one, limit in judged))
    return Judgement(verdict, tuple((name, one) for name, one, _ in judged))
