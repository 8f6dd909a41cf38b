import json
from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional as F

from corpora import coloured_images, real_data
from hamiltone.errors import InputError
from hamiltone.models import VisionConfig, load_checkpoint, load_classifier
from hamiltone.training import VisionTask, load_recipe, train
from hamiltone.training.device import make_fabric

RECIPES = Path(__file__).parents[2] / "recipes"
SMALL = [
    "budget={epochs=3}",
    "batches={size=9}",
    "optimiser={lr=1e-2, ema=0.5}",
    "schedule={}",
    "model={channels=[2, 4], blocks=1, feed_forward=4, heads=2, layers=1, dropout=0.0}",
    "data.held_out=0.2",
    "data.augmentation={mixup=0.0, erasing=0.0, shift=1}",
    "run.accelerator=cpu",
]


def small_recipe(folder: Path, *overrides: str):
    data = coloured_images(folder / "images.npz")
    return load_recipe(
        RECIPES / "cifar100.toml", [*SMALL, f"data.root='{data}'", f"run.folder='{folder}/run'", *overrides]
    )


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    recipe = small_recipe(tmp_path_factory.mktemp("vision"), "budget={epochs=8}")
    train(VisionTask(recipe), recipe, make_fabric(recipe.run))
    return recipe.run.folder


def test_the_paper_s_settings():
    recipe = load_recipe(RECIPES / "cifar100.toml")
    assert recipe.model == VisionConfig()
    assert (recipe.budget.epochs, recipe.batches.size, recipe.optimiser.weight_decay) == (100, 128, 0.05)
    settings = recipe.data.augmentation
    assert (settings.mixup, settings.erasing, recipe.loss.label_smoothing) == (0.8, 0.25, 0.1)
    steps = round(50_000 * (1 - recipe.data.held_out)) // recipe.batches.size
    assert recipe.schedule.warmup == 10 * steps
    assert recipe.schedule.kind == "cosine"


def test_colours_are_learned_and_the_checkpoint_knows_its_classes(trained):
    records = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    assert max(record["accuracy"] for record in records if record["kind"] == "validation") > 0.8
    model, header = load_classifier(trained / "best.safetensors")
    assert header.classes == ("red", "green", "blue")
    assert (header.config.classes, header.config.size) == (3, 8)
    assert header.training["recipe"]["data"]["augmentation"]["shift"] == 1
    assert str(trained) not in json.dumps(header.training)
    assert model(torch.rand(2, 3, 8, 8)).shape == (2, 3)
    with pytest.raises(InputError, match="holds a classifier, not a speech enhancer"):
        load_checkpoint(trained / "best.safetensors")


def test_the_loss_is_smoothed_cross_entropy_with_mixed_targets(tmp_path):
    task = VisionTask(small_recipe(tmp_path))
    model = task.build().eval()
    images, targets = torch.rand(4, 3, 8, 8), torch.rand(4, 3).softmax(1)
    loss, _ = task.loss(model, (images, targets))
    smooth = 0.9 * targets + 0.1 / 3
    torch.testing.assert_close(loss, -(smooth * F.log_softmax(model(images), 1)).sum(1).mean())


def test_a_run_can_start_from_weights_of_the_same_classes(trained, tmp_path):
    start = trained / "best.safetensors"
    recipe = small_recipe(tmp_path, f"init='{start}'")
    expected = load_classifier(start)[0].state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in VisionTask(recipe).build().state_dict().items())
    coloured_images(tmp_path / "images.npz", classes=["a", "b", "c"])
    with pytest.raises(InputError, match="has other classes than the data"):
        VisionTask(recipe)
    with pytest.raises(InputError, match=r"has other weights than the recipe's \[model\]"):
        VisionTask(small_recipe(tmp_path, f"init='{start}'", "model.layers=2")).build()


@pytest.mark.parametrize("attention", [("shared", 256), ("hamilton", 256), ("qtn", 64)], ids=lambda pair: pair[0])
def test_the_full_recipe_runs_with_every_attention(attention, tmp_path):
    name, feed_forward = attention
    recipe = load_recipe(
        RECIPES / "cifar100.toml",
        [
            f"data.root='{real_data('cifar100_mini.npz')}'",
            f"run={{folder='{tmp_path}', accelerator='cpu', log_steps=1}}",
            f"model={{attention='{name}', feed_forward={feed_forward}}}",
            "budget={steps=2}",
            "batches={size=8}",
        ],
    )
    outcome = train(VisionTask(recipe), recipe, make_fabric(recipe.run))
    assert (outcome.step, outcome.select_by) == (2, "accuracy")


def test_the_small_recipe_tells_ten_classes_apart_within_seconds(tmp_path):
    with np.load(real_data("cifar100_mini.npz")) as content:
        first = {f"train_{axis}": content[f"train_{axis}"][content["train_y"] < 10] for axis in "xy"}
        np.savez(tmp_path / "ten.npz", classes=content["classes"][:10], **first)
    recipe = load_recipe(
        RECIPES / "cifar100_mini.toml",
        [
            f"data.root='{tmp_path / 'ten.npz'}'",
            f"run={{folder='{tmp_path}', accelerator='cpu'}}",
            "budget={steps=60}",
            "batches.size=32",
            "schedule.warmup=5",
            "optimiser.ema=0.9",
        ],
    )
    outcome = train(VisionTask(recipe), recipe, make_fabric(recipe.run))
    assert outcome.best is not None and outcome.best > 0.2  # chance is 0.1
