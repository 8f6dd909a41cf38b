"""Score rules trained alike from several seeds: the ablation, and the analyses over seeds."""

from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import cached_property
from itertools import combinations, permutations
from statistics import fmean

import numpy as np
import torch
from torch import Tensor

from hamiltone.analysis.agreement import study_agreement
from hamiltone.analysis.capture import record
from hamiltone.analysis.gradients import Setting, correlation_after
from hamiltone.analysis.maps import study_maps
from hamiltone.analysis.movement import start_of, study_movement
from hamiltone.analysis.similarity import Pool, all_outputs, formula_correlations, quantiles, wasserstein
from hamiltone.analysis.statistics import Spread, jackknife, nested, pearson, student
from hamiltone.errors import InputError
from hamiltone.evaluation import Report, read_report
from hamiltone.models import Enhancer, load_checkpoint
from hamiltone.nn import make_rule
from hamiltone.nn.rules import SCALES
from hamiltone.paper.measure.study import Study
from hamiltone.paper.measure.variants import VARIANTS, AblationRun, ablation_runs, finish_all
from hamiltone.paper.pair import recorded_utterances
from hamiltone.paper.results import Coupling, MapsOverSeeds, OutputsOverSeeds, SeedRun, Twins, VariantRuns

_UTTERANCES = 32
_TRIALS = 50


class Trained:
    """A finished run: its model, its start and its scores."""

    def __init__(self, run: AblationRun) -> None:
        self.run, self.seed = run, run.seed
        self.model, self.header = load_checkpoint(run.checkpoint)

    @cached_property
    def start(self) -> Enhancer:
        """The model before its training."""
        model = start_of(self.header)
        assert isinstance(model, Enhancer)
        return model.eval()

    @cached_property
    def report(self) -> Report:
        """Its scores on the whole test set."""
        return read_report(self.run.scores)

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
    wanted = ablation_runs(options.recipe, options.runs, options.data, options.seeds)
    for number, run in enumerate(finish_all(wanted, options.jobs), 1):
        study.tick(f"{number} of {len(wanted)} runs are finished: {run.folder.name}")
    runs: dict[str, list[Trained]] = {variant.name: [] for variant in VARIANTS}
    for run in wanted:
        trained = Trained(run)
        study.use_model(run.folder.name, run.checkpoint, trained.header)
        runs[run.variant.name].append(trained)
    noisy = [one.noisy for one in recorded_utterances(options.data, _UTTERANCES)]
    study.use_data(
        f"VoiceBank+DEMAND: {len(wanted)} runs of {options.recipe.stem}, scores on the test set, analyses on "
        f"{len(noisy)} of its utterances"
    )
    return compare_runs(runs, noisy, replace(Setting(), trials=_TRIALS))


def compare_runs(runs: dict[str, list[Trained]], noisy: Sequence[Tensor], setting: Setting) -> Twins:
    """What the runs say, by variant, one for each seed in the same order."""
    shared, hamilton = runs["shared"], runs["hamilton"]
    before, after = (
        [run.coupling(model, setting) for run, model in zip(hamilton, models, strict=True)]
        for models in ([run.start for run in hamilton], [run.model for run in hamilton])
    )
    outputs = _Outputs(shared, hamilton, noisy)
    return Twins(
        files=len(shared[0].report.files),
        variants=tuple(_variant(variant.name, runs[variant.name]) for variant in VARIANTS),
        differences={name: _differences(shared, others) for name, others in runs.items() if name != "shared"},
        maps=_maps(hamilton, noisy),
        both_rules=outputs.over_seeds(outputs.both_rules),
        same_rule=outputs.over_seeds(outputs.same_rule),
        ks_beyond_seed=outputs.beyond_seed(),
        formulas=outputs.formulas(lambda found, scale: found[scale]),
        beyond=outputs.formulas(lambda found, scale: found[scale] - found["uniform"]),
        coupling=Coupling(student(before), student(after), student(np.subtract(after, before).tolist())),
    )


class _Outputs:
    """The attention outputs of the models with shared and with Hamilton scores, on the same utterances.

    Models of different seeds have neither initialisation nor data nor order in common, so only such are compared.
    """

    @torch.no_grad()
    def __init__(self, shared: Sequence[Trained], hamilton: Sequence[Trained], noisy: Sequence[Tensor]) -> None:
        models = [run.model for run in (*shared, *hamilton)]
        self._seeds, pool = len(shared), Pool()
        pairs = list(combinations(range(len(models)), 2))
        found: dict[tuple[int, int], list[tuple[float, ...]]] = {pair: [] for pair in pairs}
        captured: list[list[dict[str, float]]] = [[] for _ in models]
        for x in noisy:
            recorded = [record(model, x) for model in models]
            rows = [all_outputs(layers) for layers in recorded]
            pool.add(rows)
            levels = [quantiles(row) for row in rows]
            for a, b in pairs:
                distances = wasserstein(rows[a], rows[b]), pearson(levels[a], levels[b]), pearson(rows[a], rows[b])
                found[a, b].append(distances)
            for entry, layers in zip(captured, recorded, strict=True):
                entry.append(formula_correlations(layers))
        self._pairs = {
            pair: (pool.ks(*pair, resamples=2).mean, *np.mean(values, 0).tolist()) for pair, values in found.items()
        }
        self._captured = [{key: fmean(one[key] for one in entry) for key in entry[0]} for entry in captured]

    def both_rules(self, seeds: Sequence[int]) -> list[tuple[int, int]]:
        """The pairs of a model with shared and one with Hamilton scores."""
        return [(a, self._seeds + b) for a, b in permutations(seeds, 2)]

    def same_rule(self, seeds: Sequence[int]) -> list[tuple[int, int]]:
        """The pairs of models with one rule."""
        return [(start + a, start + b) for a, b in combinations(seeds, 2) for start in (0, self._seeds)]

    def _mean(self, pairs: list[tuple[int, int]], which: int) -> float:
        return fmean(self._pairs[pair][which] for pair in pairs)

    def over_seeds(self, pairs: Callable[[Sequence[int]], list[tuple[int, int]]]) -> OutputsOverSeeds:
        """All distances of some pairs."""
        return OutputsOverSeeds(
            *(jackknife(lambda kept, n=number: self._mean(pairs(kept), n), self._seeds) for number in range(4))  # type: ignore[misc]
        )

    def beyond_seed(self) -> Spread:
        """How much further apart two rules are than two seeds, by the Kolmogorov-Smirnov statistic."""
        return jackknife(
            lambda kept: self._mean(self.both_rules(kept), 0) - self._mean(self.same_rule(kept), 0), self._seeds
        )

    def formulas(self, value: Callable[[dict[str, float], str], float]) -> dict[str, tuple[Spread, Spread]]:
        """A number of every model, by scale: of those with shared and of those with Hamilton scores."""
        found = {}
        for scale in SCALES:
            values = [value(one, scale) for one in self._captured]
            found[scale] = student(values[: self._seeds]), student(values[self._seeds :])
        return found


def _maps(runs: Sequence[Trained], noisy: Sequence[Tensor]) -> MapsOverSeeds:
    agreements = [study_agreement(run.model, noisy, counts=(1,))[0].overall.mean for run in runs]
    studies = [study_maps(run.model, noisy, counts=(1,)) for run in runs]
    return MapsOverSeeds(
        student(agreements),
        student([one.shuffled[0].excess.mean for one in studies]),
        student([one.entropy.mean for one in studies]),
        student([one.distance.mean for one in studies]),
    )


def _variant(name: str, runs: Sequence[Trained]) -> VariantRuns:
    config = runs[0].header.config
    maps = config.heads * make_rule(config.attention).maps
    return VariantRuns(name, config.heads, maps, tuple(run.summary() for run in runs))


def _differences(first: Sequence[Trained], second: Sequence[Trained]) -> dict[str, Spread]:
    """First minus second by metric, over seeds and files. The runs of a seed saw the same data in the same order."""
    names = [[file.name for file in run.report.files] for run in (*first, *second)]
    if any(one != names[0] for one in names):
        raise InputError("the runs of the ablation were not scored on the same files; remove their test.json")
    return {
        metric: nested(
            [np.subtract(a.report.values(metric), b.report.values(metric)) for a, b in zip(first, second, strict=True)]
        )
        for metric in first[0].report.metrics
    }
