import pytest
import torch

from hamiltone.analysis.gradients import Setting
from hamiltone.analysis.headsplit import ComponentScore
from hamiltone.models import EnhancerConfig, bundled, load_checkpoint
from hamiltone.nn import QAttention
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


def test_variants_differ_in_nothing_but_rule_and_heads():
    models = [variant.apply(load_checkpoint(bundled()["toy"])[0]) for variant in VARIANTS]
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
    shared, split = model(torch.ones(1, 2000)), variant.apply(model)(torch.ones(1, 2000))
    assert not torch.allclose(shared, split)
    assert all(isinstance(m.rule, ComponentScore) for m in model.modules() if isinstance(m, QAttention))


def test_differences_are_taken_seed_by_seed(tmp_path):
    study = SeedStudy(TOY, tmp_path, seeds=3)
    study.__dict__["gains"] = {"shared": [4.0, 5.0, 6.0], "hamilton": [3.9, 4.9, 5.9]}
    found = study.difference("shared", "hamilton")
    assert found.mean == pytest.approx(0.1) and found.low == pytest.approx(0.1) and found.high == pytest.approx(0.1)


def test_the_results_have_every_variant_and_the_papers_numbers(tmp_path, monkeypatch):
    found = SeedStudy(TOY, tmp_path, seeds=2)
    toy = bundled()["toy"]
    found.__dict__["models"] = {v.name: [v.apply(load_checkpoint(toy)[0]) for _ in range(2)] for v in VARIANTS}
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
