"""Runs side by side: the settings that differ, their duration and their last validation."""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from typing import Any

from hamiltone.errors import InputError
from hamiltone.markdown import table
from hamiltone.training.folder import RunFolder
from hamiltone.training.log import parse_record
from hamiltone.training.reading import flat_table, read_toml

_NOT_THE_EXPERIMENT = ("run.", "data.root", "data.cache", "batches.workers")


@dataclass(frozen=True)
class RunSummary:
    """A run: the settings that differ from others, its duration and speed, and the figures of its last validation."""

    name: str
    settings: dict[str, Any]
    steps: int
    minutes: float
    units_per_second: float
    """The median speed, in the task's unit, such as seconds of audio."""
    metrics: dict[str, float]


def summarise_runs(folders: Sequence[Path]) -> list[RunSummary]:
    """Read the recipes and logs of runs, finished or not."""
    contents = [_settings(folder) for folder in folders]
    keys = sorted({key for content in contents for key in content})
    differing = [key for key in keys if any(content.get(key) != contents[0].get(key) for content in contents)]
    return [
        _summary(folder, {key: content.get(key) for key in differing})
        for folder, content in zip(folders, contents, strict=True)
    ]


def _settings(folder: Path) -> dict[str, Any]:
    config = RunFolder(folder).config
    if not config.exists():
        raise InputError(f"{folder} is not the folder of a run: it has no {config.name}")
    content = flat_table(read_toml(config))
    return {key: value for key, value in content.items() if not key.startswith(_NOT_THE_EXPERIMENT)}


def _summary(folder: Path, settings: dict[str, Any]) -> RunSummary:
    log = RunFolder(folder).log
    lines = log.read_text("utf-8", errors="replace").splitlines() if log.exists() else []
    records = [record for record in map(parse_record, lines) if record is not None]
    training = [record for record in records if record["kind"] == "train"]
    validations = [record for record in records if record["kind"] == "validation"]
    if not training:
        raise InputError(f"{folder}: its log has no training step yet")
    return RunSummary(
        folder.name,
        settings,
        max(record["step"] for record in records),
        training[-1]["elapsed"] / 60,
        median(record["units_per_second"] for record in training),
        {name: value for name, value in (validations or [{}])[-1].items() if name not in ("kind", "step")},
    )


def markdown(runs: Sequence[RunSummary]) -> str:
    """The runs as a Markdown table."""
    metrics = list(dict.fromkeys(name for run in runs for name in run.metrics))
    settings = list(runs[0].settings)
    lines = []
    for run in runs:
        figures = [f"{run.metrics[name]:.3f}" if name in run.metrics else "-" for name in metrics]
        own = [json.dumps(value) for value in run.settings.values()]
        lines.append([run.name, *own, str(run.steps), f"{run.minutes:.1f}", f"{run.units_per_second:.1f}", *figures])
    return table(["run", *settings, "steps", "minutes", "units/s", *metrics], lines)
