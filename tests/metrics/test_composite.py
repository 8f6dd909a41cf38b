"""LLR and WSS against Loizou's formulas, frame by frame and band by band."""

import math

import numpy as np
import pytest

from hamiltone.metrics import cbak, covl, csig, log_likelihood_ratio, weighted_slope
from hamiltone.metrics.checks import UndefinedScoreError
from hamiltone.metrics.composite import _CENTRE, _WIDTH
from speech import RATE, Waveform, mix, synthetic_speech, voicebank_pairs

SPEECH = synthetic_speech(0.25)
NOISY = mix(SPEECH, np.random.default_rng(0).standard_normal(len(SPEECH)), 10.0)


def literal_frames(waveform: Waveform, rate: int) -> list[Waveform]:
    length = rate * 30 // 1000
    hop = length // 4
    window = np.array([0.5 * (1 - math.cos(2 * math.pi * (n + 1) / (length + 1))) for n in range(length)])
    return [window * waveform[start : start + length] for start in range(0, len(waveform) - length - hop + 1, hop)]


def mean_of_best(distances: list[float]) -> float:
    return float(np.mean(sorted(distances)[: math.floor(0.95 * len(distances) + 0.5)]))


@pytest.mark.parametrize(("rate", "order"), [(8000, 10), (RATE, 16)])
def test_llr_compares_the_residuals_of_two_predictors(rate: int, order: int) -> None:
    distances = []
    for estimate, target in zip(literal_frames(NOISY, rate), literal_frames(SPEECH, rate), strict=True):
        residuals = []
        matrices = []
        for frame in (estimate, target):
            lags = np.correlate(frame, frame, "full")[len(frame) - 1 :][: order + 1]
            matrices.append(np.array([[lags[abs(i - j)] for j in range(order + 1)] for i in range(order + 1)]))
        for matrix in matrices:  # the normal equations, instead of a recursion
            predictor = np.concatenate([[1.0], -np.linalg.solve(matrix[1:, 1:], matrix[1:, 0])])
            residuals.append(predictor @ matrices[1] @ predictor)
        distances.append(math.log(residuals[0] / residuals[1]))
    assert log_likelihood_ratio(NOISY, SPEECH, rate) == pytest.approx(mean_of_best(distances), rel=1e-5)


def literal_energies(frame: Waveform, rate: int) -> list[float]:
    size = 2 ** math.ceil(math.log2(2 * len(frame)))
    power = np.abs(np.fft.fft(frame, size)) ** 2
    energies = []
    for centre, width in zip(_CENTRE, _WIDTH, strict=True):
        middle, spread = centre / (rate / 2) * (size / 2), width / (rate / 2) * (size / 2)
        total = 0.0
        for j in range(size // 2):
            gain = math.exp(-11 * ((j - math.floor(middle)) / spread) ** 2 + math.log(70.0) - math.log(width))
            total += power[j] * gain if gain > math.exp(-30 / (2 * 2.303)) else 0.0
        energies.append(10 * math.log10(max(total, 1e-10)))
    return energies


def literal_weights(energy: list[float]) -> list[float]:
    """The search for the nearest peak as the original has it, counting bands from 1."""
    slope = [0.0] + [energy[i + 1] - energy[i] for i in range(24)]
    weights = []
    for i in range(1, 25):
        n = i
        if slope[i] > 0:
            while n < 25 and slope[n] > 0:
                n += 1
            peak = energy[n - 2]
        else:
            while n > 0 and slope[n] <= 0:
                n -= 1
            peak = energy[n]
        weights.append(20 / (20 + max(energy) - energy[i - 1]) * (1 / (1 + peak - energy[i - 1])))
    return weights


@pytest.mark.parametrize("rate", [8000, RATE])
def test_wss_weighs_slopes_near_peaks(rate: int) -> None:
    distances = []
    for estimate, target in zip(literal_frames(NOISY, rate), literal_frames(SPEECH, rate), strict=True):
        energies = literal_energies(estimate, rate), literal_energies(target, rate)
        weights = [(a + b) / 2 for a, b in zip(*map(literal_weights, energies), strict=True)]
        slopes = [np.diff(energy) for energy in energies]
        distances.append(sum(w * d**2 for w, d in zip(weights, slopes[0] - slopes[1], strict=True)) / sum(weights))
    assert weighted_slope(NOISY, SPEECH, rate) == pytest.approx(mean_of_best(distances), rel=1e-6)


def test_ratings_are_the_published_sums() -> None:
    assert csig(2.0, 0.6, 34.0) == pytest.approx(3.093 - 1.029 * 0.6 + 0.603 * 2.0 - 0.009 * 34.0)
    assert cbak(2.0, 34.0, 1.7) == pytest.approx(1.634 + 0.478 * 2.0 - 0.007 * 34.0 + 0.063 * 1.7)
    assert covl(2.0, 0.6, 34.0) == pytest.approx(1.594 + 0.805 * 2.0 - 0.512 * 0.6 - 0.007 * 34.0)


def test_ratings_stay_between_1_and_5() -> None:
    assert csig(4.64, 0.0, 0.0) == cbak(4.64, 0.0, 35.0) == 5.0
    assert csig(1.0, 9.0, 200.0) == cbak(1.0, 200.0, -10.0) == covl(1.0, 9.0, 200.0) == 1.0


def test_a_perfect_estimate_has_no_distance() -> None:
    assert log_likelihood_ratio(SPEECH, SPEECH, RATE) == 0
    assert weighted_slope(SPEECH, SPEECH, RATE) == 0


@pytest.mark.parametrize("kind", ["gap in the estimate", "gap in the target", "tone", "constant", "clicks", "silence"])
def test_distances_are_finite_where_a_predictor_degenerates(kind: str) -> None:
    gap = np.where(np.arange(len(SPEECH)) % 3000 < 1500, 0.0, SPEECH)
    tone, clicks = np.sin(0.3 * np.arange(len(SPEECH))), np.where(np.arange(len(SPEECH)) % 1000, 0.0, 1.0)
    pairs = {
        "gap in the estimate": (gap, SPEECH),
        "gap in the target": (SPEECH, gap),
        "tone": (SPEECH, tone),
        "constant": (SPEECH, np.ones_like(SPEECH)),
        "clicks": (clicks, tone),
        "silence": (np.zeros_like(SPEECH), SPEECH),
    }
    assert np.isfinite(log_likelihood_ratio(*pairs[kind], RATE))
    assert np.isfinite(weighted_slope(*pairs[kind], RATE))


def test_signals_without_a_frame_have_no_score() -> None:
    with pytest.raises(UndefinedScoreError, match="shorter than two frames"):
        log_likelihood_ratio(SPEECH[:500], SPEECH[:500], RATE)


def test_real_speech_has_distances_of_the_known_size() -> None:
    """Over the whole VoiceBank test set the mean LLR is 0.61 and the mean WSS 34."""
    pairs = voicebank_pairs(24)
    assert 0.4 < np.mean([log_likelihood_ratio(noisy, clean, RATE) for clean, noisy in pairs]) < 0.9
    assert 25 < np.mean([weighted_slope(noisy, clean, RATE) for clean, noisy in pairs]) < 45
