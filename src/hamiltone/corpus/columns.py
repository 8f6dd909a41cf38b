"""Clips and results as columns: what batches of Ray Data are made of."""

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields
from typing import Any

import numpy as np

from hamiltone.corpus.inputs import Clip, default_id
from hamiltone.errors import InputError

RATINGS = ("dnsmos_sig", "dnsmos_bak", "dnsmos_ovrl", "dnsmos_p808")
_TEXT = ("id", "enhanced_filepath", "note", "error", "worker", "fingerprint")


@dataclass(frozen=True)
class Result:
    """What became of a clip; after an `error` there is no file.

    `enhanced_filepath` is relative to the output folder; `bytes` is its size, `fingerprint` that
    of the clip before it was read. The ratings are None unless asked for.
    """

    id: str
    enhanced_filepath: str | None = None
    seconds: float | None = None
    noise_db: float | None = None
    snr_db: float | None = None
    dnsmos_sig: float | None = None
    dnsmos_bak: float | None = None
    dnsmos_ovrl: float | None = None
    dnsmos_p808: float | None = None
    dnsmos_sig_before: float | None = None
    dnsmos_bak_before: float | None = None
    dnsmos_ovrl_before: float | None = None
    dnsmos_p808_before: float | None = None
    note: str | None = None
    error: str | None = None
    bytes: int | None = None
    elapsed: float | None = None
    worker: str | None = None
    fingerprint: str | None = None


def batch_clips(batch: dict[str, Any]) -> list[Clip]:
    """The clips of a batch; columns that are missing, NaN, negative or "" take their defaults."""
    paths = batch["audio_filepath"]

    def column(name: str) -> list[Any]:
        values = [None] * len(paths) if name not in batch else [_plain(value) for value in batch[name]]
        return [None if value in ("", -1) else value for value in values]

    clips = []
    names = ("id", "first_byte", "byte_count", "suffix", "offset", "duration")
    for path, id, first, count, suffix, offset, duration in zip(map(str, paths), *map(column, names), strict=True):
        name = default_id(path, offset, duration) if id is None else str(id)
        clips.append(Clip(name, path, first or 0, count, suffix, offset, duration))
    return clips


def check_columns(batch: Iterable[str]) -> None:
    """Raise an `InputError` if no column names the clips, or if a `Result` would replace one other than `id`."""
    names = list(batch)
    if "audio_filepath" not in names:
        raise InputError(f"expected a column audio_filepath, got {', '.join(names) or 'none'}")
    if taken := [entry.name for entry in fields(Result) if entry.name in names and entry.name != "id"]:
        raise InputError(f"the batch has a column {taken[0]!r}, which the stage writes itself; rename it")


def clip_columns(clips: list[Clip]) -> dict[str, list[Any]]:
    """The columns that `batch_clips` turns into clips again."""
    return {
        "id": [clip.id for clip in clips],
        "audio_filepath": [clip.path for clip in clips],
        "first_byte": [clip.first_byte for clip in clips],
        "byte_count": [-1 if clip.byte_count is None else clip.byte_count for clip in clips],
        "suffix": [clip.suffix or "" for clip in clips],
        "offset": [math.nan if clip.offset is None else clip.offset for clip in clips],
        "duration": [math.nan if clip.duration is None else clip.duration for clip in clips],
    }


def result_columns(results: list[Result]) -> dict[str, Any]:
    """Results as columns of a batch, each of one type whatever is missing."""
    columns: dict[str, Any] = {}
    for entry in fields(Result):
        values = [getattr(result, entry.name) for result in results]
        if entry.name in _TEXT:
            columns[entry.name] = np.array([value or "" for value in values], dtype=object)
        else:
            columns[entry.name] = np.array([math.nan if value is None else value for value in values], np.float64)
    return columns


def column_results(batch: dict[str, Any]) -> list[Result]:
    """Undo `result_columns`."""
    names = [entry.name for entry in fields(Result)]
    results = []
    for values in zip(*(batch[name] for name in names), strict=True):
        plain = [None if value == "" else value for value in map(_plain, values)]
        row: dict[str, Any] = dict(zip(names, plain, strict=True))
        row["bytes"] = None if row["bytes"] is None else int(row["bytes"])
        results.append(Result(**row))
    return results


def _plain(value: Any) -> Any:
    """A numpy scalar as a plain Python value, NaN as None."""
    value = value.item() if isinstance(value, np.generic) else value
    return None if isinstance(value, float) and math.isnan(value) else value
