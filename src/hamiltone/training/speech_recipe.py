"""The tables of a speech recipe: the model, the data, the loss and the validation."""

from collections.abc import Mapping
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import Field, PlainSerializer, PlainValidator, PositiveInt, field_validator
from pydantic import model_validator as model_check

from hamiltone.data.mixing import PLAIN, Variety
from hamiltone.data.pairs import HELD_OUT
from hamiltone.losses import PAPER_WEIGHTS, LossWeights
from hamiltone.metrics import METRICS
from hamiltone.models import CompactConfig, EnhancerConfig, RowConfig, SpeechConfig, preset
from hamiltone.models.configs import to_json
from hamiltone.training.config import Recipe, Table
from hamiltone.training.reading import overlay, suggestion, use_rule

_LONGEST = 2**24  # samples of a segment: 17 minutes
_MOST = 10**8  # segments of an epoch: an order of them must fit into memory
FAMILIES: dict[str, SpeechConfig] = {
    "paper": EnhancerConfig("conformer", "shared"),
    "compact": CompactConfig(),
    "rows": RowConfig(),
}


def parse_model(value: SpeechConfig | Mapping[str, Any]) -> SpeechConfig:
    """A model from a table that names a preset or a family, and the fields that differ from it."""
    if isinstance(value, SpeechConfig):
        return value
    table = _table(value)
    use_rule(table)
    name, family = table.pop("preset", None), table.pop("family", None)
    if (name is None) == (family is None):
        raise ValueError("expected either a preset or a family")
    if name is not None:
        return overlay(preset(name), table)
    if not isinstance(family, str) or family not in FAMILIES:
        raise ValueError(f"family must be one of {', '.join(FAMILIES)}, got {family!r}")
    return overlay(FAMILIES[family], table)


def parse_variety(base: Variety, value: Variety | Mapping[str, Any]) -> Variety:
    """A variety from a table of the fields that differ from `base`."""
    return value if isinstance(value, Variety) else overlay(base, _table(value))


def parse_weights(value: LossWeights | Mapping[str, Any]) -> LossWeights:
    """The weights of the loss from a table of those that are not zero."""
    if isinstance(value, LossWeights):
        return value
    return overlay(PAPER_WEIGHTS, dict.fromkeys(asdict(PAPER_WEIGHTS), 0.0) | _table(value))


def _table(value: Any) -> dict[str, Any]:
    if not isinstance(value, Mapping):
        raise ValueError("expected a table")
    return dict(value)


SpeechModel = Annotated[SpeechConfig, PlainValidator(parse_model), PlainSerializer(to_json)]
Weights = Annotated[LossWeights, PlainValidator(parse_weights), PlainSerializer(asdict)]
PlainVariety = Annotated[Variety, PlainValidator(partial(parse_variety, PLAIN)), PlainSerializer(asdict)]
RichVariety = Annotated[Variety, PlainValidator(partial(parse_variety, Variety())), PlainSerializer(asdict)]


class SyntheticData(Table):
    """Synthetic speech and noise; `held_out` other mixtures are for validation."""

    kind: Literal["synthetic"]
    """Synthetic speech and noise."""
    segment: PositiveInt = Field(le=_LONGEST)
    """Samples of a training segment."""
    length: PositiveInt = Field(le=_MOST)
    """Segments of an epoch."""
    held_out: PositiveInt = Field(default=32, le=_MOST)
    """Mixtures for validation."""
    held_out_segment: PositiveInt = Field(default=32_000, le=_LONGEST)
    """Samples of each of them."""
    variety: PlainVariety = PLAIN
    """How mixtures vary; see below. By default speech plus noise and nothing else."""


class _PairTable(Table):
    root: Path
    """The folder of the corpus."""
    cache: Path
    """Where decoded audio is kept."""
    segment: PositiveInt = Field(le=_LONGEST)
    """Samples of a training segment."""
    held_out: tuple[str, ...] = HELD_OUT
    """The speakers whose recordings are for validation."""
    sample_rate: PositiveInt = 16_000
    """The sample rate of the files; any other than 16 kHz is resampled."""
    skip_faults: bool = False
    """Whether to leave faulty files out instead of refusing to train."""


class PairData(_PairTable):
    """Segments of the pairs of VoiceBank+DEMAND, unaltered; the speakers `held_out` are for validation."""

    kind: Literal["pairs"]
    """Noisy and clean recordings, unaltered."""


class RemixedData(_PairTable):
    """Pairs of VoiceBank+DEMAND remixed with each other, and with noise and clean speech from folders."""

    kind: Literal["remixed"]
    """Noisy and clean recordings, separated into speech and noise and remixed."""
    length: PositiveInt | None = Field(default=None, le=_MOST)
    """Segments of an epoch; by default one for each pair."""
    noise: tuple[Path, ...] = ()
    """Folders with more noise."""
    speech: tuple[Path, ...] = ()
    """Folders with more clean speech."""
    variety: RichVariety = Variety()
    """How mixtures vary; see below."""


class MixtureData(Table):
    """Mixtures from the folders of the DNS Challenge; a share `held_out` of speakers and noises is for validation."""

    kind: Literal["mixtures"]
    """Mixtures of clean speech and noise from folders."""
    root: Path
    """The folder with the folders of speech and noise."""
    cache: Path | None = None
    """Where decoded audio is kept; without it files are decoded whenever they are read."""
    segment: PositiveInt = Field(le=_LONGEST)
    """Samples of a training segment."""
    length: PositiveInt | None = Field(default=None, le=_MOST)
    """Segments of an epoch; by default one for each recording of speech."""
    held_out: float = Field(default=0.02, gt=0, lt=1)
    """The share of speakers and of noises that is for validation."""
    held_out_segment: PositiveInt = Field(default=160_000, le=_LONGEST)
    """Samples of a mixture for validation."""
    held_out_length: PositiveInt = Field(default=100, le=_MOST)
    """Mixtures for validation."""
    skip_faults: bool = False
    """Whether to leave faulty files out instead of refusing to train."""
    variety: RichVariety = Variety()
    """How mixtures vary; see below."""


Data = Annotated[SyntheticData | PairData | RemixedData | MixtureData, Field(discriminator="kind")]


class Validation(Table):
    """The metrics of held-out speech, the one that chooses the best model, and the number of recordings."""

    metrics: tuple[str, ...] = ("sisdr",)
    """The metrics of held-out recordings."""
    select_by: str = "sisdr"
    """The metric that chooses the best model; one of `metrics`."""
    limit: PositiveInt | None = None
    """The largest number of recordings; by default all that are held out."""
    shown: PositiveInt = 2
    """Recordings of which the log keeps sound and spectrograms."""

    @field_validator("metrics")
    @classmethod
    def _are_known(cls, names: tuple[str, ...]) -> tuple[str, ...]:
        for name in names:
            if name not in METRICS:
                raise ValueError(f"there is no metric {name}{suggestion(name, METRICS)}")
        return names

    @model_check(mode="after")
    def _measures_what_selects(self) -> Self:
        if self.select_by not in self.metrics:
            raise ValueError(f"select_by must be one of the metrics {', '.join(self.metrics)}, got {self.select_by!r}")
        return self


class SpeechRecipe(Recipe):
    """A recipe that trains a speech enhancer."""

    task: Literal["speech"]
    """A speech enhancer."""
    model: SpeechModel | None = None
    """The network; see below. Not needed with `init`."""
    data: Data
    """What to train on, by its `kind`."""
    loss: Weights
    """The weight of each term."""
    validation: Validation = Validation()
    """How held-out speech is scored."""

    @model_check(mode="after")
    def _has_a_model(self) -> Self:
        if self.model is None and self.init is None:
            raise ValueError("expected a [model] table, or init = a checkpoint to start from")
        return self
