"""The exported graph against the model, before anything is written."""

from collections.abc import Iterator

import torch
from torch import Tensor

from hamiltone.models.enhancer import Enhancer
from hamiltone.runtime.onnx_graph import OnnxGraph

TOLERANCE = 1e-4
CHECKED_FRAMES = (2, 9, 70)
"""Frames of the recordings that a graph is checked on; a stream is as long as the last."""


class MismatchError(RuntimeError):
    """The exported graph does not compute what the model does: a bug of ours; no file is written."""


@torch.no_grad()
def check_graph(content: bytes, model: Enhancer, folded: Enhancer) -> float:
    """Compare a graph with the model, as it was trained and folded; returns the largest difference of gains.

    A graph of windows that takes states is also run in two parts, from one to the next. Raises a `MismatchError` if the
    difference is above 1e-4.
    """
    graph, worst = OnnxGraph(content, threads=1), 0.0
    for spectrum in _spectra(model.stft.bins, CHECKED_FRAMES[-1:] if graph.streams else CHECKED_FRAMES):
        expected = model.gain(spectrum)
        found = {
            "the exported graph": torch.from_numpy(graph.gain(spectrum.numpy())),
            "the folded model": folded.gain(spectrum),
        }
        if graph.causal and not graph.streams:
            found["the exported graph in two parts"] = _in_two_parts(graph, spectrum)
        for name, gain in found.items():
            difference = float((gain - expected).abs().max())
            if not difference <= TOLERANCE:  # also catches NaN
                raise MismatchError(
                    f"{name} differs from the model by {difference:.1e} over {spectrum.shape[1]} frames, "
                    f"more than {TOLERANCE:.0e}; nothing was written"
                )
            worst = max(worst, difference)
    return worst


def _in_two_parts(graph: OnnxGraph, spectrum: Tensor) -> Tensor:
    """The gain of the first third of the frames, and of the rest from the states after it."""
    frames, border = spectrum.numpy(), -(-spectrum.shape[1] // 3)
    first, states = graph.gain_after(frames[:, :border], ())
    second, _ = graph.gain_after(frames[:, border:], states)
    return torch.cat([torch.from_numpy(first), torch.from_numpy(second)], 1)


def _spectra(bins: int, lengths: tuple[int, ...]) -> Iterator[Tensor]:
    """Noise that falls with frequency and changes its level by 60 dB over time, with a silent frame in the middle."""
    generator = torch.Generator().manual_seed(0)
    for frames in lengths:
        noise = torch.randn(1, frames, bins, dtype=torch.complex64, generator=generator)
        tilt = 30 / (1 + torch.arange(bins) / 8)
        level = 10 ** (3 * torch.rand(1, frames, 1, generator=generator) - 2)
        spectrum = noise * tilt * level
        spectrum[:, frames // 2] = 0
        yield spectrum
