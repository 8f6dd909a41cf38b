import json

import pytest
from typer.testing import CliRunner

from corpora import coloured_images
from hamiltone.cli import app, main
from hamiltone.models import Header, VisionConfig, build, save_checkpoint

CONFIG = VisionConfig(channels=(2, 4), blocks=1, heads=2, layers=1, feed_forward=4, classes=3, size=8)


@pytest.fixture(autouse=True)
def checkpoints(tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    coloured_images(tmp_path / "images.npz")
    for seed in (42, 123):
        header = Header(CONFIG, training={"recipe": {"seed": seed}}, classes=("red", "green", "blue"))
        save_checkpoint(tmp_path / f"{seed}.safetensors", build(CONFIG), header)


def test_accuracies_are_printed_with_their_mean():
    result = CliRunner().invoke(app, ["accuracy", "42.safetensors", "123.safetensors", "--data", "images.npz"])
    assert result.exit_code == 0, result.output
    assert "mean of 2" in result.output and "±" in result.output


def test_json_holds_accuracies_and_means():
    result = CliRunner().invoke(
        app, ["accuracy", "42.safetensors", "123.safetensors", "--data", "images.npz", "--json"]
    )
    content = json.loads(result.stdout)
    assert [row["seed"] for row in content["scores"]] == [42, 123]
    percents = [row["percent"] for row in content["scores"]]
    assert content["means"][0]["mean"] == pytest.approx(sum(percents) / 2)


def test_a_missing_checkpoint_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr("sys.argv", ["hamiltone", "accuracy", "absent.safetensors", "--data", "images.npz"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 2
    assert capsys.readouterr().err.strip() == "hamiltone: there is no checkpoint absent.safetensors"
