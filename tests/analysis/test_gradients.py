import math
from dataclasses import replace

import numpy as np
import pytest
import torch

from hamiltone.analysis.gradients import (
    Setting,
    correlation,
    correlation_after,
    correlation_with_same_weights,
    gradient_norms,
    mean_square,
    norms_at_start,
    score_gradient,
    study_norms,
)
from hamiltone.nn import HamiltonAttention, QRotary, SharedScoreAttention

SMALL = Setting(batch=2, length=10, dim=4, heads=2, trials=6)


@pytest.mark.parametrize(("positions", "pooling"), [(None, 1), (QRotary(), 1), (None, 2)])
@pytest.mark.parametrize("kind", [SharedScoreAttention, HamiltonAttention])
def test_the_gradient_is_the_change_of_the_loss_with_a_score(kind, positions, pooling):
    attention = kind(4, 2, positions=positions, pooling=pooling).double()
    x = torch.randn(1, 8, 4, 4, dtype=torch.float64)
    gradient = score_gradient(attention, x)
    q, k, v = attention.project(x, x.unflatten(1, (-1, pooling)).mean(2))
    q, k = attention.place(q, k)

    def loss(scores):
        heads = (scores.softmax(-1).expand(-1, -1, 4, -1, -1) @ v.transpose(2, 3)).transpose(2, 3)
        return mean_square(attention.merge(heads)).item()

    scores, step = attention.rule.scores(q, k).detach(), 1e-6
    place = (0, 1, gradient.shape[2] - 1, 2, 3)
    moved = scores.clone()
    moved[place] += step
    assert (loss(moved) - loss(scores)) / step == pytest.approx(gradient[place].item(), rel=1e-3)
    assert loss(scores) == pytest.approx(mean_square(attention(x)).item())


def test_norms_are_taken_map_by_map():
    attention, x = HamiltonAttention(4, 2), torch.randn(2, 6, 4, 4)
    norms = gradient_norms(attention, x)
    assert norms.shape == (4,)
    assert norms[2].item() == pytest.approx(score_gradient(attention, x)[:, :, 2].norm().item())


def test_norms_that_move_together_correlate_and_others_do_not():
    rng = np.random.default_rng(0)
    common, own = rng.normal(size=(2000, 1)), rng.normal(size=(2000, 4))
    assert np.allclose(correlation(common + 0 * own).matrix, 1)
    half = correlation(common + own)
    assert half.off_diagonal == pytest.approx(0.5, abs=0.05)
    assert half.errors[0][1] == pytest.approx(0.75 / math.sqrt(1999), rel=0.1)
    none = correlation(own)
    assert abs(none.off_diagonal) < 3 * none.errors[0][1]


def test_the_scale_of_the_rival_decides_how_the_norms_compare():
    study = study_norms(norms_at_start(SMALL))
    assert study.ratio["hamilton-tay"].mean > 1.3 * study.ratio["hamilton"].mean > 0
    assert study_norms(norms_at_start(replace(SMALL, rivals=("headsplit",)))).ratio.keys() == {"headsplit"}
    with pytest.raises(ValueError, match="expected a rule with a map for each component, shared has one for all"):
        replace(SMALL, rivals=("shared",))


def test_the_study_has_a_norm_for_every_score_and_repeats_itself():
    study = study_norms(norms_at_start(SMALL))
    assert study == study_norms(norms_at_start(SMALL))
    assert study.shared.groups == 6 and all(len(four) == 4 for four in study.hamilton.values())
    for scale, ratio in study.ratio.items():
        total = sum(one.mean for one in study.hamilton[scale])
        assert ratio.mean == pytest.approx(study.shared.mean / total, rel=0.05)


def test_a_study_leaves_the_random_state_alone():
    torch.manual_seed(1)
    expected = torch.rand(1)
    torch.manual_seed(1)
    study_norms(norms_at_start(SMALL))
    assert torch.rand(1) == expected


def test_fixed_weights_are_another_question_than_new_ones():
    new, same = correlation(norms_at_start(SMALL).hamilton["hamilton"]), correlation_with_same_weights(SMALL)
    assert new.trials == same.trials == 6
    assert new.matrix != same.matrix


def test_every_hamilton_attention_of_a_model_is_measured():
    model = torch.nn.ModuleDict({"a": HamiltonAttention(4, 2), "b": SharedScoreAttention(4, 2)})
    assert list(correlation_after(model, SMALL)) == ["a"]
    with pytest.raises(ValueError, match="one map for each component"):
        correlation_after(model["b"], SMALL)
