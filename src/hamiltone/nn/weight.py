"""From a quaternion weight to the real matrix that computes with it, assembled once per weight in evaluation."""

from collections.abc import Callable
from typing import Any, NamedTuple

import torch
from torch import Tensor, nn

from hamiltone.algebra import real_matrix
from hamiltone.nn.tracing import is_traced


def real_weight(weight: Tensor, groups: int = 1) -> Tensor:
    """The real weight of the layer ``x ⊗ w``: one GEMM or convolution instead of sixteen.

    Shape:
        weight: ``(4, O, I / groups, *kernel)``
        returns: ``(4 O, 4 I / groups, *kernel)``; within each group the real channels run component by component
    """
    blocks = real_matrix(weight, dim=0).unflatten(2, (groups, -1))  # (4 out, 4 in, G, O/G, I/G, *kernel)
    kernel = range(5, blocks.dim())
    return blocks.permute(2, 0, 3, 1, 4, *kernel).flatten(3, 4).flatten(0, 2)


def real_weight_transposed(weight: Tensor, groups: int = 1) -> Tensor:
    """`real_weight` for transposed convolutions, whose weights torch stores input first.

    Shape:
        weight: ``(4, I, O / groups, *kernel)``
        returns: ``(4 I, 4 O / groups, *kernel)``
    """
    blocks = real_matrix(weight, dim=0).unflatten(2, (groups, -1))  # (4 out, 4 in, G, I/G, O/G, *kernel)
    kernel = range(5, blocks.dim())
    return blocks.permute(2, 1, 3, 0, 4, *kernel).flatten(3, 4).flatten(0, 2)


class _Entry(NamedTuple):
    source: Tensor  # the weight's own memory; holding it keeps the address from being reused
    snapshot: Tensor | None  # its values at assembly, where comparing them is cheap
    version: int | None
    matrix: Tensor


class RealWeightCache:
    """Keeps the last assembled real weight while gradients are off; it is not part of the state dict or of copies.

    A hit needs the same memory, version, dtype and device. Writes through ``parameter.data`` do not raise the version,
    so on the CPU the values are compared as well, which costs a quarter of the reads of the matrix product that
    follows. On other devices that would force a synchronisation: write weights there under ``torch.no_grad()``, not
    through ``.data``.
    """

    def __init__(self) -> None:
        self._entry: _Entry | None = None

    def get(self, weight: Tensor, assemble: Callable[[Tensor], Tensor]) -> Tensor:
        """Return ``assemble(weight)``, from memory if nothing has changed since the last call."""
        if not self._may_keep(weight):
            return assemble(weight)
        if self._entry is None or not self._is_current(self._entry, weight):
            self._entry = _Entry(
                source=weight.detach(),
                snapshot=weight.detach().clone() if weight.device.type == "cpu" else None,
                version=None if weight.is_inference() else weight._version,
                matrix=assemble(weight),
            )
        return self._entry.matrix

    @staticmethod
    def _may_keep(weight: Tensor) -> bool:
        """Only a real parameter outside of autograd, tracing and compilation has a lasting identity."""
        return not torch.is_grad_enabled() and not is_traced() and type(weight) is nn.Parameter and not weight.is_meta

    @staticmethod
    def _is_current(entry: _Entry, weight: Tensor) -> bool:
        return (
            entry.source.data_ptr() == weight.data_ptr()
            and entry.source.dtype == weight.dtype
            and entry.source.device == weight.device
            and entry.version == (None if weight.is_inference() else weight._version)
            and (entry.snapshot is None or torch.equal(entry.snapshot, weight))
        )

    def __deepcopy__(self, memo: dict[int, Any]) -> "RealWeightCache":
        return RealWeightCache()

    def __reduce__(self) -> tuple[type["RealWeightCache"], tuple[()]]:
        return RealWeightCache, ()
