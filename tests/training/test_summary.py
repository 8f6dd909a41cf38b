import json
from pathlib import Path

import pytest

from hamiltone.errors import InputError
from hamiltone.training.folder import RunFolder
from hamiltone.training.summary import markdown, summarise_runs
from tasks import small_recipe


def make_run(path: Path, sisdr: float, *overrides: str) -> Path:
    folder = RunFolder(path)
    folder.prepare(small_recipe(path, *overrides))
    rates = zip((10, 20, 30), (8.0, 2.0, 9.0), strict=True)
    lines = [{"kind": "train", "step": step, "elapsed": 6.0 * step, "units_per_second": rate} for step, rate in rates]
    lines.append({"kind": "validation", "step": 30, "sisdr": sisdr})
    folder.log.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return path


def test_runs_show_what_differs_and_what_came_out(tmp_path: Path) -> None:
    first = make_run(tmp_path / "first", 3.0)
    second = make_run(tmp_path / "second", 4.0, "optimiser.lr=0.25", "run.save_minutes=3")
    rows = summarise_runs([first, second])
    assert [row.settings for row in rows] == [{"optimiser.lr": 5e-3}, {"optimiser.lr": 0.25}]
    assert [row.metrics for row in rows] == [{"sisdr": 3.0}, {"sisdr": 4.0}]
    assert (rows[0].steps, rows[0].minutes, rows[0].units_per_second) == (30, 3.0, 8.0)
    assert markdown(rows).splitlines() == [
        "| run | optimiser.lr | steps | minutes | units/s | sisdr |",
        "|---|---|---|---|---|---|",
        "| first | 0.005 | 30 | 3.0 | 8.0 | 3.000 |",
        "| second | 0.25 | 30 | 3.0 | 8.0 | 4.000 |",
    ]


def test_a_line_that_was_cut_off_or_is_not_from_a_run_is_left_out(tmp_path: Path) -> None:
    run = make_run(tmp_path / "run", 3.0)
    with RunFolder(run).log.open("ab") as log:
        log.write(b'5\n{"step": 99}\n\xff\n{"kind": "train", "step": 40, "elap')
    assert summarise_runs([run])[0].steps == 30


def test_what_is_no_run_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="is not the folder of a run"):
        summarise_runs([tmp_path])
    run = make_run(tmp_path / "run", 1.0)
    for content in (b"\xff", b"seed = \n"):
        (run / "config.toml").write_bytes(content)
        with pytest.raises(InputError, match=r"config\.toml is not valid TOML"):
            summarise_runs([run])
    make_run(tmp_path / "run", 1.0)
    RunFolder(run).log.unlink()
    with pytest.raises(InputError, match="has no training step yet"):
        summarise_runs([run])
