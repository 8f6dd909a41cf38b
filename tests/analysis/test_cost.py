import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hamiltone.analysis.cost import RULES, hyperparameters, layer_costs, model_costs, score_cost
from hamiltone.analysis.headsplit import ComponentScore
from hamiltone.benchmark.attention import attention_macs
from hamiltone.paper.reference import reference


def test_table_1():
    assert [(score_cost(rule).multiplications, score_cost(rule).softmaxes) for rule in RULES.values()] == [
        (4, 1),
        (16, 4),
    ]


def test_the_released_head_split_costs_as_much_as_a_shared_score():
    cost = score_cost(ComponentScore(), "component")
    assert (cost.multiplications, cost.softmaxes) == (4, 4)


@pytest.mark.parametrize("row", layer_costs([512, 1024, 2048, 4096]), ids=str)
def test_table_9s_macs_are_exact(row):
    assert row.macs == {"shared": 8, "hamilton": 20}[row.attention] * row.length**2 * 64
    assert row.macs == attention_macs(row.attention, row.length)
    printed = reference()["table9"][f"t{row.length}"][f"{row.attention}_macs"]
    assert float(f"{row.macs:.3g}") == float(printed)


@pytest.mark.parametrize("name", RULES)
def test_macs_are_those_that_torch_counts_itself(name):
    q, k, v = torch.randn(3, 1, 8, 512, 4, 8)
    with FlopCounterMode(display=False) as counter:
        RULES[name].explicit(q, k, v)
    assert counter.get_total_flops() // 2 == next(c.macs for c in layer_costs([512]) if c.attention == name)


def test_the_attention_does_not_change_the_number_of_parameters():
    shared, hamilton = model_costs(["qconformer"])
    assert (shared.attention, hamilton.attention) == ("shared", "hamilton")
    assert shared.parameters == hamilton.parameters == pytest.approx(800_000, rel=0.01)
    assert hamilton.macs_per_second > shared.macs_per_second


def test_the_speech_model_has_table_12s_hyperparameters():
    found = hyperparameters("qconformer")
    assert (found.encoder_blocks, found.decoder_blocks, found.d_model, found.heads, found.layers) == (3, 3, 64, 4, 2)
    with pytest.raises(ValueError, match="family"):
        hyperparameters("compact")
