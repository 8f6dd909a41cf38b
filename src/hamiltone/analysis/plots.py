"""Figures 2 to 5 with matplotlib, readable in greyscale."""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from hamiltone.analysis.similarity import quantiles
from hamiltone.analysis.statistics import pearson
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

Draw = Callable[[Path], None]
"""Draws a picture into a file."""
NAMES = ("real", "i", "j", "k")
_POINTS = 4000  # in a scatter plot


def require_matplotlib() -> None:
    """Raise an `InputError` with the install command if matplotlib is missing."""
    try:
        import matplotlib  # noqa: F401
    except ModuleNotFoundError:
        raise InputError('drawing needs matplotlib: pip install "hamiltone[plots]"') from None


def attention_maps(shared: Tensor, hamilton: Tensor, path: Path) -> None:
    """Figure 2: the one map of a shared head beside the four of a Hamilton head.

    Shape:
        shared: ``(1, N, M)``, hamilton: ``(4, N, M)``
    """
    figure, axes = make_figure(1, 5, (13, 3.1))
    titles = ["shared: all components", *(f"Hamilton: {name}" for name in NAMES)]
    panels = zip(titles, (shared[0], *hamilton), strict=True)
    for axis, (title, weights) in zip(axes.flat, panels, strict=True):
        # Each panel has its own scale, capped so that a few sharp columns do not hide the rest.
        low, high = np.quantile(weights.numpy(), (0.01, 0.99))
        axis.imshow(weights.numpy(), cmap="gray_r", vmin=low, vmax=high, aspect="auto", origin="lower")
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("key")
    axes.flat[0].set_ylabel("query")
    save_figure(figure, path)


def output_distributions(shared: NDArray[np.float32], hamilton: NDArray[np.float32], path: Path) -> None:
    """Figure 3: histograms of two samples of outputs, and their quantiles against each other.

    Shape:
        shared, hamilton: ``(values,)``
    """
    figure, axes = make_figure(1, 3, (11, 3.3))
    low, high = np.quantile(np.concatenate([shared, hamilton]), (0.001, 0.999))
    for axis, values, title in zip(axes.flat, (shared, hamilton), ("shared", "Hamilton"), strict=False):
        axis.hist(values, bins=80, range=(low, high), density=True, color="0.6", edgecolor="0.3", linewidth=0.3)
        axis.set_title(f"{title} scores: outputs", fontsize=10)
        axis.set_xlabel("value")
    axes.flat[0].sharey(axes.flat[1])
    axes.flat[0].set_ylabel("density")
    a, b = quantiles(shared), quantiles(hamilton)
    axes.flat[2].plot(a, b, "k.", markersize=3)
    _diagonal(axes.flat[2], a, b)
    axes.flat[2].set_title(f"quantiles, r = {pearson(a, b):.3f}", fontsize=10)
    axes.flat[2].set_xlabel("shared")
    axes.flat[2].set_ylabel("Hamilton")
    save_figure(figure, path)


def formula_scatter(panels: Mapping[str, tuple[NDArray[np.float32], NDArray[np.float32]]], path: Path) -> None:
    """Figure 4: outputs of shared scores against those of Hamilton scores, value by value.

    Shape:
        panels: by title, two arrays ``(values,)``
    """
    figure, axes = make_figure(1, len(panels), (3.6 * len(panels), 3.7))
    rng = np.random.default_rng(0)
    for axis, (title, (a, b)) in zip(axes.flat, panels.items(), strict=True):
        chosen = rng.integers(len(a), size=min(_POINTS, len(a)))
        axis.plot(a[chosen], b[chosen], "k.", markersize=1.5, alpha=0.4)
        _diagonal(axis, a[chosen], b[chosen])
        axis.set_title(f"{title}\nr = {pearson(a, b):.2f}", fontsize=10)
        axis.set_xlabel("shared scores")
    axes.flat[0].set_ylabel("Hamilton scores")
    save_figure(figure, path)


def spectrograms(signals: Mapping[str, Tensor], path: Path, sample_rate: int = 16_000, decibels: float = 70.0) -> None:
    """Figure 5: log magnitudes of signals on one scale.

    Shape:
        signals: by title, ``(L,)`` of one length
    """
    figure, axes = make_figure(1, len(signals), (13, 3.4))
    window = torch.hann_window(512)
    spectra = [torch.stft(s, 512, 128, window=window, return_complex=True).abs() for s in signals.values()]
    peak = max(float(spectrum.max()) for spectrum in spectra)
    image: Any = None
    for axis, title, spectrum in zip(axes.flat, signals, spectra, strict=True):
        level = 20 * torch.log10(spectrum / peak + 1e-9)
        seconds = len(signals[title]) / sample_rate
        extent = (0.0, seconds, 0.0, sample_rate / 2000)
        image = axis.imshow(
            level.numpy(), cmap="gray_r", vmin=-decibels, vmax=0, origin="lower", aspect="auto", extent=extent
        )
        axis.set_title(title, fontsize=10)
        axis.set_xlabel("s")
    axes.flat[0].set_ylabel("kHz")
    figure.colorbar(image, ax=list(axes.flat), label="dB", pad=0.01)
    save_figure(figure, path)


def make_figure(rows: int, columns: int, size: tuple[float, float]) -> "tuple[Figure, Any]":
    """A figure with axes ``(rows, columns)``, outside matplotlib's global state."""
    require_matplotlib()
    from matplotlib.figure import Figure

    figure = Figure(figsize=size, layout="constrained")
    return figure, figure.subplots(rows, columns, squeeze=False)


def _diagonal(axis: "Axes", a: NDArray[Any], b: NDArray[Any]) -> None:
    ends = [min(a.min(), b.min()), max(a.max(), b.max())]
    axis.plot(ends, ends, color="0.5", linestyle="--", linewidth=1)


def save_figure(figure: "Figure", path: Path) -> None:
    """Write a PNG that is the same for the same figure, and make its folder."""
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=110, metadata={"Software": None})
