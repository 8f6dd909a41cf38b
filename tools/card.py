"""Fill the tables on bundled models in docs/compact.md (their card) and README.md from the files in results/.

python tools/card.py
"""

import json
from pathlib import Path
from typing import Any

from hamiltone import markdown
from hamiltone.evaluation import compare, read_report
from hamiltone.metrics import Interval
from hamiltone.models import SpeechConfig, load_checkpoint
from hamiltone.models.cost import size_and_cost
from hamiltone.paper.measure.speech import read_reports
from hamiltone.paper.pair import PAIRS
from hamiltone.paper.reference import reference
from hamiltone.weights import bundled

_METRICS = ("pesq", "csig", "cbak", "covl", "stoi", "sisdr", "dnsmos_ovrl")
_BUNDLED = {"unprocessed": "noisy input", "compact": "`compact`", "live": "`live`"}
_HELD_OUT = {
    "unprocessed": "noisy input",
    "compact-2": "`compact` of run *2*",
    "compact-next-4": "`compact` of run *next-4*",
    "compact-next-5": "`compact` of run *next-5*",
    "compact-next-7": "`compact` of run *next-7*",
    "compact": "`compact`",
    "live-3": "`live` of run *3*",
    "live-4": "`live` of run *4*",
    "live-5": "`live` of run *5*",
    "live": "`live`",
}
"""The systems of results/heldout by file; a report of a model from a file carries its path, not its name."""
_SHORT = {"pesq": "PESQ", "stoi": "STOI", "sisdr": "SI-SDR in dB"}
_PUBLISHED = ("qconformer-shared", "qconformer-hamilton", "deepfilternet3", "metricgan", "segan")


def fill_card(page: str, results: Path) -> str:
    """The page with every generated block filled; a block whose results are missing says so."""
    tables = {
        "scores": scores,
        "twins": twins,
        "heldout": held_out,
        "averages": averages,
        "races": races,
        "curve": curve,
        "cost": cost,
        "data": data,
        "training-speed": training_speed,
        "models": models,
    }
    wanted = [name for name in markdown.block_names(page) if name in tables]
    return markdown.fill_blocks(page, {name: tables[name](results) or "(not measured yet)\n" for name in wanted})


def scores(results: Path) -> str:
    """Every system on the test set, with 95 % intervals; below them, rows that others have published."""
    found = {name: report.summary() for name, report in read_reports(results)}
    if not found:
        return ""
    metrics = [name for name in _METRICS if any(summary.get(name) for summary in found.values())]
    sizes = _sizes(results)
    rows = [
        [
            system,
            *sizes.get(system, ("", "")),
            *(_interval(value) if (value := summary.get(name)) else "" for name in metrics),
        ]
        for system, summary in found.items()
    ]
    for printed in (reference()["table2"][name] for name in _PUBLISHED):
        numbers = (printed.get(name) for name in metrics)
        parameters = f"{1000 * printed['params'].value:.0f} K" if "params" in printed else ""
        cells = ("" if number is None else f"{number.value:.{number.decimals}f}" for number in numbers)
        rows.append([f"{printed['label']}, published", parameters, "", *cells])
    return markdown.table(["system", "parameters", "GMAC/s", *metrics], rows)


def models(results: Path) -> str:
    """The bundled models in short, for the README."""
    found = {name: report.summary() for name, report in read_reports(results) if name in _BUNDLED}
    if not found:
        return ""
    sizes = {"unprocessed": ("", "")} | _sizes(results)
    rows = [
        [label, sizes[name][0], *("" if (one := found[name].get(key)) is None else f"{one.mean:.2f}" for key in _SHORT)]
        for name, label in _BUNDLED.items()
        if name in found
    ]
    return markdown.table(["model", "parameters", *_SHORT.values()], rows)


def _sizes(results: Path) -> dict[str, tuple[str, str]]:
    """Parameters and multiply-accumulates per second by system: ours counted here, peers' by examples/peers.py."""
    configs = {name: load_checkpoint(path)[1].config for name, path in bundled().items()}
    ours = {name: size_and_cost(config) for name, config in configs.items() if isinstance(config, SpeechConfig)}
    peers = {
        name: (size["parameters"], size["macs_per_second"])
        for name, size in (_read(results / "peer-sizes.json") or {}).items()
    }
    return {name: (f"{numbers / 1e3:.0f} K", f"{macs / 1e9:.2f}") for name, (numbers, macs) in (ours | peers).items()}


def twins(results: Path) -> str:
    """Shared minus Hamilton scores on the test set, file by file, after equal training."""
    paths = [results / f"evaluate-{name}.json" for name in PAIRS["compact"]]
    if not all(path.exists() for path in paths):
        return ""
    differences = compare(*map(read_report, paths))
    rows = [
        [name, f"{one.mean:+.3f}", f"{one.low:+.3f} to {one.high:+.3f}", str(one.files)]
        for name, one in differences.items()
    ]
    return markdown.table(["metric", "shared - Hamilton", "95 % interval", "files"], rows)


def held_out(results: Path) -> str:
    """Every system by the ratio of the input, on speakers and kinds of noise that were not in training."""
    files = {label: results / "heldout" / f"{name}.json" for name, label in _HELD_OUT.items()}
    reports = {label: read_report(path) for label, path in files.items() if path.exists()}
    if len(reports) < 2:
        return ""
    noisy = next(iter(reports.values()))
    rows = [
        [ratio, label, *(_mean(summary.get(metric)) for metric in noisy.metrics)]
        for ratio in ("all", *noisy.by_snr())
        for label, report in reports.items()
        for summary in [report.summary() if ratio == "all" else report.by_snr()[ratio]]
    ]
    return f"{len(noisy.files)} mixtures.\n\n" + markdown.table(["input SNR", "system", *noisy.metrics], rows)


def averages(results: Path) -> str:
    """Averages of two runs by the share of the second, on held-out mixtures: the first, and what changes from it."""
    reports = [read_report(path) for path in sorted((results / "averages").glob("*.json"))]
    if not reports:
        return ""
    first, *others = reports
    rows = [[first.system, *(f"{one.mean:.3f}" for one in first.summary().values() if one)]]
    for report in others:
        changes = compare(report, first).values()
        rows.append([report.system, *(f"{one.mean:+.3f} ({one.low:+.3f} to {one.high:+.3f})" for one in changes)])
    return markdown.table(["weights", *first.metrics], rows)


def races(results: Path) -> str:
    """Candidates that trained for the same time side by side, as ``hamiltone runs --json`` reports."""
    runs = _read(results / "races.json") or []
    if not runs:
        return ""
    settings = list(dict.fromkeys(key for run in runs for key in run["settings"]))
    metrics = ("pesq", "stoi", "sisdr", "loss")
    heads = ["run", *settings, "steps", "minutes", "audio s/s", *metrics]
    rows = [
        [
            run["name"],
            *(json.dumps(run["settings"][key]) if key in run["settings"] else "" for key in settings),
            str(run["steps"]),
            f"{run['minutes']:.0f}",
            f"{run['units_per_second']:.1f}",
            *(f"{run['metrics'][name]:.3f}" for name in metrics),
        ]
        for run in runs
    ]
    return markdown.table(heads, rows)


def curve(results: Path) -> str:
    """The validations of the bundled models' trainings, from the logs of their runs, one after the other."""
    names = ("pesq", "pesq_gain", "stoi", "sisdr", "sisdr_gain", "loss")
    rows = []
    for path in sorted(results.glob("*-log-*.jsonl")):
        minutes = 0.0
        for record in map(json.loads, path.read_text("utf-8").splitlines()):
            if record["kind"] == "train":
                minutes = record["elapsed"] / 60
            else:
                figures = [f"{record[name]:.3f}" for name in names]
                rows.append([path.stem.replace("-log-", " "), str(record["step"]), f"{minutes:.0f}", *figures])
    return markdown.table(["run", "step", "minutes", "PESQ", "gain", "STOI", "SI-SDR", "gain", "loss"], rows)


def training_speed(results: Path) -> str:
    """Sound trained on in a second by an older commit and by this one, as tools/training_speed.py measures it."""
    found = _read(results / "training-speed.json")
    if found is None:
        return ""
    medians = found["audio_seconds_per_second"]
    before = next(iter(medians.values()))
    rows = [
        [
            name,
            f"{speed:.1f}",
            f"{min(found['each'][name]):.1f} to {max(found['each'][name]):.1f}",
            f"{speed / before:.2f}",
        ]
        for name, speed in medians.items()
    ]
    heads = ["recipe", "audio s/s", "smallest to largest", "to the first"]
    return f"{markdown.table(heads, rows)}\nThe first is of commit {found['before']}. {found['machine']}.\n"


def cost(results: Path) -> str:
    """Speed and memory of the model with both attentions, as ``hamiltone bench model --json`` reports, and of peers.

    Peers were measured in turn with compact; compare speed by that ratio, as the machine may be slower another day.
    """
    measured = [
        (f"{row['attention']} scores, {row['path']}", threads, row)
        for threads in ("1", "2")
        for row in _read(results / f"bench-compact-{threads}.json") or []
        if row["folded"]
    ]
    measured += [(row["system"], "1", row) for row in map(_read, sorted(results.glob("bench-peer-*.json")))]
    rows = [
        [
            system,
            threads,
            f"{row['seconds']:g}",
            f"{row['rtf']:.4f}",
            f"{row['rtf_p10']:.4f} to {row['rtf_p90']:.4f}",
            f"{row['peak_mb']:.0f} MB",
            f"{row['ratio']['compact']:.2f}" if "compact" in row.get("ratio", {}) else "",
        ]
        for system, threads, row in measured
    ]
    heads = ["system", "threads", "seconds", "RTF", "10th to 90th percentile", "peak memory", "time / compact's"]
    return markdown.table(heads, rows)


def data(results: Path) -> str:
    """The added speech and noise by source, as tools/training_data.py counts it."""
    rows = [
        [
            kind.replace("-", " "),
            source,
            f"{counted['hours']:.2f}",
            str(counted["files"]),
            str(counted["left_out"]),
            str(counted.get("voices", "")),
        ]
        for kind, sources in (_read(results / "training-data.json") or {}).items()
        for source, counted in sources.items()
    ]
    return markdown.table(["kind", "source", "hours", "files", "left out", "voices"], rows) if rows else ""


def _read(path: Path) -> Any:
    return json.loads(path.read_text("utf-8")) if path.exists() else None


def _mean(value: Interval | None) -> str:
    return "" if value is None else f"{value.mean:.{3 if value.mean < 1 else 2}f}"


def _interval(value: Interval) -> str:
    digits = 3 if value.mean < 1 else 2
    return f"{value.mean:.{digits}f} ({value.low:.{digits}f} to {value.high:.{digits}f})"


def main() -> None:
    """Fill the pages of this clone."""
    root = Path(__file__).parents[1]
    for page in (root / "docs" / "compact.md", root / "README.md"):
        page.write_text(fill_card(page.read_text("utf-8"), root / "results"), "utf-8")


if __name__ == "__main__":
    main()
