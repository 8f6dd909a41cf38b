"""The ablation: score rules trained alike, over seeds."""

from hamiltone.analysis.statistics import LEVEL, Spread, student
from hamiltone.paper.judge import MissingError, Verdict, margin, need, within
from hamiltone.paper.pages.section import Section, get
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import reference
from hamiltone.paper.results import METRICS, OutputsOverSeeds, Twins
from hamiltone.paper.store import Evidence


def ablation(evidence: Evidence) -> Section:
    """Scores by variant, their differences, and the analyses over seeds."""
    found = get(evidence, "ablation", Twins)
    if found is None:
        return Section(remark="Five variants of one recipe from several seeds; it trains for hours on two cores.")
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
    rows += _outputs("one rule, different seeds", found.same_rule, printed=False)
    rows.append(row("KS beyond a seed's", "difference", None, found.ks_beyond_seed, decimals=4))
    for which, model in enumerate(("shared", "hamilton")):
        group, theirs = f"q, k, v of {model} models", reference()["figure4"][f"{model}_model"]
        for scale, both in found.formulas.items():
            rows.append(row(group, f"shared and {scale}", theirs, both[which]))
            rows.append(row(group, f"more than a plain mean, {scale}", None, found.beyond[scale][which], decimals=2))
    top1, table8 = reference()["table11"]["top1"]["observed"], reference()["table8"]["after"]["off_diagonal"]
    rows += [
        row("maps of Hamilton models", "top-1 agreement in %", top1, found.maps.agreement, scale=100),
        row("maps of Hamilton models", "more than across utterances, points", None, found.maps.excess, scale=100),
        row("maps of Hamilton models", "entropy, of a flat map's", None, found.maps.entropy, decimals=3),
        row("maps of Hamilton models", "Jensen-Shannon distance", None, found.maps.distance, decimals=3),
        row("gradient norms", "mean correlation, before", None, found.coupling.before),
        row("gradient norms", "mean correlation, after", table8, found.coupling.after),
        row("gradient norms", "change", None, found.coupling.change),
    ]
    remark = (
        f"{len(found.variants[0].runs)} seeds, {found.variants[0].runs[0].step} steps, {found.files} test files. "
        "Intervals are Student's over seeds, over pairs of seeds by the jackknife; those of differences let seeds and "
        "files vary. All variants have the same parameters, and those of one seed saw the same data in the same order."
    )
    return Section(tuple(rows), remark)


def by_verdict(differences: dict[str, Spread]) -> dict[Verdict, list[str]]:
    """The metrics by which two variants are within the margins, beyond them, undecided or not tested."""
    found: dict[Verdict, list[str]] = {verdict: [] for verdict in Verdict}
    for name in METRICS:
        try:
            limit = need(margin(name))
            found[within(differences[name], -limit, limit)].append(name)
        except (KeyError, MissingError):
            found[Verdict.NOT_TESTED].append(name)
    return found


def quality_list(evidence: Evidence) -> str:
    """What the ablation says about quality, variant by variant, as a list in Markdown."""
    found = get(evidence, "ablation", Twins)
    if found is None or not found.differences:
        return "- Not tested: `hamiltone reproduce ablation` has not been run.\n"
    lines = []
    for variant, differences in found.differences.items():
        named = ((_IN_WORDS[verdict], names) for verdict, names in by_verdict(differences).items() if names)
        parts = "; ".join(f"{words}: {', '.join(names)}" for words, names in named)
        lines.append(f"shared against `{variant}`: {parts}.")
    every = [(variant, name, one) for variant, all_ in found.differences.items() for name, one in all_.items()]
    clear = [f"shared - {variant}, {name}" for variant, name, one in every if one.low > 0 or one.high < 0]
    lines.append(
        f"{len(clear)} of the {len(every)} intervals leave{'s' * (len(clear) == 1)} out zero"
        f"{': ' if clear else ''}{'; '.join(clear)}. If no variant differed from another, "
        f"{(1 - LEVEL) * len(every):.1f} would be expected to."
    )
    return "".join(f"- {line}\n" for line in lines)


_IN_WORDS = {
    Verdict.SUPPORTED: "within the margins",
    Verdict.CONTRADICTED: "beyond the margins",
    Verdict.UNDECIDED: "undecided",
    Verdict.NOT_TESTED: "not tested",
}


def _outputs(group: str, found: OutputsOverSeeds, *, printed: bool) -> list[Row]:
    theirs = {**reference()["figure3"], "correlation": reference()["figure4"]["independent"]}
    return [
        row(group, name.replace("_", " "), number if printed else None, getattr(found, name), decimals=number.decimals)
        for name, number in theirs.items()
    ]
