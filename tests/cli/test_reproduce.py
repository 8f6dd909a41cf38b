import json
from pathlib import Path

import pytest
from typer.testing import CliRunner

from hamiltone.analysis.gradients import Setting
from hamiltone.benchmark import timing
from hamiltone.cli import app
from hamiltone.errors import InputError
from hamiltone.paper.measure import FULL_ONLY, classifiers, speed
from hamiltone.paper.measure.study import Study
from hamiltone.paper.pair import synthetic_utterances
from hamiltone.paper.results import TYPES


def run(*arguments: str):
    return CliRunner().invoke(app, ["reproduce", *arguments], catch_exceptions=False)


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A working directory of the user's, which must stay as it is."""
    folder = tmp_path / "user"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def test_a_table_is_printed_and_kept_and_no_page_is_written(tmp_path, elsewhere):
    result = run("theorems", "table14", "--quick", "--results", str(tmp_path / "r"))
    assert result.exit_code == 0 and "Theorems of Appendix C" in result.stdout and "not measured" in result.stdout
    kept = json.loads((tmp_path / "r" / "quick" / "theorems.json").read_text())
    assert kept["made"]["command"] == "hamiltone reproduce theorems table14 --quick"
    assert kept["made"]["models"][0]["name"] == "compact-hamilton" and kept["made"]["models"][0]["step"] == 1600
    assert list(elsewhere.iterdir()) == []


def test_pages_are_written_from_what_is_kept(tmp_path, elsewhere):
    folders = ["--results", str(tmp_path / "r"), "--docs", str(tmp_path / "d")]
    run("theorems", "--quick", *folders)
    assert not (tmp_path / "d").exists()
    assert run("pages", *folders).exit_code == 0
    assert "Theorems of Appendix C" in (tmp_path / "d" / "RESULTS.md").read_text()
    assert list(elsewhere.iterdir()) == []


def test_an_unknown_name_lists_the_known():
    with pytest.raises(InputError, match=r"table16.*table1"):
        run("table16")


def test_the_ablation_says_what_it_needs():
    with pytest.raises(InputError, match="give --data"):
        run("ablation")


@pytest.mark.parametrize("jobs", ["0", "100000"])
def test_the_number_of_parallel_trainings_has_bounds(jobs):
    with pytest.raises(InputError, match="--jobs must lie between 1 and"):
        run("ablation", "--data", ".", "--jobs", jobs)


@pytest.fixture
def smaller(monkeypatch) -> None:
    """A quick run made quicker: two short utterances, three trials on small input, one round, small batches."""
    pytest.importorskip("matplotlib")

    def once(methods, **_):
        return timing.interleaved(methods, seconds=0.0, rounds=(2, 2))

    monkeypatch.setattr(Study, "_utterances", synthetic_utterances(2, 0.3))
    monkeypatch.setattr(Study, "setting", Setting(batch=2, length=8, dim=8, heads=2, trials=5))
    monkeypatch.setattr(speed, "interleaved", once)
    monkeypatch.setattr(speed, "LENGTHS", (64,))
    monkeypatch.setattr("hamiltone.benchmark.classifier.interleaved", once)
    monkeypatch.setattr(classifiers, "_QUICK_BATCH", {"cifar100": 2, "sst2": 2})
    monkeypatch.setattr(speed, "make", lambda variant, make=speed.make: make(variant._replace(preset="compact")))


def test_all_measures_everything_and_leaves_no_file_outside_its_folder(tmp_path, elsewhere, smaller):
    results = tmp_path / "kept"
    before = set(tmp_path.rglob("*"))
    done = run("all", "--quick", "--pair", "toy", "--results", str(results))
    assert done.exit_code == 0, done.stdout
    new = set(tmp_path.rglob("*")) - before
    assert all(path == results or results in path.parents for path in new)
    assert {path.stem for path in (results / "quick").glob("*.json")} == TYPES.keys() - {"ablation", *FULL_ONLY}
    assert {path.stem for path in (results / "quick" / "figures").iterdir()} == {f"figure{n}" for n in range(1, 7)}
    assert list(elsewhere.iterdir()) == [] and not list(results.glob("*.json"))
    used = [json.loads((results / "quick" / f"figure{n}.json").read_text())["made"]["data"] for n in (1, 5)]
    assert used == [f"the utterance synthetic-{n}, 0.3 s of synthetic speech" for n in (0, 1)]
