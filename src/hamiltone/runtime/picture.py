"""Spectrograms of a recording before and after, as a picture."""

import io
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Self

import numpy as np
from numpy.typing import NDArray

from hamiltone.audio.io import Reader, open_reader
from hamiltone.audio.partial import PartialFile
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Spectrogram = NDArray[np.float64]

_COLUMNS = 1600
_FRAME_SECONDS = 0.04
_RANGE_DB = 80.0


def require_matplotlib() -> None:
    """Raise an `InputError` with the install command if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise InputError('a picture needs matplotlib: pip install "hamiltone[plots]"') from None


def draw_picture(source: Path, result: Path, path: Path, *, seconds: float) -> None:
    """Draw the spectrograms of a recording of this length and of its result, one above the other, as PNG.

    Both have the same colour scale, from the loudest point of the recording down to 80 dB below.
    """
    require_matplotlib()
    from matplotlib.figure import Figure
    from matplotlib.ticker import FuncFormatter

    before, after = (_Side.read(path, seconds) for path in (source, result))
    loudest = max(float(np.quantile(before.power, 0.9995)), 1e-20)
    figure = Figure(figsize=(12, 7.2), dpi=120, layout="constrained")
    axes = figure.subplots(2, 1, sharex=True, sharey=True)
    for axis, word, side in zip(axes, ("before", "after"), (before, after), strict=True):
        image = axis.imshow(
            10 * np.log10(np.maximum(side.power / loudest, 1e-12)),
            extent=(0, seconds, 0, side.top_khz),
            origin="lower",
            aspect="auto",
            cmap="magma",
            vmin=-_RANGE_DB,
            vmax=0,
        )
        _label(axis, word, side.name)
    axes[0].set_ylim(0, before.top_khz)
    axes[1].set_xlabel("time" if seconds >= 60 else "time in s")
    if seconds >= 60:
        axes[1].xaxis.set_major_formatter(FuncFormatter(_clock(seconds)))
    bar = figure.colorbar(image, ax=axes, pad=0.012, aspect=40)
    bar.set_label("level in dB; 0 is the loudest point before")
    bar.outline.set_visible(False)
    content = io.BytesIO()
    figure.savefig(content, format="png")
    _write(path, content.getvalue())


@dataclass(frozen=True)
class _Side:
    """The spectrogram of a file, its name and half its sample rate in kHz."""

    name: str
    power: Spectrogram
    top_khz: float

    @classmethod
    def read(cls, path: Path, seconds: float) -> Self:
        with open_reader(path) as reader:
            rate = reader.info.sample_rate
            return cls(path.name, spectrogram(reader, round(seconds * rate)), rate / 2000)


def spectrogram(reader: Reader, frames: int) -> Spectrogram:
    """The mean power of all channels over time and frequency, in at most 1600 columns, read block by block.

    Shape:
        returns: ``(bins, columns)``
    """
    size = 2 ** round(np.log2(_FRAME_SECONDS * reader.info.sample_rate))
    count = max(frames // (size // 4), 1)
    hop = size // 4 if count <= 4 * _COLUMNS else size
    count = max(-(-frames // hop), 1)
    columns = min(count, _COLUMNS)
    window = np.hanning(size + 2)[1:-1, None]
    total, weight = np.zeros((columns, size // 2 + 1)), np.zeros(columns)
    held = np.zeros((size // 2, reader.info.channels), np.float32)
    for number in range(count):
        missing = size - len(held)
        block = reader.read(missing)
        held = np.concatenate([held, block, np.zeros((missing - len(block), held.shape[1]), held.dtype)])
        column = number * columns // count
        total[column] += np.square(np.abs(np.fft.rfft(held * window, axis=0))).mean(1)
        weight[column] += 1
        held = held[hop:]
    return (total / weight[:, None]).T


def _label(axis: "Axes", word: str, name: str) -> None:
    axis.set_title(word, loc="left", fontsize=12, fontweight="bold")
    axis.set_title(name.encode("ascii", "replace").decode(), loc="right", fontsize=9, color="0.4")
    axis.set_ylabel("frequency in kHz")
    axis.tick_params(length=3, color="0.5")
    for spine in axis.spines.values():
        spine.set_visible(False)


def _clock(seconds: float) -> Callable[[float, int | None], str]:
    def text(value: float, _: int | None) -> str:
        minutes, rest = divmod(round(value), 60)
        hours, minutes = divmod(minutes, 60)
        return f"{hours}:{minutes:02}:{rest:02}" if seconds >= 3600 else f"{minutes}:{rest:02}"

    return text


def _write(path: Path, content: bytes) -> None:
    file = PartialFile(path)
    try:
        file.sink.write(content)
        file.commit()
    finally:
        file.discard()
