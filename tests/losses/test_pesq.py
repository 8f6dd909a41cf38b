"""The PESQ loss against the ITU's own program in the `pesq` package."""

import numpy as np
import pytest
import torch
from torch import Tensor

from hamiltone.audio.stft import STFT
from hamiltone.losses import PESQLoss, pesq_loss, pesq_mos
from hamiltone.losses.bark import bark_bands
from hamiltone.losses.pesq import active_frames, band_powers, loudness
from speech import RATE, SNRS, Waveform, mix, noises, rank_correlation, synthetic_speech, voicebank_pairs


def batch(*waveforms: Waveform) -> Tensor:
    return torch.from_numpy(np.stack(waveforms)).float()


def reference_mos(estimate: Waveform, target: Waveform) -> float:
    package = pytest.importorskip("pesq", reason='needs the reference: pip install "hamiltone[metrics]"')
    return float(package.pesq(RATE, target, estimate, "wb"))


def check_ranking(estimates: list[Waveform], targets: list[Waveform]) -> None:
    """Same order as the reference, and nearly the same score."""
    ours = [
        pesq_mos(batch(estimate), batch(target)).item() for estimate, target in zip(estimates, targets, strict=True)
    ]
    theirs = [reference_mos(estimate, target) for estimate, target in zip(estimates, targets, strict=True)]
    assert rank_correlation(ours, theirs) > 0.98
    assert np.abs(np.subtract(ours, theirs)).mean() < 0.02


def test_synthetic_speech_is_ranked_as_by_the_reference_over_six_noises_and_four_snrs() -> None:
    target = synthetic_speech(1.5)
    kinds = noises(target, [synthetic_speech(1.5, seed) for seed in range(1, 7)])
    estimates = [mix(target, noise, snr) for noise in kinds.values() for snr in SNRS[::2]]
    check_ranking(estimates, [target] * len(estimates))


def test_real_speech_is_ranked_as_by_the_reference_over_six_noises_and_eight_snrs() -> None:
    pairs = sorted(voicebank_pairs(24), key=lambda pair: len(pair[0]))
    others = [clean for clean, _ in pairs[6:12]]
    estimates, targets = [], []
    # every noise has an utterance of its own
    kinds = ("white", "pink", "babble", "modulated", "clicks", "real")
    for kind, (clean, noisy) in zip(kinds, pairs, strict=False):
        noise = noisy - clean if kind == "real" else noises(clean, others)[kind]
        estimates += [mix(clean, noise, snr) for snr in SNRS]
        targets += [clean] * len(SNRS)
    check_ranking(estimates, targets)


def test_artefacts_of_processing_are_ranked_as_by_the_reference() -> None:
    (clean, noisy), *_ = voicebank_pairs(1)
    peak = np.abs(clean).max()
    spectrum = np.fft.rfft(clean)
    frequency = np.fft.rfftfreq(len(clean), 1 / RATE)
    estimates = [np.clip(clean, -share * peak, share * peak) for share in (0.05, 0.1, 0.2, 0.4)]
    estimates += [np.fft.irfft(spectrum * (frequency < edge), len(clean)) for edge in (2000, 3000, 4000, 6000)]
    estimates += [spectral_subtraction(noisy, strength) for strength in (0.5, 1.0, 2.0, 3.0)]
    check_ranking(estimates, [clean] * len(estimates))


def spectral_subtraction(noisy: Waveform, strength: float) -> Waveform:
    """Leaves musical noise, the more the stronger it subtracts; the noise is taken from the first quarter second."""
    stft = STFT(512, 128).double()
    spectrum = stft(torch.from_numpy(noisy)[None])
    noise = spectrum[:, :32].abs().square().mean(1, keepdim=True).sqrt()
    gain = (1 - strength * noise / (spectrum.abs() + 1e-9)).clamp(min=0.02)
    return stft.inverse(spectrum * gain, len(noisy))[0].numpy()


@pytest.mark.parametrize("real", [False, True])
def test_descending_the_loss_raises_the_score_of_the_reference(real: bool) -> None:
    """A loss that could be gamed would fall while the reference stays."""
    speech = synthetic_speech(1.5)
    clean, noisy = voicebank_pairs(4)[3] if real else (speech, mix(speech, noises(speech, [speech])["pink"], 5.0))
    target, stft = batch(clean), STFT(512, 128)
    spectrum = stft(batch(noisy))
    mask = torch.full(spectrum.shape, 2.0, requires_grad=True)
    optimiser = torch.optim.Adam([mask], lr=0.3)
    for _ in range(25):
        estimate = stft.inverse(spectrum * mask.sigmoid(), len(clean))
        optimiser.zero_grad()
        pesq_loss(estimate, target).backward()
        optimiser.step()
    assert reference_mos(estimate[0].detach().numpy(), clean) > reference_mos(noisy, clean) + 0.7


def test_a_perfect_estimate_has_the_best_score() -> None:
    target = batch(synthetic_speech(1.0))
    assert pesq_loss(target, target) == 0
    assert pesq_mos(target, target).item() == pytest.approx(4.644, abs=1e-3)


def test_level_and_sign_do_not_matter() -> None:
    target = batch(synthetic_speech(1.0))
    estimate = target + 0.01 * torch.randn_like(target)
    expected = pesq_mos(estimate, target)
    torch.testing.assert_close(pesq_mos(-0.01 * estimate, target), expected, rtol=1e-3, atol=0)
    torch.testing.assert_close(pesq_mos(100 * estimate, 0.1 * target), expected, rtol=1e-3, atol=0)


def test_noise_before_and_after_the_speech_is_not_heard() -> None:
    speech, silence = synthetic_speech(1.0), np.zeros(RATE)
    target = np.concatenate([silence, speech, silence])
    noise = 0.005 * np.random.default_rng(0).standard_normal(len(target))
    near = np.concatenate([silence[600:], np.ones(RATE + 1200), silence[600:]])  # a frame on either side is still heard
    everywhere = pesq_mos(batch(target + noise), batch(target))
    torch.testing.assert_close(everywhere, pesq_mos(batch(target + near * noise), batch(target)), rtol=0.05, atol=0)
    assert everywhere < 3


def test_active_frames_lie_between_the_silences() -> None:
    waveform = torch.zeros(2, 20 * 256)
    waveform[0, 5 * 256 : 15 * 256] = 1e4
    first, last = active_frames(waveform)
    assert first.tolist() == [4, 0] and last.tolist() == [14, 19]  # five samples are enough, so one frame early


def test_a_tone_of_1_khz_and_40_db_is_one_sone() -> None:
    """The calibration of the standard: a sine of amplitude 29.54."""
    bark = bark_bands()
    tone = 29.54 * torch.sin(2 * torch.pi * 1000 / RATE * torch.arange(RATE, dtype=torch.float64))[None]
    power = band_powers(tone, bark)[:, 10:20]
    assert power.amax(-1).mean().item() == pytest.approx(1e4, rel=0.01)
    assert (loudness(power, bark) * bark.width).sum(-1).mean().item() == pytest.approx(1.0, rel=0.01)


def test_nothing_is_heard_below_the_threshold_of_hearing() -> None:
    bark = bark_bands()
    assert not loudness(0.99 * bark.threshold, bark).any()
    assert (loudness(1.01 * bark.threshold, bark) > 0).all()


def test_the_module_is_the_function() -> None:
    target = batch(synthetic_speech(1.0), synthetic_speech(1.0, 1))
    estimate = target + 0.01 * torch.randn_like(target)
    torch.testing.assert_close(PESQLoss()(estimate, target), pesq_loss(estimate, target))
