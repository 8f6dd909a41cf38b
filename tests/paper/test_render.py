import json

from hamiltone.evaluation import FileScores, Report, write_report
from hamiltone.paper.reference import Printed
from hamiltone.paper.registry import reproduce
from hamiltone.paper.render import END, START, results_page, write_pages
from hamiltone.paper.result import Result, row, write_result
from hamiltone.paper.study import Options

ROWS = (
    row("Noisy", "pesq", Printed(1.97, 2), 1.99),
    row("Noisy", "stoi", Printed(0.91, 2)),
    row("CMGAN", "pesq", Printed(3.41, 2, "3.30 to 3.50")),
)
MADE = {"quick": True, "command": "hamiltone reproduce table2 --quick", "commit": "abc", "cpu": "Xeon", "seconds": 2.0}


def test_the_paper_stands_beside_ours_with_the_difference():
    page = results_page([Result("table4", "Title", ROWS, "in part", "Smaller model.", seed=3, made=MADE)])
    assert "## Table 4: Title" in page and "**In part.** Smaller model." in page
    assert "| Noisy | pesq | 1.97 | 1.99 | +0.02 |  |" in page
    assert "| CMGAN | pesq | 3.41 (3.30 to 3.50) |  |  | not reproduced |" in page
    assert "commit abc" in page and "seed 3" in page and "Xeon" in page
    assert "| [Table 4](#table-4-title) | Title | in part | quick |" in page


def test_wide_tables_have_a_line_for_each_system():
    page = results_page([Result("table2", "Title", ROWS, "in part", wide=True, made=MADE)])
    assert "| Noisy | 1.97<br>*1.99*<br>(+0.02) | 0.91 |" in page


def test_what_cannot_be_run_names_its_command():
    page = results_page(
        [Result("table15", "SST-2", ROWS, "not reproduced", "No model.", "hamiltone train x", made=MADE)]
    )
    assert "**Not reproduced.** No model." in page and "`hamiltone train x`" in page


def test_verdicts_go_between_the_marks_and_nowhere_else(tmp_path):
    docs, results = tmp_path / "docs", tmp_path / "results"
    docs.mkdir()
    (docs / "findings.md").write_text(f"before\n{START}\nold\n{END}\nafter\n")
    rows = (row("shared", "multiplications", Printed(4), 4), row("hamilton", "multiplications", Printed(16), 16))
    write_result(results, Result("table1", "Cost", rows, "reproduced", made=MADE))
    for _ in range(2):
        assert write_pages(results, docs) == [docs / "RESULTS.md", docs / "findings.md"]
    text = (docs / "findings.md").read_text()
    assert text.startswith(f"before\n{START}\n| claim") and text.endswith(f"{END}\nafter\n") and "old" not in text
    assert text.count("**held**") == 1 and "**not tested**" in text and "table1, quick" in text


def test_reports_of_evaluate_stand_beside_the_papers_rows(tmp_path):
    files = (
        FileScores("a", 5.0, 1.0, {"pesq": 1.9, "stoi": 0.9}),
        FileScores("b", 5.0, 1.0, {"pesq": 2.1, "stoi": 0.9}),
    )
    for system in ("unprocessed", "runs/mine/best.safetensors"):
        path = tmp_path / f"evaluate-{system.partition('/')[0]}.json"
        write_report(path, Report(system, ("pesq", "stoi"), files))
    (tmp_path / "other.json").write_text(json.dumps([1, 2]))
    (result,) = reproduce(["table2"], Options(quick=True, results=tmp_path, docs=tmp_path))
    noisy = result.find("measured here: unprocessed, 2 files, beside Noisy", "pesq")
    assert (noisy.paper, noisy.ours, noisy.decimals) == (1.97, 2.0, 2) and noisy.low < 2 < noisy.high
    assert result.find("measured here: mine, 2 files", "pesq").paper is None
    assert result.status == "in part" and "runs/mine" not in results_page([result])
