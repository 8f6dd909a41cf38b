"""How well a quiet speaker is enhanced after a loud one: the gain in SI-SDR of the same recording at falling levels.

    python examples/quiet_speaker.py NOISY CLEAN [--model NAME|FILE]

NOISY and CLEAN are folders of pairs, such as VoiceBank's test set. Every pair is played twice, first at its own level
and then softer by 0 to 40 dB; only the second part is scored. Then eight minutes of stationary noise are enhanced: how
far it falls, and how much its level, averaged over them, differs between parts of ten seconds, with and without
dividing it into windows. In a single minute what is left of the noise varies by more than that by chance.
"""

import argparse
from pathlib import Path

import numpy as np
import soundfile

import hamiltone
from hamiltone.metrics import compute
from hamiltone.runtime import Backend, resolve_model
from hamiltone.runtime.enhancement import WINDOW_SECONDS

DROPS_DB = (0, -10, -20, -30, -40)
NOISES = 8


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("noisy", type=Path)
    parser.add_argument("clean", type=Path)
    parser.add_argument("--model")
    parser.add_argument("--files", type=int, default=8)
    options = parser.parse_args()
    model = resolve_model(options.model)
    pairs = [(path, options.clean / path.name) for path in sorted(options.noisy.iterdir())]
    chosen = pairs[:: max(1, len(pairs) // options.files)][: options.files]

    print("| drop | SI-SDR gain | against no drop |\n|---|---|---|")
    gains = {}
    for drop in DROPS_DB:
        gains[drop] = np.mean([gain_of_second(*pair, drop, model) for pair in chosen])
        print(f"| {drop} dB | {gains[drop]:.2f} dB | {gains[drop] - gains[0]:+.2f} dB |")
    print("\n| stationary noise | level | parts differ by up to |\n|---|---|---|")
    for name, seconds in (("in windows", WINDOW_SECONDS), ("as a whole", 60.0)):
        levels = stationary_levels(model, seconds)
        print(f"| {name} | {levels.mean():.1f} dB | {np.ptp(levels):.2f} dB |")


def gain_of_second(noisy_path: Path, clean_path: Path, drop_db: float, model: Backend) -> float:
    """The gain in dB in the part that follows the same recording at its own level."""
    (noisy, rate), (clean, _) = soundfile.read(noisy_path, dtype="float32"), soundfile.read(clean_path, dtype="float32")
    softer = np.float32(10 ** (drop_db / 20))
    enhanced = hamiltone.enhance(np.concatenate([noisy, softer * noisy]), rate, model=model)[len(noisy) :]
    after, before = (compute(["sisdr"], signal, softer * clean, rate)["sisdr"] for signal in (enhanced, softer * noisy))
    return after - before


def stationary_levels(model: Backend, window_seconds: float) -> np.ndarray:
    """The levels in dB of parts of enhanced white noise, relative to those of the noise; powers are averaged."""
    rate = 16_000
    powers = []
    for seed in range(NOISES):
        noise = 0.05 * np.random.default_rng(seed).standard_normal(60 * rate).astype(np.float32)
        enhanced = hamiltone.enhance(noise, rate, model=model, window_seconds=window_seconds)
        powers.append([np.square(signal.reshape(6, -1)[1:-1]).mean(1) for signal in (enhanced, noise)])
    after, before = np.mean(powers, axis=0)
    return 10 * np.log10(after / before)


if __name__ == "__main__":
    main()
