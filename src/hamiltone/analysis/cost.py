"""What attention costs: products, softmaxes, multiply-accumulates and parameters (Tables 1, 9 and 12)."""

from collections.abc import Sequence
from dataclasses import dataclass

import torch

from hamiltone.models import build, preset
from hamiltone.models.configs import EnhancerConfig
from hamiltone.models.cost import attention_macs, size_and_cost
from hamiltone.models.presets import attention_choices
from hamiltone.nn import ScoreRule, make_rule
from hamiltone.nn.rules import COMPARED


@dataclass(frozen=True)
class ScoreCost:
    """Real multiplications for one pair of quaternions, softmaxes for one head (Table 1), and the scale if known."""

    attention: str
    multiplications: int
    softmaxes: int
    scale: str


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


def score_cost(name: str) -> ScoreCost:
    """The cost that a rule declares.

    >>> score_cost("shared")
    ScoreCost(attention='shared', multiplications=4, softmaxes=1, scale='1/√(4·d_h)')
    """
    rule = make_rule(name)
    return ScoreCost(name, rule.products, rule.maps, rule.scale.value if rule.scale else "")


def counted_products(rule: ScoreRule) -> tuple[int, int]:
    """The products and maps that a bilinear rule forms, found by scoring every pair of units of one quaternion.

    >>> counted_products(make_rule("hamilton"))
    (16, 4)
    """
    units = torch.eye(4).view(1, 1, 4, 4, 1)  # four positions, each one unit: (B, H, N, 4, D)
    scores = rule.scores(units, units)
    return int(scores.count_nonzero()), scores.shape[2]


def layer_costs(lengths: Sequence[int], attentions: Sequence[str] = COMPARED, dim: int = 64) -> list[LayerCost]:
    """Score rules at Table 9's setting; `dim` counts quaternions, and the number of heads does not matter."""
    return [LayerCost(name, t, attention_macs(make_rule(name), t, dim)) for t in lengths for name in attentions]


def model_costs(names: Sequence[str], attentions: Sequence[str] = COMPARED) -> list[ModelCost]:
    """Presets with each of the attentions, or with their own if there is nothing to choose."""
    rows = []
    for name in names:
        for attention in attention_choices(preset(name), attentions):
            rows.append(ModelCost(name, attention, *size_and_cost(preset(name, attention))))
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
