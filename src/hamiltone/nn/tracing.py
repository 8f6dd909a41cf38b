"""Whether code is being run or recorded."""

import torch


def is_traced() -> bool:
    """True under torch.compile, torch.export and the tracers behind ONNX: no identity of tensors lasts there."""
    return torch.compiler.is_compiling() or torch.jit.is_tracing()  # type: ignore[attr-defined]
