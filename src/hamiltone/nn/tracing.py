"""Whether code is being executed or traced."""

import torch


def is_traced() -> bool:
    """True under torch.compile, torch.export and ONNX tracing, where tensors have no lasting identity."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
