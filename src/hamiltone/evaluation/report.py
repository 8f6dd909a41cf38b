"""Scores of a system as a report: JSON with a summary, CSV with a line per file."""

import csv
import io
import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np

from hamiltone.atomic import write_bytes
from hamiltone.errors import InputError
from hamiltone.evaluation.scoring import FileScores
from hamiltone.metrics import Interval, mean_interval

SNR_EDGES = (-math.inf, 0.0, 5.0, 10.0, 15.0, math.inf)
_FIRST, _LAST = ("file", "snr", "seconds"), "reasons"  # columns of the table


@dataclass(frozen=True)
class Report:
    """A system's scores on a test set; `checkpoint` is the SHA-256 of the model's, if it is one of ours."""

    system: str
    metrics: tuple[str, ...]
    files: tuple[FileScores, ...]
    checkpoint: str = ""

    def values(self, metric: str) -> list[float]:
        """The score of every file, NaN if it has none."""
        return [file.scores[metric] for file in self.files]

    def summary(self) -> dict[str, Interval | None]:
        """The mean of every metric with its 95 % bootstrap interval; None if no file has a score."""
        return {metric: _interval(self.values(metric)) for metric in self.metrics}

    def by_snr(self) -> dict[str, dict[str, Interval | None]]:
        """The same for each range of the input SNR that occurs."""
        groups: dict[str, dict[str, Interval | None]] = {}
        for low, high in pairwise(SNR_EDGES):
            files = [file for file in self.files if low <= file.snr < high]
            if files:
                part = Report(self.system, self.metrics, tuple(files))
                groups[_range_name(low, high)] = part.summary()
        return groups

    def failures(self) -> list[str]:
        """One line for every file and reason for which a score is missing."""
        return [
            f"{file.name}: {', '.join(m for m in file.reasons if file.reasons[m] == reason)}: {reason}"
            for file in self.files
            for reason in dict.fromkeys(file.reasons.values())
        ]

    def resampled(self) -> dict[int, int]:
        """How many files were resampled to be scored, by their sample rate."""
        return dict(Counter(file.resampled for file in self.files if file.resampled is not None))

    def is_empty(self) -> bool:
        """Whether no file has any score."""
        return all(math.isnan(score) for file in self.files for score in file.scores.values())


def _interval(values: Sequence[float]) -> Interval | None:
    if all(math.isnan(value) for value in values):
        return None
    return mean_interval(values, np.random.default_rng(0))


def _range_name(low: float, high: float) -> str:
    if low == -math.inf:
        return f"< {high:g} dB"
    return f">= {low:g} dB" if high == math.inf else f"{low:g} - {high:g} dB"


def to_json(report: Report) -> dict[str, Any]:
    """The report as plain data; a missing score is null."""
    return {
        "system": report.system,
        "checkpoint": report.checkpoint or None,
        "metrics": list(report.metrics),
        "summary": {name: interval and asdict(interval) for name, interval in report.summary().items()},
        "by_snr": {
            group: {name: interval and asdict(interval) for name, interval in part.items()}
            for group, part in report.by_snr().items()
        },
        "files": [_without_nan(asdict(file)) for file in report.files],
    }


def _without_nan(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    return None if isinstance(value, float) and not math.isfinite(value) else value


def check_report_path(path: Path, *, table: bool = True) -> None:
    """Make the folder of a report, or raise an `InputError` if it cannot be written there: before hours of scoring.

    Unless there will be no `table`, a CSV beside the report that is not one of ours is refused too.
    """
    if path.suffix.lower() == ".csv":
        raise InputError(f"{path}: the report is JSON, with a CSV beside it; give a name that ends in .json")
    if path.is_dir():
        raise InputError(f"{path} is a folder; give a file")
    if table:
        _check_table(path.with_suffix(".csv"))
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error


def _check_table(path: Path) -> None:
    """Refuse to replace a file that `write_report` has not written."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            heading = file.readline().rstrip("\n").split(",")
    except FileNotFoundError:
        return
    except OSError as error:
        raise InputError(f"cannot write {path}: {error.strerror}") from error
    if tuple(heading[: len(_FIRST)]) != _FIRST or heading[-1] != _LAST:
        raise InputError(f"{path} exists and is not the table of a report; rename it, or give another name to --out")


def write_report(path: Path, report: Report) -> Path:
    """Write the JSON and, beside it, a CSV with a line per file; both appear whole or not at all. Returns the CSV."""
    check_report_path(path)
    write_bytes(path, json.dumps(to_json(report), indent=1).encode())
    table = io.StringIO()
    writer = csv.writer(table)
    writer.writerow([*_FIRST, *report.metrics, _LAST])
    for file in report.files:
        scores = [file.scores[metric] for metric in report.metrics]
        writer.writerow([file.name, file.snr, file.seconds, *scores, "; ".join(dict.fromkeys(file.reasons.values()))])
    write_bytes(path.with_suffix(".csv"), table.getvalue().encode(errors="backslashreplace"))
    return path.with_suffix(".csv")


def read_report(path: Path) -> Report:
    """Read a report that `write_report` wrote."""
    try:
        content = json.loads(path.read_text())
        files = tuple(
            FileScores(
                file["name"],
                _number(file["snr"]),
                file["seconds"],
                {name: _number(score) for name, score in file["scores"].items()},
                file["reasons"],
                file.get("resampled"),
            )
            for file in content["files"]
        )
        report = Report(content["system"], tuple(content["metrics"]), files, content.get("checkpoint") or "")
        for metric in report.metrics:
            report.values(metric)  # every file has every score
        return report
    except OSError as error:
        raise InputError(f"cannot read {path}: {error.strerror}") from error
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):  # JSON may hold anything
        raise InputError(f"{path} is not a report of hamiltone evaluate") from None


def _number(value: float | None) -> float:
    return math.nan if value is None else float(value)
