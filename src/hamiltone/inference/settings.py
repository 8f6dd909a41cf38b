"""How a recording is to be enhanced."""

from dataclasses import dataclass
from pathlib import Path

from hamiltone.errors import InputError
from hamiltone.inference.keep import Passages, check_passages
from hamiltone.models.enhancer import Enhancer

Model = Enhancer | str | Path | None
"""An enhancer, the name or file of one, or None for the bundled one."""

WINDOW_SECONDS = 4.0


@dataclass(frozen=True)
class Settings:
    """The model, the share of its result in the output (0 to 1), the longest stretch it sees at once, what to keep."""

    model: Enhancer
    strength: float
    window_seconds: float
    keep: Passages = ()

    def __post_init__(self) -> None:
        if not 0 <= self.strength <= 1:
            raise InputError(f"expected a strength from 0 to 1, got {self.strength}")
        if not 1 <= self.window_seconds < float("inf"):
            raise InputError(f"expected windows of at least one second, got {self.window_seconds}")
        check_passages(self.keep)


def resolve_model(model: Model, device: str = "cpu") -> Enhancer:
    """Load the enhancer behind a name or file, a checkpoint or ONNX, to `device`; one that is handed in stays put.

    Either way it is put in evaluation mode.
    """
    if isinstance(model, Enhancer):
        return model.eval()
    from hamiltone.inference.graph import SUFFIX, load_graph
    from hamiltone.models import load

    if model is not None and Path(model).suffix.lower() == SUFFIX:
        if device != "cpu":
            raise InputError(f"{model} runs on the cpu alone, not on {device}")
        return load_graph(model).eval()

    return load(model, device).eval()
