"""What several measurements draw on, loaded when first asked for, and a note of what each has used."""

import hashlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from torch import Tensor

from hamiltone.analysis.gradients import Setting
from hamiltone.errors import InputError
from hamiltone.models import Enhancer, Header, bundled, load_checkpoint
from hamiltone.paper.pair import PAIRS, ModelPair, Utterance, check_pair, recorded_utterances, synthetic_utterances
from hamiltone.paper.store import ModelFacts, folder_of

UTTERANCES, QUICK_UTTERANCES = 64, 4
ROUNDS, QUICK_ROUNDS = 8, 2
"""Of the timings of Tables 3 and 9. The number is fixed before a run, and not raised until a verdict turns."""
SYNTHETIC, RECORDED = "synthetic speech", "VoiceBank+DEMAND's test set"


@dataclass(frozen=True)
class Options:
    """How to measure: with VoiceBank+DEMAND under `data` or synthetic speech, quickly or in full.

    `results` is the only folder that is written to, besides `runs`, where the ablation trains `seeds` models of each
    kind by `recipe`, `jobs` of them at a time. The analyses look at `utterances` utterances, by default 64, or 4 if
    `quick`; what was measured on fewer than 64 is kept as a quick result. Layers and whole models are timed in `rounds`
    rounds, by default `ROUNDS`. `command` is what the user gave.
    """

    data: Path | None = None
    quick: bool = False
    pair: str | None = None
    results: Path = Path("results")
    recipe: Path = Path("recipes/twins.toml")
    runs: Path = Path("runs/ablation")
    seeds: int = 4
    jobs: int = 1
    utterances: int | None = None
    rounds: int | None = None
    command: str = "hamiltone reproduce"

    @property
    def corpus(self) -> str:
        """What the utterances are from."""
        return SYNTHETIC if self.data is None else RECORDED

    @property
    def has_few_utterances(self) -> bool:
        """Whether the analyses look at fewer utterances than a full run."""
        return self.utterances is not None and self.utterances < UTTERANCES


class Study:
    """The models, the speech and the settings of the measurements of one command."""

    def __init__(self, options: Options, tick: Callable[[str], None] = lambda _: None) -> None:
        self.options, self.quick, self.tick = options, options.quick, tick
        self.forget()

    def forget(self) -> None:
        """Begin a new measurement: nothing has been used for it."""
        self.data_used, self._few = "", False
        self._models: dict[str, ModelFacts] = {}

    @property
    def models_used(self) -> tuple[ModelFacts, ...]:
        """The models that were used since the measurement began."""
        return tuple(self._models.values())

    def use_data(self, description: str) -> None:
        """Note what a measurement looks at."""
        self.data_used = description

    @property
    def kept(self) -> Path:
        """The folder of the reports that other commands have left."""
        return self.options.results

    @property
    def kept_as_quick(self) -> bool:
        """Whether the result of this measurement must not take the place of a full one."""
        return self.quick or self._few

    @property
    def folder(self) -> Path:
        """The folder of the result of this measurement."""
        return folder_of(self.options.results, quick=self.kept_as_quick)

    @property
    def pair_names(self) -> tuple[str, str]:
        """The names of the bundled models with shared and with Hamilton scores."""
        return PAIRS[check_pair(self.options.pair)]

    @cached_property
    def _loaded(self) -> tuple[tuple[Enhancer, Header], tuple[Enhancer, Header]]:
        shared, hamilton = (load_checkpoint(bundled()[name]) for name in self.pair_names)
        return shared, hamilton

    def pair(self) -> ModelPair:
        """The bundled twins."""
        return ModelPair(check_pair(self.options.pair), self.shared()[0], self.hamilton()[0])

    def shared(self) -> tuple[Enhancer, Header]:
        """The twin with shared scores."""
        return self._use(0)

    def hamilton(self) -> tuple[Enhancer, Header]:
        """The twin with Hamilton scores."""
        return self._use(1)

    def _use(self, which: int) -> tuple[Enhancer, Header]:
        model, header = self._loaded[which]
        name = self.pair_names[which]
        self.use_model(name, bundled()[name], header)
        return model, header

    def use_model(self, name: str, path: Path, header: Header) -> None:
        """Note a model that a measurement looks at."""
        self._models[name] = model_facts(name, path, header)

    @cached_property
    def _utterances(self) -> list[Utterance]:
        count = self.options.utterances or (QUICK_UTTERANCES if self.quick else UTTERANCES)
        data = self.options.data
        return synthetic_utterances(count) if data is None else recorded_utterances(data, count)

    def utterances(self) -> list[Utterance]:
        """All utterances of the analyses."""
        found = self._utterances
        self._use_speech(f"{len(found)} utterances of", found[0])
        return found

    def utterance(self, number: int) -> Utterance:
        """One of them, for a picture."""
        found = self._utterances[number]
        self._use_speech(f"the utterance {found.name},", found)
        return found

    def _use_speech(self, what: str, one: Utterance) -> None:
        self.use_data(f"{what} {one.noisy.shape[-1] / 16_000:g} s of {self.options.corpus}")
        self._few = self.options.has_few_utterances

    def noisy(self) -> Iterable[Tensor]:
        """The noisy speech, one by one."""
        return [one.noisy for one in self.utterances()]

    @property
    def rounds(self) -> int:
        """How often the timed methods take turns; an `InputError` if a full run would have fewer rounds than usual."""
        wanted = self.options.rounds
        if wanted is not None and wanted < ROUNDS:
            raise InputError(f"--rounds must be at least {ROUNDS}, got {wanted}; --quick takes {QUICK_ROUNDS}")
        return QUICK_ROUNDS if self.quick else wanted or ROUNDS

    @property
    def setting(self) -> Setting:
        """The setting of Table 6; a quick run has fewer trials."""
        return replace(Setting(), trials=10) if self.quick else Setting()


def model_facts(name: str, path: Path, header: Header) -> ModelFacts:
    """What the header of a checkpoint says, and the beginning of the SHA-256 of its file."""
    training = header.training
    digest = hashlib.sha256(path.read_bytes()).hexdigest()[:12]
    seed, step = training.get("recipe", {}).get("seed"), training.get("step")
    return ModelFacts(name, header.config.attention, seed, step, digest)
