"""Configurations of models: frozen, checked when they are made, and stored in checkpoints as JSON.

`attention` is the name of a score rule (see `hamiltone.nn.rules`), or `qtn` or `none` where a family has them.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_origin

from hamiltone.errors import InputError
from hamiltone.nn.rules import RULES, unknown_rule

BlockKind = Literal["transformer", "conformer", "none"]

BOUNDS: dict[str, tuple[float, float]] = {
    "bands": (0, 4096),
    "blocks": (1, 64),
    "channels": (1, 1024),
    "classes": (1, 100_000),
    "decay": (0, 1),
    "decoder_dilations": (1, 256),
    "dilations": (1, 256),
    "dim": (1, 4096),
    "dropout": (0, 0.99),
    "embedding_dropout": (0, 0.99),
    "encoder_dilations": (1, 256),
    "exponent": (0.01, 1),
    "feed_forward": (1, 16_384),
    "heads": (1, 256),
    "hop": (1, 8192),
    "kernel_size": (1, 255),
    "layers": (1, 64),
    "limit": (1, 65_536),
    "mask_limit": (0.01, 100),
    "mean": (-100, 100),
    "memory": (1, 4096),
    "n_fft": (16, 16_384),
    "pooling": (1, 64),
    "residuals": (0, 64),
    "rows": (1, 4096),
    "sample_rate": (1000, 192_000),
    "size": (1, 1024),
    "std": (1e-6, 100),
    "stride": (1, 256),
    "vocabulary": (1, 10_000_000),
}
"""The range of each number of a configuration: wider than what is useful, but still buildable."""
_MOST_FRAMES = 2000  # per second; attention over time is quadratic in them
_LONGEST = 16  # of the tuples of a configuration


@dataclass(frozen=True)
class EnhancerConfig:
    """The paper's family; sizes count quaternions, and each dilation makes a dense block."""

    block: BlockKind
    """The blocks of the bottleneck."""
    attention: str
    """The name of the score rule in `hamiltone.nn.rules`, or your own as `package.module:Name`; `qtn`, `none`."""
    feed_forward: int = 64
    """Quaternions between the two layers of a feed-forward."""
    encoder_dilations: tuple[int, ...] = (1, 2, 4)
    """Dilation of each dense block of the encoder."""
    decoder_dilations: tuple[int, ...] = (8, 4, 2)
    """Dilation of each dense block of the decoder."""
    channels: int = 16
    """Quaternion channels of the feature maps."""
    heads: int = 4
    """Heads; they must divide the quaternions of a position."""
    layers: int = 2
    """Blocks along each axis."""
    kernel_size: int = 31
    """Length of the convolution of a block."""
    dropout: float = 0.1
    """Probability with which whole quaternions and attention weights are dropped."""
    real_valued: bool = False
    """Whether to build the real-valued twin."""
    n_fft: int = 400
    """Samples of a frame."""
    hop: int = 100
    """Samples between frames."""
    sample_rate: int = 16_000
    """The sample rate of the model in Hz."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        if self.block not in get_args(BlockKind):
            raise InputError(f"block must be one of {', '.join(get_args(BlockKind))}, got {self.block!r}")
        _check_attention(self.attention, "qtn", "none")
        if self.block != "none":
            _check_heads(self.heads, self.channels)


@dataclass(frozen=True)
class CompactConfig:
    """The compact family; `channels` and `dilations` have an entry per stage, each of which halves the frequency axis.

    The network sees `bands` instead of bins (see `hamiltone.models.erb`), or the bins if it is 0. `decay` is that of
    the running level, per frame; 0 means the level of the whole recording.
    """

    attention: str = "shared"
    """The name of the score rule in `hamiltone.nn.rules`, or your own as `package.module:Name`."""
    channels: tuple[int, ...] = (6, 12)
    """Quaternion channels of the feature maps, for each stage."""
    dilations: tuple[int, ...] = (1, 2)
    """Dilation in time of each stage."""
    feed_forward: int = 24
    """Quaternions between the two layers of a feed-forward."""
    heads: int = 2
    """Heads; they must divide the quaternions of a position."""
    layers: int = 2
    """Blocks along each axis."""
    kernel_size: int = 15
    """Length of the convolution of a block."""
    pooling: int = 1
    """Frames whose mean is one key and value of the attention along time."""
    dropout: float = 0.0
    """Probability with which whole quaternions and attention weights are dropped."""
    exponent: float = 0.3
    """The power to which magnitudes are raised in the features."""
    mask_limit: float = 1.2
    """The largest value of the mask."""
    bands: int = 129
    """Bands that the network sees instead of the bins; 0 for the bins."""
    norm: Literal["layer", "batch"] = "layer"
    """The norm of a block: `batch` folds away for inference."""
    decay: float = 0.0
    """Decay per frame of the running level that the network sees; 0 is the level of the whole recording."""
    n_fft: int = 512
    """Samples of a frame."""
    hop: int = 256
    """Samples between frames."""
    sample_rate: int = 16_000
    """The sample rate of the model in Hz."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_attention(self.attention)
        if not self.channels or len(self.channels) != len(self.dilations):
            raise InputError(f"expected a dilation for every stage, got {self.channels} and {self.dilations}")
        _check_heads(self.heads, self.channels[-1])
        if self.norm not in ("layer", "batch"):
            raise InputError(f"norm must be layer or batch, got {self.norm!r}")
        if self.bands and not 4 <= self.bands <= self.n_fft // 2 + 1:
            raise InputError(f"bands must be 0, or from 4 to the {self.n_fft // 2 + 1} bins, got {self.bands}")
        rows = self.bands or self.n_fft // 2 + 1
        if (rows - 1) % 2 ** len(self.channels):
            raise InputError(f"{len(self.channels)} stages cannot halve {rows} bins or bands evenly")


@dataclass(frozen=True)
class RowConfig:
    """The network of rows (see `hamiltone.models.rows`); sizes count quaternions.

    `stride` bins become one of the encoder's rows, and those become `rows`. A `causal` network never looks ahead, so it
    runs on a stream; `decay` is that of the running level, per frame.
    """

    attention: str = "shared"
    """The name of the score rule in `hamiltone.nn.rules`, or your own as `package.module:Name`."""
    causal: bool = True
    """Whether no frame looks ahead, so that the model runs on a stream."""
    channels: int = 12
    """Quaternion channels of the encoder."""
    dim: int = 12
    """Quaternions of a position in the attention."""
    memory: int = 12
    """Quaternions of the state of a recurrent unit."""
    rows: int = 24
    """Rows between which attention runs."""
    blocks: int = 4
    """Blocks of a recurrence along time and attention along frequency."""
    heads: int = 4
    """Heads; they must divide the quaternions of a position."""
    residuals: int = 1
    """Residual blocks of the encoder, and of the decoder."""
    kernel_size: int = 8
    """Length of the encoder's convolution along frequency."""
    stride: int = 4
    """Bins that become one row of the encoder."""
    decay: float = 0.97
    """Decay per frame of the running level that the network sees, between 0 and 1."""
    exponent: float = 0.3
    """The power to which magnitudes are raised in the features."""
    mask_limit: float = 1.2
    """The largest value of the mask."""
    n_fft: int = 512
    """Samples of a frame."""
    hop: int = 256
    """Samples between frames."""
    sample_rate: int = 16_000
    """The sample rate of the model in Hz."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_attention(self.attention)
        _check_heads(self.heads, self.dim)
        if self.n_fft % (2 * self.stride) or (self.kernel_size - self.stride) % 2 or self.kernel_size < self.stride:
            raise InputError(
                f"expected a stride that divides {self.n_fft // 2} bins and a kernel that is longer by an even number, "
                f"got {self.stride} and {self.kernel_size}"
            )
        if not 0 < self.decay < 1:
            raise InputError(f"decay must lie between 0 and 1, got {self.decay}")


@dataclass(frozen=True)
class VisionConfig:
    """The paper's image classifier; `channels` has an entry per stage, and all stages but the first halve the image."""

    attention: str = "shared"
    """The name of the score rule in `hamiltone.nn.rules`, or your own as `package.module:Name`; or `qtn`."""
    channels: tuple[int, ...] = (16, 32, 64, 64)
    """Quaternion channels of the feature maps, for each stage."""
    blocks: int = 2
    """Residual blocks of a stage."""
    feed_forward: int = 256
    """Quaternions between the two layers of a feed-forward."""
    heads: int = 4
    """Heads; they must divide the quaternions of a position."""
    layers: int = 2
    """Layers of the Transformer."""
    dropout: float = 0.1
    """Probability with which whole quaternions and attention weights are dropped."""
    classes: int = 100
    """How many classes there are; training takes it from the data."""
    size: int = 32
    """Pixels of a side; training takes it from the data."""
    mean: tuple[float, float, float] = (0.507, 0.487, 0.441)
    """Mean of the red, green and blue of all images."""
    std: tuple[float, float, float] = (0.267, 0.256, 0.276)
    """Standard deviation of the red, green and blue."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_attention(self.attention, "qtn")
        if not self.channels or self.size % 2 ** (len(self.channels) - 1):
            raise InputError(f"{len(self.channels)} stages cannot halve images of {self.size} pixels evenly")
        _check_heads(self.heads, self.channels[-1])

    @property
    def grid(self) -> int:
        """The side of the map of tokens."""
        return self.size // 2 ** (len(self.channels) - 1)


@dataclass(frozen=True)
class TextConfig:
    """The paper's text classifier; `vocabulary` counts words, with padding and the unknown word."""

    attention: str = "shared"
    """The name of the score rule in `hamiltone.nn.rules`, or your own as `package.module:Name`."""
    vocabulary: int = 2
    """How many words there are; training takes it from the data."""
    dim: int = 32
    """Quaternions of a position in the attention."""
    feed_forward: int = 128
    """Quaternions between the two layers of a feed-forward."""
    heads: int = 4
    """Heads; they must divide the quaternions of a position."""
    layers: int = 2
    """Layers of the Transformer."""
    dropout: float = 0.1
    """Probability with which whole quaternions and attention weights are dropped."""
    embedding_dropout: float = 0.1
    """Probability with which quaternions of the embedding are dropped."""
    classes: int = 2
    """How many classes there are; training takes it from the data."""
    limit: int = 64
    """Words of a sentence at most."""

    def __post_init__(self) -> None:
        _check_numbers(self)
        _check_attention(self.attention)
        _check_heads(self.heads, self.dim)


def _check_attention(name: Any, *others: str) -> None:
    """Accept a built-in rule, a registered one, or one of the `others`; nothing is imported."""
    if not isinstance(name, str):
        raise InputError(f"attention must be the name of a rule, got {_short(name)}")
    if name not in RULES and name not in others:
        raise InputError(unknown_rule(name, *others))


def _check_numbers(config: "Config") -> None:
    """Check every field that is a number, or a tuple of them, against its type and `BOUNDS`."""
    for entry in fields(config):
        value, kind = getattr(config, entry.name), entry.type
        if get_origin(kind) is tuple:
            if not isinstance(value, tuple) or len(value) > _LONGEST:
                raise InputError(f"{entry.name} must be a list of at most {_LONGEST} numbers, got {_short(value)}")
            for item in value:
                _check_number(entry.name, item, get_args(kind)[0])
        elif kind is bool and not isinstance(value, bool):
            raise InputError(f"{entry.name} must be true or false, got {_short(value)}")
        elif kind in (int, float):
            _check_number(entry.name, value, kind)
    n_fft, hop = getattr(config, "n_fft", 16), getattr(config, "hop", 4)
    if n_fft % 2 or not n_fft // 16 <= hop <= n_fft // 2:
        raise InputError(f"expected an even n_fft and a hop of 1/16 to 1/2 of it, got {n_fft} and {hop}")
    rate = getattr(config, "sample_rate", 0)
    if rate > _MOST_FRAMES * hop:
        raise InputError(f"expected at most {_MOST_FRAMES:,} frames per second, got a hop of {hop} at {rate} Hz")


def _check_number(name: str, value: Any, kind: Any) -> None:
    if isinstance(value, bool) or not isinstance(value, int if kind is int else int | float):
        raise InputError(f"{name} must be {'a whole number' if kind is int else 'a number'}, got {_short(value)}")
    low, high = BOUNDS.get(name, (-math.inf, math.inf))
    if not low <= value <= high:  # also catches NaN
        raise InputError(f"{name} must lie between {low:g} and {high:g}, got {_short(value)}")


def _short(value: Any) -> str:
    """The value shortened for a message."""
    text = repr(value) if not isinstance(value, int) or abs(value) < 10**30 else "a number of more than 30 digits"
    return text if len(text) < 60 else f"{text[:57]}..."


def _check_heads(heads: int, dim: int) -> None:
    if heads < 1 or dim % heads:
        raise InputError(f"heads must divide the {dim} quaternions of a position, got {heads}")


SpeechConfig = EnhancerConfig | CompactConfig | RowConfig
Config = SpeechConfig | VisionConfig | TextConfig
_FAMILIES: dict[str, type[Config]] = {
    "paper": EnhancerConfig,
    "compact": CompactConfig,
    "rows": RowConfig,
    "vision": VisionConfig,
    "text": TextConfig,
}


def to_json(config: Config) -> dict[str, Any]:
    """The configuration with the name of its family."""
    family = next(name for name, kind in _FAMILIES.items() if isinstance(config, kind))
    return {"family": family, **asdict(config)}


def from_json(content: dict[str, Any]) -> Config:
    """Undo `to_json`; an InputError says what this version does not know."""
    if not isinstance(content, dict):
        raise InputError(f"the configuration must be a table, got {_short(content)}")
    settings = dict(content)
    family = settings.pop("family", None)
    if not isinstance(family, str) or family not in _FAMILIES:
        raise InputError(f"family must be one of {', '.join(_FAMILIES)}, got {_short(family)}")
    unknown = settings.keys() - {entry.name for entry in fields(_FAMILIES[family])}
    if unknown:
        raise InputError(f"unknown settings: {', '.join(sorted(unknown))}; they may come from a later version")
    values: dict[str, Any] = {name: tuple(v) if isinstance(v, list) else v for name, v in settings.items()}
    return _FAMILIES[family](**values)
