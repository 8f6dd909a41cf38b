"""Models of speech, images and text, built from names, configurations or files.

- `configs` describes them, `presets` names and builds them, `checkpoint` stores them; `cost` counts multiplications and
  `catalogue` lists the size and cost of every preset;
- speech: `enhancer` is the way from waveform to waveform. The paper's `network` consists of a `densenet` and a
  `bottleneck`; `compact` and `rows` are the networks of the bundled models, `erb` lets one run on bands, `level` is the
  running level, `real` makes a real-valued twin, and `tiling` keeps memory small;
- `vision` and `text` are the paper's classifiers.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from pathlib import Path

import torch

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
from hamiltone.weights import DEFAULT, bundled, find_model

__all__ = [
    "DEFAULT",
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


def load(model: str | Path | None = None, device: str | torch.device = "cpu") -> Enhancer:
    """Load a trained model, folded and ready to run: a bundled one by name, any other by file; None is the default."""
    return folded(load_checkpoint(find_model(model), device)[0])
