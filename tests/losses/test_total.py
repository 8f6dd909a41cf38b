import pytest
import torch

from hamiltone.losses import (
    EnhancementLoss,
    LossWeights,
    complex_l1_loss,
    loss_terms,
    multi_resolution_stft_loss,
    pesq_loss,
    rms_loss,
    sisdr_loss,
    weighted_sum,
)


def test_total_is_the_sum_of_eq_70() -> None:
    estimate, target = 0.1 * torch.randn(2, 2, 8000)
    by_hand = (
        3.5 * multi_resolution_stft_loss(estimate, target)
        + 2.0 * sisdr_loss(estimate, target)
        + rms_loss(estimate, target)
        + 2.5 * complex_l1_loss(estimate, target)
        + pesq_loss(estimate, target)
    )
    torch.testing.assert_close(EnhancementLoss()(estimate, target), by_hand)
    torch.testing.assert_close(weighted_sum(loss_terms(estimate, target)), by_hand)


def test_complex_term_uses_the_spectra_of_the_model() -> None:
    estimate, target = 0.1 * torch.randn(2, 2, 8000)
    terms = EnhancementLoss(n_fft=512, hop=256).terms(estimate, target)
    torch.testing.assert_close(terms["complex_l1"], complex_l1_loss(estimate, target, 512, 256))


def test_a_weight_of_zero_spares_its_term() -> None:
    estimate, target = torch.randn(2, 2, 4000)
    loss = EnhancementLoss(LossWeights(mstft=0, sisdr=0, rms=2.0, complex_l1=0, pesq=0))
    assert list(loss.terms(estimate, target)) == ["rms"]
    torch.testing.assert_close(loss(estimate, target), 2.0 * rms_loss(estimate, target))


@pytest.mark.parametrize("weights", [{"rms": -1.0}, {"pesq": float("nan")}, {"pesq": float("inf")}])
def test_impossible_weights_are_refused(weights: dict[str, float]) -> None:
    with pytest.raises(ValueError, match="not negative"):
        LossWeights(**weights)


def test_at_least_one_weight_is_needed() -> None:
    with pytest.raises(ValueError, match="one above zero"):
        LossWeights(mstft=0, sisdr=0, rms=0, complex_l1=0, pesq=0)


def test_a_checkpoint_holds_nothing_of_the_loss() -> None:
    assert not EnhancementLoss().state_dict()
