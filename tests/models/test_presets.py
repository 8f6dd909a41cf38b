import pytest
import torch
from torch import nn

from hamiltone.errors import InputError
from hamiltone.models import PRESETS, build, folded, preset
from hamiltone.models.catalogue import catalogue
from hamiltone.models.presets import attention_choices
from hamiltone.nn import QBatchNorm, QLayerNorm, QLinear, QRMSNorm
from hamiltone.nn.conv import QConv
from hamiltone.nn.rules import COMPARED

BANDS = {
    "qtransformer": (615_000, 625_000),
    "qconformer": (795_000, 805_000),
    "qdensenet": (735_000, 745_000),
    "qtn": (625_000, 635_000),
    "real-conformer": (3_185_000, 3_195_000),
    "compact": (50_000, 85_000),
    "live": (30_000, 100_000),
}


@pytest.fixture(scope="module")
def rows():
    return {row["name"]: row for row in catalogue()}


@pytest.mark.parametrize("name", PRESETS)
def test_sizes_are_those_of_the_papers_table(rows, name):
    low, high = BANDS[name.removesuffix("-dns")]
    assert low <= rows[name]["params"] < high


def test_costs_are_near_the_known_figures(rows):
    assert 65e9 < rows["qconformer"]["macs_per_second"] < 76e9
    assert 32e9 < rows["qconformer-dns"]["macs_per_second"] < 38e9
    assert rows["compact"]["macs_per_second"] < 1.4e9
    assert rows["live"]["macs_per_second"] < 0.27e9


def test_the_two_score_rules_have_the_same_parameters():
    for name in ("qtransformer", "qconformer", "compact", "live"):
        shared, hamilton = (build(preset(name, rule)).state_dict() for rule in ("shared", "hamilton"))
        assert {k: v.shape for k, v in shared.items()} == {k: v.shape for k, v in hamilton.items()}


@pytest.mark.parametrize(
    "name", ["qtransformer-dns", "qconformer", "qdensenet-dns", "qtn", "real-conformer-dns", "compact", "live"]
)
def test_any_length_works_and_is_kept_and_folding_changes_nothing(name):
    config = preset(name)
    for attention in attention_choices(config, COMPARED):
        model = build(preset(name, attention)).eval()
        _disturb_statistics(model)
        real = folded(model)
        with torch.no_grad():
            for length in (1, 99, 2_500):
                waveform = torch.randn(2, length)
                enhanced = model(waveform)
                assert enhanced.shape == waveform.shape
                torch.testing.assert_close(real(waveform), enhanced, atol=1e-4, rtol=1e-4)


def _disturb_statistics(model: nn.Module) -> None:
    """Batch norms away from the identity, so that merging them is a real test."""
    for module in model.modules():
        if hasattr(module, "running_mean"):
            module.running_mean.normal_(0, 0.2)
            module.running_var.uniform_(0.5, 2)


def test_the_real_twin_has_no_quaternion_layer_left():
    model = build(preset("real-conformer"))
    assert not any(isinstance(m, QLinear | QConv | QLayerNorm | QBatchNorm | QRMSNorm) for m in model.modules())


def test_the_result_scales_with_the_input_and_silence_stays_silent():
    model = build(preset("compact")).eval()
    waveform = torch.randn(1, 4_000)
    with torch.no_grad():
        torch.testing.assert_close(model(100 * waveform), 100 * model(waveform), rtol=1e-3, atol=1e-3)
        assert model(torch.zeros(1, 4_000)).abs().max() == 0


def test_gradients_reach_every_parameter():
    model = build(preset("compact"))
    model(torch.randn(2, 4_000)).square().mean().backward()
    assert all(p.grad is not None and p.grad.isfinite().all() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "attention", "message"),
    [
        ("nonsense", None, "there is no preset 'nonsense'"),
        ("qtn", "hamilton", "preset qtn has no attention 'hamilton'; it takes qtn"),
        ("qconformer", "qtn", "it takes shared or hamilton"),
    ],
)
def test_wrong_names_are_refused_with_the_right_ones(name, attention, message):
    with pytest.raises(InputError, match=message):
        preset(name, attention)
