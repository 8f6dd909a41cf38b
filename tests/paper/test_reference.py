"""The paper's own arithmetic, as a guard against slips of the pen: what it derives must follow from what it prints."""

from statistics import fmean

import pytest

from hamiltone.paper.reference import Printed, reference

TABLES = reference()


def rounded(value: float, printed: Printed) -> bool:
    """Equal within one unit of the last printed digit: the paper rounds what it had, not what it printed."""
    return abs(value - printed.value) < 1.01 * 10**-printed.decimals


def test_every_table_is_there():
    assert {f"table{number}" for number in range(1, 16)} <= TABLES.keys()


def test_digits_and_spreads_are_kept():
    number = TABLES["table2"]["qdensenet"]["pesq"]
    assert (str(number), number.spread) == ("2.80", "2.75 to 2.85")
    assert TABLES["table4"]["overall"].spread == "± 6.58"
    assert str(TABLES["table9"]["t512"]["shared_macs"]) == "134,000,000"


def test_agreement_adds_up():
    pairs = [TABLES["table4"][f"{a}-{b}"].value for a in range(4) for b in range(a + 1, 4)]
    assert rounded(fmean(pairs), TABLES["table4"]["overall"])
    heads = {name: entry.value for name, entry in TABLES["table10"].items() if "head" in name}
    assert len(heads) == 16 and rounded(fmean(heads.values()), TABLES["table10"]["overall"])
    for axis in ("freq_layers", "time_layers"):
        mean = fmean(value for name, value in heads.items() if name.startswith(axis))
        assert rounded(mean, TABLES["table10"][axis])


@pytest.mark.parametrize("device", ["gpu", "cpu"])
@pytest.mark.parametrize("model", ["qtransformer", "qconformer"])
def test_real_time_factors_give_the_reductions(model, device):
    shared, hamilton = (TABLES["table3"][f"{model}-{rule}"][f"{device}_rtf"].value for rule in ("shared", "hamilton"))
    printed = TABLES["table3"]["reduction"]
    assert rounded(100 * (1 - shared / hamilton), printed[f"{model}_{device}"])
    assert rounded(hamilton / shared, printed[f"{model}_{device}_speedup"])


def test_latencies_give_the_speed_ups():
    for line in TABLES["table9"].values():
        assert rounded(line["hamilton_ms"].value / line["shared_ms"].value, line["speedup"])


@pytest.mark.parametrize(("table", "when"), [("table8", "after"), ("table14", "before"), ("table14", "after")])
def test_correlations_give_their_mean(table, when):
    entries = dict(TABLES[table][when])
    mean = entries.pop("off_diagonal")
    assert len(entries) == 6 and rounded(fmean(entry.value for entry in entries.values()), mean)


def test_norms_give_their_sum():
    total = sum(TABLES["table7"][f"hamilton{a}"].value for a in range(4))
    assert rounded(total, TABLES["table7"]["hamilton_sum"])


def test_intervals_hold_their_means():
    for table in ("table2", "table3"):
        for line in TABLES[table].values():
            for number in line.values():
                if isinstance(number, Printed) and " to " in number.spread:
                    low, high = map(float, number.spread.split(" to "))
                    assert low < number.value < high
