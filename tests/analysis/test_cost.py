import pytest
import torch
from torch.utils.flop_counter import FlopCounterMode

from hamiltone.analysis.cost import counted_products, hyperparameters, layer_costs, model_costs, score_cost
from hamiltone.models.cost import attention_macs
from hamiltone.nn import make_rule
from hamiltone.nn.rules import RULES
from hamiltone.paper.reference import reference


def test_table_1():
    assert counted_products(make_rule("shared")) == (4, 1)
    assert counted_products(make_rule("hamilton")) == (16, 4)


@pytest.mark.parametrize("name", RULES)
def test_a_rule_forms_as_many_products_as_it_says(name):
    cost = score_cost(name)
    assert counted_products(make_rule(name)) == (cost.multiplications, cost.softmaxes)


def test_the_released_head_split_costs_as_much_as_a_shared_score():
    assert counted_products(make_rule("headsplit")) == (4, 4)
    shared, split, hamilton = layer_costs([100], ["shared", "headsplit", "hamilton"])
    assert split.macs == shared.macs < hamilton.macs


@pytest.mark.parametrize("row", layer_costs([512, 1024, 2048, 4096]), ids=str)
def test_table_9s_macs_are_exact(row):
    assert row.macs == {"shared": 8, "hamilton": 20}[row.attention] * row.length**2 * 64
    assert row.macs == attention_macs(make_rule(row.attention), row.length, 64)
    printed = reference()["table9"][f"t{row.length}"][f"{row.attention}_macs"]
    assert float(f"{row.macs:.3g}") == float(printed)


@pytest.mark.parametrize("name", RULES)
def test_macs_are_those_that_torch_counts_itself(name):
    q, k, v = torch.randn(3, 1, 8, 512, 4, 8)
    with FlopCounterMode(display=False) as counter:
        make_rule(name).explicit(q, k, v)
    assert counter.get_total_flops() // 2 == layer_costs([512], [name])[0].macs


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
