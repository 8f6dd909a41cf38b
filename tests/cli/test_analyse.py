import json
from dataclasses import replace

import pytest
from typer.testing import CliRunner

from corpora import coloured_images, reviews
from hamiltone.cli import app
from hamiltone.data.text import PADDING_WORD, UNKNOWN_WORD
from hamiltone.errors import InputError
from hamiltone.models import Header, TextConfig, VisionConfig, build, save_checkpoint


def run(*arguments: str):
    result = CliRunner().invoke(app, ["analyse", *arguments, "--json"], catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_subspace_and_cost_as_json():
    assert run("subspace", "--d-in", "6")["dimension"] == 16
    found = run("cost", "--lengths", "512")
    assert [row["macs"] for row in found["layers"]] == [134_217_728, 335_544_320]


def test_agreement_and_similarity_of_the_bundled_pair_as_json():
    top1, top5 = run("agreement", "--samples", "2")
    assert (
        (top1["count"], top5["count"]) == (1, 5) and 0 < top1["overall"]["mean"] < 1 and top1["overall"]["groups"] == 2
    )
    found = run("similarity", "--samples", "2")
    assert found["ks"]["groups"] == 2 and len(found["formulas"]) == 2


def test_gradients_as_json():
    found = run("gradients", "--trials", "3", "--dim", "4", "--heads", "2")
    assert found["norms"]["setting"]["trials"] == 3 and len(found["norms"]["hamilton"]["hamilton-tay"]) == 4
    assert "before training" in found["correlations"]


def save_pair(folder, config, **header) -> list[str]:
    """Checkpoints of a classifier with shared and with Hamilton scores, as the analyses want them."""
    for rule in ("shared", "hamilton"):
        one = replace(config, attention=rule)
        save_checkpoint(folder / rule, build(one), Header(one, **header))
    return ["--first", str(folder / "shared"), "--second", str(folder / "hamilton")]


def test_classifiers_of_images(tmp_path):
    config = VisionConfig(channels=(2, 4), blocks=1, heads=2, layers=1, feed_forward=4, classes=3, size=8)
    pair = save_pair(tmp_path, config, classes=("red", "green", "blue"))
    data = ["--data", str(coloured_images(tmp_path / "images.npz")), "--samples", "3"]
    assert run("similarity", *pair, *data)["ks"]["groups"] == 3
    assert run("agreement", "--model", pair[-1], *data)[1]["chance"] == pytest.approx(5 / 16)
    found = run("gradients", "--model", pair[-1], "--dim", "4", "--heads", "2", "--length", "16", "--trials", "3")
    assert [name for name in found["correlations"] if name.startswith("after")] == ["after: blocks.0.attention"]


def test_classifiers_of_text(tmp_path):
    config = TextConfig(dim=4, heads=2, layers=1, feed_forward=8, vocabulary=3)
    pair = save_pair(tmp_path, config, classes=("negative", "positive"), words=(PADDING_WORD, UNKNOWN_WORD, "film"))
    data = ["--data", str(reviews(tmp_path / "reviews")), "--samples", "3"]
    assert run("similarity", *pair, *data)["quantile_correlation"]["groups"] == 3
    assert len(run("agreement", "--model", pair[-1], *data)) == 2
    with pytest.raises(InputError, match="a classifier needs --data"):
        run("similarity", *pair)
    with pytest.raises(InputError, match="differ in more than their scores"):
        run("similarity", *pair[:2], *data)


def test_a_model_with_shared_scores_has_no_maps_to_compare():
    with pytest.raises(InputError, match="has shared scores"):
        CliRunner().invoke(app, ["analyse", "agreement", "--model", "toy"], catch_exceptions=False)


def test_every_analysis_explains_and_prints_itself():
    for name in ("agreement", "similarity", "gradients", "subspace", "cost"):
        result = CliRunner().invoke(app, ["analyse", name, "--help"])
        assert result.exit_code == 0 and "Example" in result.stdout
    assert "joint rank" in CliRunner().invoke(app, ["analyse", "subspace"]).stdout
