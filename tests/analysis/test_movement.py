import pytest
import torch

from hamiltone.analysis.bilinear import homogeneity, study_homogeneity
from hamiltone.analysis.movement import start_of, study_movement
from hamiltone.models import Header, bundled, load_checkpoint
from hamiltone.nn import HamiltonAttention, QAttention
from hamiltone.nn.rules import make_rule


def test_a_model_has_not_moved_from_itself():
    model = torch.nn.Sequential(HamiltonAttention(4, 2))
    (one,) = study_movement(model, model)
    assert one.query_correlation == pytest.approx(1) and one.key_distance == 0


def test_a_query_that_was_turned_around_is_told_from_a_key_that_stayed():
    before, after = HamiltonAttention(4, 2), HamiltonAttention(4, 2)
    after.load_state_dict(before.state_dict())
    with torch.no_grad():
        after.query.weight.neg_()
    (one,) = study_movement(before, after)
    assert one.query_correlation == pytest.approx(-1) and one.query_distance == pytest.approx(2)
    assert one.key_correlation == pytest.approx(1)


def test_the_start_of_a_bundled_twin_is_found_again():
    model, header = load_checkpoint(bundled()["toy-hamilton"])
    moved = study_movement(start_of(header), model)
    assert all(one.query_correlation > 0.5 for one in moved)
    other = study_movement(start_of(Header(header.config, training={"recipe": {"seed": 1}})), model)
    assert all(abs(one.query_correlation) < 0.5 for one in other)


def test_a_training_that_went_on_from_other_weights_has_no_start():
    _, header = load_checkpoint(bundled()["toy"])
    with pytest.raises(ValueError, match="from random weights"):
        start_of(Header(header.config, training={"recipe": {"seed": 0, "init": "toy"}}))


@pytest.mark.parametrize(("qk_norm", "ratio"), [(False, 4.0), (True, 1.0)])
def test_a_score_is_bilinear_without_query_key_norm_alone(qk_norm, ratio):
    attention = QAttention(8, 2, make_rule("shared"), bias=False, qk_norm=qk_norm)
    assert homogeneity(attention, torch.randn(2, 10, 4, 8)) == pytest.approx(ratio, rel=1e-4)


def test_trained_layers_are_not_bilinear():
    found = study_homogeneity(load_checkpoint(bundled()["toy-hamilton"])[0])
    assert len(found) == 2 and all(one.ratio < 1.5 for one in found)


def test_tays_scale_is_that_of_the_shared_score_in_both_paths():
    q, k, v = torch.randn(3, 1, 2, 7, 4, 3)
    printed, tay = make_rule("hamilton"), make_rule("hamilton-tay")
    torch.testing.assert_close(tay.scores(q, k), printed.scores(q, k) / 2)
    torch.testing.assert_close(tay.attend(q, k, v), tay.explicit(q, k, v)[0])
