import pytest
import torch

from hamiltone.analysis.capture import capture, record
from hamiltone.models import EnhancerConfig, build
from hamiltone.nn import HamiltonAttention, QAttention, QTransformerBlock, fold, make_rule, rules
from hamiltone.nn.linear import QLinear

RULES = [make_rule(name) for name in rules.RULES]


def small_model(attention: str = "hamilton"):
    config = EnhancerConfig(
        "transformer", attention, channels=4, heads=2, layers=1, encoder_dilations=(1,), decoder_dilations=(1,)
    )
    return build(config).eval()


@pytest.mark.parametrize("rule", RULES)
@pytest.mark.parametrize("folded", [False, True])
def test_recording_changes_nothing(rule, folded):
    attention = QAttention(8, 2, rule).eval()
    layer = fold(attention) if folded else attention
    x = torch.randn(2, 5, 4, 8)
    expected = layer(x)
    with capture(layer) as recordings:
        assert torch.equal(layer(x), expected)
    assert len(recordings) == 1
    assert torch.equal(layer(x), expected)
    assert layer.rule is not None and type(layer.rule) is type(rule)


@pytest.mark.parametrize("rule", RULES)
def test_scores_maps_and_outputs_belong_together(rule):
    attention = QAttention(8, 2, rule)
    (recording,) = record(attention, torch.randn(3, 6, 4, 8)).values()
    torch.testing.assert_close(recording.maps, recording.scores.softmax(-1))
    outputs = (recording.maps.expand(-1, -1, 4, -1, -1) @ recording.v.transpose(2, 3)).transpose(2, 3)
    torch.testing.assert_close(recording.outputs, outputs)


def test_the_maps_are_those_the_attention_itself_returns():
    attention = HamiltonAttention(8, 2)
    x = torch.randn(2, 5, 4, 8)
    _, maps = attention(x, need_weights=True)
    torch.testing.assert_close(record(attention, x)[""].maps, maps)


def test_masks_are_recorded():
    attention = HamiltonAttention(8, 2)
    with capture(attention) as recordings:
        attention(torch.randn(1, 5, 4, 8), causal=True)
    assert recordings[0].maps.triu(1).abs().max() == 0


def test_rules_return_after_an_error():
    attention = HamiltonAttention(8, 2)
    rule = attention.rule
    with pytest.raises(ValueError, match="x must be"), capture(attention):
        attention(torch.randn(1, 5, 4, 3))
    assert attention.rule is rule


def test_every_layer_of_a_model_is_found_and_tiles_are_joined(monkeypatch):
    model = small_model()
    x = torch.randn(1, 4000)
    whole = record(model, x)
    monkeypatch.setattr("hamiltone.models.tiling.TILE", 4000)
    tiled = record(model, x)
    names = [f"network.bottleneck.{axis}_layers.0.attention" for axis in ("time", "freq")]
    assert list(whole) == list(tiled) == names
    for name in names:
        torch.testing.assert_close(tiled[name].outputs, whole[name].outputs)
    frames, bands = whole[names[0]].q.shape[2], whole[names[1]].q.shape[2]
    assert len(whole[names[0]].q) == bands and len(whole[names[1]].q) == frames


def test_parts_cover_the_recording():
    recording = record(HamiltonAttention(8, 2), torch.randn(7, 5, 4, 8))[""]
    parts = list(recording.parts(limit=2 * 4 * 2 * 5 * 5))
    assert [len(part.q) for part in parts] == [2, 2, 2, 1]
    torch.testing.assert_close(torch.cat([part.maps for part in parts]), recording.maps)


def test_a_model_without_attention_is_refused():
    with pytest.raises(ValueError, match="no QAttention"), capture(QLinear(2, 2)):
        pass


def test_blocks_of_ones_own_are_searched():
    block = QTransformerBlock(8, HamiltonAttention(8, 2), torch.nn.Identity())
    assert list(record(block, torch.randn(1, 5, 4, 8))) == ["attention"]
