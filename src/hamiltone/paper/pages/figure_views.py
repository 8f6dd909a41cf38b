"""The figures: pictures, and the numbers of their captions."""

from collections.abc import Callable

from hamiltone.nn.rules import SCALES
from hamiltone.paper.pages.section import OTHER_MODEL, Section, get, of, twins_of
from hamiltone.paper.pages.table_rows import row
from hamiltone.paper.reference import reference
from hamiltone.paper.results import Outputs, Picture
from hamiltone.paper.store import Evidence


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
        row(
            "outputs", "KS statistic", printed["ks"], of(found, lambda it: it.pooled_ks), note="all utterances together"
        ),
        row("outputs", "KS statistic, mean of utterances", None, of(found, lambda it: it.ks), decimals=4),
        row("outputs", "Wasserstein distance", printed["wasserstein"], of(found, lambda it: it.wasserstein)),
        row("outputs", "the same in deviations", None, of(found, lambda it: it.wasserstein_scaled), decimals=3),
        row(
            "outputs",
            "quantile correlation",
            printed["quantile_correlation"],
            of(found, lambda it: it.quantile_correlation),
        ),
    )
    return Section(rows, f"{OTHER_MODEL} {twins_of(evidence, 'outputs')}".rstrip(), _file(evidence, "figure3"))


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
        f"{OTHER_MODEL} {twins_of(evidence, 'outputs')} The ablation compares models of different seeds. A plain mean "
        "of the values has no scores at all."
    )
    return Section(tuple(rows), remark, _file(evidence, "figure4"))
