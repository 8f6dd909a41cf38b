"""Models of speech, images and text: names, configurations and files to networks."""

from pathlib import Path

import torch

from hamiltone.errors import InputError
from hamiltone.models.checkpoint import Header, load_any, load_checkpoint, load_classifier, save_checkpoint
from hamiltone.models.configs import (
    CompactConfig,
    Config,
    EnhancerConfig,
    RowConfig,
    SpeechConfig,
    TextConfig,
    VisionConfig,
)
from hamiltone.models.enhancer import Enhancer, folded
from hamiltone.models.presets import PRESETS, build, preset
from hamiltone.models.text import TextClassifier
from hamiltone.models.vision import ImageClassifier

__all__ = [
    "PRESETS",
    "CompactConfig",
    "Config",
    "Enhancer",
    "EnhancerConfig",
    "Header",
    "ImageClassifier",
    "RowConfig",
    "SpeechConfig",
    "TextClassifier",
    "TextConfig",
    "VisionConfig",
    "build",
    "bundled",
    "folded",
    "load",
    "load_any",
    "load_checkpoint",
    "load_classifier",
    "preset",
    "save_checkpoint",
]

_WEIGHTS = Path(__file__).parent.parent / "weights"
DEFAULT = "compact"


def bundled() -> dict[str, Path]:
    """The models that come with the package, by name."""
    return {path.stem: path for path in sorted(_WEIGHTS.glob("*.safetensors"))}


def load(model: str | Path | None = None, device: str | torch.device = "cpu") -> Enhancer:
    """Load a trained model, folded and ready to run: a bundled one by name, any other by file; None is the default."""
    name = DEFAULT if model is None else str(model)
    path = bundled().get(name, Path(name))
    if not path.exists():
        hint = f"; {name!r} is an untrained preset, train it first" if name in PRESETS else ""
        raise InputError(f"there is no model {name!r}: give a file or one of {', '.join(bundled())}{hint}")
    return folded(load_checkpoint(path, device)[0])
