"""The optimiser that a recipe asks for."""

from collections.abc import Iterable

import torch
from torch import nn
from torch.optim import Optimizer

from hamiltone.training.config import Optimiser


def make_optimiser(parameters: Iterable[nn.Parameter], settings: Optimiser) -> Optimizer:
    """AdamW, or SOAP with its factors for every axis of a weight."""
    if settings.kind == "soap":
        from pytorch_optimizer import SOAP

        return SOAP(
            list(parameters),
            settings.lr,
            betas=settings.betas,
            weight_decay=settings.weight_decay,
            precondition_frequency=settings.precondition_steps,
        )
    return torch.optim.AdamW(parameters, settings.lr, betas=settings.betas, weight_decay=settings.weight_decay)
