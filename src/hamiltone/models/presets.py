"""Names to models: the paper's networks (Tables 2, 3, 12) as frozen configurations, and the builder that reads them."""

from dataclasses import dataclass, replace
from typing import Literal, get_args

from torch import nn

from hamiltone.audio.stft import STFT
from hamiltone.errors import InputError
from hamiltone.models.bottleneck import Bottleneck
from hamiltone.models.densenet import Decoder, Encoder
from hamiltone.models.enhancer import Enhancer
from hamiltone.models.network import MaskHead, SpectrogramNetwork
from hamiltone.models.real import real_twin
from hamiltone.nn import (
    HamiltonAttention,
    QConformerBlock,
    QConvModule,
    QFeedForward,
    QTNAttention,
    QTransformerBlock,
    SharedScoreAttention,
)

Block = Literal["transformer", "conformer", "none"]
Attention = Literal["shared", "hamilton", "local", "none"]
ATTENTIONS = {"shared": SharedScoreAttention, "hamilton": HamiltonAttention, "local": QTNAttention}


@dataclass(frozen=True)
class EnhancerConfig:
    """Everything that shapes a model; sizes count quaternions, dilations stand for the dense blocks."""

    block: Block
    attention: Attention
    feed_forward: int = 64
    encoder_dilations: tuple[int, ...] = (1, 2, 4)
    decoder_dilations: tuple[int, ...] = (8, 4, 2)
    channels: int = 16
    heads: int = 4
    layers: int = 2
    kernel_size: int = 31
    dropout: float = 0.1
    real_valued: bool = False
    n_fft: int = 400
    hop: int = 100
    sample_rate: int = 16_000

    def __post_init__(self) -> None:
        for name, value, choices in (("block", self.block, Block), ("attention", self.attention, Attention)):
            if value not in get_args(choices):
                raise InputError(f"{name} must be one of {', '.join(get_args(choices))}, got {value!r}")


_VOICEBANK = {
    "qtransformer": EnhancerConfig("transformer", "shared", feed_forward=48),
    "qconformer": EnhancerConfig("conformer", "shared"),
    "qdensenet": EnhancerConfig("none", "none", encoder_dilations=(1, 2, 4, 8), decoder_dilations=(8, 4, 2, 1)),
    "qtn": EnhancerConfig("transformer", "local", feed_forward=16),
    "real-conformer": EnhancerConfig("conformer", "shared", real_valued=True),
}
PRESETS = _VOICEBANK | {f"{name}-dns": replace(config, n_fft=512, hop=256) for name, config in _VOICEBANK.items()}


def attention_choices(config: EnhancerConfig) -> tuple[Attention, ...]:
    """The score rules that a preset can be built with: both where there is quaternion attention to choose for."""
    if config.attention in ("shared", "hamilton") and not config.real_valued:
        return ("shared", "hamilton")
    return (config.attention,)


def preset(name: str, attention: str | None = None) -> EnhancerConfig:
    """The configuration of a preset, with another attention if asked for and if it has the choice."""
    if name not in PRESETS:
        raise InputError(f"there is no preset {name!r}; choose one of {', '.join(PRESETS)}")
    config = PRESETS[name]
    if attention is None:
        return config
    for choice in attention_choices(config):
        if choice == attention:
            return replace(config, attention=choice)
    choices = " or ".join(attention_choices(config))
    raise InputError(f"preset {name} has no attention {attention!r}; it takes {choices}")


def build(config: EnhancerConfig) -> Enhancer:
    """Build a freshly initialised model (seeded by torch's generator)."""
    bottleneck = None
    if config.block != "none":
        bottleneck = Bottleneck(
            [_block(config) for _ in range(config.layers)], [_block(config) for _ in range(config.layers)]
        )
    network: nn.Module = SpectrogramNetwork(
        config.channels,
        Encoder(config.channels, config.encoder_dilations, dropout=config.dropout),
        bottleneck,
        Decoder(config.channels, config.decoder_dilations, dropout=config.dropout),
        MaskHead(2 * config.channels),
    )
    if config.real_valued:
        network = real_twin(network)
    return Enhancer(STFT(config.n_fft, config.hop), network, sample_rate=config.sample_rate)


def _block(config: EnhancerConfig) -> nn.Module:
    dim, dropout = config.channels, config.dropout
    attention = ATTENTIONS[config.attention](dim, config.heads, dropout=dropout)

    def feed_forward() -> nn.Module:
        return QFeedForward(dim, config.feed_forward, dropout=dropout)

    if config.block == "transformer":
        return QTransformerBlock(dim, attention, feed_forward(), dropout=dropout)
    convolution = QConvModule(dim, config.kernel_size, dropout=dropout)
    return QConformerBlock(dim, attention, convolution, (feed_forward(), feed_forward()), dropout=dropout)
