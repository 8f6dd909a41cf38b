"""What finds the gain of the next frame."""

from pathlib import Path
from typing import TYPE_CHECKING, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from hamiltone.errors import InputError

if TYPE_CHECKING:
    from torch import Tensor

    from hamiltone.models import Enhancer

Spectrum = NDArray[np.complex64]


@runtime_checkable
class StepBackend(Protocol):
    """A streaming model with a memory of the frames it has seen.

    Frames are those of `hamiltone.audio.stft.STFT`: `n_fft` samples at `sample_rate`, every `hop` samples.
    """

    @property
    def sample_rate(self) -> int:
        """The only rate at which the model understands speech."""

    @property
    def n_fft(self) -> int:
        """The length of a frame."""

    @property
    def hop(self) -> int:
        """The samples from frame to frame."""

    def step(self, spectrum: Spectrum) -> Spectrum:
        """The complex gain ``(F,)`` of the next frame, whose spectrum is ``(F,)``."""

    def reset(self) -> None:
        """Forget all frames."""

    def fresh(self) -> "StepBackend":
        """Another with the same weights and a memory of its own."""


class TorchStep:
    """An `Enhancer` that never looks ahead, frame by frame."""

    def __init__(self, model: "Enhancer", name: str = "this model") -> None:
        if not model.streams:
            raise InputError(f"{name} looks ahead: it enhances recordings, not streams; choose live")
        self._model = model.eval()
        self._state: tuple[Tensor, ...] = ()

    @property
    def sample_rate(self) -> int:
        return self._model.sample_rate

    @property
    def n_fft(self) -> int:
        return self._model.stft.n_fft

    @property
    def hop(self) -> int:
        return self._model.stft.hop

    def step(self, spectrum: Spectrum) -> Spectrum:
        import torch

        with torch.inference_mode():
            frame = torch.from_numpy(spectrum)[None, None].to(self._model.stft.window.device)  # (1, 1, F)
            gain, self._state = self._model.step(frame, self._state)
            return gain[0, 0].cpu().numpy()

    def reset(self) -> None:
        self._state = ()

    def fresh(self) -> "TorchStep":
        return TorchStep(self._model)


def resolve_backend(model: "str | Path | Enhancer | StepBackend") -> StepBackend:
    """The back end behind a name, a file or a model; one that is handed in is taken as it is."""
    if isinstance(model, StepBackend):
        return model
    if isinstance(model, str | Path) and Path(model).suffix == ".onnx":
        from hamiltone.runtime.onnx_graph import OnnxGraph
        from hamiltone.runtime.onnx_step import OnnxStep

        return OnnxStep(OnnxGraph(model, threads=1), model)  # a frame is too small to share
    from hamiltone.models import Enhancer, load

    if isinstance(model, Enhancer):
        return TorchStep(model)
    return TorchStep(load(model), f"the model {str(model)!r}")
