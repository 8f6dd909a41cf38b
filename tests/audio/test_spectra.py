import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from hamiltone.audio.spectra import fast_length, istft, stft
from hamiltone.audio.stft import STFT
from sounds import noise


@pytest.mark.parametrize(("n_fft", "hop"), [(400, 100), (512, 256), (512, 200)])
@pytest.mark.parametrize("length", [1, 99, 100, 257, 5000])
def test_both_transforms_are_those_of_torch(n_fft: int, hop: int, length: int) -> None:
    transform, signal = STFT(n_fft, hop), noise(2, length, level=1.0)
    expected = transform(torch.from_numpy(signal))
    spectrum = stft(signal, n_fft, hop)
    assert spectrum.dtype == np.complex64
    np.testing.assert_allclose(spectrum, expected.numpy(), atol=2e-5)
    gain = np.exp(1j * noise(*spectrum.shape, level=1.0, seed=1)).astype(np.complex64)
    filtered = transform.inverse(expected * torch.from_numpy(gain), length).numpy()
    np.testing.assert_allclose(istft(spectrum * gain, n_fft, hop, length), filtered, atol=1e-5)


@pytest.mark.parametrize(("n_fft", "hop"), [(400, 100), (512, 256), (512, 200)])
def test_inverse_is_exact_for_every_length(n_fft: int, hop: int) -> None:
    signal = noise(1, 1200, level=1.0)
    for length in range(1, 1201):
        waveform = signal[:, :length]
        inverse = istft(stft(waveform, n_fft, hop), n_fft, hop, length)
        assert inverse.shape == waveform.shape
        assert np.abs(inverse - waveform).max() < 1e-5


@given(st.integers(1, 200_000))
def test_fast_length_is_the_next_product_of_two_three_and_five(length: int) -> None:
    size = fast_length(length)
    assert size >= length

    def smooth(number: int) -> bool:
        for prime in (2, 3, 5):
            while number % prime == 0:
                number //= prime
        return number == 1

    assert smooth(size)
    assert not any(smooth(number) for number in range(length, size))
