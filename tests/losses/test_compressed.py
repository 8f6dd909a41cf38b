import pytest
import torch

from hamiltone.audio.stft import STFT
from hamiltone.losses.compressed import compressed_spectrum_loss


def test_the_loss_is_its_definition():
    estimate, target = torch.randn(2, 3000), torch.randn(2, 3000)
    spectra = [STFT(512, 256)(x) for x in (estimate, target)]
    magnitudes = [spectrum.abs() ** 0.3 for spectrum in spectra]
    compressed = [torch.polar(m, s.angle()) for m, s in zip(magnitudes, spectra, strict=True)]
    expected = 0.7 * (magnitudes[0] - magnitudes[1]).square().mean()
    expected += 0.3 * (compressed[0] - compressed[1]).abs().square().mean()
    assert compressed_spectrum_loss(estimate, target) == pytest.approx(expected.item(), rel=1e-4)


def test_a_wrong_phase_costs_though_the_magnitudes_agree():
    target = torch.randn(1, 3000)
    assert compressed_spectrum_loss(target, target) == 0
    assert compressed_spectrum_loss(-target, target) > 0.3


@pytest.mark.parametrize("scale", [0.0, 1e-6, 1.0, 100.0])
def test_the_gradient_is_finite(scale):
    estimate = (scale * torch.randn(1, 700)).requires_grad_()
    compressed_spectrum_loss(estimate, torch.zeros(1, 700)).backward()
    assert estimate.grad.isfinite().all()


def test_half_precision_is_widened():
    estimate, target = torch.randn(1, 700).bfloat16(), torch.randn(1, 700)
    assert compressed_spectrum_loss(estimate, target).dtype == torch.float32
