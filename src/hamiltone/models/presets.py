"""Presets by name, the paper's networks (Tables 2, 3, 12) and our own; `build` turns configurations into models."""

from collections.abc import Iterable
from dataclasses import replace
from typing import overload

from torch import nn

from hamiltone.audio.stft import STFT
from hamiltone.errors import InputError
from hamiltone.models.bottleneck import Bottleneck
from hamiltone.models.compact import (
    CompactBlock,
    CompactDecoder,
    CompactEncoder,
    CompactNetwork,
    activation,
    depthwise_layers,
)
from hamiltone.models.configs import (
    CompactConfig,
    Config,
    EnhancerConfig,
    RowConfig,
    SpeechConfig,
    TextConfig,
    VisionConfig,
)
from hamiltone.models.densenet import Decoder, Encoder
from hamiltone.models.enhancer import Enhancer
from hamiltone.models.erb import Bands
from hamiltone.models.level import RunningLevel
from hamiltone.models.network import MaskHead, SpectrogramNetwork
from hamiltone.models.real import real_twin
from hamiltone.models.rows import RowBlock, RowHead, RowNetwork, row_decoder, row_encoder
from hamiltone.models.text import TextClassifier, WordEmbedding
from hamiltone.models.vision import ImageClassifier, QResNet
from hamiltone.nn import (
    QGRU,
    QAttention,
    QConformerBlock,
    QConvModule,
    QFeedForward,
    QTNAttention,
    QTransformerBlock,
    make_rule,
)
from hamiltone.nn.rules import RULES

_VOICEBANK = {
    "qtransformer": EnhancerConfig("transformer", "shared", feed_forward=48),
    "qconformer": EnhancerConfig("conformer", "shared"),
    "qdensenet": EnhancerConfig("none", "none", encoder_dilations=(1, 2, 4, 8), decoder_dilations=(8, 4, 2, 1)),
    "qtn": EnhancerConfig("transformer", "qtn", feed_forward=16),
    "real-conformer": EnhancerConfig("conformer", "shared", real_valued=True),
}
PRESETS: dict[str, SpeechConfig] = {
    **_VOICEBANK,
    **{f"{name}-dns": replace(config, n_fft=512, hop=256) for name, config in _VOICEBANK.items()},
    "compact": CompactConfig(norm="batch", decay=0.97, pooling=4),
    "live": RowConfig(),
}


def attention_choices(config: SpeechConfig, among: Iterable[str] = RULES) -> tuple[str, ...]:
    """The score rules that a preset can be built with, or its own attention if it has no scores."""
    real_valued = isinstance(config, EnhancerConfig) and config.real_valued
    return tuple(among) if config.attention in RULES and not real_valued else (config.attention,)


def preset(name: str, attention: str | None = None) -> SpeechConfig:
    """The configuration of a preset, with another attention if one is given and the preset allows it."""
    if not isinstance(name, str) or name not in PRESETS:
        raise InputError(f"there is no preset {name!r}; choose one of {', '.join(PRESETS)}")
    config = PRESETS[name]
    if attention is None:
        return config
    choices = attention_choices(config)
    if attention not in choices:
        raise InputError(f"preset {name} has no attention {attention!r}; it takes {' or '.join(choices)}")
    return replace(config, attention=attention)


@overload
def build(config: SpeechConfig) -> Enhancer: ...
@overload
def build(config: VisionConfig) -> ImageClassifier: ...
@overload
def build(config: TextConfig) -> TextClassifier: ...


def build(config: Config) -> Enhancer | ImageClassifier | TextClassifier:
    """Build a freshly initialised model (seeded by torch's generator)."""
    match config:
        case EnhancerConfig():
            return _paper_enhancer(config)
        case CompactConfig():
            return _compact_enhancer(config)
        case RowConfig():
            return _row_enhancer(config)
        case VisionConfig():
            return _image_classifier(config)
        case TextConfig():
            return _text_classifier(config)


def _paper_enhancer(config: EnhancerConfig) -> Enhancer:
    bottleneck = None
    if config.block != "none":
        time, frequency = [[_paper_block(config) for _ in range(config.layers)] for _ in range(2)]
        bottleneck = Bottleneck(time, frequency)
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


def _paper_block(config: EnhancerConfig) -> nn.Module:
    dim, dropout = config.channels, config.dropout
    attention = _attention(config.attention, dim, config.heads, dropout)

    def feed_forward() -> nn.Module:
        return QFeedForward(dim, config.feed_forward, dropout=dropout)

    if config.block == "transformer":
        return _transformer_block(dim, attention, config.feed_forward, dropout)
    convolution = QConvModule(dim, config.kernel_size, dropout=dropout)
    return QConformerBlock(dim, attention, convolution, (feed_forward(), feed_forward()), dropout=dropout)


def _compact_enhancer(config: CompactConfig) -> Enhancer:
    time, frequency = [[_compact_block(config, n) for _ in range(config.layers)] for n in (config.pooling, 1)]
    network: nn.Module = CompactNetwork(
        CompactEncoder(config.channels, config.dilations),
        Bottleneck(time, frequency),
        CompactDecoder(config.channels, config.dilations),
        MaskHead(config.channels[0], config.mask_limit, activation()),
    )
    stft = STFT(config.n_fft, config.hop)
    if config.bands:
        network = Bands(network, stft.bins, config.bands, config.sample_rate)
    level = RunningLevel(config.decay, causal=False) if config.decay else None
    return Enhancer(stft, network, sample_rate=config.sample_rate, exponent=config.exponent, level=level)


def _compact_block(config: CompactConfig, pooling: int) -> nn.Module:
    dim, dropout = config.channels[-1], config.dropout
    attention = _attention(config.attention, dim, config.heads, dropout, pooling=pooling)
    feed_forward = QFeedForward(dim, config.feed_forward, dropout=dropout)
    parts: list[list[nn.Module]] = [[attention], depthwise_layers(dim, config.kernel_size), [feed_forward]]
    return CompactBlock(dim, config.norm, parts)


def _row_enhancer(config: RowConfig) -> Enhancer:
    stft, bidirectional = STFT(config.n_fft, config.hop), not config.causal
    in_rows = (stft.bins - 1) // config.stride
    network = RowNetwork(
        config.channels,
        config.dim,
        in_rows,
        config.rows,
        row_encoder(config.channels, config.kernel_size, config.stride, config.residuals),
        [
            RowBlock(
                config.dim,
                QGRU(config.dim, config.memory, bidirectional=bidirectional),
                _attention(config.attention, config.dim, config.heads, 0.0),
            )
            for _ in range(config.blocks)
        ],
        row_decoder(config.channels, config.residuals),
        RowHead(config.channels, config.kernel_size, config.stride, config.mask_limit),
    )
    level = RunningLevel(config.decay, causal=config.causal)
    return Enhancer(stft, network, sample_rate=config.sample_rate, exponent=config.exponent, level=level)


def _image_classifier(config: VisionConfig) -> ImageClassifier:
    dim, dropout = config.channels[-1], config.dropout

    def block() -> nn.Module:
        radius = config.grid  # a row of the image up and down
        attention = _attention(config.attention, dim, config.heads, dropout, radius=radius)
        return _transformer_block(dim, attention, config.feed_forward, dropout)

    return ImageClassifier(
        QResNet(config.channels, config.blocks),
        [block() for _ in range(config.layers)],
        dim,
        config.grid**2,
        config.classes,
        dropout=dropout,
        mean=config.mean,
        std=config.std,
    )


def _text_classifier(config: TextConfig) -> TextClassifier:
    dim, dropout = config.dim, config.dropout

    def block() -> nn.Module:
        attention = _attention(config.attention, dim, config.heads, dropout)
        return _transformer_block(dim, attention, config.feed_forward, dropout)

    return TextClassifier(
        WordEmbedding(config.vocabulary, dim, limit=config.limit, dropout=config.embedding_dropout),
        [block() for _ in range(config.layers)],
        dim,
        config.classes,
    )


def _attention(name: str, dim: int, heads: int, dropout: float, *, radius: int = 8, pooling: int = 1) -> nn.Module:
    """The attention of that name; only `qtn` looks at neighbours within a `radius`, and only the others pool keys."""
    if name == "qtn":
        return QTNAttention(dim, heads, radius=radius, dropout=dropout)
    return QAttention(dim, heads, make_rule(name), dropout=dropout, pooling=pooling)


def _transformer_block(dim: int, attention: nn.Module, feed_forward: int, dropout: float) -> nn.Module:
    return QTransformerBlock(dim, attention, QFeedForward(dim, feed_forward, dropout=dropout), dropout=dropout)
