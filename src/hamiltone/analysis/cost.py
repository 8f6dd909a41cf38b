"""What attention costs: products, softmaxes, multiply-accumulates and parameters (Tables 1, 9 and 12)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hamiltone.models import build, preset
from hamiltone.models.configs import EnhancerConfig
from hamiltone.models.cost import layer_macs, macs_per_second
from hamiltone.models.presets import attention_choices
from hamiltone.nn import HamiltonAttention, HamiltonScore, QAttention, ScoreRule, SharedScore, SharedScoreAttention

ATTENTIONS: dict[str, type[SharedScoreAttention] | type[HamiltonAttention]] = {
    "shared": SharedScoreAttention,
    "hamilton": HamiltonAttention,
}
RULES: dict[str, ScoreRule] = {"shared": SharedScore(), "hamilton": HamiltonScore()}


@dataclass(frozen=True)
class ScoreCost:
    """Real multiplications for one pair of quaternions, and softmaxes for one head (Table 1)."""

    attention: str
    multiplications: int
    softmaxes: int


@dataclass(frozen=True)
class LayerCost:
    """Multiply-accumulates of scores and values in one layer; projections are left out (Table 9)."""

    attention: str
    length: int
    macs: int


@dataclass(frozen=True)
class ModelCost:
    """Size and cost of a whole model."""

    preset: str
    attention: str
    parameters: int
    macs_per_second: int


@dataclass(frozen=True)
class Hyperparameters:
    """A model of the paper's family in the terms of Table 12; widths in reals."""

    preset: str
    encoder_blocks: int
    growth_rate: int
    kernel: int
    d_model: int
    heads: int
    layers: int
    kernel_size: int
    dropout: float
    decoder_blocks: int


def score_cost(rule: ScoreRule, name: str = "") -> ScoreCost:
    """Count the products that a rule forms, by scoring every pair of units of one quaternion.

    >>> score_cost(SharedScore())
    ScoreCost(attention='SharedScore', multiplications=4, softmaxes=1)
    """
    units = torch.eye(4).view(1, 1, 4, 4, 1)  # four positions, each one unit: (B, H, N, 4, D)
    scores = rule.scores(units, units)
    return ScoreCost(name or type(rule).__name__, int(scores.count_nonzero()), scores.shape[2])


def attention_cost(attention: QAttention, length: int) -> int:
    """Multiply-accumulates of the scores and values of one layer at a length."""
    x = torch.empty(1, length, 4, attention.dim, device="meta")
    return layer_macs(attention, x, x)


def layer_costs(lengths: Sequence[int], dim: int = 64, heads: int = 8) -> list[LayerCost]:
    """Both attentions at Table 9's setting; `dim` counts quaternions."""
    with torch.device("meta"):
        layers = {name: kind(dim, heads) for name, kind in ATTENTIONS.items()}
    return [LayerCost(name, t, attention_cost(layer, t)) for t in lengths for name, layer in layers.items()]


def model_costs(names: Sequence[str]) -> list[ModelCost]:
    """Presets with each attention that they can have."""
    rows = []
    for name in names:
        for attention in attention_choices(preset(name)):
            with torch.device("meta"):
                model = build(preset(name, attention))
            parameters = sum(parameter.numel() for parameter in model.parameters())
            rows.append(ModelCost(name, attention, parameters, round(macs_per_second(model))))
    return rows


def hyperparameters(name: str) -> Hyperparameters:
    """Table 12's terms for a preset of the paper's family."""
    config = preset(name)
    if not isinstance(config, EnhancerConfig):
        raise ValueError(f"{name} is not of the paper's family")
    return Hyperparameters(
        preset=name,
        encoder_blocks=len(config.encoder_dilations),
        growth_rate=4 * config.channels,
        kernel=_dense_kernel(config),
        d_model=4 * config.channels,
        heads=config.heads,
        layers=config.layers,
        kernel_size=config.kernel_size,
        dropout=config.dropout,
        decoder_blocks=len(config.decoder_dilations),
    )


def _dense_kernel(config: EnhancerConfig) -> int:
    """The side of the dilated convolutions, as the built model has them."""
    with torch.device("meta"):
        model = build(config)
    (kernel,) = {
        side for name, layer in model.named_modules() if ".gate." in name for side in getattr(layer, "kernel_size", ())
    }
    return int(kernel)
