"""Shared, Hamilton and the released head split at equal training on the toy scale, over seeds.

Every variant is trained by the same recipe; only its score rule and heads differ. The runs are kept, and the same
models answer how far the analyses vary from seed to seed.
"""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np
import torch

from hamiltone.analysis.agreement import TopAgreement, study_agreement
from hamiltone.analysis.gradients import Setting, correlation_after
from hamiltone.analysis.similarity import Similarity, study_similarity
from hamiltone.analysis.statistics import Spread, spread
from hamiltone.data.signals import SAMPLE_RATE
from hamiltone.errors import InputError
from hamiltone.metrics import compute
from hamiltone.models import Enhancer, load_checkpoint
from hamiltone.paper.pair import Utterance, synthetic_utterances
from hamiltone.paper.reference import reference
from hamiltone.paper.result import Result, Row, row
from hamiltone.paper.study import Study

SEEDS = 3


@dataclass(frozen=True)
class Variant:
    """A score rule by its name in `hamiltone.nn.rules`, and a number of heads; parameters are the same in all."""

    name: str
    rule: str
    heads: int

    @property
    def overrides(self) -> list[str]:
        """The keys of a recipe in which it differs."""
        return [f"model.attention={self.rule}", f"model.heads={self.heads}"]


VARIANTS = (
    Variant("shared", "shared", 2),
    Variant("hamilton", "hamilton", 2),
    Variant("head-is-component", "headsplit", 1),
)


def train_variant(variant: Variant, seed: int, recipe: Path, folder: Path) -> Path:
    """Train by a recipe, or go on, or find it done; returns the checkpoint of the best model."""
    try:
        from hamiltone.training import SpeechRecipe, load_recipe, train_recipe
    except ModuleNotFoundError as error:
        raise InputError(f'training needs {error.name}: pip install "hamiltone[train]"') from None

    where = [f"seed={seed}", f"run.folder={str(folder)!r}", "run.accelerator='cpu'"]
    plan = load_recipe(recipe, [*variant.overrides, *where])
    if not isinstance(plan, SpeechRecipe):
        raise InputError(f"{recipe} is no recipe of a speech model")
    outcome = train_recipe(plan)
    if outcome.stopped:
        raise InputError(f"stopped; the same command goes on from {folder}")
    return folder / "best.safetensors"


class SeedStudy:
    """All variants, trained from several seeds, and what they do on the same test speech."""

    def __init__(self, recipe: Path, runs: Path, seeds: int = SEEDS, utterances: int = 32) -> None:
        self.recipe, self.runs, self.seeds, self.count = recipe, runs, seeds, utterances

    @cached_property
    def models(self) -> dict[str, list[Enhancer]]:
        """The trained models by variant, one for each seed."""
        return {variant.name: [self._model(variant, seed) for seed in range(self.seeds)] for variant in VARIANTS}

    def _model(self, variant: Variant, seed: int) -> Enhancer:
        return load_checkpoint(train_variant(variant, seed, self.recipe, self.runs / f"{variant.name}-{seed}"))[0]

    @cached_property
    def utterances(self) -> list[Utterance]:
        """Synthetic speech that no training saw."""
        return synthetic_utterances(self.count)

    @cached_property
    def gains(self) -> dict[str, list[float]]:
        """The mean gain of SI-SDR in dB of each seed, by variant."""
        return {name: [self._gain(model) for model in models] for name, models in self.models.items()}

    @torch.no_grad()
    def _gain(self, model: Enhancer) -> float:
        gains = []
        for one in self.utterances:
            noisy, clean, enhanced = (x[0].numpy() for x in (one.noisy, one.clean, model(one.noisy)))
            after, before = (compute(["sisdr"], signal, clean, SAMPLE_RATE)["sisdr"] for signal in (enhanced, noisy))
            gains.append(after - before)
        return float(np.nanmean(gains))  # a pause of two seconds has no SI-SDR

    def difference(self, first: str, second: str) -> Spread:
        """Of two variants, seed by seed: both met the same data in the same order."""
        return spread([a - b for a, b in zip(self.gains[first], self.gains[second], strict=True)])

    @cached_property
    def agreements(self) -> list[tuple[TopAgreement, ...]]:
        """Of the Hamilton model of each seed."""
        return [study_agreement(model, self._noisy) for model in self.models["hamilton"]]

    @cached_property
    def similarities(self) -> list[Similarity]:
        """Of the shared and the Hamilton model of each seed."""
        pairs = zip(self.models["shared"], self.models["hamilton"], strict=True)
        return [study_similarity(first, second, self._noisy) for first, second in pairs]

    @cached_property
    def same_rule(self) -> list[Similarity]:
        """Of shared models of two seeds: what another seed alone does."""
        models = self.models["shared"]
        return [study_similarity(a, b, self._noisy) for a, b in zip(models, models[1:] + models[:1], strict=True)]

    @property
    def _noisy(self) -> list[torch.Tensor]:
        return [one.noisy for one in self.utterances]


def _study(study: Study) -> SeedStudy | None:
    """None where it would take too long or the recipe is missing."""
    options = study.options
    return None if study.quick or not options.recipe.exists() else SeedStudy(options.recipe, options.runs)


_COMMAND = "hamiltone reproduce ablation seeds"
_NOT_RUN = (
    "Trains nine toy models (about 25 minutes on two cores) by recipes/toy.toml: run it without --quick, in a clone."
)


def ablation(study: Study) -> Result:
    """Gain of SI-SDR by variant, and the differences."""
    seeds, title = _study(study), "Ablation: the released head split, toy scale"
    if seeds is None:
        return Result("ablation", title, (), "not reproduced", _NOT_RUN, _COMMAND)
    rows = [row("gain in SI-SDR, dB", name, None, spread(gains)) for name, gains in seeds.gains.items()]
    for other in ("hamilton", "head-is-component"):
        rows.append(row("difference in dB", f"shared - {other}", None, seeds.difference("shared", other)))
    why = f"Toy models by {study.options.recipe.name}; intervals are over {seeds.seeds} seeds of training."
    data = f"{seeds.count} utterances of 2 s of synthetic speech"
    return Result("ablation", title, tuple(rows), "reproduced", why, _COMMAND, data)


def seeds(study: Study) -> Result:
    """The analyses of attention, with intervals over seeds of training."""
    found, title = _study(study), "The analyses over seeds of training, toy scale"
    if found is None:
        return Result("seeds", title, (), "not reproduced", _NOT_RUN, _COMMAND)
    top1, top5, figure4 = reference()["table11"]["top1"], reference()["table11"]["top5"], reference()["figure4"]
    setting = Setting(trials=50)
    norms = [one for model in found.models["hamilton"] for one in correlation_after(model, setting).values()]
    rows: list[Row] = [
        row(
            "agreement in %", "top-1", top1["observed"], _over([one[0].overall for one in found.agreements]), scale=100
        ),
        row(
            "agreement in %", "top-5", top5["observed"], _over([one[1].overall for one in found.agreements]), scale=100
        ),
        row("times chance", "top-1", top1["ratio"], spread([one[0].ratio for one in found.agreements])),
        row("times chance", "top-5", top5["ratio"], spread([one[1].ratio for one in found.agreements])),
        *_similarity_rows("shared and Hamilton", found.similarities),
        *_similarity_rows("shared and shared, another seed", found.same_rule),
        row(
            "formulas on the same q, k, v",
            "shared model",
            figure4["shared_model"],
            _over([one.formulas[0] for one in found.similarities]),
        ),
        row(
            "formulas on the same q, k, v",
            "Hamilton model",
            figure4["hamilton_model"],
            _over([one.formulas[1] for one in found.similarities]),
        ),
        row(
            "gradient norms",
            "mean correlation after training",
            reference()["table8"]["after"]["off_diagonal"],
            spread([one.off_diagonal for one in norms]),
        ),
    ]
    why = f"Toy models; intervals are over {found.seeds} seeds of training, with {found.count} utterances each."
    return Result("seeds", title, tuple(rows), "reproduced", why, _COMMAND, f"{found.count} synthetic utterances")


def _similarity_rows(group: str, found: list[Similarity]) -> list[Row]:
    printed = {**reference()["figure3"], "correlation": reference()["figure4"]["independent"]}
    return [
        row(group, name.replace("_", " "), number, _over([getattr(one, name) for one in found]))
        for name, number in printed.items()
    ]


def _over(values: list[Spread]) -> Spread:
    return spread([one.mean for one in values])
