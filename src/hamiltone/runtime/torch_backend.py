"""Models in torch, which is imported only when one of them is loaded."""

from pathlib import Path
from typing import TYPE_CHECKING

from hamiltone.audio.spectra import Spectrum
from hamiltone.errors import InputError
from hamiltone.runtime.backend import Memory

if TYPE_CHECKING:
    from torch import Tensor

    from hamiltone.models import Enhancer


def load_torch(model: "str | Path | Enhancer | None", device: str = "cpu", threads: int | None = None) -> "Enhancer":
    """The enhancer for a name or a checkpoint, on `device`; an enhancer is returned unchanged."""
    from hamiltone import models
    from hamiltone.torch_extra import torch

    if threads is not None:
        torch.set_num_threads(threads)
    if isinstance(model, models.Enhancer):
        return model
    return models.load(model, device)


class _TorchModel:
    def __init__(self, model: "Enhancer") -> None:
        self._model = model.eval()

    @property
    def sample_rate(self) -> int:
        return self._model.sample_rate

    @property
    def n_fft(self) -> int:
        return self._model.stft.n_fft

    @property
    def hop(self) -> int:
        return self._model.stft.hop

    def _tensor(self, spectrum: Spectrum) -> "Tensor":
        import torch

        return torch.from_numpy(spectrum).to(self._model.stft.window.device)


class TorchGain(_TorchModel):
    """An `Enhancer` over whole windows."""

    def gain(self, spectrum: Spectrum) -> Spectrum:
        """The gain of all frames."""
        import torch

        with torch.inference_mode():
            return self._model.gain(self._tensor(spectrum)).cpu().numpy()

    @property
    def causal(self) -> bool:
        """Whether the model never looks ahead."""
        return self._model.streams

    def gain_after(self, spectrum: Spectrum, memory: Memory) -> tuple[Spectrum, Memory]:
        """The gain of the next frames, and the memory after them."""
        import torch

        with torch.inference_mode():
            gain, memory = self._model.step(self._tensor(spectrum), memory)
            return gain.cpu().numpy(), memory


class TorchStep(_TorchModel):
    """An `Enhancer` that never looks ahead, frame by frame."""

    def __init__(self, model: "Enhancer", name: str = "this model") -> None:
        if not model.streams:
            raise InputError(f"{name} looks ahead: it enhances recordings, not streams; choose live")
        super().__init__(model)
        self._state: tuple[Tensor, ...] = ()

    def step(self, spectrum: Spectrum) -> Spectrum:
        """The gain of the next frame."""
        import torch

        with torch.inference_mode():
            gain, self._state = self._model.step(self._tensor(spectrum)[None, None], self._state)
            return gain[0, 0].cpu().numpy()

    def reset(self) -> None:
        """Forget all frames."""
        self._state = ()

    def fresh(self) -> "TorchStep":
        """Another one with the same weights and a separate memory."""
        return TorchStep(self._model)
