"""The band above the model's, by itself and around models that switch with the syllables."""

from itertools import pairwise

import numpy as np
import pytest
import soxr
from numpy.typing import NDArray
from torch import Tensor, nn

import hamiltone
from hamiltone.audio.stft import STFT
from hamiltone.audio.upper_band import UpperBand
from hamiltone.models.enhancer import Enhancer
from speech import synthetic_speech

Signal = NDArray[np.float32]
RATES = [44_100, 48_000]


class Gate(nn.Module):
    """What a good model does: one where speech is, a hundredth where it is not; both in whole frames."""

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        magnitude = features[:, 1, 0]  # (B, T, F)
        loud = magnitude.square().mean(-1, keepdim=True) > 0.3 * magnitude.square().mean()
        return 0.01 + 0.99 * loud.float().expand_as(magnitude), magnitude * 0


def gate() -> Enhancer:
    return Enhancer(STFT(512, 256), Gate())


def above(signal: Signal, rate: int) -> NDArray[np.float64]:
    """What lies above 8.2 to 9.2 kHz; a steeper edge would ring."""
    edge = np.clip((np.fft.rfftfreq(len(signal), 1 / rate) - 8200) / 1000, 0, 1)
    return np.fft.irfft(np.fft.rfft(signal) * np.sin(0.5 * np.pi * edge) ** 2, len(signal))


def levels(signal: Signal, rate: int) -> NDArray[np.float64]:
    """The level there in frames of 20 ms, in dB."""
    size = rate // 50
    band = above(signal, rate)
    return 10 * np.log10(np.square(band[: len(band) // size * size].reshape(-1, size)).mean(1) + 1e-12)


def speech_without_highs(rate: int, seconds: float = 9) -> Signal:
    return soxr.resample(synthetic_speech(seconds), 16_000, rate, "VHQ").astype(np.float32)


def hiss(length: int, level: float = 0.005) -> Signal:
    return (level * np.random.default_rng(1).standard_normal(length)).astype(np.float32)


@pytest.mark.parametrize("rate", RATES)
def test_hiss_over_speech_stays_low_and_steady(rate: int) -> None:
    signal = speech_without_highs(rate)
    signal = signal + hiss(len(signal))
    before, after = levels(signal, rate), levels(hamiltone.enhance(signal, rate, model=gate()), rate)
    low, middle, high = np.percentile(after - before, (5, 50, 95))
    assert middle == pytest.approx(-40, abs=1)  # a hundredth, in pauses and in speech
    assert high - low < 3


@pytest.mark.parametrize("rate", RATES)
def test_without_the_floor_hiss_would_follow_the_syllables(rate: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Or the test above shows nothing."""
    monkeypatch.setattr(UpperBand, "gains", lambda self, gain, power, first: gain)
    signal = speech_without_highs(rate)
    signal = signal + hiss(len(signal))
    after = levels(hamiltone.enhance(signal, rate, model=gate()), rate)
    assert np.percentile(after, 95) - np.percentile(after, 5) > 30


@pytest.mark.parametrize(("rate", "noise"), [(44_100, 0.005), (48_000, 0.0), (48_000, 0.001), (48_000, 0.005)])
def test_sibilants_survive_within_a_decibel(rate: int, noise: float) -> None:
    signal = speech_without_highs(rate)
    time = np.arange(len(signal)) / rate
    spectrum = np.fft.rfft(np.random.default_rng(2).standard_normal(len(signal)))
    frequency = np.fft.rfftfreq(len(signal), 1 / rate)
    burst = np.fft.irfft(spectrum * ((frequency > 4000) & (frequency < 14_000)), len(signal))
    sibilant = (time % 0.8) < 0.12
    envelope = np.sin(np.pi * np.clip((time % 0.8) / 0.12, 0, 1)) ** 0.5
    full = (signal + 0.1 * burst / burst.std() * envelope + hiss(len(signal), noise)).astype(np.float32)
    output = hamiltone.enhance(full, rate, model=gate())
    kept = np.square(above(output, rate)[sibilant]).mean() / np.square(above(full, rate)[sibilant]).mean()
    assert 10 * np.log10(kept) == pytest.approx(0, abs=1)
    if noise:
        between = ((time % 0.8) > 0.2) & ((time % 0.8) < 0.75) & (time > 0.8)  # a stream meets its first pause there
        rest = np.square(above(output, rate)[between]).mean() / np.square(above(full, rate)[between]).mean()
        assert 10 * np.log10(rest) < -30


def upper(rate: int = 48_000) -> UpperBand:
    return UpperBand(rate, model_rate=16_000, hop=256, n_fft=512)


def tracks(frames: int = 900) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """Gains and powers of a recording, with a stretch of digital silence."""
    rng = np.random.default_rng(0)
    gain = rng.uniform(0.01, 1, frames)
    power = rng.chisquare(30, (frames, len(upper()._edges))) * rng.choice([1, 100], (frames, 1), p=[0.8, 0.2])
    power[300:320] = 0
    return gain, power


@pytest.mark.parametrize("size", [1, 7, 200])
def test_pieces_give_what_the_whole_gives(size: int) -> None:
    gain, power = tracks()
    whole = upper().gains(gain, power, 0)
    band = upper()
    cuts = [*range(0, len(gain), size), len(gain)]
    parts = [band.gains(gain[a:b], power[a:b], a) for a, b in pairwise(cuts)]
    np.testing.assert_allclose(np.concatenate(parts), whole, rtol=1e-12)


def test_pieces_may_overlap_and_the_middle_of_what_they_share_decides() -> None:
    gain, power = tracks()
    whole = upper().gains(gain, power, 0)
    band = upper()
    earlier, later = gain[:420].copy(), gain[380:].copy()
    earlier[400:], later[:20] = 0.5, 0.5  # the model lacks context at the edges
    np.testing.assert_allclose(band.gains(earlier, power[:420], 0)[:400], whole[:400])
    np.testing.assert_allclose(band.gains(later, power[380:], 380), whole[380:])


def test_pieces_must_not_leave_a_gap() -> None:
    gain, power = tracks()
    band = upper()
    band.gains(gain[:10], power[:10], 0)
    with pytest.raises(ValueError, match="begin at or before number 10, got 11"):
        band.gains(gain[11:20], power[11:20], 11)


def test_a_constant_gain_stays_as_it_is() -> None:
    _, power = tracks()
    for constant in (0.0, 0.3, 1.0):
        np.testing.assert_allclose(upper().gains(np.full(len(power), constant), power, 0), constant)


def test_digital_silence_is_no_floor() -> None:
    """From the first pause on, and after a muted stretch, hiss is known to be hiss."""
    gain = np.where(np.arange(400) % 20 < 10, 1.0, 0.01)
    power = np.random.default_rng(0).chisquare(60, (400, len(upper()._edges)))
    power[200:230] = 0
    assert upper().gains(gain, power, 0)[np.r_[20:200, 230:400]].max() < 0.02


@pytest.mark.parametrize("rate", [*RATES, 44_101])
def test_the_first_frame_is_no_floor(rate: int) -> None:
    """Half of it lies before the signal, or at odd lengths a little less."""
    band, samples = upper(rate), hiss(5 * rate)
    powers = band.powers(samples, range(8))
    assert not powers[0].any()
    assert powers[1:].all()


def test_a_stream_is_as_steady(monkeypatch: pytest.MonkeyPatch) -> None:
    rate = 48_000
    signal = speech_without_highs(rate, 6) + hiss(6 * rate)
    spread = {}
    for name in ("floor", "none"):
        if name == "none":
            monkeypatch.setattr(UpperBand, "gains", lambda self, gain, power, first: gain)
        stream = hamiltone.Stream(rate)
        output = np.concatenate([stream.process(signal), stream.flush()])[stream.latency :]
        after = levels(output, rate)[50:]
        spread[name] = np.percentile(after, 95)
    assert spread["floor"] < -75
    assert spread["none"] > spread["floor"] + 15
