"""An exported graph in the place of a model."""

from pathlib import Path

import torch
from torch import Tensor, nn

from hamiltone.audio.stft import STFT
from hamiltone.models.enhancer import Enhancer
from hamiltone.runtime.onnx_graph import OnnxGraph

SUFFIX = ".onnx"


class GraphEnhancer(Enhancer):
    """An enhancer whose gain comes from an ONNX file; the transform around it is torch's, on the CPU."""

    def __init__(self, graph: OnnxGraph) -> None:
        about = graph.description
        super().__init__(STFT(about.n_fft, about.hop), nn.Identity(), sample_rate=about.sample_rate)
        self.graph = graph

    def gain(self, spectrum: Tensor) -> Tensor:
        """The complex gain ``(1, T, F)``, with what levels the spectrum inside the graph."""
        return torch.from_numpy(self.graph.gain(spectrum.numpy()))


def load_graph(path: str | Path) -> GraphEnhancer:
    """Load an exported model; it uses as many threads as torch does."""
    return GraphEnhancer(OnnxGraph(path, threads=torch.get_num_threads()))
