import json
from pathlib import Path

import pytest
import torch

from corpora import real_data, reviews
from hamiltone.errors import InputError
from hamiltone.models import TextConfig, load_classifier
from hamiltone.training import TextTask, load_recipe, train
from hamiltone.training.device import make_fabric
from hamiltone.training.order import BatchOrder

RECIPE = Path(__file__).parents[2] / "recipes" / "sst2.toml"
SMALL = [
    "budget={epochs=6}",
    "batches={size=16}",
    "optimiser={lr=1e-2, ema=0.5}",
    "schedule={}",
    "model={dim=4, feed_forward=8, heads=2, layers=1, dropout=0.0}",
    "data.held_out=0.2",
    "run.accelerator=cpu",
]


def small_recipe(folder: Path, *overrides: str):
    data = reviews(folder / "reviews")
    return load_recipe(RECIPE, [*SMALL, f"data.root='{data}'", f"run.folder='{folder}/run'", *overrides])


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    recipe = small_recipe(tmp_path_factory.mktemp("text"))
    train(TextTask(recipe), recipe, make_fabric(recipe.run))
    return recipe.run.folder


def test_the_paper_s_settings():
    recipe = load_recipe(RECIPE)
    assert (recipe.model.dim, recipe.model.layers, recipe.model.heads, recipe.model.dropout) == (32, 2, 4, 0.1)
    assert recipe.model == TextConfig(embedding_dropout=recipe.model.embedding_dropout)
    assert recipe.schedule.kind == "cosine" and recipe.schedule.warmup


def test_reviews_are_learned_and_the_checkpoint_knows_its_words(trained):
    records = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    assert max(record["accuracy"] for record in records if record["kind"] == "validation") > 0.9
    model, header = load_classifier(trained / "best.safetensors")
    assert header.classes == ("negative", "positive")
    assert {"good", "dull"} <= set(header.words) and len(header.words) == header.config.vocabulary
    assert model(torch.ones(2, 5, dtype=torch.long)).shape == (2, 2)


def test_batches_hold_sentences_of_similar_length(tmp_path):
    recipe = small_recipe(tmp_path)
    task = TextTask(recipe)
    order = BatchOrder(len(task.training), recipe.batches, 0, lengths=task.training.lengths)
    iterator = iter(order)
    spreads = []
    for _ in range(order.steps_per_epoch):
        lengths = [task.training.lengths[index] for _, index in next(iterator)]
        spreads.append(max(lengths) - min(lengths))
    assert sum(spreads) / len(spreads) < 3


def test_the_vocabulary_comes_from_the_training_part_alone(tmp_path):
    task = TextTask(small_recipe(tmp_path))
    train_words = {word for numbers in task.training._words for word in numbers.tolist()}
    assert train_words >= set(range(2, len(task.vocabulary)))


def test_a_run_that_starts_from_weights_keeps_their_words(trained, tmp_path):
    start = trained / "best.safetensors"
    task = TextTask(small_recipe(tmp_path, f"init='{start}'", "data.least=50"))
    model, header = load_classifier(start)
    assert task.vocabulary.words == header.words
    assert all(torch.equal(t, model.state_dict()[name]) for name, t in task.build().state_dict().items())


def test_a_wrong_file_is_one_line(tmp_path):
    recipe = small_recipe(tmp_path)
    (recipe.data.root / "train.tsv").write_text("sentence\tlabel\nfine\t7\n")
    with pytest.raises(InputError, match="line 2 has the label '7'"):
        TextTask(recipe)
    with pytest.raises(InputError, match=r"there is no key data.word_dropot; did you mean word_dropout"):
        load_recipe(RECIPE, ["data.word_dropot=0.1"])


def test_the_full_recipe_runs_on_sst2(tmp_path):
    recipe = load_recipe(
        RECIPE,
        [
            f"data.root='{real_data('sst2')}'",
            f"run={{folder='{tmp_path}', accelerator='cpu', log_steps=2}}",
            "budget={steps=4}",
        ],
    )
    outcome = train(TextTask(recipe), recipe, make_fabric(recipe.run))
    assert (outcome.step, outcome.select_by) == (4, "accuracy")
