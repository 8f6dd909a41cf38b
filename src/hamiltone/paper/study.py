"""What several tables draw on, each measured once and when it is first asked for."""

from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path

from hamiltone.analysis.agreement import TopAgreement, study_agreement
from hamiltone.analysis.gradients import Correlation, NormStudy, Setting, correlation_after, study_norms
from hamiltone.analysis.similarity import Similarity, study_similarity
from hamiltone.paper.pair import Pair, Utterance, find_pair, recorded_utterances, synthetic_utterances


@dataclass(frozen=True)
class Options:
    """How to reproduce: with VoiceBank+DEMAND under `data` or synthetic speech, quickly or in full."""

    data: Path | None = None
    quick: bool = False
    pair: str | None = None
    results: Path = Path("results")
    docs: Path = Path("docs")
    recipe: Path = Path("recipes/toy.toml")
    runs: Path = Path("runs/reproduce")


class Study:
    """The models, the speech and the measurements."""

    def __init__(self, options: Options) -> None:
        self.options, self.quick = options, options.quick

    @cached_property
    def pair(self) -> Pair:
        """The models."""
        return find_pair(self.options.pair)

    @cached_property
    def utterances(self) -> list[Utterance]:
        """The speech."""
        count = 8 if self.quick else 64
        if self.options.data is None:
            return synthetic_utterances(count)
        return recorded_utterances(self.options.data, count)

    @property
    def speech(self) -> str:
        """The speech in words."""
        source = "of synthetic speech" if self.options.data is None else "of VoiceBank+DEMAND's test set"
        return f"{len(self.utterances)} utterances of 2 s {source}"

    @property
    def models(self) -> str:
        """The models in words."""
        return f"the bundled pair {self.pair.name}"

    @cached_property
    def agreement(self) -> tuple[TopAgreement, ...]:
        """Top-1 and top-5 agreement of the Hamilton model."""
        return study_agreement(self.pair.hamilton, (one.noisy for one in self.utterances))

    @cached_property
    def similarity(self) -> Similarity:
        """The pair's attention outputs."""
        return study_similarity(self.pair.shared, self.pair.hamilton, (one.noisy for one in self.utterances))

    @cached_property
    def setting(self) -> Setting:
        """Table 6's; a quick run has fewer trials."""
        return replace(Setting(), trials=20) if self.quick else Setting()

    @cached_property
    def norms(self) -> NormStudy:
        """Gradient norms at initialisation."""
        return study_norms(self.setting)

    @cached_property
    def trained_correlation(self) -> dict[str, Correlation]:
        """Correlation of gradient norms in the trained Hamilton model, by layer."""
        return correlation_after(self.pair.hamilton, self.setting)
