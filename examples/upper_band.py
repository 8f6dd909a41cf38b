"""How steady the band above 8 kHz stays when hiss is added to speech that has nothing there.

    python examples/upper_band.py CLEAN [--model NAME|FILE] [--files N]

CLEAN is a folder of clean speech at 16 kHz, such as VoiceBank's. It is resampled to 44.1 and 48 kHz, where it has
nothing above 8 kHz, and white noise is added, -43 dB of it above 8 kHz. The script prints the 5th, 50th and 95th
percentile of the level there in frames of 20 ms: of the input, of the result if the band simply followed the model's
gain in the octave below ("before"), and of the actual result; for recordings and for streams. The last column is the
change in level of bursts of noise from 4 to 12 kHz, 100 ms long and 25 dB above the hiss above 8 kHz, which stand in
for sibilants.
"""

import argparse
from collections.abc import Callable
from pathlib import Path
from unittest.mock import patch

import numpy as np
import soundfile
import soxr
from numpy.typing import NDArray

import hamiltone
from hamiltone.audio.upper_band import UpperBand

Signal = NDArray[np.float32]
MODEL_RATE = 16_000
HISS_DB = -43.0
BURST_DB = HISS_DB + 25


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("clean", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--files", type=int, default=4)
    options = parser.parse_args()
    paths = sorted(options.clean.iterdir())
    chosen = paths[:: max(1, len(paths) // options.files)][: options.files]
    speech = np.concatenate([soundfile.read(path, dtype="float32")[0] for path in chosen])

    def whole(signal: Signal, rate: int) -> Signal:
        return hamiltone.enhance(signal, rate, model=options.model)

    ways: dict[str, Callable[[Signal, int], Signal]] = {
        "input": lambda signal, rate: signal,
        "before": lambda signal, rate: followed(whole, signal, rate),
        "after": whole,
        "before (live)": lambda signal, rate: followed(live, signal, rate),
        "after (live)": live,
    }
    print("| rate | signal | 5 % | 50 % | 95 % | bursts |\n|---|---|---|---|---|---|")
    for rate in (44_100, 48_000):
        upsampled = soxr.resample(speech, MODEL_RATE, rate, "VHQ")
        hiss = upsampled + white(len(upsampled), rate)
        sibilants, places = bursts(upsampled, rate)
        for name, process in ways.items():
            low, middle, high = np.percentile(levels(process(hiss, rate), rate), (5, 50, 95))
            kept = level_at(process(hiss + sibilants, rate), places, rate) - level_at(hiss + sibilants, places, rate)
            print(f"| {rate} | {name} | {low:.1f} dB | {middle:.1f} dB | {high:.1f} dB | {kept:+.1f} dB |")


def followed(process: Callable[[Signal, int], Signal], signal: Signal, rate: int) -> Signal:
    """Process a signal as if the upper band followed the gain in the octave below."""
    with patch.object(UpperBand, "gains", lambda self, gain, power, first: gain):
        return process(signal, rate)


def live(signal: Signal, rate: int) -> Signal:
    """A signal through the model for streams, without its delay."""
    stream = hamiltone.Stream(rate)
    return np.concatenate([stream.process(signal), stream.flush()])[stream.latency :]


def white(length: int, rate: int) -> Signal:
    """White noise of `HISS_DB` above 8 kHz."""
    share = 1 - MODEL_RATE / rate
    noise = np.random.default_rng(0).standard_normal(length)
    return (10 ** (HISS_DB / 20) / np.sqrt(share) * noise).astype(np.float32)


def bursts(speech: Signal, rate: int) -> tuple[Signal, NDArray[np.int64]]:
    """Noise from 4 to 12 kHz, `BURST_DB` of it above 8 kHz, at a third of the hundred loudest moments, and where."""
    length = rate // 10
    spectrum = np.fft.rfft(np.random.default_rng(1).standard_normal(len(speech)))
    frequency = np.fft.rfftfreq(len(speech), 1 / rate)
    noise = np.fft.irfft(spectrum * ((frequency > 4000) & (frequency < 12_000)), len(speech))
    noise *= 10 ** (BURST_DB / 20) / np.sqrt((above(noise, rate) ** 2).mean())
    loudness = np.square(speech[: len(speech) // length * length]).reshape(-1, length).mean(1)
    places = np.sort(np.argsort(loudness)[-100:])[::3] * length
    envelope = np.zeros(len(speech))
    for place in places:
        envelope[place : place + length] = np.hanning(length) ** 0.25
    return (noise * envelope).astype(np.float32), places


def above(signal: NDArray[np.floating], rate: int) -> NDArray[np.float64]:
    """The part of a signal above 8.2 kHz."""
    spectrum = np.fft.rfft(signal)
    spectrum[np.fft.rfftfreq(len(signal), 1 / rate) < 8200] = 0
    return np.fft.irfft(spectrum, len(signal))


def levels(signal: Signal, rate: int) -> NDArray[np.float64]:
    """The level above 8.2 kHz in frames of 20 ms, in dB."""
    size = rate // 50
    band = above(signal, rate)
    frames = band[: len(band) // size * size].reshape(-1, size)
    return 10 * np.log10(np.square(frames).mean(1) + 1e-12)


def level_at(signal: Signal, places: NDArray[np.int64], rate: int) -> float:
    """The mean level above 8.2 kHz in the tenths of a second that begin at these places, in dB."""
    band = above(signal, rate)
    return float(10 * np.log10(np.mean([np.square(band[place : place + rate // 10]).mean() for place in places])))


if __name__ == "__main__":
    main()
