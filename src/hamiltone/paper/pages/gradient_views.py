"""Tables 6 to 8, the sweep of what Table 7 leaves open, and the theorems of Appendix C."""

from collections.abc import Collection

from hamiltone.analysis.gradients import Correlation
from hamiltone.analysis.settings import Landing
from hamiltone.analysis.statistics import Spread
from hamiltone.nn.rules import SCALES
from hamiltone.paper.pages.section import Section, get, of, short_layer
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import Gradients, SettingSweep, Theorems
from hamiltone.paper.store import Evidence

NEAR = 0.05
"""How far a setting may land from Table 7 to be listed."""


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
    remark = "The paper names neither loss nor heads nor query-key norm"
    chosen = "" if ours is None else f": ours are the mean square of the output, {ours.heads}, and on"
    return Section(rows, f"{remark}{chosen}.")


def table7(evidence: Evidence) -> Section:
    """Gradient norms at initialisation, with both scales of the Hamilton score."""
    printed, found = reference()["table7"], get(evidence, "gradients", Gradients)
    norms = None if found is None else found.norms
    rows = [row("shared", "norm", printed["shared"], of(norms, lambda it: it.shared))]
    for scale in SCALES:
        four = None if norms is None else norms.hamilton.get(scale)
        rows += [
            row(scale, f"norm of S{a}", printed[f"hamilton{a}"], None if four is None else four[a]) for a in range(4)
        ]
        total = None if four is None else sum(one.mean for one in four)
        rows.append(row(scale, "sum of the four", printed["hamilton_sum"], total))
        ratio = None if norms is None else norms.ratio.get(scale)
        rows.append(row(scale, "shared to the sum", _table7_ratio(), ratio, note="theirs computed from their norms"))
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
        row("after", pair.replace("_", " "), number, mean_of_layers(after.values(), pair))
        for pair, number in printed["after"].items()
    ]
    for layer, one in after.items():
        rows.append(row("by layer", f"{short_layer(layer)}, at its start", None, before[layer].off_diagonal))
        rows.append(row("by layer", f"{short_layer(layer)}, trained", None, one.off_diagonal, note=_error(one)))
    for moved in found.movement if found else ():
        rows.append(row("W with its start", f"{short_layer(moved.layer)}, query", None, moved.query_correlation))
        rows.append(row("W with its start", f"{short_layer(moved.layer)}, key", None, moved.key_correlation))
    remark = (
        "*After* is the mean over the layers of one model, which has no interval. After training only the "
        "input varies from trial to trial; before it, ours does so with new weights in each trial, one reading of the "
        'paper\'s "by varying the model weights", and with one set. The last rows '
        "correlate W_Q and W_K with their values before training: where they are near one, training has hardly begun."
    )
    return Section(tuple(rows), remark)


def mean_of_layers(layers: Collection[Correlation], pair: str) -> float | None:
    """The mean correlation of a pair of components such as ``0-3`` over layers, or of all six: ``off_diagonal``."""
    if not layers:
        return None
    if pair == "off_diagonal":
        return sum(one.off_diagonal for one in layers) / len(layers)
    first, second = map(int, pair.split("-"))
    return sum(one.matrix[first][second] for one in layers) / len(layers)


def _largest(one: Correlation) -> float:
    return max((one.matrix[a][b] for a in range(4) for b in range(a)), key=abs)


def _error(one: Correlation | None) -> str:
    return (
        "" if one is None else f"standard error up to {max(max(line) for line in one.errors):.2f}, {one.trials} trials"
    )


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
                group,
                "rank of the five scores",
                None,
                check.joint_rank,
                decimals=0,
                note="4 if shared were a combination",
            ),
        ]
    if found is not None:
        rows += [
            row("gradients", "C.3: error of aggregation", None, found.gradients.aggregation_error),
            row("gradients", "C.3: error of separation", None, found.gradients.separation_error),
            row("gradients", "C.3: crossing between components", None, found.gradients.crossing, decimals=1),
        ]
        rows += [
            row(
                "trained layer",
                f"{short_layer(one.layer)}: ‖S(2X)‖/‖S(X)‖",
                None,
                one.ratio,
                note="4 if it were bilinear",
            )
            for one in found.homogeneity
        ]
    remark = (
        "The theorems are about bilinear scores. With query-key norm and biases no trained layer has one, as its row "
        "shows."
    )
    return Section(tuple(rows), remark)


def gradient_settings(evidence: Evidence) -> Section:
    """Which settings land near Table 7, and how far all of them spread."""
    found = get(evidence, "gradient-settings", SettingSweep)
    landings = () if found is None else found.landings
    theirs, rows = _table7_ratio(), []
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
        rows += _landing_rows(f"{title}: {in_words(one)}", one)
    rows += [row("ratio within 5 %", in_words(one), theirs, one.ratio) for one in same_ratio if one not in nearest]
    remark = (
        f"{len(near)} of {len(landings)} settings land within 5 % of all of Table 7's norms, {len(same_ratio)} within "
        "5 % of their ratio. Every combination of loss, heads, query-key norm, initialisation, output projection and "
        "scale; 64 reals are 16 quaternions."
    )
    return Section(tuple(rows), remark if landings else "")


def sweep_list(evidence: Evidence) -> str:
    """What the sweep found, scale by scale, as a list in Markdown."""
    found = get(evidence, "gradient-settings", SettingSweep)
    if found is None or not found.landings:
        return "- Not tested: `hamiltone reproduce gradient-settings` has not been run.\n"
    theirs, lines = _table7_ratio(), []
    for scale in SCALES:
        landings = [one for one in found.landings if one.choice.scale == scale]
        ratios = [one.ratio.mean for one in landings]
        near = [in_words(one) for one in landings if abs(one.ratio.mean / theirs.value - 1) <= NEAR]
        lines.append(
            f"`{scale}`: the ratio lies between {min(ratios):.2f} and {max(ratios):.2f} over {len(ratios)} settings. "
            f"Within 5 % of the paper's {theirs.value:.2f}: {'; '.join(near) or 'no setting'}."
        )
    nearest = min(found.landings, key=_distance)
    within = [in_words(one) for one in found.landings if _distance(one) <= NEAR]
    lines.append(f"Within 5 % of both of Table 7's norms: {'; '.join(within) or 'no setting'}.")
    lines.append(
        f"Nearest to both: {in_words(nearest)}; {_interval(nearest.shared)} and {_interval(nearest.hamilton)} beside "
        f"{reference()['table7']['shared'].value:.2e} and {_mean_of_four():.2e}, their ratio {nearest.ratio.mean:.2f}."
    )
    lines.append(
        f"{nearest.ratio.groups} trials of every setting; the paper has {reference()['table6']['trials']}. Where an "
        "interval is wider than 5 %, another draw of trials may move a setting into these lists, or out of them."
    )
    return "".join(f"- {line}\n" for line in lines)


def _table7_ratio() -> Printed:
    printed = reference()["table7"]
    return Printed(printed["shared"].value / printed["hamilton_sum"].value, 2)


def _mean_of_four() -> float:
    return float(sum(reference()["table7"][f"hamilton{a}"].value for a in range(4))) / 4


def _interval(one: Spread) -> str:
    return f"{one.mean:.2e} ({one.low:.2e} to {one.high:.2e})"


def _distance(one: Landing) -> float:
    """How far the norms of a setting are from Table 7's, at worst, as a share."""
    shared = reference()["table7"]["shared"].value
    return max(abs(one.shared.mean / shared - 1), abs(one.hamilton.mean / _mean_of_four() - 1))


def _landing_rows(group: str, one: Landing) -> list[Row]:
    printed = reference()["table7"]
    return [
        row(group, "shared norm", printed["shared"], one.shared),
        row(group, "mean of the four", printed["hamilton1"], one.hamilton),
        row(group, "shared to the sum", _table7_ratio(), one.ratio),
    ]


def in_words(one: Landing) -> str:
    """A setting in words."""
    choice = one.choice
    norm, output = ("with" if flag else "without" for flag in (choice.qk_norm, choice.output))
    heads = f"{choice.heads} head{'s' * (choice.heads > 1)}"
    return f"{choice.scale}, {choice.loss}, {heads}, {norm} query-key norm, {choice.init}, {output} output projection"
