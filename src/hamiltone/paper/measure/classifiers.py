"""Tables 13 to 15: reports of other commands on trained classifiers, and how fast the classifiers are here."""

import json
from collections.abc import Callable
from typing import Any, TypeVar

from hamiltone.analysis.gradients import Correlation
from hamiltone.analysis.statistics import Spread, student
from hamiltone.benchmark.classifier import bench_classifier
from hamiltone.errors import InputError
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import Classifier, ClassifierSpeeds, SeedAccuracy
from hamiltone.paper.store import from_plain

T = TypeVar("T")
_BATCH = {"cifar100": 128, "sst2": 128}
_QUICK_BATCH = {"cifar100": 8, "sst2": 32}
_START, _AFTER = "before training, one set of weights", "after: "
"""What ``hamiltone analyse gradients --json`` calls them."""


def images(study: Study) -> Classifier:
    """Accuracies, trainings and similarities on CIFAR-100 (Tables 5, 13 and 14)."""
    return _classifier(study, "cifar100")


def text(study: Study) -> Classifier:
    """Accuracies and similarities on SST-2 (Tables 5 and 15)."""
    return _classifier(study, "sst2")


def speeds(study: Study) -> ClassifierSpeeds:
    """A training step on images, as Table 13 counts training time, and a batch of sentences, as Table 15."""
    batch, seconds = (_QUICK_BATCH, 2.0) if study.quick else (_BATCH, 20.0)
    study.use_data(", ".join(f"random batches of {size} for {name}" for name, size in batch.items()))
    steps = bench_classifier("cifar100", batch["cifar100"], seconds=seconds, kinds=("training",), tick=study.tick)
    return ClassifierSpeeds(
        (*steps, *bench_classifier("sst2", batch["sst2"], seconds=seconds, kinds=("inference",), tick=study.tick))
    )


def _classifier(study: Study, name: str) -> Classifier:
    accuracies = _kept(study, f"accuracy-{name}", "accuracy", _accuracies) or ()
    correlations = _kept(study, f"gradients-{name}", "analyse gradients", _correlations) or {}
    study.use_data(f"the reports for {name} that other commands have left")
    return Classifier(
        accuracies=accuracies,
        difference=_difference(accuracies),
        minutes=_kept(study, f"runs-{name}", "runs", _minutes) or {},
        steps=_kept(study, f"runs-{name}", "runs", _steps) or (),
        similarity=_kept(study, f"similarity-{name}", "analyse similarity", _similarity) or {},
        before=correlations.get(_START),
        after={key.removeprefix(_AFTER): one for key, one in correlations.items() if key.startswith(_AFTER)},
    )


def _kept(study: Study, name: str, command: str, parse: Callable[[Any], T]) -> T | None:
    """What a command with ``--json`` has written to the results folder, or None."""
    path = study.kept / f"{name}.json"
    if not path.exists():
        return None
    try:
        return parse(json.loads(path.read_text("utf-8")))
    except (json.JSONDecodeError, AttributeError, KeyError, TypeError, ValueError):
        raise InputError(f"{path} was not written by hamiltone {command} --json") from None


def _accuracies(content: dict[str, Any]) -> tuple[SeedAccuracy, ...]:
    return tuple(SeedAccuracy(one["attention"], int(one["seed"]), one["percent"]) for one in content["scores"])


def _minutes(runs: list[dict[str, Any]]) -> dict[str, tuple[float, ...]]:
    minutes: dict[str, tuple[float, ...]] = {}
    for run in runs:
        attention = run["settings"]["model.attention"]
        minutes[attention] = (*minutes.get(attention, ()), run["minutes"])
    return minutes


def _steps(runs: list[dict[str, Any]]) -> tuple[int, ...]:
    return tuple(sorted({int(run["steps"]) for run in runs}))


def _similarity(content: dict[str, Any]) -> dict[str, Spread]:
    """The spreads of a report, without those of the two formulas, which are a pair for each model."""
    return {key: from_plain(Spread, one) for key, one in content.items() if isinstance(one, dict) and "mean" in one}


def _correlations(content: dict[str, Any]) -> dict[str, Correlation]:
    return {key: from_plain(Correlation, one) for key, one in content["correlations"].items()}


def _difference(accuracies: tuple[SeedAccuracy, ...]) -> Spread | None:
    """Shared minus Hamilton, over the seeds that both have."""
    shared, hamilton = (
        {one.seed: one.percent for one in accuracies if one.attention == attention}
        for attention in ("shared", "hamilton")
    )
    common = sorted(shared.keys() & hamilton.keys())
    return student([shared[seed] - hamilton[seed] for seed in common]) if common else None
