"""Mix speech with noise at fixed ratios: a test set for `hamiltone evaluate` from recordings of your own.

python examples/mix_folders.py SPEECH NOISE OUT [--count 100]

writes OUT/noisy and OUT/clean, files of the same names at 16 kHz. Noise that is shorter than the speech is repeated.
"""

import argparse
from pathlib import Path

import numpy as np
import soundfile

from hamiltone.data.files import audio_files, decode
from hamiltone.data.mixing import mix

RATIOS_DB = (-5.0, 0.0, 5.0, 10.0, 15.0)


def stretch_of(noise: np.ndarray, length: int, rng: np.random.Generator) -> np.ndarray:
    """`length` samples from a random position in the noise, which is repeated if it is too short."""
    return np.take(noise, np.arange(length) + rng.integers(len(noise)), mode="wrap")


def main() -> None:
    """Mix file by file, the ratios in turn, with a fixed seed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name in ("speech", "noise", "out"):
        parser.add_argument(name, type=Path)
    parser.add_argument("--count", type=int, default=100, help="mixtures to make")
    options = parser.parse_args()
    speech, noise = audio_files(options.speech), audio_files(options.noise)
    rng = np.random.default_rng(1843)
    for folder in ("noisy", "clean"):
        (options.out / folder).mkdir(parents=True, exist_ok=True)
    for number in range(options.count):
        clean = decode(speech[number * len(speech) // options.count])
        ratio = RATIOS_DB[number % len(RATIOS_DB)]
        noisy = mix(clean, stretch_of(decode(noise[rng.integers(len(noise))]), len(clean), rng), ratio)
        scale = min(1.0, 0.99 / np.abs(noisy).max())
        for folder, signal in (("noisy", noisy), ("clean", clean)):
            soundfile.write(options.out / folder / f"{number:04d}_{ratio:+.0f}dB.wav", signal * scale, 16_000)


if __name__ == "__main__":
    main()
