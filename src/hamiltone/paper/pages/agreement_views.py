"""Tables 4, 10 and 11: where the components of Hamilton attention look."""

from hamiltone.analysis.agreement import TopAgreement
from hamiltone.analysis.statistics import Spread
from hamiltone.paper.pages.section import OTHER_MODEL, Section, get, of, short_layer
from hamiltone.paper.pages.table_rows import Row, row
from hamiltone.paper.reference import Printed, reference
from hamiltone.paper.results import Agreements
from hamiltone.paper.store import Evidence


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
    return Section(tuple(rows), OTHER_MODEL)


def _rate(quantity: str, printed: Printed | None, rate: Spread | None, note: str = "") -> Row:
    deviation = "" if rate is None else f"deviation {100 * rate.deviation:.2f}"
    return row("agreement in %", quantity, printed, rate, scale=100, note=note or deviation)


def table10(evidence: Evidence) -> Section:
    """Top-1 agreement by axis; heads of two models do not correspond, so ours are not paired with the paper's."""
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
        rows.append(_rate(f"ours: {short_layer(head.layer)}, head {head.head}", None, head.rate))
    return Section(tuple(rows), f"{OTHER_MODEL} Heads of different models do not correspond, so none are subtracted.")


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
        f"{OTHER_MODEL} K/M is the chance of two random choices; *across utterances* compares a component with "
        "another one of a different utterance, which keeps what is typical of a layer and removes what it hears. "
        "Argmax positions of nearly flat maps disagree for no reason: hence the entropy, and a distance of whole maps."
    )
    return Section(tuple(rows), remark)
