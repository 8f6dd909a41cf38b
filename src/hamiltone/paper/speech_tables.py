"""Tables 2 and 3: speech enhancement, as far as it can be run here."""

import json
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from hamiltone.analysis.cost import model_costs
from hamiltone.benchmark.model import Variant, make
from hamiltone.benchmark.timing import interleaved
from hamiltone.data.pairs import FOLDERS
from hamiltone.evaluation import ModelName, Report, System, Unprocessed, evaluate, write_report
from hamiltone.inference import enhance
from hamiltone.metrics import Interval
from hamiltone.paper.pair import PAIRS
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.result import Result, Row, Status, row
from hamiltone.paper.study import Study

METRICS = ("pesq", "csig", "cbak", "covl", "stoi", "sisdr")
BESIDE = {
    "unprocessed": "noisy",
    "default": "qconformer-shared",
    "compact": "qconformer-shared",
    "compact-shared": "qconformer-shared",
    "compact-hamilton": "qconformer-hamilton",
    "qconformer": "qconformer-shared",
    "qconformer-hamilton": "qconformer-hamilton",
    "qtransformer": "qtransformer-shared",
    "qtransformer-hamilton": "qtransformer-hamilton",
}
"""The row of Table 2 that stands beside a system of ours, by its name."""


def table2(study: Study) -> Result:
    """Parameters are counted; scores come from the reports of ``hamiltone evaluate --json`` in the results folder."""
    if study.options.data is not None and not study.quick:
        _evaluate(study, study.options.data)
    printed, sizes = reference()["table2"], _sizes()
    rows = [
        row(numbers["label"], quantity, number, sizes.get(name) if quantity == "params" else None, scale=1e-6)
        for name, numbers in printed.items()
        for quantity, number in numbers.items()
        if quantity != "label"
    ]
    found = list(read_reports(study.options.results))
    for system, summary in found:
        rows += _beside(system, summary, printed)
    status: Status = "in part" if found else "not reproduced"
    why = (
        "Parameters are counted. Scores of ours come from reports of hamiltone evaluate, if there are any, of models "
        "that are smaller and trained for hours on two cores, where the paper's trained for 400 epochs on a GPU."
    )
    command = "hamiltone train recipes/voicebank.toml && hamiltone evaluate --model runs/voicebank/best.safetensors"
    data = "the reports of hamiltone evaluate in the results folder" if found else ""
    return Result("table2", "VoiceBank+DEMAND", tuple(rows), status, why, command, data, wide=True)


def _evaluate(study: Study, root: Path) -> None:
    """Judge the noisy input and the pair on the test set, unless a report of them is there."""
    clean, noisy = (root / folder for folder in FOLDERS["test"])
    there = {system for system, _ in read_reports(study.options.results)}
    systems: list[System] = [Unprocessed(), *map(ModelName, PAIRS[study.pair.name])]
    study.options.results.mkdir(parents=True, exist_ok=True)
    for system in systems:
        if str(system) not in there:
            files = evaluate(noisy, clean, system, metrics=METRICS, workers=2)
            path = study.options.results / f"evaluate-{system}.json"
            write_report(path, Report(str(system), METRICS, tuple(files)))


def read_reports(folder: Path) -> Iterator[tuple[str, dict[str, Any]]]:
    """System and summary of every report of ``hamiltone evaluate`` in a folder; other JSON files are passed over."""
    for path in sorted(folder.glob("*.json")):
        content = json.loads(path.read_text("utf-8"))
        if isinstance(content, dict) and {"system", "summary"} <= content.keys():
            yield _name(Path(content["system"])), content["summary"]


def _name(system: Path) -> str:
    """Of a model or of the run that left its best one, without where it lies."""
    return system.parent.name if system.stem in ("best", "last") and system.parent.name else system.stem


def _beside(system: str, summary: dict[str, Any], printed: dict[str, Any]) -> list[Row]:
    """Our scores of a system, beside the row of the paper that is nearest to it."""
    theirs: dict[str, Printed] = printed.get(BESIDE.get(system, ""), {})
    files = max((interval["files"] for interval in summary.values() if interval), default=0)
    label = f"measured here: {system}, {files} files" + (f", beside {theirs['label']}" if theirs else "")
    return [
        row(label, name, theirs.get(name), Interval(**summary[name]), decimals=None if name in theirs else 2)
        for name in (*METRICS, "dnsmos_ovrl")
        if summary.get(name)
    ]


def _sizes() -> dict[str, int]:
    """Parameters by the paper's rows."""
    names = ("qtransformer", "qconformer", "qdensenet", "qtn", "real-conformer")
    costs = model_costs(names)
    sizes = {f"{cost.preset}-{cost.attention}": cost.parameters for cost in costs}
    return sizes | {cost.preset: cost.parameters for cost in costs}


def table3(study: Study) -> Result:
    """CPU real-time factors on this machine; the rest needs DNS-3 and an A100."""
    printed, sizes = reference()["table3"], _sizes()
    ours = _real_time_factors(study.quick)
    rows = []
    for name, numbers in printed.items():
        if name == "reduction":
            continue
        for quantity, number in numbers.items():
            if quantity != "label":
                measured = {"params": sizes.get(name, 0) / 1e6, "cpu_rtf": ours.get(name)}.get(quantity)
                rows.append(row(numbers["label"], quantity.replace("_", " "), number, measured))
    for model in ("qtransformer", "qconformer"):
        gain = ours[f"{model}-hamilton"] / ours[f"{model}-shared"]
        theirs = printed["reduction"]
        rows.append(row(f"{model}: CPU", "reduction in %", theirs[f"{model}_cpu"], 100 * (1 - 1 / gain)))
        rows.append(row(f"{model}: CPU", "speed-up", theirs[f"{model}_cpu_speedup"], gain))
        rows.append(row(f"{model}: GPU", "reduction in %", theirs[f"{model}_gpu"]))
        rows.append(row(f"{model}: GPU", "speed-up", theirs[f"{model}_gpu_speedup"]))
        rows.append(row(f"{model}: MACs", "reduction in %", None, _saved_macs(f"{model}-dns"), decimals=1))
    why = (
        "DNS-Challenge 3 and an A100 are not here, so scores and GPU factors are not reproduced. CPU factors are of "
        f"this machine on {_SECONDS[study.quick]:g} s of noise, with both attentions fused; random weights, same sizes."
    )
    command = "hamiltone train recipes/dns3.toml data.root=DNS && hamiltone bench model --preset qconformer-dns"
    return Result("table3", "DNS-Challenge 3 and speed", tuple(rows), "in part", why, command, seed=0)


def _saved_macs(name: str) -> float:
    """By how many percent the whole model has fewer multiply-accumulates with shared scores, in windows of 4 s."""
    shared, hamilton = (cost.macs_per_second for cost in model_costs([name]))
    return 100 * (1 - shared / hamilton)


_SECONDS = {True: 1.0, False: 10.0}


def _real_time_factors(quick: bool) -> dict[str, float]:
    """Median seconds of computing per second of audio, by the paper's rows."""
    seconds = _SECONDS[quick]
    waveform = np.random.default_rng(0).standard_normal(round(16_000 * seconds)).astype(np.float32)
    variants = {
        f"{name}-{attention}": Variant(f"{name}-dns", attention, "fused", True)
        for name in ("qtransformer", "qconformer")
        for attention in ("shared", "hamilton")
    }
    runs = {name: partial(enhance, waveform, 16_000, model=make(variant)) for name, variant in variants.items()}
    times = interleaved(runs, seconds=15.0 if quick else 60.0, rounds=(5, 20))
    return {name: float(np.median(values)) / seconds for name, values in times.items()}
