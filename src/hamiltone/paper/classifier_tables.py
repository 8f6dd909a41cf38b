"""Tables 13 to 15: images and text. What needs trained models was kept by other commands, speed is measured here."""

import statistics
from typing import Any

from hamiltone.analysis.statistics import spread
from hamiltone.benchmark.classifier import bench_classifier
from hamiltone.paper.kept import kept_correlations, kept_minutes, kept_scores
from hamiltone.paper.reference import reference
from hamiltone.paper.result import Result, Row, Status, row
from hamiltone.paper.study import Study

_BATCH = {"cifar100": 128, "sst2": 128}
_QUICK_BATCH = {"cifar100": 8, "sst2": 32}
_SEEDS = 3  # of the paper


def table13(study: Study) -> Result:
    """CIFAR-100: accuracies of a reduced training if there are any, and how fast a training step is."""
    scores, minutes = kept_scores(study, "cifar100"), kept_minutes(study, "cifar100")
    step = _milliseconds("cifar100", "training", study)
    rows = []
    for group, numbers in reference()["table13"].items():
        rows += [_accuracy(group, numbers["accuracy"], scores), _time(group, numbers["minutes"], minutes)]
        speedup = step["hamilton"] / step[group]
        rows.append(row(group, "speedup", numbers.get("speedup"), speedup, note="of a training step, on this machine"))
    why = "The full recipe takes days on two cores; the paper's 100 epochs ran on a GPU." + _reduced(scores)
    command = "hamiltone train recipes/cifar100.toml && hamiltone score --json > results/score-cifar100.json"
    return Result("table13", "CIFAR-100", tuple(rows), "in part", why, command)


def table14(study: Study) -> Result:
    """Correlation of gradient norms in a classifier with Hamilton scores, before and after training."""
    found = kept_correlations(study, "cifar100")
    after = [one for name, one in found.items() if name.startswith("after")]
    when = {"before": [found["before training, one set of weights"]] if found else [], "after": after}
    rows = []
    for group, printed in reference()["table14"].items():
        ours = when[group]
        for pair, number in printed.items():
            if not ours:
                rows.append(row(group, pair.replace("_", " "), number))
            elif pair == "off_diagonal":
                rows.append(row(group, "off diagonal", number, spread([one.off_diagonal for one in ours]).mean))
            else:
                first, second = map(int, pair.split("-"))
                rows.append(row(group, pair, number, spread([one.matrix[first][second] for one in ours]).mean))
    command = (
        "hamiltone analyse gradients --model runs/cifar100-hamilton-42/best.safetensors --dim 32 --length 16 --json"
    )
    title = "Correlation of gradient norms, CIFAR-100"
    if not found:
        why = "It needs an image classifier trained with Hamilton scores; Table 8 has the same analysis for speech."
        return Result("table14", title, tuple(rows), "not reproduced", why, command)
    error, trials = max(max(line) for line in after[0].errors), after[0].trials
    why = (
        f"Ours had a reduced training. The mean of its {len(after)} layers, over {trials} random inputs; "
        f"standard error of one layer's correlation up to {error:.2f}."
    )
    return Result("table14", title, tuple(rows), "in part", why, command, "random input", 0)


def table15(study: Study) -> Result:
    """SST-2: accuracy on dev over the seeds, and the latency of a batch."""
    scores = kept_scores(study, "sst2")
    latency = _milliseconds("sst2", "inference", study)
    rows = []
    for group, numbers in reference()["table15"].items():
        rows.append(_accuracy(group, numbers["accuracy"], scores))
        rows.append(row(group, "latency", numbers["latency"], latency[group], note="another machine, another batch"))
    printed = reference()["table15"]
    theirs = printed["hamilton"]["latency"].value / printed["shared"]["latency"].value
    rows.append(Row("hamilton / shared", "latency", theirs, latency["hamilton"] / latency["shared"]))
    whole = bool(scores) and all(mean["runs"] >= _SEEDS for mean in scores.values())
    status: Status = "reproduced" if whole else "in part"
    why = f"Latency is of a batch of {_batch('sst2', study)} sentences of 32 words, folded, both attentions fused."
    command = "hamiltone train recipes/sst2.toml && hamiltone score --json > results/score-sst2.json"
    data = "SST-2 as GLUE splits it, dev" if scores else ""
    return Result("table15", "SST-2", tuple(rows), status, why, command, data)


def _accuracy(group: str, printed: Any, scores: dict[str, Any]) -> Row:
    mean = scores.get(group)
    if mean is None:
        return row(group, "accuracy", printed)
    deviation = "" if mean["deviation"] is None else f"± {mean['deviation']:.2f} "
    return row(group, "accuracy", printed, mean["mean"], note=f"{deviation}over {mean['runs']} seeds")


def _time(group: str, printed: Any, minutes: dict[str, list[float]]) -> Row:
    ours = minutes.get(group)
    if ours is None:
        return row(group, "minutes", printed)
    return row(group, "minutes", printed, statistics.fmean(ours), note="of the reduced training, on one core")


def _milliseconds(name: str, what: str, study: Study) -> dict[str, float]:
    """Median time of a batch by attention."""
    rows = bench_classifier(name, _batch(name, study), seconds=2.0 if study.quick else 20.0, kinds=(what,))
    return {one.attention: one.ms for one in rows}


def _batch(name: str, study: Study) -> int:
    return (_QUICK_BATCH if study.quick else _BATCH)[name]


def _reduced(scores: dict[str, Any]) -> str:
    reduced = " Accuracies and minutes are of recipes/cifar100_reduced.toml, the same for every attention."
    return reduced if scores else ""
