import math

import pytest
import torch

from hamiltone.losses import sisdr_loss


def literal_sisdr(estimate: list[float], target: list[float]) -> float:
    """Straight from Le Roux et al., sample by sample."""
    product = sum(e * t for e, t in zip(estimate, target, strict=True))
    scale = product / sum(t * t for t in target)
    speech = sum((scale * t) ** 2 for t in target)
    distortion = sum((e - scale * t) ** 2 for e, t in zip(estimate, target, strict=True))
    return 10 * math.log10(speech / distortion)


@pytest.mark.parametrize("noise", [0.01, 0.1, 1.0, 10.0])
def test_loss_is_the_negative_ratio(noise: float) -> None:
    target = torch.randn(2, 200, dtype=torch.float64)
    estimate = 0.7 * target + noise * torch.randn_like(target)
    by_hand = -sum(literal_sisdr(*pair) for pair in zip(estimate.tolist(), target.tolist(), strict=True)) / 2
    assert sisdr_loss(estimate, target).item() == pytest.approx(by_hand, abs=0.03)


@pytest.mark.parametrize("scale", [1e-3, 0.5, 1e4, -1.0])
def test_scale_of_either_signal_does_not_matter(scale: float) -> None:
    target = 0.1 * torch.randn(2, 2000)
    estimate = target + 0.03 * torch.randn_like(target)
    expected = sisdr_loss(estimate, target)
    torch.testing.assert_close(sisdr_loss(scale * estimate, target), expected, rtol=0, atol=0.01)
    torch.testing.assert_close(sisdr_loss(estimate, scale * target), expected, rtol=0, atol=0.01)


def test_a_constant_offset_is_distortion() -> None:
    target = torch.randn(1, 2000)
    assert sisdr_loss(target + 0.1, target) == pytest.approx(-20.0, abs=0.5)


def test_the_perfect_estimate_reaches_the_bound_and_silence_the_other() -> None:
    target = 0.1 * torch.randn(2, 2000)
    assert sisdr_loss(target, target) == pytest.approx(-60.0, abs=0.01)
    assert sisdr_loss(torch.zeros_like(target), target) == pytest.approx(60.0, abs=0.01)


def test_a_silent_target_counts_as_nothing() -> None:
    target = torch.randn(2, 2000) * torch.tensor([[1.0], [0.0]])
    estimate = (target + 0.1 * torch.randn_like(target)).requires_grad_()
    loss = sisdr_loss(estimate, target)
    loss.backward()
    torch.testing.assert_close(loss, sisdr_loss(estimate[:1], target[:1]) / 2)
    assert estimate.grad is not None and estimate.grad[0].any() and not estimate.grad[1].any()
