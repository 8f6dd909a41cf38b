"""Figures 2 to 5: drawn where matplotlib is installed, with the numbers of their captions."""

from collections.abc import Callable
from pathlib import Path

import torch

from hamiltone.analysis import plots
from hamiltone.analysis.capture import Recording, record
from hamiltone.analysis.similarity import all_outputs, formula_outputs
from hamiltone.errors import InputError
from hamiltone.paper.reference import reference
from hamiltone.paper.result import Result, row
from hamiltone.paper.study import Study


def figure2(study: Study) -> Result:
    """Attention maps by component: the first head of the first layer along time, in the middle band."""
    noisy = study.utterances[0].noisy
    shared, hamilton = (_middle(record(model, noisy)) for model in (study.pair.shared, study.pair.hamilton))
    picture = _draw(study, "figure2", lambda path: plots.attention_maps(shared, hamilton, path))
    why = f"Ours is {study.models}; the paper shows its QTransformer."
    return Result("figure2", "Attention maps by component", (), "in part", why, data=study.speech, picture=picture)


def _middle(layers: dict[str, Recording]) -> torch.Tensor:
    """The maps ``(S, N, M)`` of one head."""
    recording = next(iter(layers.values()))
    one = next(part for number, part in enumerate(recording.parts(limit=1)) if number == len(recording.q) // 2)
    return one.maps[0, 0]


def figure3(study: Study) -> Result:
    """Distributions of attention outputs."""
    printed, found, noisy = reference()["figure3"], study.similarity, study.utterances[0].noisy
    rows = (
        row("outputs", "KS statistic", printed["ks"], found.ks),
        row("outputs", "Wasserstein distance", printed["wasserstein"], found.wasserstein),
        row("outputs", "the same in deviations", None, found.wasserstein_scaled, decimals=3),
        row("outputs", "quantile correlation", printed["quantile_correlation"], found.quantile_correlation),
    )
    samples = [all_outputs(record(model, noisy)) for model in (study.pair.shared, study.pair.hamilton)]
    picture = _draw(study, "figure3", lambda path: plots.output_distributions(samples[0], samples[1], path))
    why = f"Ours is {study.models}, on {study.speech}."
    title = "Distributions of attention outputs"
    return Result("figure3", title, rows, "in part", why, data=study.speech, picture=picture)


def figure4(study: Study) -> Result:
    """Correlations of attention outputs."""
    printed, found, noisy = reference()["figure4"], study.similarity, study.utterances[0].noisy
    rows = (
        row("correlation", "independently trained models", printed["independent"], found.correlation),
        row("correlation", "formulas on the shared model's q, k, v", printed["shared_model"], found.formulas[0]),
        row("correlation", "formulas on the Hamilton model's q, k, v", printed["hamilton_model"], found.formulas[1]),
        row("control", "shared formula and a plain mean, shared model", None, found.uniform[0]),
        row("control", "shared formula and a plain mean, Hamilton model", None, found.uniform[1]),
    )
    ours, theirs = (record(model, noisy) for model in (study.pair.shared, study.pair.hamilton))
    panels = {
        "independently trained": (all_outputs(ours), all_outputs(theirs)),
        "both formulas, shared model": formula_outputs(ours),
        "both formulas, Hamilton model": formula_outputs(theirs),
    }
    picture = _draw(study, "figure4", lambda path: plots.formula_scatter(panels, path))
    why = f"Ours is {study.models}, on {study.speech}. The controls have no scores at all and are not in the paper."
    title = "Correlation of attention outputs"
    return Result("figure4", title, rows, "in part", why, data=study.speech, picture=picture)


@torch.no_grad()
def figure5(study: Study) -> Result:
    """Spectrograms of one utterance."""
    one = study.utterances[1]
    signals = {
        "clean": one.clean[0],
        "noisy": one.noisy[0],
        "shared scores": study.pair.shared(one.noisy)[0],
        "Hamilton scores": study.pair.hamilton(one.noisy)[0],
    }
    picture = _draw(study, "figure5", lambda path: plots.spectrograms(signals, path))
    why = f"Ours is {study.models}; QTN and the real-valued Conformer are not trained here."
    return Result("figure5", "Spectrograms", (), "in part", why, data=study.speech, picture=picture)


def _draw(study: Study, name: str, draw: Callable[[Path], None]) -> str:
    """Draw below the docs folder; the path from there, or nothing without matplotlib."""
    path = study.options.docs / "figures" / f"{name}.png"
    try:
        plots.require_matplotlib()
    except InputError:
        return ""
    path.parent.mkdir(parents=True, exist_ok=True)
    draw(path)
    return f"figures/{name}.png"
