"""Measurements by name: each takes a `Study` and returns one of the types in `hamiltone.paper.results`.

`study` holds what they share: models, speech and settings. `counts`, `speed`, `analyses`, `speech`, `classifiers` and
`figures` measure what their names say; `twins` runs the ablation over the `variants` of a score rule.
"""

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import asdict
from functools import partial

from hamiltone.benchmark.machine import this_machine
from hamiltone.errors import InputError
from hamiltone.paper.measure import analyses, classifiers, counts, figures, speech, speed, twins
from hamiltone.paper.measure.study import RECORDED, SYNTHETIC, Options, Study
from hamiltone.paper.results import MODEL_SPEEDS, Result
from hamiltone.paper.store import Made, Stored, data_of, write_result

MEASUREMENTS: dict[str, Callable[[Study], Result]] = {
    "cost": counts.costs,
    "layer-speed": speed.layer_speeds,
    **{name: partial(speed.model_speeds, seconds) for name, seconds in MODEL_SPEEDS.items()},
    "voicebank": speech.voicebank,
    "dns": speech.dns,
    "agreement": analyses.agreements,
    "outputs": analyses.outputs,
    "gradients": analyses.gradients,
    "gradient-settings": analyses.gradient_settings,
    "theorems": analyses.theorems,
    "images": classifiers.images,
    "text": classifiers.text,
    "classifier-speed": classifiers.speeds,
    "ablation": twins.ablation,
    "figure1": figures.two_attentions,
    "figure2": figures.attention_maps,
    "figure3": figures.output_distributions,
    "figure4": figures.formula_scatter,
    "figure5": figures.spectrograms,
    "figure6": figures.architecture,
}
FULL_ONLY = tuple(MODEL_SPEEDS)[1:]
"""What a quick run leaves out: its one length is that of the first."""


def measure(
    names: Iterable[str], options: Options, tick: Callable[[str], None] = lambda _: None
) -> Iterator[Stored[Result]]:
    """Measure one by one, keep each result below the folder of the options, and yield it; `tick` gets the next name.

    If a full result on other speech would be replaced, an `InputError` is raised before anything is measured.
    """
    names = list(names)
    _keep_other_speech(names, options)
    study = Study(options, tick)
    for name in names:
        if options.quick and name in FULL_ONLY:
            continue
        tick(name)
        start = time.perf_counter()
        study.forget()
        result = MEASUREMENTS[name](study)
        made = Made(
            command=options.command,
            quick=study.kept_as_quick,
            seconds=round(time.perf_counter() - start, 1),
            data=study.data_used,
            models=study.models_used,
            **asdict(this_machine()),
        )
        stored = Stored(name, made, result)
        write_result(options.results, stored)
        yield stored


def _keep_other_speech(names: Iterable[str], options: Options) -> None:
    """Refuse to replace a full result on recordings by one on synthetic speech, or the other way round."""
    if options.quick or options.has_few_utterances:  # these go to another folder
        return
    other = RECORDED if options.corpus == SYNTHETIC else SYNTHETIC
    for path in (options.results / f"{name}.json" for name in names):
        if other in data_of(path):
            advice = "give --data, or another folder as --results" if other == RECORDED else "give another --results"
            raise InputError(f"{path} is a result on {other}, which {options.corpus} would replace; {advice}")
