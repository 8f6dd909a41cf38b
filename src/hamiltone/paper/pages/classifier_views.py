"""Tables 5 and 13 to 15: images and text."""

from statistics import fmean

from hamiltone.analysis.gradients import Correlation
from hamiltone.analysis.statistics import Spread, student
from hamiltone.paper.pages.gradient_views import mean_of_layers
from hamiltone.paper.pages.section import OTHER_MODEL, Section, get, twins_of
from hamiltone.paper.pages.speech_views import BESIDE
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import Classifier, ClassifierSpeeds, Outputs, Quality
from hamiltone.paper.store import Evidence

_MODELS = {"images": "cifar100", "text": "sst2"}


def _accuracy(found: Classifier | None, attention: str) -> Spread | None:
    if found is None:
        return None
    percents = [one.percent for one in found.accuracies if one.attention == attention]
    return student(percents) if percents else None


def _accuracy_row(group: str, printed: Printed, found: Classifier | None) -> Row:
    ours = _accuracy(found, group)
    deviation = "" if ours is None or ours.groups < 2 else f"± {ours.deviation:.2f} "
    note = "" if ours is None else f"{deviation}over {ours.groups} seeds"
    return row(group, "accuracy", printed, ours, note=note)


def _milliseconds(evidence: Evidence, measurement: str) -> dict[str, float]:
    """Median time by attention."""
    found = get(evidence, "classifier-speed", ClassifierSpeeds)
    return {} if found is None else {one.attention: one.ms for one in found.rows if one.model == _MODELS[measurement]}


def _speedup(evidence: Evidence, measurement: str, attention: str = "shared") -> float | None:
    times = _milliseconds(evidence, measurement)
    return times["hamilton"] / times[attention] if {"hamilton", attention} <= times.keys() else None


def table13(evidence: Evidence) -> Section:
    """CIFAR-100: accuracies and training minutes as other commands report them, and the time of a step."""
    found = get(evidence, "images", Classifier)
    rows = []
    for group, numbers in reference()["table13"].items():
        minutes = () if found is None else found.minutes.get(group, ())
        rows += [
            _accuracy_row(group, numbers["accuracy"], found),
            row(
                group, "minutes", numbers["minutes"], fmean(minutes) if minutes else None, note="of our training, here"
            ),
        ]
        if "speedup" in numbers:
            speedup = _speedup(evidence, "images", group)
            rows.append(row(group, "speedup", numbers["speedup"], speedup, note="of a training step, here"))
    if found is not None and found.difference is not None:
        rows.append(row("shared - hamilton", "accuracy, points", None, found.difference, note="seed by seed"))
    remark = "Accuracies are those of `hamiltone accuracy` on models trained here; [vision.md](vision.md) says how."
    return Section(tuple(rows), remark + _shorter(found))


def _shorter(found: Classifier | None) -> str:
    """How long our models were trained, where their runs say so."""
    if found is None or not found.steps:
        return ""
    steps = " or ".join(f"{one:,}" for one in found.steps)
    return f" Ours were trained for {steps} steps of a reduced recipe: neither accuracy nor minutes are the paper's."


def table14(evidence: Evidence) -> Section:
    """Correlation of gradient norms in a classifier with Hamilton scores, before and after training."""
    found = get(evidence, "images", Classifier)
    before: list[Correlation] = [] if found is None or found.before is None else [found.before]
    after = [] if found is None else list(found.after.values())
    rows = []
    for group, layers in (("before", before), ("after", after)):
        for pair, number in reference()["table14"][group].items():
            rows.append(row(group, pair.replace("_", " "), number, mean_of_layers(layers, pair)))
    note = ""
    if after:
        error = max(max(max(line) for line in one.errors) for one in after)
        note = (
            f" Ours is the mean of {len(after)} layers of one model over {after[0].trials} random inputs; standard "
            f"error of one correlation up to {error:.2f}."
        )
    return Section(tuple(rows), f"From `hamiltone analyse gradients`.{note}")


def table15(evidence: Evidence) -> Section:
    """SST-2: accuracy on dev over the seeds, and the latency of a batch."""
    found, times = get(evidence, "text", Classifier), _milliseconds(evidence, "text")
    printed, rows = reference()["table15"], []
    for group, numbers in printed.items():
        rows.append(_accuracy_row(group, numbers["accuracy"], found))
        rows.append(row(group, "latency", numbers["latency"], times.get(group), note="another machine, another batch"))
    theirs = Printed(printed["hamilton"]["latency"].value / printed["shared"]["latency"].value, 2)
    rows.append(row("hamilton / shared", "latency", theirs, _speedup(evidence, "text")))
    if found is not None and found.difference is not None:
        rows.append(row("shared - hamilton", "accuracy, points", None, found.difference, note="seed by seed"))
    return Section(
        tuple(rows),
        "Intervals of ours are Student's over seeds. Latencies are of folded models, both attentions fused.",
    )


def table5(evidence: Evidence) -> Section:
    """Quality of both attentions, speed, and similarity of their outputs in three domains."""
    rows: list[Row] = []
    for domain, printed in reference()["table5"].items():
        numbers, ours = dict(printed), _domain(evidence, domain)
        label = numbers.pop("label")
        rows += [row(label, key.replace("_", " "), number, ours.get(key)) for key, number in numbers.items()]
    remark = (
        f"{OTHER_MODEL} Speed-ups of images and text are those of Tables 13 and 15. The KS statistic of speech is of "
        "all utterances together, as in Figure 3, those of images and text are means over samples. "
        f"{twins_of(evidence, 'outputs')}"
    )
    return Section(tuple(rows), remark + _shorter(get(evidence, "images", Classifier)).replace("Ours", "Image models"))


def _domain(evidence: Evidence, domain: str) -> dict[str, float | Spread | None]:
    """Our numbers by the keys of the printed ones."""
    if domain == "speech":
        outputs, quality = get(evidence, "outputs", Outputs), get(evidence, "dns", Quality)
        found: dict[str, float | Spread | None] = {}
        if outputs is not None:
            found = {**vars(outputs.similarity), "ks": outputs.similarity.pooled_ks}
        for system in quality.systems if quality else ():
            model, _, rule = BESIDE.get(system.system, "").partition("-")
            if model == "qtransformer":  # the paper's row is of that one
                found[f"{rule}_quality"] = system.scores.get("dnsmos_ovrl")
        return found
    name = {"vision": "images", "text": "text"}[domain]
    kept, speedup = get(evidence, name, Classifier), _speedup(evidence, name)
    reduction = None if speedup is None else 100 * (1 - 1 / speedup)
    quality_of = {f"{rule}_quality": _accuracy(kept, rule) for rule in ("shared", "hamilton")}
    return {**(kept.similarity if kept else {}), **quality_of, "speedup": speedup, "reduction": reduction}
