from pathlib import Path

import pytest
from pydantic import ValidationError

from hamiltone.errors import InputError
from hamiltone.losses import PAPER_WEIGHTS
from hamiltone.models import CompactConfig, EnhancerConfig, preset
from hamiltone.training import load_recipe
from hamiltone.training.reading import flat, to_toml

RECIPES = Path(__file__).parents[2] / "recipes"
TOY = RECIPES / "toy.toml"


@pytest.mark.parametrize("path", sorted(RECIPES.glob("*.toml")), ids=lambda path: path.stem)
def test_every_recipe_loads_and_survives_a_round_trip(path, tmp_path):
    recipe = load_recipe(path)
    copy = tmp_path / "config.toml"
    copy.write_text(to_toml(recipe))
    assert load_recipe(copy) == recipe
    assert recipe.run.folder == Path("runs") / path.stem


def test_the_paper_s_settings():
    voicebank, dns = load_recipe(RECIPES / "voicebank.toml"), load_recipe(RECIPES / "dns3.toml")
    assert (voicebank.model, dns.model) == (preset("qconformer"), preset("qconformer-dns"))
    assert (voicebank.data.segment, dns.data.segment) == (16_000, 32_000)
    assert (voicebank.batches.size, dns.batches.size) == (8, 16)
    assert (voicebank.budget.epochs, dns.budget.epochs) == (400, 150)
    assert (voicebank.optimiser.lr, dns.optimiser.lr) == (2e-4, 1e-4)
    for recipe in (voicebank, dns):
        assert (recipe.optimiser.betas, recipe.optimiser.clip) == ((0.5, 0.999), 1.0)
        assert recipe.loss == PAPER_WEIGHTS


@pytest.mark.parametrize(
    ("override", "key", "value"),
    [
        ("optimiser.lr=1e-5", "optimiser.lr", 1e-5),
        ("optimiser.betas=[0.5, 0.9]", "optimiser.betas", [0.5, 0.9]),
        ("run.compile=true", "run.compile", True),
        ("run.folder=elsewhere", "run.folder", "elsewhere"),
        ('run.folder="else where"', "run.folder", "else where"),
        ("init=some=file", "init", "some=file"),
        ("model.channels=8", "model.channels", 8),
        ("data.variety.snr_db=[0, 5]", "data.variety.snr_db", [0.0, 5.0]),
        ("seed = 3", "seed", 3),
    ],
)
def test_an_override_replaces_one_key(override, key, value):
    before, after = flat(load_recipe(TOY)), flat(load_recipe(TOY, [override]))
    assert after.pop(key) == value
    before.pop(key, None)
    assert after == before


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("optimiser.weight_dekay=0", "there is no key optimiser.weight_dekay; did you mean weight_decay?"),
        ("optimizer.lr=1", "there is no key optimizer; did you mean optimiser?"),
        ("model.chanels=8", "model: there is no key chanels; did you mean channels?"),
        ("data.segmnt=8", "there is no key data.segmnt; did you mean segment?"),
        ("data.variety.snr=8", "data.variety: there is no key snr; did you mean snr_db?"),
        ("loss.stft=1", "loss: there is no key stft; did you mean mstft?"),
        ("run.zebra=1", "there is no key run.zebra; choose from folder, accelerator"),
        ("run.folder=", "run.folder: expected the name of a folder, got ''"),
        ("validation.metrics=['sisd']", "validation.metrics: there is no metric sisd; did you mean sisdr?"),
        ("validation.select_by=pesq", "validation: select_by must be one of the metrics sisdr, got 'pesq'"),
        ("data.kind=pears", "data: kind must be one of 'synthetic', 'pairs', 'remixed', 'mixtures'"),
        ("task=smell", "task must be one of speech, vision, text, got 'smell'"),
        ("optimiser.lr=fast", "optimiser.lr: should be a valid number"),
        ("optimiser.lr=nan", "optimiser.lr: should be a finite number"),
        ("optimiser.lr=1e38", "optimiser.lr: should be less than or equal to 1000"),
        ("optimiser.weight_decay=1e300", "optimiser.weight_decay: should be less than or equal to 1000"),
        ("optimiser.betas=[0.9, 1.0]", "optimiser: expected betas from 0 to less than 1, got [0.9, 1.0]"),
        ("budget={}", "budget: expected at least one of epochs, steps and minutes"),
        ("loss={}", "loss: expected a weight above zero"),
        ("loss=3", "loss: expected a table, got 3"),
        ("model=3", "model: expected a table, got 3"),
        ("data.variety=3", "data.variety: expected a table, got 3"),
        ("loss.rms=-1", "a finite weight of at least zero for rms, got -1"),
        ("model.channels=few", "model: channels: should be a valid integer"),
        ("model.preset=qconformer", "model: expected either a preset or a family"),
        ("model={preset='qcon'}", "model: there is no preset 'qcon'"),
        ("model={preset=[1]}", "model: there is no preset [1]"),
        ("model.family=[1]", "model: family must be one of paper, compact, rows, got [1]"),
        ("data.segment=1" + 30 * "0", "data.segment: should be less than or equal to 16777216"),
        ("data.length=1" + 30 * "0", "data.length: should be less than or equal to 100000000"),
        ("seed=" + 5000 * "1", "seed: "),
        ("optimiser.lr=0x" + 5000 * "f", "optimiser.lr: "),
        ("optimiser.lr.high=1", "optimiser.lr.high: lr is a value, not a table"),
        ("optimiser.lr", "expected key=value such as optimiser.lr=1e-4, got 'optimiser.lr'"),
        ("=1", "expected key=value such as optimiser.lr=1e-4, got '=1'"),
    ],
)
def test_a_mistake_is_one_line_that_helps(override, message):
    with pytest.raises(InputError) as caught:
        load_recipe(TOY, [override])
    assert message in str(caught.value)
    assert "\n" not in str(caught.value) and len(str(caught.value)) < 500


def test_a_missing_file_or_broken_toml_is_one_line(tmp_path):
    with pytest.raises(InputError, match=r"cannot read the recipe .*: No such file"):
        load_recipe(tmp_path / "absent.toml")
    broken = tmp_path / "broken.toml"
    broken.write_text("task = ")
    with pytest.raises(InputError, match="is not valid TOML"):
        load_recipe(broken)
    for value in ("1" * 5000, "[{a = 0x" + "f" * 5000 + "}]", r'"a\u0000b"'):
        broken.write_text(f"init = {value}")
        with pytest.raises(InputError, match="is not valid TOML"):
            load_recipe(broken)
    broken.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="is not valid TOML"):
        load_recipe(broken)


def test_a_preset_can_be_changed_and_a_family_filled_in():
    recipe = load_recipe(TOY, ["model={preset='qconformer', dropout=0.0}"])
    assert isinstance(recipe.model, EnhancerConfig)
    assert (recipe.model.channels, recipe.model.dropout) == (16, 0.0)
    recipe = load_recipe(TOY, ["model={family='compact', layers=1}"])
    assert recipe.model == CompactConfig(layers=1)


def test_a_recipe_cannot_be_changed():
    recipe = load_recipe(TOY)
    with pytest.raises(ValidationError):
        recipe.seed = 3


def test_a_checkpoint_does_not_tell_where_files_lie():
    recipe = load_recipe(
        RECIPES / "voicebank.toml",
        ["data.root=secret/data", "data.cache=secret/cache", "init=secret/start.safetensors"],
    )
    assert "secret" not in repr(recipe.experiment())
    assert recipe.experiment()["init"] == "start"
