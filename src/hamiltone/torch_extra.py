"""PyTorch is an extra. Modules that need it import this one first: if it is missing, one line says how to get it."""

from hamiltone.errors import InputError


class MissingTorchError(InputError, ImportError):
    """PyTorch, or safetensors, which comes with the same extra, is not installed."""


try:
    import safetensors as safetensors
    import torch as torch
except ModuleNotFoundError as error:
    if error.name not in ("safetensors", "torch"):
        raise
    raise MissingTorchError("this part of hamiltone needs PyTorch: pip install 'hamiltone[torch]'") from None
