"""Predicted ratings of signal, background and overall quality (Hu and Loizou, 2008), from PESQ, LLR, WSS and SSNR.

The coefficients were fitted to narrowband PESQ; it is customary to use WB-PESQ at 16 kHz, as here.
"""

import numpy as np
from numpy.typing import ArrayLike

from hamiltone.metrics.checks import Waveform, as_pair
from hamiltone.metrics.framing import cut_frames

_BEST = 0.95  # the share of frames that counts; the worst are outliers
_EPS = np.finfo(np.float64).eps

# Klatt's 25 critical bands: centre and width in Hz
_CENTRE = (
    *(50.0, 120.0, 190.0, 260.0, 330.0, 400.0, 470.0, 540.0, 617.372, 703.378, 798.717, 904.128, 1020.38),
    *(1148.30, 1288.72, 1442.54, 1610.70, 1794.16, 1993.93, 2211.08, 2446.71, 2701.97, 2978.04, 3276.17, 3597.63),
)
_WIDTH = (
    *(70.0, 70.0, 70.0, 70.0, 70.0, 70.0, 70.0, 77.3724, 86.0056, 95.3398, 105.411, 116.256, 127.914),
    *(140.423, 153.823, 168.154, 183.457, 199.776, 217.153, 235.631, 255.255, 276.072, 298.126, 321.465, 346.136),
)


def csig(pesq: float, llr: float, wss: float) -> float:
    """Predicted rating of the speech signal, 1 to 5."""
    return _rating(3.093 - 1.029 * llr + 0.603 * pesq - 0.009 * wss)


def cbak(pesq: float, wss: float, ssnr: float) -> float:
    """Predicted rating of the background, 1 to 5."""
    return _rating(1.634 + 0.478 * pesq - 0.007 * wss + 0.063 * ssnr)


def covl(pesq: float, llr: float, wss: float) -> float:
    """Predicted rating of the whole, 1 to 5."""
    return _rating(1.594 + 0.805 * pesq - 0.512 * llr - 0.007 * wss)


def log_likelihood_ratio(estimate: ArrayLike, target: ArrayLike, sample_rate: int) -> float:
    """How much worse the estimate's linear predictor fits the target than the target's own; 0 is perfect.

    By definition blind to the level of either signal and to the sign. Unlike Loizou's stand-alone LLR, the one inside
    his composite measures does not cap a frame at 2; published scores use the latter.

    Shape:
        estimate, target: ``(L,)``
    """
    order = 10 if sample_rate < 10_000 else 16
    correlation_estimate, correlation_target = (
        _autocorrelation(cut_frames(x + _EPS, sample_rate), order) for x in as_pair(estimate, target)
    )
    lag = np.abs(np.subtract.outer(np.arange(order + 1), np.arange(order + 1)))
    matrix = correlation_target[:, lag]  # (T, order + 1, order + 1), Toeplitz

    def residual(predictor: Waveform) -> Waveform:
        energy = np.einsum("tp,tpq,tq->t", predictor, matrix, predictor)
        return np.maximum(energy, _EPS * correlation_target[:, 0])  # what is left of a pure tone is rounding

    ratio = residual(_predictor(correlation_estimate)) / residual(_predictor(correlation_target))
    return _mean_of_best(np.log(ratio))


def weighted_slope(estimate: ArrayLike, target: ArrayLike, sample_rate: int) -> float:
    """Klatt's distance of spectral slopes in critical bands, weighted towards peaks; 0 is perfect.

    By definition blind to the level of either signal and to the sign, while no band falls under -100 dB.

    Shape:
        estimate, target: ``(L,)``
    """
    energy_estimate, energy_target = (_band_energies(x + _EPS, sample_rate) for x in as_pair(estimate, target))
    weight = (_slope_weights(energy_estimate) + _slope_weights(energy_target)) / 2
    difference = np.diff(energy_estimate) - np.diff(energy_target)
    return _mean_of_best((weight * difference**2).sum(-1) / weight.sum(-1))


def _rating(value: float) -> float:
    return float(np.clip(value, 1.0, 5.0))


def _mean_of_best(distances: Waveform) -> float:
    return float(np.sort(distances)[: int(_BEST * len(distances) + 0.5)].mean())


def _autocorrelation(framed: Waveform, order: int) -> Waveform:
    """Lags 0 to `order` of each frame: ``(T, N)`` to ``(T, order + 1)``."""
    length = framed.shape[1]
    lags = [np.einsum("tn,tn->t", framed[:, : length - lag], framed[:, lag:]) for lag in range(order + 1)]
    return np.stack(lags, axis=-1)


def _predictor(correlation: Waveform) -> Waveform:
    """Coefficients of the prediction error by the Levinson-Durbin recursion; ``(T, order + 1)`` to the same."""
    predictor = np.zeros_like(correlation)
    predictor[:, 0] = 1.0
    error = correlation[:, 0]
    for order in range(1, correlation.shape[1]):
        reflection = -(predictor[:, :order] * correlation[:, order:0:-1]).sum(-1) / error
        predictor[:, 1 : order + 1] += reflection[:, None] * predictor[:, order - 1 :: -1][:, :order]
        error = np.maximum(error * (1.0 - reflection**2), _EPS * correlation[:, 0])
    return predictor


def _critical_filters(size: int, sample_rate: int) -> Waveform:
    """Gaussian filters over the bins of an FFT, cut at -30 dB: ``(25, size / 2)``."""
    bins_per_hertz = size / sample_rate
    centre, width = np.array(_CENTRE), np.array(_WIDTH)
    distance = np.arange(size // 2) - np.floor(centre * bins_per_hertz)[:, None]
    gain = np.exp(-11.0 * (distance / (width * bins_per_hertz)[:, None]) ** 2) * (width.min() / width)[:, None]
    return np.where(gain > np.exp(-30.0 / (2 * 2.303)), gain, 0.0)


def _band_energies(waveform: Waveform, sample_rate: int) -> Waveform:
    """Energies in dB of the critical bands: ``(L,)`` to ``(T, 25)``."""
    framed = cut_frames(waveform, sample_rate)
    size = 2 ** int(np.ceil(np.log2(2 * framed.shape[1])))
    power = np.abs(np.fft.rfft(framed, size)[:, :-1]) ** 2
    return 10 * np.log10(np.maximum(power @ _critical_filters(size, sample_rate).T, 1e-10))


def _slope_weights(energy: Waveform) -> Waveform:
    """Klatt's weights, larger near the highest band and near the closest peak: ``(T, 25)`` to ``(T, 24)``."""
    rising = np.diff(energy) > 0
    band = energy[:, :-1]
    # A rising slope climbs to the right, a falling one to the left. On the right the original stops one band short of
    # the peak; published scores depend on it.
    peak = band.copy()
    for i in range(band.shape[1] - 2, -1, -1):
        peak[:, i] = np.where(rising[:, i] & rising[:, i + 1], peak[:, i + 1], peak[:, i])
    for i in range(1, band.shape[1]):
        peak[:, i] = np.where(~rising[:, i] & ~rising[:, i - 1], peak[:, i - 1], peak[:, i])
    highest = energy.max(-1, keepdims=True)
    return 20.0 / (20.0 + highest - band) * (1.0 / (1.0 + peak - band))
