import math

import pytest

from hamiltone.analysis.statistics import Spread
from hamiltone.errors import InputError
from hamiltone.paper.reference import Printed
from hamiltone.paper.result import Result, file_name, read_result, read_results, row, write_result

PRINTED = Printed(3.83, 2, "± 6.58")


def test_a_row_has_the_papers_digits_and_the_difference():
    one = row("agreement", "overall", PRINTED, Spread(0.0467, 0.1, 0.025, 0.074, 8), scale=100)
    assert (one.show(one.paper), one.show(one.ours), one.interval) == ("3.83", "4.67", "2.50 to 7.40")
    assert one.show(one.difference, sign=True) == "+0.84"
    assert one.spread == "± 6.58"


def test_what_is_missing_stays_empty():
    one = row("a", "b", PRINTED)
    assert one.ours is None and one.difference is None and one.show(one.ours) == one.interval == ""
    assert row("a", "b", None, Spread(1.0, math.nan, math.nan, math.nan, 1)).low is None


def test_tiny_numbers_have_an_exponent():
    assert row("a", "error", None, 3e-16).show(3e-16) == "3.0e-16"
    assert row("a", "crossing", None, 0.0, decimals=1).show(0.0) == "0.0"


def result(quick: bool) -> Result:
    rows = (row("a", "b", PRINTED, 4.0), row("a", "c", None, 1.0))
    return Result("table4", "Title", rows, "in part", "why", made={"quick": quick, "commit": "abc"})


def test_results_survive_the_file(tmp_path):
    assert read_result(write_result(tmp_path, result(True))) == result(True)


def test_a_quick_result_does_not_replace_a_full_one(tmp_path):
    write_result(tmp_path, result(False))
    write_result(tmp_path, result(True))
    assert [one.quick for one in read_results(tmp_path, ["table4", "table5"])] == [False]
    (tmp_path / file_name("table4", quick=False)).unlink()
    assert [one.quick for one in read_results(tmp_path, ["table4"])] == [True]


def test_rows_are_found_by_name():
    assert result(True).find("a", "c").ours == 1.0


def test_a_file_of_another_kind_is_refused(tmp_path):
    (tmp_path / "table4.json").write_text('{"rows": [{"unknown": 1}]}')
    with pytest.raises(InputError, match="not written by this version"):
        read_result(tmp_path / "table4.json")
