"""What happens to peaks beyond full scale, and to music.

    python examples/peaks_and_music.py [--model NAME|FILE]

A float file with a peak of 2 is enhanced to flac; the script prints the share of samples that plain clipping would
lose, and the share that is clipped. Then a chord of five seconds is enhanced, with and without ``--keep``; the script
prints by how much its level falls.
"""

import argparse
import tempfile
from pathlib import Path

import numpy as np
import soundfile

from hamiltone.runtime import enhance_file

RATE = 48_000


def main() -> None:
    """Print both measurements."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model")
    model = parser.parse_args().model
    with tempfile.TemporaryDirectory() as folder:
        loud, flac = Path(folder, "loud.wav"), Path(folder, "loud.flac")
        signal = np.random.default_rng(0).standard_normal(5 * RATE)
        signal *= 2 / np.abs(signal).max()
        soundfile.write(loud, signal, RATE, subtype="FLOAT")
        for strength in (0.0, 1.0):
            report = enhance_file(loud, flac, model=model, strength=strength, overwrite=True)
            written = soundfile.read(flac)[0]
            print(
                f"peak 2 to flac at strength {strength:g}: clipped before {np.mean(np.abs(signal) > 1):.1%}, "
                f"after {np.mean(np.abs(written) >= 1 - 2**-15):.3%}; {report.note}"
            )

        chord, result = Path(folder, "chord.wav"), Path(folder, "result.wav")
        time = np.arange(5 * RATE) / RATE
        notes = [261.63, 329.63, 392.00, 523.25]
        tones = [np.sin(2 * np.pi * note * overtone * time) / overtone for note in notes for overtone in (1, 2, 3, 4)]
        music = 0.1 * np.sum(tones, axis=0)
        soundfile.write(chord, music, RATE)
        for name, keep in (("a chord", ()), ("a chord in --keep 0-", ((0.0, float("inf")),))):
            enhance_file(chord, result, model=model, keep=keep, overwrite=True)
            after = soundfile.read(result)[0]
            print(f"{name}: {10 * np.log10(np.square(after).mean() / np.square(music).mean()):+.1f} dB")


if __name__ == "__main__":
    main()
