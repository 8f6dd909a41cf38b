"""Quaternion self-attention with shared scores: a library of quaternion layers, and a speech enhancer built on it.

The tour:

- `hamiltone.enhance(waveform, sample_rate)` takes the noise out of speech; `hamiltone enhance` does so for files.
- `hamiltone.Stream(sample_rate)` does so for live sound, chunk by chunk; `hamiltone live` for calls and pipes.
- `hamiltone.nn` has the layers, with the components on an axis of their own: sequences are ``(B, N, 4, C)``, maps
  ``(B, 4, C, T, F)``. `SharedScoreAttention` is the paper's attention, `HamiltonAttention` its rival, `QAttention`
  takes any score rule, and `fold` turns any module into plain real layers for inference.
- `hamiltone.algebra` has the quaternion algebra on tensors.
- `hamiltone.models` has the paper's models of speech, images and text and their checkpoints, `hamiltone.losses`,
  `hamiltone.data`, `hamiltone.training` and `hamiltone.metrics` what trains and judges them.
- `hamiltone.analysis` looks into attention as the paper does; `hamiltone reproduce` sets its numbers beside ours.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hamiltone import algebra, nn
    from hamiltone.inference import enhance
    from hamiltone.nn import HamiltonAttention, QAttention, QConv2d, QLinear, ScoreRule, SharedScoreAttention, fold
    from hamiltone.runtime import Stream

__version__ = "0.1.0.dev0"

__all__ = [
    "HamiltonAttention",
    "QAttention",
    "QConv2d",
    "QLinear",
    "ScoreRule",
    "SharedScoreAttention",
    "Stream",
    "algebra",
    "enhance",
    "fold",
    "nn",
]


def __getattr__(name: str) -> Any:
    """Import what is asked for, and with it torch and the audio libraries, only then: the program starts at once."""
    if name in ("algebra", "nn"):
        return import_module(f"hamiltone.{name}")
    if name in __all__:
        room = {"enhance": "inference", "Stream": "runtime"}.get(name, "nn")
        return getattr(import_module(f"hamiltone.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
