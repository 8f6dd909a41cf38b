"""The analyses of attention on the bundled twins, of untrained attention, and of Appendix C."""

from dataclasses import replace

from hamiltone.analysis.agreement import study_agreement
from hamiltone.analysis.bilinear import study_homogeneity
from hamiltone.analysis.gradients import (
    correlation,
    correlation_after,
    correlation_with_same_weights,
    norms_at_start,
    study_norms,
)
from hamiltone.analysis.maps import study_maps
from hamiltone.analysis.movement import start_of, study_movement
from hamiltone.analysis.settings import sweep_settings
from hamiltone.analysis.similarity import study_similarity
from hamiltone.analysis.subspace import check_gradients, check_subspace
from hamiltone.nn.rules import SCALES
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import (
    SUBSPACES,
    Agreements,
    Gradients,
    Outputs,
    SettingSweep,
    StartCorrelations,
    Theorems,
)

_SWEEP_TRIALS, _QUICK_SWEEP_TRIALS = 5, 3
"""Trials of each setting of the sweep; the ratios of two trials differ by a few percent."""


def agreements(study: Study) -> Agreements:
    """Where the components of the Hamilton twin look (Tables 4, 10 and 11)."""
    model, _ = study.hamilton()
    return Agreements(study_agreement(model, study.noisy()), study_maps(model, study.noisy()))


def outputs(study: Study) -> Outputs:
    """The attention outputs of both twins (Figures 3 and 4)."""
    pair = study.pair()
    return Outputs(study_similarity(pair.shared, pair.hamilton, study.noisy()))


def gradients(study: Study) -> Gradients:
    """Gradients of the loss by the scores, of untrained attention and of the Hamilton twin (Tables 6 to 8)."""
    setting = study.setting
    model, header = study.hamilton()
    study.use_data(f"random input of shape {setting.shape}, {setting.trials} trials, seed {setting.seed}")
    start, trials = start_of(header), norms_at_start(setting)
    return Gradients(
        norms=study_norms(trials),
        start={
            scale: StartCorrelations(correlation(trials.hamilton[scale]), correlation_with_same_weights(setting, scale))
            for scale in SCALES
        },
        before=correlation_after(start, setting),
        after=correlation_after(model, setting),
        movement=study_movement(start, model),
    )


def gradient_settings(study: Study) -> SettingSweep:
    """Every setting that Table 6 leaves open, or for a quick run those with one head and two initialisations."""
    setting = replace(study.setting, trials=_QUICK_SWEEP_TRIALS if study.quick else _SWEEP_TRIALS)
    study.use_data(f"random input of shape {setting.shape}, {setting.trials} trials, seed {setting.seed}")
    if study.quick:
        return SettingSweep(
            sweep_settings(setting, heads=(1,), inits=("polar", "uniform, quaternions"), tick=study.tick)
        )
    return SettingSweep(sweep_settings(setting, tick=study.tick))


def theorems(study: Study) -> Theorems:
    """Appendix C in float64, and what doubling the input does to the scores of the Hamilton twin."""
    model, _ = study.hamilton()
    study.use_data("random weights and input, float64, seed 0")
    checks = tuple(check_subspace(d_in, d_h) for d_in, d_h in SUBSPACES)
    return Theorems(checks, check_gradients(), study_homogeneity(model))
