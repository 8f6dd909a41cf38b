"""What is exported: an enhancer from spectrum to gain in real arithmetic, for whole windows or frame by frame."""

import torch
from torch import Tensor, nn

from hamiltone.export.layers import for_onnx
from hamiltone.models.enhancer import Enhancer, _levelled
from hamiltone.models.rows import RowNetwork

Named = dict[str, Tensor]


class WindowGraph(nn.Module):
    """`Enhancer.gain` of a folded model that looks ahead.

    Shape:
        spectrum: ``(1, T, F, 2)``, real and imaginary parts
        returns: the gain, the same
    """

    def __init__(self, model: Enhancer) -> None:
        super().__init__()
        self.network, self.level, self.exponent = for_onnx(model.network), model.level, model.exponent

    def forward(self, spectrum: Tensor) -> Tensor:
        features = pair_features(spectrum, self.exponent)
        if self.level is not None:
            features, _ = _levelled(features, self.level, features.new_zeros(1, 2))
        return pair_gain(*self.network(features))


class StateGraph(nn.Module):
    """`Enhancer.step` of a folded model that never looks ahead, for one frame or many.

    Shape:
        spectrum: ``(1, T, F, 2)``, real and imaginary parts
        states: the level's, then the network's, as `first_states` has them
        returns: the gain, as the spectrum, and the states after the last frame
    """

    def __init__(self, model: Enhancer) -> None:
        super().__init__()
        self.network, self.level, self.exponent = for_onnx(model.network), model.level, model.exponent

    def forward(self, spectrum: Tensor, *states: Tensor) -> tuple[Tensor, ...]:
        assert self.level is not None and isinstance(self.network, RowNetwork)
        features, level = _levelled(pair_features(spectrum, self.exponent), self.level, states[0])
        (mask, phase), memory = self.network.step(features, states[1:])
        return pair_gain(mask, phase), level, *memory


def first_states(model: Enhancer) -> Named:
    """The states of a streaming model before its first frame, by name: all zero."""
    silence = torch.zeros(1, 1, model.stft.bins, dtype=torch.complex64)
    level, *memory = model.step(silence)[1]
    shapes = {"level": level, **{f"memory_{number}": state for number, state in enumerate(memory)}}
    return {name: torch.zeros_like(state) for name, state in shapes.items()}


def pair_features(spectrum: Tensor, exponent: float) -> Tensor:
    """`hamiltone.audio.features.quaternion_features` of a spectrum in pairs ``(B, T, F, 2)``, plane by plane."""
    real, imaginary = spectrum.unbind(-1)
    power = real * real + imaginary * imaginary
    magnitude = power.sqrt()
    if exponent != 1.0:
        compressed = (power.log() * (exponent / 2)).exp()  # many times faster than a power in onnxruntime
        scale = compressed / magnitude.clamp_min(1e-12)
        magnitude, real, imaginary = compressed, real * scale, imaginary * scale
    return torch.stack([torch.zeros_like(magnitude), magnitude, real, imaginary], 1)[:, :, None]


def pair_gain(mask: Tensor, phase: Tensor) -> Tensor:
    """`hamiltone.audio.features.spectral_gain` in pairs: ``(B, T, F)`` each to ``(B, T, F, 2)``."""
    return torch.stack([mask * phase.cos(), mask * phase.sin()], -1)
