"""Quaternion self-attention with shared scores: a library of quaternion layers, and a speech enhancer built on it.

`enhance`, `Stream` and the commands `enhance` and `live` run the bundled models in onnxruntime; everything else needs
PyTorch, which comes with the extra ``hamiltone[torch]``.

The tour:

- `hamiltone.enhance(waveform, sample_rate)` removes noise from speech; `hamiltone enhance` does it for files.
- `hamiltone.Stream(sample_rate)` does it for live sound, chunk by chunk; `hamiltone live` for calls and pipes.
- `hamiltone.nn` has the layers, with the components on an axis of their own: sequences are ``(B, N, 4, C)``, maps
  ``(B, 4, C, T, F)``. `SharedScoreAttention` is the paper's attention (Eq. 9-13), its scores are `nn/scores.py`;
  `HamiltonAttention` is its rival, `QAttention` takes any score rule, and `fold` turns any module into plain real
  layers for inference.

The rooms, from the bottom up; a room imports only from rooms above it in this list (CONTRIBUTING.md has the exact map):

- `errors`, `torch_extra`, `markdown`, `allocator`, `leftovers`, `atomic`: errors the user can fix, the check that
  PyTorch is installed, Markdown tables, a malloc setting, clean-up after killed runs, and atomic writes.
- `algebra`: quaternion algebra on tensors (Eq. 1-7, 28).
- `nn`: layers, score rules, blocks, `fold`.
- `audio`: files and formats, STFT, spectrum to quaternions (Eq. 19, 68-69).
- `weights`: the bundled models; `models`: the networks of speech, images and text, presets, checkpoints.
- `losses`, `metrics`, `data`: training objectives (Eq. 70-72), measures of quality, training data.
- `runtime`: recordings of any length, rate and format, and live sound, through a model (spectrum in, gain out).
- `page`: the page that cleans speech in the browser, and its server; built from web/.
- `corpus`: whole corpora on Ray Data or in a plain loop, with exact resumption.
- `training`: a recipe in, a run folder out.
- `evaluation`: scores against clean references; `export`: models as ONNX files; `analysis`: what attention does;
  `benchmark`: time and memory on this machine.
- `paper`: the paper's tables and figures, its numbers beside ours.
- `cli`: the command line, one file per command.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from hamiltone import algebra, nn
    from hamiltone.nn import HamiltonAttention, QAttention, QConv2d, QLinear, ScoreRule, SharedScoreAttention, fold
    from hamiltone.runtime import Stream, enhance

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
    """Import a public name, and with it torch, onnxruntime or the audio libraries, on first use."""
    if name in ("algebra", "nn"):
        return import_module(f"hamiltone.{name}")
    if name in __all__:
        room = "runtime" if name in ("enhance", "Stream") else "nn"
        return getattr(import_module(f"hamiltone.{room}"), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
