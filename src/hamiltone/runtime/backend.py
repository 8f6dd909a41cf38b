"""The interface of a model, from spectrum to gain, whether it is a graph in onnxruntime or a module in torch."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, runtime_checkable

from hamiltone.audio.spectra import Spectrum
from hamiltone.errors import InputError
from hamiltone.weights import DEFAULT, find_model, graphs

if TYPE_CHECKING:
    from hamiltone.models import Enhancer
    from hamiltone.runtime.onnx_graph import OnnxGraph

Memory = tuple[Any, ...]
"""Arrays or tensors of a back end's own; empty before the first frame."""
GRAPH_SUFFIX = ".onnx"


class Transform(Protocol):
    """The frames that a model takes: those of `hamiltone.audio.spectra`."""

    @property
    def sample_rate(self) -> int:
        """The sample rate that the model was trained for."""

    @property
    def n_fft(self) -> int:
        """The length of a frame."""

    @property
    def hop(self) -> int:
        """The samples between frames."""


@runtime_checkable
class Backend(Transform, Protocol):
    """A model that processes a recording, or a window of it, as a whole."""

    def gain(self, spectrum: Spectrum) -> Spectrum:
        """The complex gain ``(1, T, F)`` of all frames ``(1, T, F)`` of a recording of unit level."""


@runtime_checkable
class MemoryBackend(Backend, Protocol):
    """A back end that can go on from one window to the next, if its model never looks ahead."""

    @property
    def causal(self) -> bool:
        """Whether the model never looks ahead."""

    def gain_after(self, spectrum: Spectrum, memory: Memory) -> tuple[Spectrum, Memory]:
        """The gain ``(1, T, F)`` of the next frames, and the memory after them; an empty one precedes the first."""


@runtime_checkable
class StepBackend(Transform, Protocol):
    """A streaming model with a memory of the frames it has seen."""

    def step(self, spectrum: Spectrum) -> Spectrum:
        """The complex gain ``(F,)`` of the next frame, whose spectrum is ``(F,)``."""

    def reset(self) -> None:
        """Forget all frames."""

    def fresh(self) -> "StepBackend":
        """Another one with the same weights and a separate memory."""


def resolve_model(
    model: "str | Path | Enhancer | Backend | None" = None, device: str = "cpu", threads: int | None = None
) -> Backend:
    """The back end for a name, a file or a model; a back end is returned unchanged.

    A bundled model runs as a graph if there is one and `device` is the cpu, and so does an ONNX file; anything else
    needs torch. `threads` is the number of CPU threads, by default one per core.
    """
    if isinstance(model, Backend):
        return model
    if graph := _find_graph(model, device, window=True):
        return _open_graph(graph, threads)
    from hamiltone.runtime.torch_backend import TorchGain, load_torch

    return TorchGain(load_torch(model, device, threads))


def model_file(model: str | Path | None = None) -> Path:
    """The graph or the checkpoint that `resolve_model` opens on the CPU for a name or a file."""
    return _find_graph(model, "cpu", window=True) or find_model(model)


def resolve_step(model: "str | Path | Enhancer | StepBackend", threads: int | None = None) -> StepBackend:
    """The same for a stream; by default a graph gets one thread, since a frame is too small to share."""
    if isinstance(model, StepBackend):
        return model
    name = f"the model {str(model)!r}" if isinstance(model, str | Path) else "this model"
    if graph := _find_graph(model, "cpu"):
        from hamiltone.runtime.onnx_step import OnnxStep

        return OnnxStep(_open_graph(graph, threads or 1), name)
    from hamiltone.runtime.torch_backend import TorchStep, load_torch

    return TorchStep(load_torch(model, "cpu", threads), name)


def _find_graph(model: object, device: str, *, window: bool = False) -> Path | None:
    """The ONNX file to run, preferably one of whole windows; None is for torch.

    A name or a checkpoint that does not exist raises an `InputError`.
    """
    if model is not None and not isinstance(model, str | Path):
        return None
    path = Path(DEFAULT if model is None else model)
    if path.suffix.lower() == GRAPH_SUFFIX:
        if device != "cpu":
            raise InputError(f"{model} only runs on the cpu, not on {device}")
        return path
    find_model(path)
    if device != "cpu":
        return None
    return (graphs().get(f"{path}.window") if window else None) or graphs().get(str(path))


def _open_graph(path: Path, threads: int | None) -> "OnnxGraph":
    from hamiltone.runtime.onnx_graph import OnnxGraph

    return OnnxGraph(path, threads=threads)
