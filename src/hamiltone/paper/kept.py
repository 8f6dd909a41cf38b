"""What other commands measured on models that are not bundled, and left as JSON among the results."""

import json
from collections.abc import Callable
from typing import Any

from hamiltone.analysis.gradients import Correlation
from hamiltone.analysis.statistics import Spread
from hamiltone.errors import InputError
from hamiltone.paper.study import Study


def kept_scores(study: Study, name: str) -> dict[str, Any]:
    """Accuracies by attention, from ``hamiltone score --json``; nothing if they were not kept."""
    return _read(study, f"score-{name}", "score", lambda content: {one["attention"]: one for one in content["means"]})


def kept_minutes(study: Study, name: str) -> dict[str, list[float]]:
    """Minutes of training by attention, from ``hamiltone runs --json``; nothing if they were not kept."""

    def parse(runs: list[dict[str, Any]]) -> dict[str, list[float]]:
        minutes: dict[str, list[float]] = {}
        for run in runs:
            minutes.setdefault(run["settings"]["model.attention"], []).append(run["minutes"])
        return minutes

    return _read(study, f"runs-{name}", "runs", parse)


def kept_similarity(study: Study, name: str) -> dict[str, Spread]:
    """Similarities of attention outputs, from ``hamiltone analyse similarity --json``; nothing if they were not kept.

    Those of both formulas, a pair for each model, are left out.
    """
    return _read(
        study,
        f"similarity-{name}",
        "analyse similarity",
        lambda content: {key: Spread(**one) for key, one in content.items() if isinstance(one, dict)},
    )


def kept_correlations(study: Study, name: str) -> dict[str, Correlation]:
    """Correlations of gradient norms, from ``hamiltone analyse gradients --json``; nothing if they were not kept."""
    return _read(
        study,
        f"gradients-{name}",
        "analyse gradients",
        lambda content: {key: Correlation(**one) for key, one in content["correlations"].items()},
    )


def _read(study: Study, name: str, command: str, parse: Callable[[Any], dict[str, Any]]) -> dict[str, Any]:
    path = study.options.results / f"{name}.json"
    if not path.exists():
        return {}
    try:
        return parse(json.loads(path.read_text("utf-8")))
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError):
        raise InputError(f"{path} was not written by hamiltone {command} --json") from None
