"""Passages that stay unchanged: music, applause, anything that is neither speech nor noise."""

import re
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from hamiltone.errors import InputError

Passages = tuple[tuple[float, float], ...]
"""Start and end of each passage in seconds."""

FADE_SECONDS = 0.05
_TIME = r"(?:(?:(\d+):)?(\d+):)?(\d+(?:\.\d*)?)"


def parse_passages(text: str) -> Passages:
    """Passages from a list such as ``0-12.5,1:30-2:05,59:00-``; one end may be left out.

    >>> parse_passages("0-12.5,1:30-2:05,1:00:00-")
    ((0.0, 12.5), (90.0, 125.0), (3600.0, inf))
    """
    passages = []
    for part in filter(None, text.replace(" ", "").split(",")):
        match = re.fullmatch(f"(?:{_TIME})?-(?:{_TIME})?", part)
        if match is None:
            raise InputError(f"expected passages such as 0-12.5,1:30-2:05, got {part!r}")
        parts = match.groups()
        start = _seconds(parts[:3]) if parts[2] else 0.0
        passages.append((start, _seconds(parts[3:]) if parts[5] else float("inf")))
    if not passages:
        raise InputError(f"expected passages such as 0-12.5,1:30-2:05, got {text!r}")
    return check_passages(passages)


def _seconds(parts: tuple[str | None, ...]) -> float:
    hours, minutes, seconds = (float(part or 0) for part in parts)
    return 3600 * hours + 60 * minutes + seconds


def check_passages(passages: Sequence[tuple[float, float]]) -> Passages:
    """Raise an `InputError` if a passage does not end after it begins."""
    for start, end in passages:
        if not 0 <= start < end:
            raise InputError(f"expected a passage that ends after it begins, got {start:g} to {end:g} s")
    return tuple((float(start), float(end)) for start, end in passages)


def beyond(passages: Passages, seconds: float) -> str:
    """A note on the first passage that begins after the end of a recording of this length, if there is one.

    >>> beyond(((0.0, 12.5), (90.0, 125.0)), 60.0)
    'the passage to keep from 90 s on lies beyond its end at 60.0 s'
    """
    late = [start for start, _ in passages if start >= seconds]
    return f"the passage to keep from {late[0]:g} s on lies beyond its end at {seconds:.1f} s" if late else ""


def outside(passages: Passages, start: int, length: int, sample_rate: int) -> NDArray[np.float32]:
    """The weight of the enhanced signal in each of `length` samples from number `start` on.

    It is zero within a passage, one from 50 ms before and after it, and a raised cosine in between.

    Shape:
        returns: ``(length, 1)``
    """
    time = (start + np.arange(length)) / sample_rate
    distance = np.full(length, np.inf)
    for first, last in passages:
        distance = np.minimum(distance, np.maximum(np.maximum(first - time, time - last), 0))
    share = np.sin(0.5 * np.pi * np.minimum(distance / FADE_SECONDS, 1)) ** 2
    return share.astype(np.float32)[:, None]
