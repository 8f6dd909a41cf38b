import json
from pathlib import Path
from types import SimpleNamespace

import pytest

from hamiltone.errors import InputError
from hamiltone.paper.attention_tables import table5
from hamiltone.paper.classifier_tables import table13, table14, table15
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


def matrix(off_diagonal: float) -> dict:
    lines = [[1.0 if a == b else off_diagonal for a in range(4)] for b in range(4)]
    return {"matrix": lines, "errors": [[0.1] * 4] * 4, "trials": 10}


def test_gradient_correlations_are_the_mean_of_the_layers(tmp_path: Path) -> None:
    kept = {"before training, one set of weights": 0.1, "after: blocks.0": 0.2, "after: blocks.1": 0.4}
    content = {"correlations": {name: matrix(value) for name, value in kept.items()}}
    (tmp_path / "gradients-cifar100.json").write_text(json.dumps(content))
    result = table14(study(tmp_path))
    assert result.status == "in part" and "2 layers" in result.why
    assert result.find("before", "0-3").ours == pytest.approx(0.1)
    assert result.find("after", "0-3").ours == pytest.approx(0.3)
    assert result.find("after", "off diagonal").ours == pytest.approx(0.3)


def test_without_a_trained_classifier_its_correlations_keep_their_rows(tmp_path: Path) -> None:
    result = table14(study(tmp_path))
    assert result.status == "not reproduced" and len(result.rows) == 14
    assert all(row.ours is None for row in result.rows)


def quick_study_of_speech(results: Path) -> Study:
    chosen = study(results)
    chosen.__dict__ |= {"similarity": SimpleNamespace(ks=0.5), "utterances": [], "pair": SimpleNamespace(name="toy")}
    return chosen


def test_table_5_takes_images_and_text_from_what_was_kept(tmp_path: Path) -> None:
    (tmp_path / "score-sst2.json").write_text(json.dumps(SCORES))
    spread = {"mean": 0.02, "deviation": 0.01, "low": 0.01, "high": 0.03, "groups": 9}
    (tmp_path / "similarity-cifar100.json").write_text(json.dumps({"ks": spread, "formulas": [spread, spread]}))
    result = table5(quick_study_of_speech(tmp_path))
    assert result.find("NLP (SST-2)", "shared quality").ours == 81.5
    ks = result.find("Vision (CIFAR-100)", "ks")
    assert (ks.ours, ks.low, ks.high) == (0.02, 0.01, 0.03)
    assert result.find("Vision (CIFAR-100)", "shared quality").ours is None


@pytest.mark.parametrize(("name", "table"), [("gradients-cifar100", table14), ("similarity-sst2", table5)])
def test_the_file_of_another_command_is_refused(tmp_path: Path, name: str, table) -> None:
    (tmp_path / f"{name}.json").write_text('{"ks": {"nonsense": 1}}')
    with pytest.raises(InputError, match="was not written by hamiltone analyse"):
        table(quick_study_of_speech(tmp_path))


def test_minutes_are_the_mean_over_the_runs_of_an_attention(tmp_path: Path) -> None:
    attentions = {"shared": (10.0, 12.0), "qtn": (20.0,)}
    runs = [
        {"settings": {"model.attention": attention}, "minutes": minutes}
        for attention, every in attentions.items()
        for minutes in every
    ]
    (tmp_path / "runs-cifar100.json").write_text(json.dumps(runs))
    result = table13(study(tmp_path))
    assert [result.find(group, "minutes").ours for group in ("shared", "qtn", "hamilton")] == [11.0, 20.0, None]
