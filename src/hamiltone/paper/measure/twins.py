"""Score rules trained alike from several seeds: the ablation, and the analyses over seeds."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from hamiltone.analysis.agreement import study_agreement
from hamiltone.analysis.gradients import Setting, correlation_after
from hamiltone.analysis.movement import start_of, study_movement
from hamiltone.analysis.similarity import Similarity, study_similarity
from hamiltone.analysis.statistics import Spread, nested, student
from hamiltone.errors import InputError
from hamiltone.evaluation import Report, read_report
from hamiltone.models import Enhancer, load_checkpoint
from hamiltone.nn import make_rule
from hamiltone.paper.measure.study import Study
from hamiltone.paper.measure.variants import VARIANTS, Job, finish_all, jobs
from hamiltone.paper.pair import recorded_utterances
from hamiltone.paper.results import Coupling, OutputsOverSeeds, SeedRun, Twins, VariantRuns

_UTTERANCES = 32
_TRIALS = 50


class Trained:
    """A finished run: its model, its start and its scores."""

    def __init__(self, job: Job) -> None:
        self.job, self.seed = job, job.seed
        self.model, self.header = load_checkpoint(job.checkpoint)

    @cached_property
    def start(self) -> Enhancer:
        """The model before its training."""
        model = start_of(self.header)
        assert isinstance(model, Enhancer)
        return model.eval()

    @cached_property
    def report(self) -> Report:
        """On the whole test set."""
        return read_report(self.job.scores)

    def summary(self) -> SeedRun:
        moved = study_movement(self.start, self.model)
        return SeedRun(
            self.seed,
            int(self.header.training["step"]),
            {metric: float(np.nanmean(self.report.values(metric))) for metric in self.report.metrics},
            float(np.mean([layer.query_correlation for layer in moved])),
            float(np.mean([layer.key_correlation for layer in moved])),
        )

    def coupling(self, model: Enhancer, setting: Setting) -> float:
        """The mean correlation of the gradient norms of this run's model, or of its start, over layers."""
        return float(np.mean([one.off_diagonal for one in correlation_after(model, setting).values()]))


def ablation(study: Study) -> Twins:
    """Train and score what is missing, and compare; the same command resumes after an interruption."""
    options = study.options
    if options.data is None:
        raise InputError("the ablation trains on real speech: give --data, the folder of VoiceBank+DEMAND")
    if study.quick:
        raise InputError("the ablation trains for hours; leave out --quick")
    if options.seeds < 3:
        raise InputError("expected at least three seeds: with two, models of different seeds make a single pair")
    wanted = jobs(options.recipe, options.runs, options.data, options.seeds)
    for number, job in enumerate(finish_all(wanted, options.jobs), 1):
        study.tick(f"{number} of {len(wanted)} runs are finished: {job.folder.name}")
    runs: dict[str, list[Trained]] = {variant.name: [] for variant in VARIANTS}
    for job in wanted:
        runs[job.variant.name].append(Trained(job))
    noisy = [one.noisy for one in recorded_utterances(options.data, _UTTERANCES)]
    study.use_data(
        f"VoiceBank+DEMAND: {len(wanted)} runs of {options.recipe.stem}, scores on the test set, analyses on "
        f"{len(noisy)} of its utterances"
    )
    return compare_runs(runs, noisy, replace(Setting(), trials=_TRIALS))


def compare_runs(runs: dict[str, list[Trained]], noisy: Sequence[Tensor], setting: Setting) -> Twins:
    """What the runs say, by variant, one for each seed in the same order."""
    both = [_similarity(a, b, noisy) for a, b in _different_seeds(runs["shared"], runs["hamilton"])]
    same = [_similarity(a, b, noisy) for a, b in _different_seeds(runs["shared"], runs["shared"])]
    beyond = [one.ks.mean - other.ks.mean for one, other in zip(both, same, strict=True)]
    hamilton = runs["hamilton"]
    before, after = (
        [run.coupling(model, setting) for run, model in zip(hamilton, models, strict=True)]
        for models in ([run.start for run in hamilton], [run.model for run in hamilton])
    )
    agreements = [study_agreement(run.model, noisy, counts=(1,))[0].overall.mean for run in hamilton]
    return Twins(
        files=len(runs["shared"][0].report.files),
        variants=tuple(_variant(variant.name, runs[variant.name]) for variant in VARIANTS),
        differences={name: _differences(runs["shared"], others) for name, others in runs.items() if name != "shared"},
        agreement=student(agreements),
        both_rules=_over_seeds(both),
        same_rule=_over_seeds(same),
        ks_beyond_seed=student(beyond),
        coupling=Coupling(student(before), student(after), student(np.subtract(after, before).tolist())),
    )


def _variant(name: str, runs: Sequence[Trained]) -> VariantRuns:
    config = runs[0].header.config
    maps = config.heads * make_rule(config.attention).maps
    return VariantRuns(name, config.heads, maps, tuple(run.summary() for run in runs))


def _different_seeds(first: list[Trained], second: list[Trained]) -> list[tuple[Trained, Trained]]:
    """Each run beside one of the next seed: neither initialisation nor data nor order in common.

    Every run is in two of these pairs, so that they are not quite independent of each other.
    """
    return list(zip(first, second[1:] + second[:1], strict=True))


@torch.no_grad()
def _similarity(first: Trained, second: Trained, noisy: Sequence[Tensor]) -> Similarity:
    return study_similarity(first.model, second.model, noisy)


def _over_seeds(found: Sequence[Similarity]) -> OutputsOverSeeds:
    names = ("ks", "wasserstein", "quantile_correlation", "correlation")
    return OutputsOverSeeds(*(student([getattr(one, name).mean for one in found]) for name in names))


def _differences(first: Sequence[Trained], second: Sequence[Trained]) -> dict[str, Spread]:
    """First minus second by metric, over seeds and files. The runs of a seed saw the same data in the same order."""
    return {
        metric: nested(
            [np.subtract(a.report.values(metric), b.report.values(metric)) for a, b in zip(first, second, strict=True)]
        )
        for metric in first[0].report.metrics
    }
