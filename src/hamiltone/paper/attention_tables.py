"""Tables 4, 5, 7, 8, 10 and 11 and the theorems of Appendix C: what attention does."""

from hamiltone.analysis.agreement import TopAgreement
from hamiltone.analysis.gradients import Correlation, correlation_at_start
from hamiltone.analysis.statistics import Spread, spread
from hamiltone.analysis.subspace import check_gradients, check_subspace
from hamiltone.paper.kept import kept_scores, kept_similarity
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.result import Result, Row, row
from hamiltone.paper.study import Study

_OTHER_MODEL = "Ours is {models}, far smaller than the paper's QTransformer, on {speech}."


def _why(study: Study) -> str:
    return _OTHER_MODEL.format(models=study.models, speech=study.speech)


def table4(study: Study) -> Result:
    """Top-1 agreement by pair of components."""
    printed, top = reference()["table4"], study.agreement[0]
    rows = [_rate("agreement in %", pair, printed[pair], rate) for pair, rate in top.pairs.items()]
    rows.append(_rate("agreement in %", "overall", printed["overall"], top.overall))
    rows.append(row("agreement in %", "chance", printed["chance"], top.chance, scale=100))
    return Result("table4", "Agreement of components", tuple(rows), "in part", _why(study), data=study.speech)


def _rate(group: str, quantity: str, printed: Printed | None, rate: Spread) -> Row:
    return row(group, quantity, printed, rate, scale=100, note=f"deviation {100 * rate.deviation:.2f}")


def table5(study: Study) -> Result:
    """Quality of both attentions and similarity of their outputs in three domains."""
    rows: list[Row] = []
    for domain, printed in reference()["table5"].items():
        numbers, ours = dict(printed), _domain(study, domain)
        label = numbers.pop("label")
        rows += [row(label, key.replace("_", " "), number, ours.get(key)) for key, number in numbers.items()]
    why = (
        f"{_why(study)} Speed stands in Tables 3, 13 and 15, the quality of speech in Table 2. "
        "The classifiers of images had a reduced training."
    )
    return Result("table5", "Three domains", tuple(rows), "in part", why, data=study.speech)


def _domain(study: Study, domain: str) -> dict[str, float | Spread]:
    """Our numbers by the keys of the printed ones."""
    if domain == "speech":
        return vars(study.similarity)
    name = {"vision": "cifar100", "text": "sst2"}[domain]
    scores = kept_scores(study, name)
    return {**kept_similarity(study, name), **{f"{rule}_quality": one["mean"] for rule, one in scores.items()}}


def table7(study: Study) -> Result:
    """Gradient norms at initialisation."""
    printed, norms = reference()["table7"], study.norms
    rows = [row("norm", "shared", printed["shared"], norms.shared)]
    rows += [row("norm", f"Hamilton {a}", printed[f"hamilton{a}"], norms.hamilton[a]) for a in range(4)]
    total = sum(one.mean for one in norms.hamilton)
    rows.append(row("norm", "sum of the four", printed["hamilton_sum"], total))
    theirs = printed["shared"].value / printed["hamilton_sum"].value
    rows.append(Row("ratio", "shared to the sum", theirs, norms.ratio_to_sum, decimals=2, note="computed from theirs"))
    why = "Norms scale with the loss, which the paper does not name; the ratio is what can be compared."
    return Result("table7", "Gradient norms", tuple(rows), "in part", why, data=_random(study), seed=norms.setting.seed)


def table8(study: Study) -> Result:
    """Correlation of gradient norms before and after training."""
    printed = reference()["table8"]
    before = correlation_at_start(study.setting)
    fixed = correlation_at_start(study.setting, same_weights=True)
    after = list(study.trained_correlation.values())
    rows = [
        row("before, new weights", "largest of six", printed["before"]["limit"], _largest(before), note=_error(before))
    ]
    rows.append(row("before, new weights", "mean of six", None, before.off_diagonal, decimals=3))
    rows.append(
        row("before, one set of weights", "mean of six", None, fixed.off_diagonal, decimals=3, note=_error(fixed))
    )
    for pair, number in printed["after"].items():
        if pair == "off_diagonal":
            continue
        first, second = map(int, pair.split("-"))
        rows.append(row("after training", pair, number, spread([one.matrix[first][second] for one in after]).mean))
    mean = spread([one.off_diagonal for one in after])
    rows.append(row("after training", "mean of six", printed["after"]["off_diagonal"], mean, note=_error(after[0])))
    for layer, one in study.trained_correlation.items():
        rows.append(row("after, by layer", _short(layer), None, one.off_diagonal, note=_error(one)))
    why = (
        f"Ours is {study.models}; the interval is over its layers. After training only the input varies from trial to "
        "trial; the start with one set of weights is like that, whether the paper's was is not said."
    )
    return Result("table8", "Correlation of gradient norms", tuple(rows), "in part", why, data=_random(study), seed=0)


def _largest(one: Correlation) -> float:
    return max((one.matrix[a][b] for a in range(4) for b in range(a)), key=abs)


def _error(one: Correlation) -> str:
    return f"standard error up to {max(max(line) for line in one.errors):.2f}, {one.trials} trials"


def _random(study: Study) -> str:
    return f"random input of shape {study.setting.shape}, {study.setting.trials} trials"


def table10(study: Study) -> Result:
    """Top-1 agreement by layer and head."""
    printed, top, rows = dict(reference()["table10"]), study.agreement[0], []
    for head in top.heads:
        name = f"{_short(head.layer)}.head{head.head}"
        rows.append(_rate("agreement in %", name, printed.pop(name, None), head.rate))
    means = {axis: _axis_mean(top, axis) for axis in ("freq_layers", "time_layers")}
    for name, number in printed.items():
        ours = top.overall.mean if name == "overall" else means.get(name)
        note = "" if ours is not None else "no such head in our model"
        rows.append(row("agreement in %", name, number, ours, scale=100, note=note))
    return Result("table10", "Agreement by layer and head", tuple(rows), "in part", _why(study), data=study.speech)


def _axis_mean(top: TopAgreement, axis: str) -> float:
    return spread([head.rate.mean for head in top.heads if axis in head.layer]).mean


def _short(layer: str) -> str:
    """``time_layers.0`` of ``network.bottleneck.time_layers.0.attention``."""
    parts = layer.split(".")
    return ".".join(parts[next((n for n, part in enumerate(parts) if part.endswith("_layers")), 0) :][:2])


def table11(study: Study) -> Result:
    """Top-1 and top-5 agreement against chance."""
    rows = []
    for top in study.agreement:
        group = f"top-{top.count}"
        printed = reference()["table11"][f"top{top.count}"]
        rows.append(row(group, "agreement in %", printed["observed"], top.overall, scale=100))
        rows.append(row(group, "chance in %", printed["chance"], top.chance, scale=100))
        rows.append(row(group, "times chance", printed["ratio"], top.ratio))
    why = f"{_why(study)} Shorter sequences raise the chance level: compare the last row of each."
    return Result("table11", "Agreement and chance", tuple(rows), "in part", why, data=study.speech)


def theorems(study: Study) -> Result:
    """Theorem C.1, Corollary C.2 and Theorem C.3 in float64."""
    rows: list[Row] = []
    for d_in, d_h in ((5, 2), (16, 4), (32, 8)):
        check, group = check_subspace(d_in, d_h), f"d_in = {d_in}, d_h = {d_h}"
        rows += [
            row(group, "dimension of U", None, check.dimension, decimals=0, note=f"of {check.ambient}"),
            row(group, "C.1: error of the Hamilton decomposition", None, check.hamilton_error),
            row(group, "C.1: distance of Λ to U", None, check.hamilton_distance),
            row(group, "C.2: error of the shared decomposition", None, check.shared_error),
            row(group, "C.2: distance of M to U", None, check.shared_distance),
            row(group, "control: a random matrix", None, check.random_distance),
            row(group, "control: any bilinear score", None, check.any_bilinear_distance, note="lies in U as well"),
            row(
                group, "rank of the five scores", None, check.joint_rank, decimals=0, note="4 if shared were redundant"
            ),
        ]
    gradients = check_gradients()
    rows += [
        row("gradients", "C.3: error of aggregation", None, gradients.aggregation_error),
        row("gradients", "C.3: error of separation", None, gradients.separation_error),
        row("gradients", "C.3: crossing between components", None, gradients.crossing, decimals=1),
    ]
    data = "random weights and input, float64"
    return Result("theorems", "Theorems of Appendix C", tuple(rows), "reproduced", data=data, seed=0)
