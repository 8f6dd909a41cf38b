import numpy as np
import torch

from hamiltone.audio.stft import STFT
from hamiltone.runtime.frames import Frames
from hamiltone.runtime.times import Times

NOISE = np.random.default_rng(0).standard_normal((2, 40 * 64)).astype(np.float32)


def test_frames_are_those_of_the_stft():
    stft, frames = STFT(128, 64), Frames(128, 2)
    expected = stft(torch.from_numpy(NOISE)).numpy()  # (2, T, F)
    for number, hop in enumerate(np.split(NOISE, 40, axis=1)):
        np.testing.assert_allclose(frames.analyse(hop), expected[:, number], atol=2e-5)


def test_filtered_frames_add_up_as_in_the_inverse_stft():
    stft, frames = STFT(128, 64), Frames(128, 2)
    rng = np.random.default_rng(1)
    gain = (rng.standard_normal((2, 41, 65)) + 1j * rng.standard_normal((2, 41, 65))).astype(np.complex64)
    expected = stft.inverse(stft(torch.from_numpy(NOISE)) * torch.from_numpy(gain), NOISE.shape[1]).numpy()
    hops = [*np.split(NOISE, 40, axis=1), np.zeros((2, 64), np.float32)]
    result = [frames.synthesise(frames.analyse(hop) * gain[:, number]) for number, hop in enumerate(hops)]
    np.testing.assert_allclose(np.concatenate(result[1:], 1), expected, atol=2e-5)


def test_percentiles_are_right_to_a_hundredth():
    durations = np.random.default_rng(3).lognormal(-6, 1, 5000)
    times = Times()
    assert times.percentile(50) == 0
    for duration in durations:
        times.add(duration)
    for percent in (1, 50, 95, 99):
        exact = np.percentile(durations, percent, method="inverted_cdf")
        np.testing.assert_allclose(times.percentile(percent), exact, rtol=0.012)
    assert times.longest == durations.max() >= times.percentile(100)
