import pytest

from hamiltone.paper.claims import CLAIMS, verdicts
from hamiltone.paper.registry import ITEMS
from hamiltone.paper.result import Result, Row


def judged(item: str, *rows: Row) -> dict[str, str]:
    found = verdicts({item: Result(item, "", rows, "reproduced")})
    return {one.claim.claim: one.held for one in found if one.claim.item == item}


def test_every_claim_is_about_a_result():
    assert {claim.item for claim in CLAIMS} <= ITEMS.keys()


def test_without_results_nothing_is_tested():
    assert {one.held for one in verdicts({})} == {"not tested"}


@pytest.mark.parametrize(("rate", "held"), [(4.0, "held"), (40.0, "did not hold"), (0.5, "did not hold")])
def test_agreement_must_lie_between_chance_and_ten_percent(rate, held):
    rows = (Row("top-1", "agreement in %", ours=rate), Row("top-1", "chance in %", ours=0.6))
    assert list(judged("table11", *rows).values()) == [held]


@pytest.mark.parametrize(("speed", "held"), [(1.3, "held"), (0.9, "did not hold")])
def test_one_slow_length_is_enough_to_fail(speed, held):
    rows = [Row(f"T = {t}", "speed-up", ours=o) for t, o in ((512, speed), (1024, 2.0))]
    rows.append(Row("T = 512", "shared MACs", ours=1.0, note="equal in every printed digit"))
    assert list(judged("table9", *rows).values()) == ["held", held]


@pytest.mark.parametrize(("interval", "held"), [((-0.1, 0.2), "held"), ((0.1, 0.2), "did not hold")])
def test_a_difference_must_not_exclude_zero(interval, held):
    names = ("shared - hamilton", "shared - head-is-component")
    rows = [Row("difference in dB", name, ours=0.1, low=interval[0], high=interval[1]) for name in names]
    assert list(judged("ablation", *rows).values()) == [held, held]


def test_a_plain_mean_that_does_as_well_is_told():
    rows = [Row("correlation", "independently trained models", ours=0.02)]
    rows += [Row("correlation", f"formulas on {name}", ours=0.8) for name in "ab"]
    rows += [Row("control", name, ours=value) for name, value in (("a", 0.5), ("b", 0.9))]
    assert list(judged("figure4", *rows).values()) == ["held", "did not hold", "held"]


def test_a_theorem_holds_to_1e_10():
    rows = [Row("d", "C.1: error", ours=1e-15), Row("d", "rank of the five scores", ours=5.0)]
    assert list(judged("theorems", *rows).values()) == ["held"]
    assert list(judged("theorems", Row("d", "C.2: error", ours=1e-9), *rows).values()) == ["did not hold"]


def test_an_interval_that_allows_both_is_undecided():
    rows = (Row("top-1", "agreement in %", ours=4.0, low=0.5, high=7.0), Row("top-1", "chance in %", ours=0.6))
    assert list(judged("table11", *rows).values()) == ["undecided"]
