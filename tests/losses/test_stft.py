import numpy as np
import pytest
import torch

from hamiltone.losses import complex_l1_loss, multi_resolution_stft_loss


def literal_spectrum(waveform: np.ndarray, n_fft: int, hop: int) -> np.ndarray:
    """Frame by frame: a periodic Hann window, zeros beyond both ends."""
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(n_fft) / n_fft)
    frames = -(-len(waveform) // hop) + 1
    padded = np.concatenate([np.zeros(n_fft // 2), waveform, np.zeros(n_fft + hop)])
    return np.array([np.fft.rfft(window * padded[t * hop : t * hop + n_fft]) for t in range(frames)])


@pytest.mark.parametrize("length", [300, 3000])
def test_complex_l1_is_eq_72_as_a_mean(length: int) -> None:
    estimate, target = torch.randn(2, 1, length, dtype=torch.float64)
    error = literal_spectrum(estimate[0].numpy(), 400, 100) - literal_spectrum(target[0].numpy(), 400, 100)
    by_hand = np.abs(error.real).mean() + np.abs(error.imag).mean()
    # the window of the transform is computed in float32
    assert complex_l1_loss(estimate, target).item() == pytest.approx(by_hand, rel=1e-6)


@pytest.mark.parametrize("length", [300, 3000])
def test_magnitude_loss_is_convergence_plus_log_distance_averaged_over_three_sizes(length: int) -> None:
    estimate, target = torch.randn(2, 1, length, dtype=torch.float64)
    distances = []
    for size in (512, 1024, 2048):
        estimated, true = (np.abs(literal_spectrum(x[0].numpy(), size, size // 4)) for x in (estimate, target))
        convergence = np.linalg.norm(true - estimated) / np.linalg.norm(true)
        distances.append(convergence + np.abs(np.log(true) - np.log(estimated)).mean())
    assert multi_resolution_stft_loss(estimate, target).item() == pytest.approx(np.mean(distances), rel=1e-4)


def test_a_silent_target_leaves_the_log_distance_only() -> None:
    estimate = 0.1 * torch.randn(1, 8000)
    assert multi_resolution_stft_loss(estimate, torch.zeros_like(estimate)) < 20
