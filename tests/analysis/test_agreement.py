import pytest
import torch

from hamiltone.analysis.agreement import (
    COMPONENT_PAIRS,
    agreement,
    agreement_of,
    layer_agreement,
    study_agreement,
    utterance_rates,
)
from hamiltone.analysis.capture import record
from hamiltone.nn import HamiltonAttention, SharedScoreAttention


def one_hot(shifts, size=12):
    """A map for each shift that attends from every position to the one `shift` further."""
    return torch.stack([torch.eye(size).roll(shift, dims=1) for shift in shifts])[None, None]


def test_identical_maps_agree_always():
    maps = torch.rand(2, 3, 1, 20, 20).expand(-1, -1, 4, -1, -1)
    assert agreement(maps).eq(1).all() and agreement(maps, 5).eq(1).all()


def test_shifted_maps_never_agree():
    assert agreement(one_hot([0, 1, 2, 3])).eq(0).all()


def test_a_pair_that_agrees_is_told_from_those_that_do_not():
    rates = agreement(one_hot([0, 1, 1, 2]))[0, 0]
    assert rates.tolist() == [1.0 if pair == (1, 2) else 0.0 for pair in COMPONENT_PAIRS]


def test_equation_20_query_by_query():
    maps = torch.rand(2, 3, 4, 15, 15)
    rates = agreement(maps)
    for column, (m, n) in enumerate(COMPONENT_PAIRS):
        for head in range(3):
            matches = [maps[1, head, m, t].argmax() == maps[1, head, n, t].argmax() for t in range(15)]
            assert rates[1, head, column].item() == pytest.approx(sum(matches) / 15)


def test_shared_top_positions_are_counted_whatever_their_order():
    maps = torch.zeros(1, 1, 4, 1, 6)
    maps[..., :4] = torch.tensor([[4.0, 3, 2, 1], [1, 2, 3, 4], [4, 3, 2, 1], [4, 3, 2, 1]])[:, None]
    assert agreement(maps, 4).eq(1).all()
    assert agreement(maps, 2)[0, 0, 0] == 0  # {0, 1} and {2, 3}


@pytest.mark.parametrize("count", [1, 5])
def test_random_maps_agree_by_chance(count):
    rates = agreement(torch.rand(20, 4, 4, 50, 50), count)
    assert rates.mean().item() == pytest.approx(count / 50, rel=0.05)


def test_maps_that_are_shared_are_refused():
    with pytest.raises(ValueError, match="one map per component"):
        agreement(torch.rand(1, 2, 1, 5, 5))
    with pytest.raises(ValueError, match="count must lie"):
        agreement(torch.rand(1, 2, 4, 5, 5), 6)


def test_the_study_averages_over_utterances_layers_heads_and_pairs():
    model = torch.nn.Sequential(HamiltonAttention(8, 2), HamiltonAttention(8, 2))
    inputs = [torch.randn(3, length, 4, 8) for length in (10, 20, 10)]
    utterances = [record(model, x) for x in inputs]
    top = agreement_of([utterance_rates(one) for one in utterances])
    rates = torch.stack([torch.stack([layer_agreement(r) for r in one.values()]) for one in utterances])
    assert top.overall.mean == pytest.approx(rates.mean().item())
    assert top.pairs["1-3"].mean == pytest.approx(rates[..., COMPONENT_PAIRS.index((1, 3))].mean().item())
    assert [(head.layer, head.head) for head in top.heads] == [("0", 0), ("0", 1), ("1", 0), ("1", 1)]
    assert top.heads[2].rate.mean == pytest.approx(rates[:, 1, 0].mean().item())
    assert top.chance == pytest.approx((1 / 10 + 1 / 20 + 1 / 10) / 3)
    assert top.overall.groups == 3
    assert study_agreement(model, inputs, counts=(1,))[0] == top


def test_shared_scores_agree_by_design():
    recording = record(SharedScoreAttention(8, 2), torch.randn(2, 9, 4, 8))[""]
    assert agreement(recording.maps.expand(-1, -1, 4, -1, -1)).eq(1).all()
