"""The ablation: score rules trained alike, over seeds."""

from hamiltone.analysis.statistics import student
from hamiltone.paper.pages.rows import Row, row
from hamiltone.paper.pages.section import Section, get
from hamiltone.paper.reference import reference
from hamiltone.paper.results import METRICS, OutputsOverSeeds, Twins
from hamiltone.paper.store import Evidence


def ablation(evidence: Evidence) -> Section:
    """Scores by variant, their differences, and the analyses over seeds."""
    found = get(evidence, "ablation", Twins)
    if found is None:
        return Section(
            remark="Five variants of one recipe from several seeds; it trains for a day or more on two cores."
        )
    rows: list[Row] = []
    for variant in found.variants:
        group = f"{variant.name}: {variant.heads} heads, {variant.maps} maps"
        rows += [row(group, name, None, student([run.scores[name] for run in variant.runs])) for name in METRICS]
        for part in ("query", "key"):
            moved = student([getattr(run, f"{part}_correlation") for run in variant.runs])
            rows.append(row(group, f"W of {part} with its start", None, moved))
    for name, differences in found.differences.items():
        rows += [row(f"shared - {name}", metric, None, one, decimals=3) for metric, one in differences.items()]
    rows += _outputs("shared and Hamilton, different seeds", found.both_rules, printed=True)
    rows += _outputs("shared and shared, different seeds", found.same_rule, printed=False)
    rows.append(row("KS beyond a seed's", "difference", None, found.ks_beyond_seed, decimals=4))
    top1, table8 = reference()["table11"]["top1"]["observed"], reference()["table8"]["after"]["off_diagonal"]
    rows.append(row("agreement in %", "top-1", top1, found.agreement, scale=100))
    rows += [
        row("gradient norms", "mean correlation, before", None, found.coupling.before),
        row("gradient norms", "mean correlation, after", table8, found.coupling.after),
        row("gradient norms", "change", None, found.coupling.change),
    ]
    remark = (
        f"{len(found.variants[0].runs)} seeds, {found.files} test files. Intervals are Student's over seeds; those of "
        "differences let seeds and files vary. All variants have the same parameters, and those of one seed saw the "
        "same data in the same order."
    )
    return Section(tuple(rows), remark)


def _outputs(group: str, found: OutputsOverSeeds, *, printed: bool) -> list[Row]:
    theirs = {**reference()["figure3"], "correlation": reference()["figure4"]["independent"]}
    return [
        row(group, name.replace("_", " "), number if printed else None, getattr(found, name), decimals=number.decimals)
        for name, number in theirs.items()
    ]
