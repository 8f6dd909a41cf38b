import math

import torch

from hamiltone.losses import rms_loss


def test_rms_is_eq_71() -> None:
    estimate, target = torch.randn(2, 3, 50, dtype=torch.float64)
    by_hand = 0.0
    for estimated, true in zip(estimate.tolist(), target.tolist(), strict=True):
        by_hand += math.sqrt(sum((e - t) ** 2 for e, t in zip(estimated, true, strict=True)) / 50) / 3
    torch.testing.assert_close(rms_loss(estimate, target), torch.tensor(by_hand, dtype=torch.float64))


def test_gradient_vanishes_at_a_perfect_estimate() -> None:
    estimate = torch.randn(1, 50).requires_grad_()
    rms_loss(estimate, estimate.detach()).backward()
    assert estimate.grad is not None and not estimate.grad.any()
