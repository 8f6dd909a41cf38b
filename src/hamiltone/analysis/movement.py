"""How far training has moved the weights of queries and keys from where they started."""

from dataclasses import dataclass

import torch
from torch import Tensor, nn

from hamiltone.analysis.statistics import pearson
from hamiltone.models import Header, build
from hamiltone.nn import QAttention


@dataclass(frozen=True)
class Movement:
    """How W_Q and W_K of one layer moved: correlation with their initial values, and distance over initial norm."""

    layer: str
    query_correlation: float
    key_correlation: float
    query_distance: float
    key_distance: float


def start_of(header: Header) -> nn.Module:
    """The untrained model of a checkpoint: training seeds torch's generator with the recipe's seed and builds it.

    Works only for a checkpoint that was trained from random weights, and as long as hamiltone draws weights in the
    same order as the version that trained it.
    """
    recipe = header.training.get("recipe", {})
    if "seed" not in recipe or recipe.get("init"):
        raise ValueError("expected the header of a training from random weights, with its seed")
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(recipe["seed"])
        return build(header.config)


def study_movement(start: nn.Module, end: nn.Module) -> tuple[Movement, ...]:
    """Compare every quaternion attention of two models of one architecture."""
    before = {name: module for name, module in start.named_modules() if isinstance(module, QAttention)}
    after = {name: module for name, module in end.named_modules() if isinstance(module, QAttention)}
    return tuple(_movement(name, module, after[name]) for name, module in before.items())


def _movement(name: str, before: QAttention, after: QAttention) -> Movement:
    pairs = [(getattr(before, part).weight.detach(), getattr(after, part).weight.detach()) for part in ("query", "key")]
    correlations = [pearson(a.numpy(), b.numpy()) for a, b in pairs]
    return Movement(name, *correlations, *(_distance(a, b) for a, b in pairs))


def _distance(start: Tensor, end: Tensor) -> float:
    return float((end - start).norm() / start.norm())
