from dataclasses import replace

import pytest
import torch

from hamiltone.analysis.gradients import Setting
from hamiltone.models import EnhancerConfig, build, bundled, load_checkpoint
from hamiltone.nn import ComponentScore, QAttention
from hamiltone.paper import ablation
from hamiltone.paper.ablation import VARIANTS, SeedStudy, train_variant
from hamiltone.paper.pair import synthetic_utterances
from hamiltone.paper.study import Options, Study
from tasks import TOY


def small_toy(path):
    """The toy recipe cut to a few steps of small batches."""
    text = TOY.read_text()
    for before, after in (
        ("epochs = 2", "steps = 2"),
        ("segment = 16_000\nlength = 140\nheld_out = 32", "segment = 2000\nlength = 4\nheld_out = 2"),
        ("held_out_segment = 32_000", "held_out_segment = 4000"),
    ):
        assert before in text
        text = text.replace(before, after)
    path.write_text(text)
    return path


def as_variant(variant):
    """The bundled toy model with the rule and the heads of a variant."""
    model, header = load_checkpoint(bundled()["toy"])
    twin = build(replace(header.config, attention=variant.rule, heads=variant.heads)).eval()
    twin.load_state_dict(model.state_dict())
    return twin


def test_variants_differ_in_nothing_but_rule_and_heads():
    models = [as_variant(variant) for variant in VARIANTS]
    x = torch.randn(1, 4000)
    with torch.no_grad():
        outputs = [model(x) for model in models]
    shapes = [{name: tensor.shape for name, tensor in model.state_dict().items()} for model in models]
    assert all(one == shapes[0] for one in shapes)
    assert all(not torch.allclose(a, b) for n, a in enumerate(outputs) for b in outputs[:n])


@pytest.mark.filterwarnings("ignore")
def test_the_released_split_is_trained_as_such_and_a_finished_run_is_found_again(tmp_path):
    recipe, variant = small_toy(tmp_path / "toy.toml"), VARIANTS[-1]
    path = train_variant(variant, 0, recipe, tmp_path / "run")
    before = path.stat().st_mtime_ns
    assert train_variant(variant, 0, recipe, tmp_path / "run").stat().st_mtime_ns == before
    model, header = load_checkpoint(path)
    assert isinstance(header.config, EnhancerConfig) and header.training["recipe"]["seed"] == 0
    assert (header.config.attention, header.config.heads) == ("headsplit", 1)
    attentions = [module for module in model.modules() if isinstance(module, QAttention)]
    assert attentions and all(isinstance(one.rule, ComponentScore) and one.heads == 1 for one in attentions)


def test_differences_are_taken_seed_by_seed(tmp_path):
    study = SeedStudy(TOY, tmp_path, seeds=3)
    study.__dict__["gains"] = {"shared": [4.0, 5.0, 6.0], "hamilton": [3.9, 4.9, 5.9]}
    found = study.difference("shared", "hamilton")
    assert found.mean == pytest.approx(0.1) and found.low == pytest.approx(0.1) and found.high == pytest.approx(0.1)


def test_the_results_have_every_variant_and_the_papers_numbers(tmp_path, monkeypatch):
    found = SeedStudy(TOY, tmp_path, seeds=2)
    found.__dict__["models"] = {variant.name: [as_variant(variant) for _ in range(2)] for variant in VARIANTS}
    found.__dict__["utterances"] = synthetic_utterances(2)
    monkeypatch.setattr(ablation, "_study", lambda _: found)
    monkeypatch.setattr(ablation, "Setting", lambda trials: Setting(batch=2, length=16, trials=4))
    study = Study(Options())
    gains = ablation.ablation(study)
    assert [row.quantity for row in gains.rows][: len(VARIANTS)] == [variant.name for variant in VARIANTS]
    expected = gains.rows[0].ours - gains.rows[1].ours
    assert gains.find("difference in dB", "shared - hamilton").ours == pytest.approx(expected)
    seeds = ablation.seeds(study)
    assert seeds.find("agreement in %", "top-1").paper == 3.83
    assert seeds.find("shared and shared, another seed", "ks").ours == 0
    assert all(row.ours is not None for row in seeds.rows)
