import pytest

from hamiltone.errors import InputError
from hamiltone.paper.reference import reference
from hamiltone.paper.registry import ITEMS, expand, reproduce
from hamiltone.paper.result import read_result
from hamiltone.paper.study import Options

CHEAP = ["table1", "table2", "table12", "table13", "table14", "table15", "figure1", "figure6", "theorems", "ablation"]


@pytest.fixture
def options(tmp_path) -> Options:
    return Options(quick=True, results=tmp_path / "results", docs=tmp_path / "docs")


def test_every_table_and_figure_of_the_paper_has_a_function():
    wanted = {f"table{number}" for number in range(1, 16)} | {f"figure{number}" for number in range(1, 7)}
    assert wanted | reference().keys() <= ITEMS.keys()


def test_names_are_expanded_once():
    assert expand(["table4", "all", "table4"])[0] == "table4" and sorted(expand(["all"])) == sorted(ITEMS)
    with pytest.raises(InputError, match="no 'table16'"):
        expand(["table16"])


def test_every_result_says_how_it_was_made_and_keeps_every_printed_number(options):
    for result in reproduce(CHEAP, options):
        kept = read_result(options.results / f"{result.name}.quick.json")
        assert kept == result and {"commit", "cpu", "torch", "seconds", "quick", "command"} <= kept.made.keys()
        if result.status == "not reproduced":
            assert result.why
        assert len(result.rows) >= len(_printed(reference().get(result.name, {})))


def _printed(table) -> list:
    """The printed numbers of a table, however deep."""
    if not isinstance(table, dict):
        return [] if isinstance(table, str) else [table]
    return [number for entry in table.values() for number in _printed(entry)]


def test_table_1_and_12_have_no_difference_but_the_known_one(options):
    one, twelve = reproduce(["table1", "table12"], options)
    assert all(row.difference == 0 for row in one.rows)
    differing = {(row.group, row.quantity) for row in twelve.rows if row.difference}
    assert differing == {("real", "encoder blocks"), ("real", "decoder blocks")}


def test_parameters_are_those_of_table_2(options):
    (result,) = reproduce(["table2"], options)
    rows = [row for row in result.rows if row.quantity == "params" and row.ours is not None]
    assert len(rows) == 7 and all(abs(row.difference) < 0.0075 for row in rows)
