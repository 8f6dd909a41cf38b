import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import soundfile
import torch

from hamiltone.errors import InputError
from hamiltone.metrics import si_sdr
from hamiltone.models import Header, build, load_checkpoint, save_checkpoint
from hamiltone.training import SpeechTask, train
from hamiltone.training.device import make_fabric
from hamiltone.training.speech import stacked_spectrograms
from tasks import small_recipe


@pytest.fixture(scope="module")
def trained(tmp_path_factory) -> Path:
    folder = tmp_path_factory.mktemp("speech")
    recipe = small_recipe(folder)
    train(SpeechTask(recipe), recipe, make_fabric(recipe.run))
    return folder


def test_the_best_checkpoint_loads_for_inference_and_tells_how_it_was_trained(trained):
    model, header = load_checkpoint(trained / "best.safetensors")
    assert header.config == small_recipe(trained).model
    assert header.preset == ""
    facts = header.training
    assert facts["recipe"]["loss"]["compressed"] == 1.0
    assert set(facts["metrics"]) == {"sisdr", "sisdr_gain", "loss"}
    assert str(trained) not in json.dumps(facts)
    assert model(torch.randn(1, 3000)).shape == (1, 3000)


def test_validation_measures_the_averaged_model_on_the_held_out_mixtures(trained):
    records = [json.loads(line) for line in (trained / "log.jsonl").read_text().splitlines()]
    logged = [record for record in records if record["kind"] == "validation"][-1]
    task = SpeechTask(small_recipe(trained))
    model, header = load_checkpoint(trained / "best.safetensors")
    assert header.training["step"] == max(
        (record["step"] for record in records if record["kind"] == "validation"),
        key=lambda step: next(r["sisdr"] for r in records if r["kind"] == "validation" and r["step"] == step),
    )
    if header.training["step"] != logged["step"]:
        logged = next(r for r in records if r["kind"] == "validation" and r["step"] == header.training["step"])
    scores, gains = [], []
    for number in range(len(task.validation)):
        noisy, clean = task.validation[number]
        with torch.no_grad():
            enhanced = model(noisy)
        scores.append(si_sdr(enhanced[0].numpy(), clean[0].numpy()))
        gains.append(scores[-1] - si_sdr(noisy[0].numpy(), clean[0].numpy()))
    assert logged["sisdr"] == pytest.approx(np.mean(scores), abs=1e-3)
    assert logged["sisdr_gain"] == pytest.approx(np.mean(gains), abs=1e-3)


def test_a_run_can_start_from_weights_with_or_without_a_model_table(trained, tmp_path):
    start = trained / "best.safetensors"
    recipe = small_recipe(tmp_path, f"init='{start}'")
    model = SpeechTask(recipe).build()
    expected = load_checkpoint(start)[0].state_dict()
    assert all(torch.equal(tensor, expected[name]) for name, tensor in model.state_dict().items())
    alone = recipe.model_copy(update={"model": None})
    assert SpeechTask(alone).config == recipe.model
    other = recipe.model_copy(update={"model": replace(recipe.model, channels=4)})
    with pytest.raises(InputError, match=r"has other weights than the recipe's \[model\]"):
        SpeechTask(other).build()
    with pytest.raises(InputError, match="there is no checkpoint"):
        SpeechTask(small_recipe(tmp_path, "init=absent.safetensors"))


def test_a_metric_that_is_not_installed_is_an_error_before_anything_is_trained(tmp_path, monkeypatch):
    monkeypatch.setattr("hamiltone.metrics.find_spec", lambda package: None if package == "pesq" else object())
    with pytest.raises(InputError, match=r"pesq: needs pesq: pip install .* or ask for sisdr only"):
        SpeechTask(small_recipe(tmp_path, "validation.metrics=['pesq', 'sisdr']"))


def test_the_loss_is_the_weighted_sum_of_its_terms(tmp_path):
    task = SpeechTask(small_recipe(tmp_path, "loss={mstft=2.0, sisdr=0.5, rms=1.0, complex_l1=3.0, compressed=4.0}"))
    model = task.build()
    loss, terms = task.loss(model, (torch.randn(2, 2000), torch.randn(2, 2000)))
    assert set(terms) == {"mstft", "sisdr", "rms", "complex_l1", "compressed"}
    weights = {"mstft": 2.0, "sisdr": 0.5, "rms": 1.0, "complex_l1": 3.0, "compressed": 4.0}
    torch.testing.assert_close(loss, sum(weights[name] * term for name, term in terms.items()))


def test_held_out_mixtures_do_not_depend_on_the_seed(tmp_path):
    first, second = (SpeechTask(small_recipe(tmp_path, f"seed={seed}")) for seed in (0, 1))
    assert torch.equal(first.validation[1][0], second.validation[1][0])
    assert not torch.equal(first.training[0, 0][0], second.training[0, 0][0])


def test_the_checkpoint_of_a_preset_carries_its_name(tmp_path):
    task = SpeechTask(small_recipe(tmp_path, "model={preset='qtransformer'}"))
    task.export(tmp_path / "model.safetensors", task.build(), {})
    assert load_checkpoint(tmp_path / "model.safetensors")[1].preset == "qtransformer"


def test_media_shows_enhanced_sounds_always_and_the_others_once(tmp_path):
    task = SpeechTask(small_recipe(tmp_path))
    model = task.build().eval()
    first, second = task.media(model), task.media(model)
    assert {name.split("/")[1] for name in first.sounds} == {"noisy", "enhanced", "clean"}
    assert set(second.sounds) == {"0/enhanced", "1/enhanced"}
    assert first.pictures["0/spectrograms"].shape == (1, 3 * 257, 4000 // 128 + 1)


def test_a_spectrogram_shows_a_tone_where_it_is():
    tone = torch.sin(2 * torch.pi * 1000 * torch.arange(8000) / 16_000)
    picture = stacked_spectrograms([tone, torch.zeros(8000)])[0]
    assert picture.shape[0] == 2 * 257
    assert picture[:, 20].argmax() == 256 - 32  # 1000 Hz is bin 32, and bin 0 the lowest row
    assert picture.max() == 1.0 and picture[257:].max() == 0.0


@pytest.fixture(scope="module")
def corpus(tmp_path_factory) -> Path:
    """Four speakers of VoiceBank's layout and folders of the DNS Challenge, two short files each."""
    root, rng = tmp_path_factory.mktemp("corpus"), np.random.default_rng(0)
    for speaker in ("p226", "p287", "p300", "p301"):
        for number in (1, 2):
            clean, noise = 0.1 * rng.standard_normal((2, 3000))
            for side, signal in {"clean": clean, "noisy": clean + 0.3 * noise}.items():
                _write(root / f"{side}_trainset_28spk_wav" / f"{speaker}_{number:03}.wav", signal)
            _write(root / "clean" / f"{speaker}_{number:03}.wav", clean)
            _write(root / "noise" / f"{speaker}_noise_{number}.wav", noise)
    return root


def _write(path: Path, signal: np.ndarray) -> None:
    path.parent.mkdir(exist_ok=True)
    soundfile.write(path, signal, 16_000)


@pytest.mark.parametrize(
    ("kind", "training", "validation"),
    [("kind='pairs'", 4, 4), ("kind='remixed', length=6", 6, 4), ("kind='mixtures', held_out=0.5, length=5", 5, 100)],
)
def test_every_kind_of_data_opens(kind, training, validation, corpus, tmp_path):
    table = f"data={{{kind}, root='{corpus}', cache='{tmp_path}', segment=2000}}"
    task = SpeechTask(small_recipe(tmp_path, table))
    assert (len(task.training), len(task.validation)) == (training, validation)
    noisy, clean = task.training[3, 1]
    assert noisy.shape == clean.shape == (2000,)
    noisy, clean = task.validation[1]
    assert noisy.shape == clean.shape and noisy.shape[0] == 1
    assert len(SpeechTask(small_recipe(tmp_path, table, "validation.limit=2")).validation) == 2


def test_a_bundled_or_foreign_model_of_the_compact_family_trains_too(tmp_path):
    recipe = small_recipe(tmp_path, "model={family='compact', layers=1, channels=[2, 4], dilations=[1, 2], heads=2}")
    task = SpeechTask(recipe)
    save_checkpoint(tmp_path / "start.safetensors", build(recipe.model), Header(recipe.model))
    loss, _ = task.loss(task.build(), (torch.randn(1, 2000), torch.randn(1, 2000)))
    assert loss.isfinite()
