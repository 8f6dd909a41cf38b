import json

import pytest
from typer.testing import CliRunner

from hamiltone.cli import app
from hamiltone.errors import InputError


def run(folder, *arguments: str):
    options = ["--results", str(folder / "results"), "--docs", str(folder / "docs")]
    return CliRunner().invoke(app, ["reproduce", *arguments, *options], catch_exceptions=False)


def test_a_table_is_printed_kept_and_put_on_the_page(tmp_path):
    result = run(tmp_path, "table1", "table14", "--quick")
    assert result.exit_code == 0 and "Cost of a score" in result.stdout and "not reproduced" in result.stdout
    kept = json.loads((tmp_path / "results" / "table1.quick.json").read_text())
    assert kept["made"]["quick"] and kept["rows"][0]["ours"] == 4
    page = (tmp_path / "docs" / "RESULTS.md").read_text()
    assert "Table 1: Cost of a score" in page and "0.517" in page


def test_pages_are_written_from_what_is_kept(tmp_path):
    run(tmp_path, "table1", "--quick")
    (tmp_path / "docs" / "RESULTS.md").unlink()
    assert run(tmp_path, "pages").exit_code == 0
    assert "Table 1" in (tmp_path / "docs" / "RESULTS.md").read_text()


def test_an_unknown_name_lists_the_known(tmp_path):
    with pytest.raises(InputError, match=r"table16.*table1"):
        run(tmp_path, "table16")
