import pytest
import torch
from torch import Tensor

from hamiltone.losses import (
    PAPER_WEIGHTS,
    EnhancementLoss,
    LossWeights,
    complex_l1_loss,
    compressed_spectrum_loss,
    multi_resolution_stft_loss,
    pesq_loss,
    rms_loss,
    sisdr_loss,
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
    total, _ = EnhancementLoss()(estimate, target)
    torch.testing.assert_close(total, by_hand)


def test_the_compressed_spectra_are_a_term_too() -> None:
    estimate, target = 0.1 * torch.randn(2, 2, 8000)
    total, terms = EnhancementLoss(LossWeights(rms=0.5, compressed=4.0))(estimate, target)
    assert list(terms) == ["rms", "compressed"]
    torch.testing.assert_close(terms["compressed"], compressed_spectrum_loss(estimate, target))
    torch.testing.assert_close(total, 0.5 * terms["rms"] + 4.0 * terms["compressed"])


def recorded() -> tuple[Tensor, Tensor]:
    """Tones that no random generator can change."""
    time = torch.arange(8000, dtype=torch.float64) / 16_000
    target = torch.stack([torch.sin(2 * torch.pi * f * time) * (1 + torch.sin(20 * time)) for f in (300, 900)])
    return (0.1 * target + 0.02 * torch.sin(2 * torch.pi * 2500 * time)).float(), (0.1 * target).float()


@pytest.mark.parametrize(
    ("weights", "value"),
    [
        (PAPER_WEIGHTS, -28.026029586791992),
        (LossWeights(compressed=1.0, pesq=0.12, sisdr=0.02), 0.14228461682796478),
    ],
    ids=["paper", "compact"],
)
def test_the_loss_of_a_signal_stays_what_models_were_trained_with(weights: LossWeights, value: float) -> None:
    total, _ = EnhancementLoss(weights, n_fft=512, hop=256)(*recorded())
    assert total.item() == pytest.approx(value, rel=1e-5)


def test_complex_term_uses_the_spectra_of_the_model() -> None:
    estimate, target = 0.1 * torch.randn(2, 2, 8000)
    _, terms = EnhancementLoss(n_fft=512, hop=256)(estimate, target)
    torch.testing.assert_close(terms["complex_l1"], complex_l1_loss(estimate, target, 512, 256))


def test_a_weight_of_zero_spares_its_term() -> None:
    estimate, target = torch.randn(2, 2, 4000)
    total, terms = EnhancementLoss(LossWeights(rms=2.0))(estimate, target)
    assert list(terms) == ["rms"]
    torch.testing.assert_close(total, 2.0 * rms_loss(estimate, target))


@pytest.mark.parametrize("weights", [{"rms": -1.0}, {"pesq": float("nan")}, {"pesq": float("inf")}])
def test_impossible_weights_are_refused(weights: dict[str, float]) -> None:
    (name,) = weights
    with pytest.raises(ValueError, match=f"a finite weight of at least zero for {name}"):
        LossWeights(**weights)


def test_at_least_one_weight_is_needed() -> None:
    with pytest.raises(ValueError, match="expected a weight above zero"):
        LossWeights()


def test_a_checkpoint_holds_nothing_of_the_loss() -> None:
    assert not EnhancementLoss().state_dict()
