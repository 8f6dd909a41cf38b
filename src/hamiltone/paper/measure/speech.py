"""Tables 2 and 3: the scores of speech enhancers, from the reports of ``hamiltone evaluate`` among the results."""

import json
import math
from collections.abc import Iterator
from pathlib import Path

from hamiltone.analysis.statistics import Spread
from hamiltone.data.pairs import FOLDERS
from hamiltone.errors import InputError
from hamiltone.evaluation import ModelName, Report, System, Unprocessed, compare, evaluate, read_report, write_report
from hamiltone.metrics import Difference, Interval
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import METRICS, Quality, SystemScores

DNS = "dns"
"""The folder among the results that holds reports of DNS-Challenge 3's test set."""


def voicebank(study: Study) -> Quality:
    """Every report in the folder of results; with ``--data`` those that are missing are made first."""
    if study.options.data is not None and not study.quick:
        _evaluate(study, study.options.data)
    return _quality(study, study.kept)


def dns(study: Study) -> Quality:
    """Every report in the folder dns among the results."""
    return _quality(study, study.kept / DNS)


def _quality(study: Study, folder: Path) -> Quality:
    reports = dict(read_reports(folder))
    systems = tuple(_scores(name, report) for name, report in reports.items())
    files = sorted({system.files for system in systems})
    study.use_data(f"reports of hamiltone evaluate on {', '.join(map(str, files))} files" if files else "no reports")
    return Quality(systems, _twins(reports))


def _twins(reports: dict[str, Report]) -> dict[str, dict[str, Spread]]:
    """Every two systems that are called NAME-shared and NAME-hamilton, by the name of the first."""
    return {
        name: {metric: _spread(one) for metric, one in compare(report, other).items()}
        for name, report in reports.items()
        if name.endswith("-shared")
        if (other := reports.get(f"{name.removesuffix('-shared')}-hamilton")) is not None
    }


def _scores(name: str, report: Report) -> SystemScores:
    means = {metric: _spread(one) for metric, one in report.summary().items() if one is not None}
    return SystemScores(name, len(report.files), means)


def _spread(one: Interval | Difference) -> Spread:
    return Spread(one.mean, math.nan, one.low, one.high, one.files)


def read_reports(folder: Path) -> Iterator[tuple[str, Report]]:
    """Every report of ``hamiltone evaluate`` in a folder, by system; other JSON files are skipped."""
    for path in sorted(folder.glob("*.json")):
        try:
            content = json.loads(path.read_text("utf-8"))
        except json.JSONDecodeError as error:
            raise InputError(f"{path} is not valid JSON: {error}") from None
        if isinstance(content, dict) and {"system", "summary"} <= content.keys():
            yield system_name(Path(content["system"])), read_report(path)


def system_name(system: Path) -> str:
    """What to call a system: a run by its folder, others by their name.

    >>> system_name(Path("runs/voicebank/best.safetensors")), system_name(Path("compact"))
    ('voicebank', 'compact')
    """
    return system.parent.name if system.stem in ("best", "last") and system.parent.name else system.stem


def _evaluate(study: Study, root: Path) -> None:
    """Score the noisy input and the twins on the test set, unless their reports are there already."""
    clean, noisy = (root / folder for folder in FOLDERS["test"])
    there = {name for name, _ in read_reports(study.kept)}
    systems: list[System] = [Unprocessed(), *map(ModelName, study.pair_names)]
    study.kept.mkdir(parents=True, exist_ok=True)
    for system in systems:
        if str(system) not in there:
            files = evaluate(noisy, clean, system, metrics=METRICS, workers=2)
            report = Report(str(system), METRICS, tuple(files), system.checkpoint)
            write_report(study.kept / f"evaluate-{system}.json", report)
