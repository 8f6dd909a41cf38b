"""``make pictures``: the pictures of the README in docs/assets, from examples/noisy.wav and the page in Chromium."""

import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from PIL import Image

from hamiltone.analysis.plots import make_figure, require_matplotlib
from hamiltone.audio.io import open_reader
from hamiltone.errors import InputError
from hamiltone.runtime import enhance_file

ROOT = Path(__file__).parents[1]
SAMPLE = ROOT / "examples" / "noisy.wav"
ASSETS = ROOT / "docs" / "assets"
RANGE_DB, FRAME, HOP = 70, 512, 128
_WIDTH, _COLOURS = 760, 256


def main() -> None:
    """Draw the sample before and after, then take a picture of the page."""
    require_matplotlib()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        enhance_file(SAMPLE, folder / "clean.wav")
        before_and_after(SAMPLE, folder / "clean.wav", folder / "before-after.png")
        _shrink(folder / "before-after.png", ASSETS / "before-after.png")
        shutil.copy(SAMPLE, folder / "picture.wav")
        shutil.copy(SAMPLE, folder / "microphone.wav")
        _photograph(folder)
        _shrink(folder / "wide-light.png", ASSETS / "page.png")


def before_and_after(before: Path, after: Path, picture: Path) -> None:
    """The spectrograms of two recordings side by side, on the same scale."""
    figure, ((left, right),) = make_figure(1, 2, (10, 2.8))
    loudest = None
    for axis, path, title in ((left, before, "before"), (right, after, "after")):
        levels, seconds, rate = _levels(path)
        loudest = levels.max() if loudest is None else loudest
        extent = (0.0, seconds, 0.0, rate / 2000)
        axis.imshow(
            levels, origin="lower", aspect="auto", extent=extent, cmap="magma", vmin=loudest - RANGE_DB, vmax=loudest
        )
        axis.set_title(title)
        axis.set_xlabel("seconds")
    left.set_ylabel("kHz")
    figure.savefig(picture, dpi=150)


def _levels(path: Path) -> tuple[NDArray[np.float64], float, int]:
    """Decibels ``(F, T)`` of a recording in mono, its length in seconds and its rate."""
    with open_reader(path) as reader:
        signal, rate = reader.read(reader.info.frames)[:, 0], reader.info.sample_rate
    frames = np.lib.stride_tricks.sliding_window_view(signal, FRAME)[::HOP]
    spectrum = np.fft.rfft(frames * np.hanning(FRAME))
    return 20 * np.log10(np.abs(spectrum.T) + 1e-9), len(signal) / rate, rate


def _photograph(folder: Path) -> None:
    """Clean ``picture.wav`` of a folder in the page, and take a picture of that: ``wide-light.png``."""
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    if not shutil.which("node") or chromium is None:
        raise InputError("a picture of the page needs Node and Chromium: apt install nodejs npm chromium")
    command = [sys.executable, "-m", "hamiltone", "page", "--no-browser", "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        try:
            assert server.stdout is not None
            address = server.stdout.readline().split(" at ")[1].split()[0]
            run = ["node", "tests/browser.mjs", chromium, address, str(folder), "picture"]
            subprocess.run(run, cwd=ROOT / "web", check=True)
        finally:
            server.terminate()


def _shrink(source: Path, target: Path) -> None:
    """A small file that looks the same at the width of a README."""
    with Image.open(source) as image:
        height = round(image.height * _WIDTH / image.width)
        small = image.convert("RGB").resize((_WIDTH, height), Image.Resampling.LANCZOS)
        small.quantize(_COLOURS, dither=Image.Dither.NONE).save(target, optimize=True)


if __name__ == "__main__":
    main()
