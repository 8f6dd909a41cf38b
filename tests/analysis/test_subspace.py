import pytest
import torch

from hamiltone.analysis.subspace import (
    blocks,
    check_gradients,
    check_subspace,
    coefficients,
    distance_to_span,
    generators,
    hamilton_weights,
)
from hamiltone.nn import HamiltonScore, QLinear, SharedScore

TIGHT = 1e-10


@pytest.mark.parametrize(("d_in", "d_h"), [(5, 2), (16, 4), (16, 1), (32, 8)])
def test_both_scores_lie_in_the_same_proper_subspace(d_in, d_h):
    check = check_subspace(d_in, d_h)
    assert check.dimension == 16 < check.ambient == d_in**2
    assert max(check.hamilton_error, check.shared_error) < TIGHT
    assert max(check.hamilton_distance, check.shared_distance) < TIGHT


def test_a_random_matrix_does_not_lie_there_but_every_bilinear_score_does():
    check = check_subspace()
    assert check.random_distance > 0.9
    assert check.any_bilinear_distance < TIGHT


def test_the_shared_score_is_no_combination_of_the_four():
    assert check_subspace().joint_rank == 5


def test_a_check_that_cannot_fail_is_refused():
    with pytest.raises(ValueError, match="at least 5"):
        check_subspace(d_in=4)


def test_gradients_aggregate_and_separate():
    check = check_gradients()
    assert max(check.aggregation_error, check.separation_error) < TIGHT
    assert check.crossing == 0


def test_blocks_compute_what_the_layer_computes():
    layer = QLinear(5, 3, bias=False)
    x = torch.randn(7, 4, 5)
    y = torch.einsum("mbih,tbi->tmh", blocks(layer.weight.mT), x)
    torch.testing.assert_close(y, layer(x))


@pytest.mark.parametrize(("rule", "factor"), [(HamiltonScore(), 3**0.5), (SharedScore(), 12**0.5)])
def test_coefficients_give_the_scores_of_the_library(rule, factor):
    query, key = QLinear(5, 3, bias=False).double(), QLinear(5, 3, bias=False).double()
    x = torch.randn(1, 7, 4, 5, dtype=torch.float64)
    expected = rule.scores(query(x)[:, None], key(x)[:, None])[0, 0] * factor  # (S, N, N), without the scale
    weights = hamilton_weights() if rule.maps == 4 else torch.eye(4, dtype=torch.float64)[None]
    found = coefficients(query.weight.mT, key.weight.mT, weights)
    scores = torch.einsum("tbi,abgij,sgj->ats", x[0], found, x[0])
    torch.testing.assert_close(scores, expected)


def test_distance_to_a_plane():
    span = torch.zeros(2, 2, 2)
    span[0, 0, 0] = span[1, 0, 1] = 1
    inside, outside = torch.tensor([[3.0, 4.0], [0.0, 0.0]]), torch.tensor([[3.0, 0.0], [4.0, 0.0]])
    assert distance_to_span(inside[None], span) == (pytest.approx(0, abs=1e-6), 2)
    assert distance_to_span(outside[None], span)[0] == pytest.approx(0.8)
    assert generators(torch.randn(4, 5, 2), torch.randn(4, 5, 2)).shape == (4, 4, 4, 4, 5, 5)
