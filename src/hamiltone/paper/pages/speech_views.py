"""Tables 2 and 3: speech enhancement."""

from hamiltone.paper.pages.section import Section, get, rounds_of
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import METRICS, MODEL_SPEEDS, MODELS, Costs, ModelSpeeds, Quality, SystemScores
from hamiltone.paper.store import Evidence

BESIDE = {
    "unprocessed": "noisy",
    "compact": "qconformer-shared",
    "compact-shared": "qconformer-shared",
    "compact-hamilton": "qconformer-hamilton",
    "qconformer": "qconformer-shared",
    "voicebank": "qconformer-shared",
    "qconformer-hamilton": "qconformer-hamilton",
    "qtransformer": "qtransformer-shared",
    "qtransformer-hamilton": "qtransformer-hamilton",
    "qdensenet": "qdensenet",
    "qtn": "qtn",
    "real-conformer": "real-conformer",
    "dns3-shared": "qconformer-shared",
    "dns3-hamilton": "qconformer-hamilton",
    "dns3-qtransformer-shared": "qtransformer-shared",
    "dns3-qtransformer-hamilton": "qtransformer-hamilton",
}
"""The row of Tables 2 and 3 to show beside a system of ours, by its name."""
_DNSMOS = {"ovrl": "dnsmos_ovrl", "sig": "dnsmos_sig", "bak": "dnsmos_bak", "p808": "dnsmos_p808"}


def table2(evidence: Evidence) -> Section:
    """Parameters are counted; scores come from the reports of ``hamiltone evaluate --out`` in the results folder."""
    sizes, quality = _sizes(evidence), get(evidence, "voicebank", Quality)
    rows = [
        row(numbers["label"], quantity, number, sizes.get(name) if quantity == "params" else None, scale=1e-6)
        for name, numbers in reference()["table2"].items()
        for quantity, number in numbers.items()
        if quantity != "label"
    ]
    shown = {name: name for name in (*METRICS, "dnsmos_ovrl")}
    for system in quality.systems if quality else ():
        rows += _beside(system, "table2", shown)
    if quality is not None:
        rows += _twins(quality, tuple(shown))
    remark = (
        "Parameters are counted. Rows *measured here* are reports of `hamiltone evaluate`; a row of the paper beside "
        "one is that of the nearest model, not of the same one."
    )
    return Section(tuple(rows), remark, wide=True)


def _twins(quality: Quality, metrics: tuple[str, ...]) -> list[Row]:
    return [
        row(f"{twin.removesuffix('-shared')}: shared - Hamilton", name, None, differences[name], decimals=3)
        for twin, differences in quality.twins.items()
        for name in metrics
        if name in differences
    ]


def _beside(system: SystemScores, table: str, metrics: dict[str, str]) -> list[Row]:
    """Our scores of a system, beside the row of the paper that is nearest to it."""
    theirs: dict[str, Printed] = reference()[table].get(BESIDE.get(system.system, ""), {})
    label = f"measured here: {system.system}, {system.files} files" + (f", beside {theirs['label']}" if theirs else "")
    return [
        row(label, name, theirs.get(name), system.scores[ours], decimals=None if name in theirs else 2)
        for name, ours in metrics.items()
        if ours in system.scores
    ]


def _sizes(evidence: Evidence) -> dict[str, int]:
    """Parameters by the paper's rows."""
    costs = get(evidence, "cost", Costs)
    if costs is None:
        return {}
    sizes = {f"{cost.preset}-{cost.attention}": cost.parameters for cost in costs.models}
    return sizes | {cost.preset: cost.parameters for cost in costs.models}


def table3(evidence: Evidence) -> Section:
    """CPU real-time factors on this machine at three lengths; scores from reports in the folder dns of the results."""
    printed, sizes = reference()["table3"], _sizes(evidence)
    rows = [
        row(
            numbers["label"],
            quantity.replace("_", " "),
            number,
            sizes.get(name) if quantity == "params" else None,
            scale=1e-6,
        )
        for name, numbers in printed.items()
        if name != "reduction"
        for quantity, number in numbers.items()
        if quantity not in ("label", "cpu_rtf")
    ]
    quality = get(evidence, "dns", Quality)
    for system in quality.systems if quality else ():
        rows += _beside(system, "table3", _DNSMOS)
    rows += _twins(quality, tuple(_DNSMOS.values())) if quality else []
    speeds = [one for one in (get(evidence, name, ModelSpeeds) for name in MODEL_SPEEDS) if one is not None]
    for model in MODELS:
        rows += _speed_rows(model, speeds) + _macs_row(model, evidence)
    remark = (
        "GPU factors need an A100. CPU factors are of this machine, waveform to waveform, each recording as one "
        "window; *explicit* forms scores and maps by matrix products, *fused* runs in one kernel, for both rules "
        "alike. The paper says that conditions were matched, but not which ones; it measured on 448 utterances of "
        "15.3 s on average."
    )
    return Section(tuple(rows), remark)


def _speed_rows(model: str, speeds: list[ModelSpeeds]) -> list[Row]:
    printed = reference()["table3"]
    theirs = {rule: printed[f"{model}-{rule}"]["cpu_rtf"] for rule in ("shared", "hamilton")}
    speedup = printed["reduction"][f"{model}_cpu_speedup"]
    cells = [one for speed in speeds for one in speed.cells if one.model == model]
    if not cells:
        rows = [row(f"{model}: CPU", f"RTF, {rule}", number) for rule, number in theirs.items()]
        return [*rows, row(f"{model}: CPU", "Hamilton / shared", speedup)]
    rows = [
        row(
            f"{model}: CPU, {one.seconds:g} s",
            f"RTF, {one.rule} {one.path}",
            theirs[one.rule],
            one.rtf,
            note=f"10th to 90th percentile {one.rtf_p10:.3f} to {one.rtf_p90:.3f}",
        )
        for one in cells
    ]
    ratios = [one for speed in speeds for one in speed.ratios if one.model == model]
    return rows + [
        row(
            f"{model}: CPU, {one.seconds:g} s",
            f"Hamilton {one.hamilton_path} / shared {one.shared_path}",
            speedup if one.hamilton_path == one.shared_path else None,
            one.ratio,
            note=rounds_of(one.ratio),
        )
        for one in ratios
        if (one.hamilton_path, one.shared_path) != ("fused", "explicit")
    ]


def _macs_row(model: str, evidence: Evidence) -> list[Row]:
    """By how many percent the whole model has fewer multiply-accumulates with shared scores, in windows of 4 s."""
    costs = get(evidence, "cost", Costs)
    macs = {one.attention: one.macs_per_second for one in costs.models if one.preset == f"{model}-dns"} if costs else {}
    if not {"shared", "hamilton"} <= macs.keys():
        return []
    saved = 100 * (1 - macs["shared"] / macs["hamilton"])
    return [row(f"{model}: MACs", "reduction in %, windows of 4 s", None, saved, decimals=1)]
