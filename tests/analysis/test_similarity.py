import numpy as np
import pytest
import torch

from hamiltone.analysis.capture import record
from hamiltone.analysis.similarity import (
    Pool,
    both_formulas,
    ks_statistic,
    quantile_correlation,
    study_similarity,
    wasserstein,
)
from hamiltone.nn import HamiltonAttention, SharedScoreAttention

stats = pytest.importorskip("scipy.stats")


def test_pooled_values_have_the_statistic_of_all_of_them_together():
    rng, pool = np.random.default_rng(0), Pool()
    samples = [(rng.normal(shift, 1, 5000), rng.normal(0.1, 1.2, 5000)) for shift in (-0.5, 0.0, 0.5, 0.2)]
    for pair in samples:
        pool.add(pair)
    a, b = (np.concatenate(side) for side in zip(*samples, strict=True))
    found = pool.ks(0, 1)
    assert found.mean == pytest.approx(stats.ks_2samp(a, b).statistic, abs=5e-4)
    assert found.low < found.mean < found.high and found.groups == 4
    assert found.mean < np.mean([stats.ks_2samp(*pair).statistic for pair in samples])
    assert pool.ks(0, 0).mean == 0


RNG = np.random.default_rng(0)


def gaussians(mean, scale, size=200_000):
    return RNG.standard_normal(size), mean + scale * RNG.standard_normal(size)


def test_shifted_gaussians_have_the_known_distances():
    a, b = gaussians(0.5, 1.0)
    assert ks_statistic(a, b) == pytest.approx(2 * stats.norm.cdf(0.25) - 1, abs=5e-3)
    assert wasserstein(a, b) == pytest.approx(0.5, abs=1e-2)
    assert quantile_correlation(a, b) == pytest.approx(1, abs=1e-3)


def test_a_wider_gaussian_is_as_far_as_its_width_says():
    a, b = gaussians(0.0, 2.0)
    assert wasserstein(a, b) == pytest.approx(np.sqrt(2 / np.pi), abs=1e-2)
    assert quantile_correlation(a, b) == pytest.approx(1, abs=1e-3)


def test_another_shape_lowers_the_quantile_correlation():
    assert quantile_correlation(RNG.standard_normal(100_000), RNG.standard_exponential(100_000)) < 0.95


def test_a_sample_is_no_distance_from_itself():
    a = RNG.standard_normal(100)
    assert ks_statistic(a, a[::-1]) == wasserstein(a, a[::-1]) == 0


@pytest.mark.parametrize("sizes", [(50, 50), (30, 71), (1, 9)])
def test_distances_are_those_of_scipy(sizes):
    a, b = RNG.normal(size=sizes[0]), RNG.normal(0.3, 2, size=sizes[1])
    b[: len(b) // 2] = a[0]  # with ties
    assert ks_statistic(a, b) == pytest.approx(stats.ks_2samp(a, b).statistic)
    assert wasserstein(a, b) == pytest.approx(stats.wasserstein_distance(a, b))


def test_both_formulas_are_applied_to_the_same_queries_keys_and_values():
    shared = SharedScoreAttention(8, 2)
    hamilton = HamiltonAttention(8, 2)
    hamilton.load_state_dict(shared.state_dict())
    x = torch.randn(2, 9, 4, 8)
    ours, theirs = record(shared, x)[""], record(hamilton, x)[""]
    for recording in (ours, theirs):
        first, second = both_formulas(recording)
        torch.testing.assert_close(first, ours.outputs)
        torch.testing.assert_close(second, theirs.outputs)


def test_a_model_resembles_itself():
    model = SharedScoreAttention(8, 2)
    result = study_similarity(model, model, [torch.randn(1, 30, 4, 8) for _ in range(3)])
    assert result.ks.mean == result.wasserstein.mean == 0
    assert result.correlation.mean == pytest.approx(1) and result.quantile_correlation.mean == pytest.approx(1)
    for first, second in result.formulas.values():
        assert first == second and 0 < first.mean < 1
    first, _ = result.formulas["hamilton-tay"]
    beyond, _ = result.beyond["hamilton-tay"]
    assert beyond.mean == pytest.approx(first.mean - result.uniform[0].mean)
    assert result.ks.groups == 3


def test_models_of_their_own_are_not_correlated():
    models = [SharedScoreAttention(16, 4), HamiltonAttention(16, 4)]
    result = study_similarity(*models, [torch.randn(4, 60, 4, 16) for _ in range(2)])
    assert abs(result.correlation.mean) < 0.1


def test_attention_without_scores_is_a_mean_of_the_values():
    attention = SharedScoreAttention(8, 2, qk_norm=False)
    for parameter in attention.query.parameters():
        torch.nn.init.zeros_(parameter)
    result = study_similarity(attention, attention, [torch.randn(2, 12, 4, 8)])
    assert result.uniform[0].mean == pytest.approx(1)
    assert all(both[0].mean == pytest.approx(1) for both in result.formulas.values())
