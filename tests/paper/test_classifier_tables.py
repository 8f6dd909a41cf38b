import json
from pathlib import Path

import pytest

from hamiltone.errors import InputError
from hamiltone.paper.classifier_tables import table15
from hamiltone.paper.study import Options, Study

SCORES = {
    "means": [
        {"attention": "shared", "runs": 3, "mean": 81.5, "deviation": 0.25},
        {"attention": "hamilton", "runs": 1, "mean": 80.0, "deviation": None},
    ]
}


def study(results: Path) -> Study:
    return Study(Options(quick=True, results=results))


def test_accuracies_come_from_the_scores_and_latencies_from_this_machine(tmp_path: Path) -> None:
    (tmp_path / "score-sst2.json").write_text(json.dumps(SCORES))
    result = table15(study(tmp_path))
    rows = {(row.group, row.quantity): row for row in result.rows}
    assert result.status == "in part"  # one of the rows has a single seed
    assert rows["shared", "accuracy"].ours == 81.5
    assert rows["shared", "accuracy"].note == "± 0.25 over 3 seeds"
    assert rows["hamilton", "accuracy"].difference == pytest.approx(80.0 - 81.12)
    ratio = rows["hamilton", "latency"].ours / rows["shared", "latency"].ours
    assert rows["hamilton / shared", "latency"].ours == pytest.approx(ratio)


def test_three_seeds_of_each_attention_reproduce_the_table(tmp_path: Path) -> None:
    means = [{**mean, "runs": 3, "deviation": 0.25} for mean in SCORES["means"]]
    (tmp_path / "score-sst2.json").write_text(json.dumps({"means": means}))
    assert table15(study(tmp_path)).status == "reproduced"


def test_without_scores_only_speed_is_reproduced(tmp_path: Path) -> None:
    result = table15(study(tmp_path))
    assert result.status == "in part"
    assert all(row.ours is None for row in result.rows if row.quantity == "accuracy")


def test_another_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "score-sst2.json").write_text("[]")
    with pytest.raises(InputError, match="was not written by hamiltone score"):
        table15(study(tmp_path))
