"""The paper's claims, and whether our results bear them out: each with the criterion we hold it to."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

from hamiltone.paper.result import Result, Row

Judge = Callable[[Result], tuple[bool | None, str]]
"""From a result to whether the claim held (None: the interval allows both), and what was measured, in words."""


@dataclass(frozen=True)
class Claim:
    """What the paper says, and by what we judge it."""

    claim: str
    criterion: str
    item: str
    judge: Judge


@dataclass(frozen=True)
class Verdict:
    """How a claim fared; `source` names the result and whether it was a quick run."""

    claim: Claim
    held: str
    measured: str
    source: str


def verdicts(results: Mapping[str, Result]) -> list[Verdict]:
    """Judge every claim by the results that there are."""
    return [_judge(claim, results.get(claim.item)) for claim in CLAIMS]


def _judge(claim: Claim, result: Result | None) -> Verdict:
    if result is None or not any(row.ours is not None for row in result.rows):
        return Verdict(claim, "not tested", "", claim.item)
    held, measured = claim.judge(result)
    words = {True: "held", False: "did not hold", None: "undecided"}
    return Verdict(claim, words[held], measured, f"{claim.item}{', quick' * result.quick}")


def _shown(row: Row) -> str:
    """A number with its interval."""
    return row.show(row.ours) + (f" ({row.interval})" if row.interval else "")


def _value(row: Row) -> float:
    return float("nan") if row.ours is None else row.ours


def _above(row: Row, limit: float) -> bool | None:
    """Whether a number lies above a limit; None where the limit lies within its interval."""
    if row.low is not None and row.high is not None and row.low < limit < row.high:
        return None
    return _value(row) > limit


def _below(row: Row, limit: float) -> bool | None:
    above = _above(row, limit)
    return None if above is None else not above


def _all(*parts: bool | None) -> bool | None:
    """False if one is, else None if one is."""
    return False if False in parts else None if None in parts else True


def _cost(result: Result) -> tuple[bool, str]:
    return all(row.difference == 0 for row in result.rows), ", ".join(
        f"{row.group}: {row.show(row.ours)} {row.quantity}" for row in result.rows
    )


def _macs(result: Result) -> tuple[bool, str]:
    rows = [row for row in result.rows if row.quantity.endswith("MACs")]
    return all(row.note.startswith("equal") for row in rows), f"{len(rows)} counts compared"


def _faster(result: Result) -> tuple[bool, str]:
    rows = [row for row in result.rows if row.quantity == "speed-up"]
    return all(_value(row) > 1 for row in rows), ", ".join(f"{row.show(row.ours)} at {row.group}" for row in rows)


def _subspace(result: Result) -> tuple[bool, str]:
    rows = [row for row in result.rows if row.quantity.startswith(("C.1", "C.2", "C.3"))]
    worst = max(_value(row) for row in rows)
    return worst < 1e-10, f"largest error {worst:.1e}"


def _aggregate(result: Result) -> tuple[bool, str]:
    row = result.find("ratio", "shared to the sum")
    return 0.5 < _value(row) < 2, f"shared norm {row.show(row.ours)} of the sum of the four"


def _coupled(result: Result) -> tuple[bool | None, str]:
    after = result.find("after training", "mean of six")
    start = result.find("before, one set of weights", "mean of six")
    measured = f"{start.show(start.ours)} before, {_shown(after)} after"
    return _all(_above(after, 0.4), _above(after, _value(start) + 0.2)), measured


def _disagree(result: Result) -> tuple[bool | None, str]:
    row, chance = result.find("top-1", "agreement in %"), result.find("top-1", "chance in %")
    measured = f"{_shown(row)} % at a chance level of {chance.show(chance.ours)} %"
    return _all(_above(row, _value(chance)), _below(row, 10)), measured


def _coincide(result: Result) -> tuple[bool | None, str]:
    ks, shape = result.find("outputs", "KS statistic"), result.find("outputs", "quantile correlation")
    measured = f"KS {_shown(ks)}, quantile correlation {_shown(shape)}"
    return _all(_below(ks, 0.05), _above(shape, 0.99)), measured


def _formulas(result: Result) -> tuple[bool | None, str]:
    rows = [row for row in result.rows if row.quantity.startswith("formulas")]
    return _all(*(_above(row, 0.7) for row in rows)), " and ".join(_shown(row) for row in rows)


def _beyond_mean(result: Result) -> tuple[bool | None, str]:
    formulas = [row for row in result.rows if row.quantity.startswith("formulas")]
    controls = [row for row in result.rows if row.group == "control"]
    parts = (_above(formula, _value(control)) for formula, control in zip(formulas, controls, strict=True))
    return _all(*parts), "plain mean: " + " and ".join(_shown(row) for row in controls)


def _independent(result: Result) -> tuple[bool | None, str]:
    row = result.find("correlation", "independently trained models")
    return _all(_below(row, 0.1), _above(row, -0.1)), _shown(row)


def _no_difference(quantity: str) -> Judge:
    def judge(result: Result) -> tuple[bool, str]:
        row = result.find("difference in dB", quantity)
        low, high = (row.low or 0.0), (row.high or 0.0)
        return low <= 0 <= high, f"{_shown(row)} dB"

    return judge


CLAIMS = (
    Claim("A shared score takes 4 products and one softmax instead of 16 and four", "equal", "table1", _cost),
    Claim("MACs of Table 9", "equal in every printed digit", "table9", _macs),
    Claim("Shared attention is faster at every length", "speed-up above 1", "table9", _faster),
    Claim("Both scores lie in one interaction subspace; gradients aggregate", "error < 1e-10", "theorems", _subspace),
    Claim("The gradient of the shared score is of the order of the four together", "0.5 to 2", "table7", _aggregate),
    Claim(
        "Training couples the gradient norms of the components", "> 0.4 and 0.2 more than before", "table8", _coupled
    ),
    Claim("Components hardly agree on where to look", "above chance, below 10 %", "table11", _disagree),
    Claim("Output distributions nearly coincide", "KS < 0.05, quantiles > 0.99", "figure3", _coincide),
    Claim("Both formulas give like outputs on the same q, k, v", "correlation > 0.7", "figure4", _formulas),
    Claim(
        "Control: … and not only because both average the values", "above that of a plain mean", "figure4", _beyond_mean
    ),
    Claim("Independently trained models are uncorrelated", "below 0.1", "figure4", _independent),
    Claim(
        "Shared scores are as good as Hamilton scores",
        "no difference in 95 %",
        "ablation",
        _no_difference("shared - hamilton"),
    ),
    Claim(
        "The released head split is as good as true sharing",
        "no difference in 95 %",
        "ablation",
        _no_difference("shared - head-is-component"),
    ),
)
