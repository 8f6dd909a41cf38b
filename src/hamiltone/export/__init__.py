"""Speech models as ONNX files that run without torch.

- `graph` has the modules that are exported: spectra as pairs of reals in, gains out, with the level inside;
- `layers` replaces layers by forms for which onnxruntime has fused kernels;
- `reshapes` moves reshapes out of the way of convolutions;
- `check` compares the graph with the model before anything is written;
- `write` goes from a checkpoint to a file, `int8` to a quantised one with its scores.
"""

from hamiltone.torch_extra import MissingTorchError  # noqa: F401

# isort: split
from hamiltone.export.int8 import Cost, export_int8
from hamiltone.export.write import Exported, export

__all__ = ["Cost", "Exported", "export", "export_int8"]
