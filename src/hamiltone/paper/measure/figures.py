"""The pictures, drawn below the folder of results with matplotlib."""

import os
import sys
from importlib import import_module
from tempfile import TemporaryDirectory

import torch
from torch import Tensor

from hamiltone.analysis import diagrams, plots
from hamiltone.analysis.capture import AttentionCall, record
from hamiltone.analysis.similarity import all_outputs, formula_outputs
from hamiltone.models import build, preset
from hamiltone.nn.rules import SCALES
from hamiltone.paper.measure.study import Study
from hamiltone.paper.results import Picture


def two_attentions(study: Study) -> Picture:
    """Figure 1, with maps of the twins."""
    shared, hamilton = _maps(study)
    return _draw(study, "figure1", lambda path: diagrams.two_attentions(shared, hamilton, path))


def attention_maps(study: Study) -> Picture:
    """Figure 2: the first head of the first layer along time, in the middle band."""
    shared, hamilton = _maps(study)
    return _draw(study, "figure2", lambda path: plots.attention_maps(shared, hamilton, path))


def _maps(study: Study) -> tuple[Tensor, Tensor]:
    noisy, pair = study.utterance(0).noisy, study.pair()
    return _middle(record(pair.shared, noisy)), _middle(record(pair.hamilton, noisy))


def _middle(layers: dict[str, AttentionCall]) -> Tensor:
    """The maps ``(S, N, M)`` of one head."""
    recording = next(iter(layers.values()))
    one = next(part for number, part in enumerate(recording.parts(limit=1)) if number == len(recording.q) // 2)
    return one.maps[0, 0]


def output_distributions(study: Study) -> Picture:
    """Figure 3: histograms of attention outputs, and their quantiles against each other."""
    noisy, pair = study.utterance(0).noisy, study.pair()
    shared, hamilton = (all_outputs(record(model, noisy)) for model in (pair.shared, pair.hamilton))
    return _draw(study, "figure3", lambda path: plots.output_distributions(shared, hamilton, path))


def formula_scatter(study: Study) -> Picture:
    """Figure 4, with both scales of the Hamilton score."""
    noisy, pair = study.utterance(0).noisy, study.pair()
    ours, theirs = record(pair.shared, noisy), record(pair.hamilton, noisy)
    panels = {"both models": (all_outputs(ours), all_outputs(theirs))}
    for scale in SCALES:
        panels[f"shared model, {scale}"] = formula_outputs(ours, scale)
        panels[f"Hamilton model, {scale}"] = formula_outputs(theirs, scale)
    return _draw(study, "figure4", lambda path: plots.formula_scatter(panels, path))


@torch.no_grad()
def spectrograms(study: Study) -> Picture:
    """Figure 5: one utterance."""
    one, pair = study.utterance(1), study.pair()
    signals = {
        "clean": one.clean[0],
        "noisy": one.noisy[0],
        "shared scores": pair.shared(one.noisy)[0],
        "Hamilton scores": pair.hamilton(one.noisy)[0],
    }
    return _draw(study, "figure5", lambda path: plots.spectrograms(signals, path))


def architecture(study: Study) -> Picture:
    """Figure 6: the preset qconformer, run on half a second of silence and recorded by forward hooks."""
    study.use_data("the preset qconformer on 0.5 s of silence")
    stages = diagrams.trace_stages(build(preset("qconformer")).eval(), torch.zeros(1, 8000), depth=4)
    return _draw(study, "figure6", lambda path: diagrams.architecture(stages, path))


def _load_fonts() -> None:
    """Load matplotlib with a temporary folder for its list of fonts, which it would leave in the user's home."""
    if "matplotlib" in sys.modules or "MPLCONFIGDIR" in os.environ:
        plots.require_matplotlib()
        return
    with TemporaryDirectory(prefix="hamiltone-") as folder:
        os.environ["MPLCONFIGDIR"] = folder
        try:
            plots.require_matplotlib()
            import_module("matplotlib.font_manager")
        finally:
            del os.environ["MPLCONFIGDIR"]


def _draw(study: Study, name: str, draw: "plots.Draw") -> Picture:
    _load_fonts()
    path = study.folder / "figures" / f"{name}.png"
    draw(path)
    return Picture(path.relative_to(study.options.results).as_posix())
