"""Tables 4, 6 to 8, 10 and 11, the figures, the theorems and the sweep of settings."""

from collections.abc import Callable

from hamiltone.analysis.agreement import TopAgreement
from hamiltone.analysis.gradients import Correlation
from hamiltone.analysis.rules import SCALES
from hamiltone.analysis.settings import Landing
from hamiltone.analysis.statistics import Spread
from hamiltone.paper.pages.rows import Row, row
from hamiltone.paper.pages.section import Section, get, of
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import Agreements, Gradients, Outputs, Picture, Settings, Theorems
from hamiltone.paper.store import Evidence

NEAR = 0.05
"""How far a setting may land from Table 7 to be listed."""
_OTHER = "The paper's model is its QTransformer; ours is named below."


def _tops(evidence: Evidence) -> dict[int, TopAgreement]:
    found = get(evidence, "agreement", Agreements)
    return {} if found is None else {one.count: one for one in found.tops}


def table4(evidence: Evidence) -> Section:
    """Top-1 agreement by pair of components."""
    top = _tops(evidence).get(1)
    rows = []
    for pair, number in reference()["table4"].items():
        if pair == "chance":
            rows.append(row("agreement in %", pair, number, of(top, lambda it: it.chance), scale=100))
        else:
            rate = None if top is None else top.overall if pair == "overall" else top.pairs[pair]
            rows.append(_rate(pair, number, rate))
    return Section(tuple(rows), _OTHER)


def _rate(quantity: str, printed: Printed | None, rate: Spread | None, note: str = "") -> Row:
    deviation = "" if rate is None else f"deviation {100 * rate.deviation:.2f}"
    return row("agreement in %", quantity, printed, rate, scale=100, note=note or deviation)


def table10(evidence: Evidence) -> Section:
    """Top-1 agreement by axis; heads have numbers, not identities, so that ours stand beside nobody's."""
    top = _tops(evidence).get(1)
    rows = []
    for name, number in reference()["table10"].items():
        if top is not None and name == "overall":
            rows.append(_rate(name, number, top.overall))
        elif top is not None and name.endswith("_layers"):
            rates = [head.rate.mean for head in top.heads if f".{name}." in head.layer]
            ours = sum(rates) / len(rates) if rates else None
            rows.append(row("agreement in %", name, number, ours, scale=100, note=f"mean of {len(rates)} heads"))
        else:
            rows.append(row("agreement in %", name, number, note="a head of their model"))
    for head in top.heads if top else ():
        rows.append(_rate(f"ours: {_short(head.layer)}, head {head.head}", None, head.rate))
    return Section(tuple(rows), f"{_OTHER} Heads of different models are not the same head: none is subtracted.")


def _short(layer: str) -> str:
    """``time_layers.0`` of ``network.bottleneck.time_layers.0.attention``."""
    parts = layer.split(".")
    return ".".join(parts[next((n for n, part in enumerate(parts) if part.endswith("_layers")), 0) :][:2])


def table11(evidence: Evidence) -> Section:
    """Top-1 and top-5 agreement against both chance levels, and what the maps look like."""
    tops, found = _tops(evidence), get(evidence, "agreement", Agreements)
    maps = of(found, lambda it: it.maps)
    shuffled = {} if maps is None else {one.count: one for one in maps.shuffled}
    rows = []
    for count in (1, 5):
        group, printed, top = f"top-{count}", reference()["table11"][f"top{count}"], tops.get(count)
        other = shuffled.get(count)
        rows += [
            row(group, "agreement in %", printed["observed"], of(top, lambda it: it.overall), scale=100),
            row(group, "chance K/M in %", printed["chance"], of(top, lambda it: it.chance), scale=100),
            row(group, "times K/M", printed["ratio"], of(top, lambda it: it.ratio)),
            row(group, "across utterances in %", None, of(other, lambda it: it.rate), scale=100),
            row(group, "more than across utterances, points", None, of(other, lambda it: it.excess), scale=100),
        ]
    rows += [
        row("maps", "entropy, of a flat map's", None, of(maps, lambda it: it.entropy), decimals=3),
        row("maps", "Jensen-Shannon distance of components", None, of(maps, lambda it: it.distance), decimals=3),
    ]
    remark = (
        f"{_OTHER} K/M is the chance of two random choices; *across utterances* sets a component beside another one of "
        "a different utterance, which keeps the habits of a layer and removes what it hears. Argmax positions of "
        "nearly flat maps disagree for no reason: hence the entropy, and a distance of whole maps."
    )
    return Section(tuple(rows), remark)


def table6(evidence: Evidence) -> Section:
    """The setting of the gradient analyses."""
    printed, found = reference()["table6"], get(evidence, "gradients", Gradients)
    ours = None if found is None else found.norms.setting
    rows = (
        row("setting", "batch", printed["batch"], of(ours, lambda it: it.batch)),
        row("setting", "length", printed["length"], of(ours, lambda it: it.length)),
        row(
            "setting",
            "d_model",
            printed["d_model"],
            of(ours, lambda it: 4 * it.dim),
            note="reals; the paper does not say of what",
        ),
        row("setting", "trials", printed["trials"], of(ours, lambda it: it.trials)),
        row("setting", "heads", None, of(ours, lambda it: it.heads), decimals=0, note="not printed"),
    )
    remark = (
        "The paper names neither loss nor heads nor query-key norm: ours are the mean square of the output, 4, and on."
    )
    return Section(rows, remark)


def table7(evidence: Evidence) -> Section:
    """Gradient norms at initialisation, with both scales of the Hamilton score."""
    printed, found = reference()["table7"], get(evidence, "gradients", Gradients)
    norms = None if found is None else found.norms
    rows = [row("shared", "norm", printed["shared"], of(norms, lambda it: it.shared))]
    theirs = printed["shared"].value / printed["hamilton_sum"].value
    for scale in SCALES:
        four = None if norms is None else norms.hamilton.get(scale)
        rows += [
            row(scale, f"norm of S{a}", printed[f"hamilton{a}"], None if four is None else four[a]) for a in range(4)
        ]
        total = None if four is None else sum(one.mean for one in four)
        rows.append(row(scale, "sum of the four", printed["hamilton_sum"], total))
        ratio = None if norms is None else norms.ratio.get(scale)
        rows.append(row(scale, "shared to the sum", Printed(theirs, 2), ratio, note="theirs computed from their norms"))
    remark = (
        "`hamilton` has the scale 1/√d_h of Eq. 14, `hamilton-tay` 1/√(4 d_h), that of the shared score. Norms grow "
        "with the loss, which the paper does not name; the ratio is what can be compared. Other settings are swept "
        "below."
    )
    return Section(tuple(rows), remark)


def table8(evidence: Evidence) -> Section:
    """Correlation of gradient norms before and after training."""
    printed, found = reference()["table8"], get(evidence, "gradients", Gradients)
    rows = []
    for scale in SCALES:
        start = None if found is None else found.start.get(scale)
        new, same = (None, None) if start is None else (start.new_weights, start.same_weights)
        limit = printed["before"]["limit"]
        rows += [
            row(f"before, {scale}", "largest of six, new weights", limit, of(new, _largest), note=_error(new)),
            row(f"before, {scale}", "mean of six, new weights", None, of(new, lambda it: it.off_diagonal), decimals=3),
            row(
                f"before, {scale}",
                "mean of six, one set of weights",
                None,
                of(same, lambda it: it.off_diagonal),
                decimals=3,
                note=_error(same),
            ),
        ]
    before, after = ({}, {}) if found is None else (found.before, found.after)
    rows += [
        row("after", pair.replace("_", " "), number, _mean(after, pair)) for pair, number in printed["after"].items()
    ]
    for layer, one in after.items():
        rows.append(row("by layer", f"{_short(layer)}, at its start", None, before[layer].off_diagonal))
        rows.append(row("by layer", f"{_short(layer)}, trained", None, one.off_diagonal, note=_error(one)))
    for moved in found.movement if found else ():
        rows.append(row("W with its start", f"{_short(moved.layer)}, query", None, moved.query_correlation))
        rows.append(row("W with its start", f"{_short(moved.layer)}, key", None, moved.key_correlation))
    remark = (
        "*After* is the mean over the layers of one model of one seed, which has no interval. After training only the "
        "input varies from trial to trial; whether the paper drew new weights before is not said. The last rows "
        "correlate W_Q and W_K with their values before training: where they are near one, training has hardly begun."
    )
    return Section(tuple(rows), remark)


def _mean(layers: dict[str, Correlation], pair: str) -> float | None:
    if not layers:
        return None
    if pair == "off_diagonal":
        return sum(one.off_diagonal for one in layers.values()) / len(layers)
    first, second = map(int, pair.split("-"))
    return sum(one.matrix[first][second] for one in layers.values()) / len(layers)


def _largest(one: Correlation) -> float:
    return max((one.matrix[a][b] for a in range(4) for b in range(a)), key=abs)


def _error(one: Correlation | None) -> str:
    return (
        "" if one is None else f"standard error up to {max(max(line) for line in one.errors):.2f}, {one.trials} trials"
    )


def picture(name: str) -> Callable[[Evidence], Section]:
    """A figure without numbers."""

    def view(evidence: Evidence) -> Section:
        return Section(picture=_file(evidence, name))

    return view


def _file(evidence: Evidence, name: str) -> str:
    found = get(evidence, name, Picture)
    return "" if found is None else found.file


def figure3(evidence: Evidence) -> Section:
    """Distributions of attention outputs."""
    printed, outputs = reference()["figure3"], get(evidence, "outputs", Outputs)
    found = of(outputs, lambda it: it.similarity)
    rows = (
        row("outputs", "KS statistic", printed["ks"], of(found, lambda it: it.ks)),
        row("outputs", "Wasserstein distance", printed["wasserstein"], of(found, lambda it: it.wasserstein)),
        row("outputs", "the same in deviations", None, of(found, lambda it: it.wasserstein_scaled), decimals=3),
        row(
            "outputs",
            "quantile correlation",
            printed["quantile_correlation"],
            of(found, lambda it: it.quantile_correlation),
        ),
    )
    return Section(rows, _OTHER, _file(evidence, "figure3"))


def figure4(evidence: Evidence) -> Section:
    """Correlations of attention outputs, with both scales of the Hamilton score."""
    printed, outputs = reference()["figure4"], get(evidence, "outputs", Outputs)
    found = of(outputs, lambda it: it.similarity)
    rows = [
        row(
            "two models",
            "value by value",
            printed["independent"],
            of(found, lambda it: it.correlation),
            note="of one seed",
        )
    ]
    for which, model in enumerate(("shared", "hamilton")):
        group = f"q, k, v of the {model} model"
        for scale in SCALES:
            both = None if found is None else found.formulas.get(scale)
            ours = None if both is None else both[which]
            rows.append(row(group, f"shared and {scale}", printed[f"{model}_model"], ours))
        plain = None if found is None else found.uniform[which]
        rows.append(row(group, "shared and a plain mean", None, plain, note="control"))
    remark = (
        f"{_OTHER} The twins share seed, initialisation and order of data, so that their correlation says nothing "
        "about independent training: the ablation does. A plain mean of the values has no scores at all."
    )
    return Section(tuple(rows), remark, _file(evidence, "figure4"))


def theorems(evidence: Evidence) -> Section:
    """Theorem C.1, Corollary C.2 and Theorem C.3 in float64, and what trained layers do."""
    found = get(evidence, "theorems", Theorems)
    rows: list[Row] = []
    for check in found.subspaces if found else ():
        group = f"d_in = {check.d_in}, d_h = {check.d_h}"
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
    if found is not None:
        rows += [
            row("gradients", "C.3: error of aggregation", None, found.gradients.aggregation_error),
            row("gradients", "C.3: error of separation", None, found.gradients.separation_error),
            row("gradients", "C.3: crossing between components", None, found.gradients.crossing, decimals=1),
        ]
        rows += [
            row("trained layer", f"{_short(one.layer)}: ‖S(2X)‖/‖S(X)‖", None, one.ratio, note="4 if it were bilinear")
            for one in found.homogeneity
        ]
    remark = (
        "The theorems speak of bilinear scores. With query-key norm and biases no trained layer has one: see its rows."
    )
    return Section(tuple(rows), remark)


def gradient_settings(evidence: Evidence) -> Section:
    """Which settings land near Table 7, and how far all of them spread."""
    found = get(evidence, "gradient-settings", Settings)
    landings = () if found is None else found.landings
    printed = reference()["table7"]
    theirs = Printed(printed["shared"].value / printed["hamilton_sum"].value, 2)
    rows = []
    for scale in SCALES:
        ratios = sorted(one.ratio.mean for one in landings if one.choice.scale == scale)
        if ratios:
            group = f"{scale}, {len(ratios)} settings"
            rows.append(row(group, "smallest ratio, shared to the sum", theirs, ratios[0]))
            rows.append(row(group, "largest ratio", theirs, ratios[-1]))
    near = [one for one in landings if _distance(one) <= NEAR]
    same_ratio = [one for one in landings if abs(one.ratio.mean / theirs.value - 1) <= NEAR]
    nearest = near or sorted(landings, key=_distance)[:1]
    for one in nearest:
        title = "within 5 % of Table 7" if near else "nearest to Table 7"
        rows += _landing_rows(f"{title}: {describe(one)}", one)
    rows += [row("ratio within 5 %", describe(one), theirs, one.ratio) for one in same_ratio if one not in nearest]
    remark = (
        f"{len(near)} of {len(landings)} settings land within 5 % of all of Table 7's norms, {len(same_ratio)} within "
        "5 % of their ratio. Every combination of loss, heads, query-key norm, initialisation, output projection and "
        "scale; 64 reals are 16 quaternions."
    )
    return Section(tuple(rows), remark if landings else "")


def _distance(one: Landing) -> float:
    """How far the norms of a setting are from Table 7's, at worst, as a share."""
    printed = reference()["table7"]
    hamilton = sum(printed[f"hamilton{a}"].value for a in range(4)) / 4
    return max(abs(one.shared.mean / printed["shared"].value - 1), abs(one.hamilton.mean / hamilton - 1))


def _landing_rows(group: str, one: Landing) -> list[Row]:
    printed = reference()["table7"]
    theirs = Printed(printed["shared"].value / printed["hamilton_sum"].value, 2)
    return [
        row(group, "shared norm", printed["shared"], one.shared),
        row(group, "mean of the four", printed["hamilton1"], one.hamilton),
        row(group, "shared to the sum", theirs, one.ratio),
    ]


def describe(one: Landing) -> str:
    """A setting in words."""
    choice = one.choice
    norm, output = ("with" if flag else "without" for flag in (choice.qk_norm, choice.output))
    heads = f"{choice.heads} head{'s' * (choice.heads > 1)}"
    return f"{choice.scale}, {choice.loss}, {heads}, {norm} query-key norm, {choice.init}, {output} output projection"
