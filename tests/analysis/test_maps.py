import math

import pytest
import torch

from hamiltone.analysis.agreement import COMPONENT_PAIRS, study_agreement
from hamiltone.analysis.maps import map_distances, relative_entropy, study_maps
from hamiltone.nn import HamiltonAttention


def test_a_flat_map_has_all_the_entropy_and_a_sharp_one_none():
    assert relative_entropy(torch.full((3, 7), 1 / 7)) == pytest.approx(torch.ones(3), abs=1e-6)
    assert relative_entropy(torch.eye(5)).abs().max() == 0


def test_the_distance_is_that_of_scipy():
    distance = pytest.importorskip("scipy.spatial.distance")
    maps = torch.rand(1, 1, 4, 3, 6, dtype=torch.float64).softmax(-1)
    found = map_distances(maps)
    for column, (a, b) in enumerate(COMPONENT_PAIRS):
        for query in range(3):
            expected = distance.jensenshannon(maps[0, 0, a, query], maps[0, 0, b, query], base=2)
            assert found[0, 0, column, query].item() == pytest.approx(expected, abs=1e-9)


def test_equal_maps_are_no_distance_apart():
    assert map_distances(torch.rand(2, 3, 1, 5, 5).softmax(-1).expand(-1, -1, 4, -1, -1)).max() < 1e-3


def test_the_study_has_the_agreement_within_and_across_utterances():
    torch.manual_seed(0)
    model, inputs = HamiltonAttention(8, 2), [torch.randn(2, 15, 4, 8) for _ in range(4)]
    found = study_maps(model, inputs, counts=(1, 3))
    for one, top in zip(found.shuffled, study_agreement(model, inputs, counts=(1, 3)), strict=True):
        assert one.rate.mean + one.excess.mean == pytest.approx(top.overall.mean)
        assert one.rate.mean == pytest.approx(one.count / 15, abs=0.08)
        assert one.rate.groups == 4
    assert 0 < found.distance.mean < 1 and 0 < found.entropy.mean < 1


def test_an_input_that_comes_twice_agrees_with_itself_across_utterances():
    model, x = HamiltonAttention(8, 2), torch.randn(1, 12, 4, 8)
    (one,) = study_maps(model, [x, x], counts=(1,)).shuffled
    assert one.excess.mean == pytest.approx(0) and math.isfinite(one.rate.low)


def test_inputs_of_different_lengths_are_refused():
    with pytest.raises(ValueError, match="one shape"):
        study_maps(HamiltonAttention(8, 2), [torch.randn(1, length, 4, 8) for length in (9, 12)])
