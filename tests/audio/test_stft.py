from collections.abc import Iterator

import numpy as np
import pytest
import torch

from hamiltone.audio.stft import STFT


@pytest.fixture(autouse=True)
def one_thread() -> Iterator[None]:
    """Thousands of tiny transforms: waking threads would take longer than the work."""
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(threads)


@pytest.mark.parametrize(("n_fft", "hop"), [(400, 100), (512, 256)])
def test_inverse_is_exact_for_every_length(n_fft: int, hop: int) -> None:
    stft = STFT(n_fft, hop)
    signal = torch.randn(1, 2100)
    for length in range(1, 2101):
        waveform = signal[:, :length]
        spectrum = stft(waveform)
        assert spectrum.shape == (1, -(-length // hop) + 1, stft.bins)
        inverse = stft.inverse(spectrum, length)
        assert inverse.shape == waveform.shape
        assert (inverse - waveform).abs().max() < 1e-5


def test_a_frame_is_the_fourier_transform_under_a_periodic_hann_window() -> None:
    waveform = torch.randn(1, 1000)
    spectrum = STFT(400, 100)(waveform)[0]
    window = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(400) / 400)
    padded = np.pad(waveform[0].numpy(), 200)
    for number in range(11):
        frame = np.fft.rfft(window * padded[100 * number : 100 * number + 400])
        np.testing.assert_allclose(spectrum[number].numpy(), frame, atol=1e-4)


def test_frames_of_a_later_start_are_frames_of_the_whole() -> None:
    stft = STFT(512, 256)
    waveform = torch.randn(1, 16_000)
    later = stft(waveform[:, 10 * 256 :])
    torch.testing.assert_close(later[:, 1:], stft(waveform)[:, 11:])  # its first frame still reaches before the start


@pytest.mark.parametrize(("n_fft", "hop"), [(401, 100), (400, 201), (400, 0)])
def test_frames_that_cannot_be_inverted_are_refused(n_fft: int, hop: int) -> None:
    with pytest.raises(ValueError, match="even n_fft and a hop of at most half"):
        STFT(n_fft, hop)
