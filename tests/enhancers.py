"""Small enhancers with known behaviour, in place of trained ones."""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from hamiltone.audio.stft import STFT
from hamiltone.models.enhancer import Enhancer
from hamiltone.runtime.backend import Backend, Spectrum
from hamiltone.runtime.onnx_graph import OnnxGraph
from hamiltone.runtime.torch_backend import TorchGain


class FixedMask(nn.Module):
    """The same mask per bin in every frame; remembers the features it was last shown."""

    def __init__(self, mask: float | Tensor) -> None:
        super().__init__()
        self.mask = torch.as_tensor(mask)
        self.features = torch.empty(0)

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        self.features = features
        zeros = torch.zeros_like(features[:, 0, 0])
        return zeros + self.mask, zeros


class RandomConvolutions(nn.Module):
    """Mask and phase from two random 5 x 5 convolutions: a frame depends on the four before and the four after it."""

    def __init__(self) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(1)
            self.layers = nn.Sequential(
                nn.Conv2d(4, 4, 5, padding=2), nn.Tanh(), nn.Conv2d(4, 2, 5, padding=2), nn.Tanh()
            )

    def forward(self, features: Tensor) -> tuple[Tensor, Tensor]:
        mask, phase = self.layers(features.flatten(1, 2)).unbind(1)
        return 0.5 + 0.5 * mask, phase


def fixed_mask(mask: float | Tensor) -> Enhancer:
    return Enhancer(STFT(512, 256), FixedMask(mask))


def random_convolutions(n_fft: int = 512, hop: int = 256) -> Enhancer:
    return Enhancer(STFT(n_fft, hop), RandomConvolutions())


@dataclass(frozen=True)
class Backends:
    """The same two behind the protocol, in torch or as graphs in onnxruntime."""

    kind: str

    def fixed_mask(self, mask: float | np.ndarray) -> Backend:
        if self.kind == "torch":
            return TorchGain(fixed_mask(torch.as_tensor(mask, dtype=torch.float32)))
        from graphs import fixed_mask_graph

        return OnnxGraph(fixed_mask_graph(np.asarray(mask)), threads=1)

    def random_convolutions(self, n_fft: int = 512, hop: int = 256) -> Backend:
        model = random_convolutions(n_fft, hop)
        if self.kind == "torch":
            return TorchGain(model)
        from graphs import convolutions_graph

        names = {"layers.0.weight": "w0", "layers.0.bias": "b0", "layers.2.weight": "w1", "layers.2.bias": "b1"}
        weights = {names[name]: value.numpy() for name, value in model.network.state_dict().items()}
        return OnnxGraph(convolutions_graph(weights, n_fft, hop), threads=1)


class Watching:
    """Another back end, whose last spectrum is kept."""

    def __init__(self, backend: Backend) -> None:
        self._backend = backend
        self.sample_rate, self.n_fft, self.hop = backend.sample_rate, backend.n_fft, backend.hop

    def gain(self, spectrum: Spectrum) -> Spectrum:
        self.spectrum = spectrum
        return self._backend.gain(spectrum)
