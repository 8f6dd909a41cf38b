"""The optimiser that a recipe asks for."""

from collections.abc import Iterable
from typing import Any

import torch
from torch import nn
from torch.optim import Optimizer

from hamiltone.errors import InputError
from hamiltone.training.config import Optimiser


def make_optimiser(parameters: Iterable[nn.Parameter], settings: Optimiser) -> Optimizer:
    """AdamW, or SOAP with a factor for every axis of a weight."""
    if settings.kind == "soap":
        return _soap()(
            list(parameters),
            settings.lr,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
            precondition_frequency=settings.precondition_steps,
        )
    return torch.optim.AdamW(parameters, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)


def _soap() -> Any:
    """SOAP with its bases in a fixed memory layout, so that a resumed run rounds exactly as an uninterrupted one."""
    try:
        from pytorch_optimizer import SOAP
    except ImportError:
        raise InputError("optimiser.kind = soap needs pytorch-optimizer: pip install 'hamiltone[train]'") from None

    class ContiguousSOAP(SOAP):
        @staticmethod
        def get_orthogonal_matrix(mat: Any) -> list[Any]:
            return _contiguous(SOAP.get_orthogonal_matrix(mat))

        def get_orthogonal_matrix_qr(self, *arguments: Any, **options: Any) -> Any:
            return _contiguous(super().get_orthogonal_matrix_qr(*arguments, **options))

    return ContiguousSOAP


def _contiguous(matrices: list[Any]) -> list[Any]:
    """An axis without a factor has an empty list."""
    return [matrix.contiguous() if isinstance(matrix, torch.Tensor) else matrix for matrix in matrices]
