"""Configurations of models: frozen, checked when they are made, and stored in checkpoints as JSON.

`attention` is the name of a score rule (see `hamiltone.nn.rules`), or `qtn` or `none` where a family has them.
"""

import math
from dataclasses import asdict, dataclass, fields
from typing import Any, Literal, get_args, get_origin

from hamiltone.errors import InputError
from hamiltone.nn.rules import RULES, unknown_rule

Block = Literal["transformer", "conformer", "none"]

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
    "residuals": (0, 64),
    "rows": (1, 4096),
    "sample_rate": (1000, 192_000),
    "size": (1, 1024),
    "std": (1e-6, 100),
    "stride": (1, 256),
    "vocabulary": (1, 10_000_000),
}
"""The range of each number of a configuration: wider than what is useful, but still buildable."""
_LONGEST = 16  # of the tuples of a configuration


@dataclass(frozen=True)
class EnhancerConfig:
    """The paper's family; sizes count quaternions, and each dilation makes a dense block."""

    block: Block
    attention: str
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
        _check_numbers(self)
        if self.block not in get_args(Block):
            raise InputError(f"block must be one of {', '.join(get_args(Block))}, got {self.block!r}")
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
    channels: tuple[int, ...] = (6, 12)
    dilations: tuple[int, ...] = (1, 2)
    feed_forward: int = 24
    heads: int = 2
    layers: int = 2
    kernel_size: int = 15
    dropout: float = 0.0
    exponent: float = 0.3
    mask_limit: float = 1.2
    bands: int = 129
    norm: Literal["layer", "batch"] = "layer"
    decay: float = 0.0
    n_fft: int = 512
    hop: int = 256
    sample_rate: int = 16_000

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
    causal: bool = True
    channels: int = 12
    dim: int = 12
    memory: int = 12
    rows: int = 24
    blocks: int = 4
    heads: int = 4
    residuals: int = 1
    kernel_size: int = 8
    stride: int = 4
    decay: float = 0.97
    exponent: float = 0.3
    mask_limit: float = 1.2
    n_fft: int = 512
    hop: int = 256
    sample_rate: int = 16_000

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
    channels: tuple[int, ...] = (16, 32, 64, 64)
    blocks: int = 2
    feed_forward: int = 256
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    classes: int = 100
    size: int = 32
    mean: tuple[float, float, float] = (0.507, 0.487, 0.441)
    std: tuple[float, float, float] = (0.267, 0.256, 0.276)

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
    vocabulary: int = 2
    dim: int = 32
    feed_forward: int = 128
    heads: int = 4
    layers: int = 2
    dropout: float = 0.1
    embedding_dropout: float = 0.1
    classes: int = 2
    limit: int = 64

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
        raise InputError(f"heads must divide the {dim} quaternions of the Transformer, got {heads}")


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
