"""Results for the tests: the stored ones, and made ones for what needs days or a quiet machine."""

import math
from dataclasses import fields, is_dataclass, replace
from itertools import product
from pathlib import Path
from typing import Any

from hamiltone.analysis.settings import HEADS, INITS, LOSSES, Choice, Landing
from hamiltone.analysis.statistics import Spread
from hamiltone.nn.rules import SCALES
from hamiltone.paper.results import (
    LENGTHS,
    MEAN_SECONDS,
    METRICS,
    MODEL_SPEEDS,
    MODELS,
    Coupling,
    LayerSpeed,
    LayerSpeeds,
    MapsOverSeeds,
    ModelSpeeds,
    OutputsOverSeeds,
    Quality,
    SeedRun,
    SettingSweep,
    SpeedRatio,
    Twins,
    VariantRuns,
)
from hamiltone.paper.store import Made, Stored, read_results

ROOT = Path(__file__).parents[1]
RESULTS = ROOT / "results"
MADE = Made("", 1, "", "", "", "", "hamiltone reproduce all", False, 1.0, "", ())
VARIANTS = ("hamilton", "hamilton-tay", "head-is-component", "shared-4-heads")


def around(mean: float, half: float = 0.01) -> Spread:
    return Spread(mean, half, mean - half, mean + half, 4)


def twins(**changes: Any) -> Twins:
    """Every claim about seeds holds."""
    runs = tuple(SeedRun(seed, 10, dict.fromkeys(METRICS, 1.0), 0.5, 0.5) for seed in range(4))
    outputs = OutputsOverSeeds(around(0.02), around(0.02), around(0.995, 0.001), around(0.02))
    made = Twins(
        files=824,
        variants=tuple(VariantRuns(name, 1, 4, runs) for name in ("shared", *VARIANTS)),
        differences={name: {metric: around(0.0, 0.001) for metric in METRICS} for name in VARIANTS},
        maps=MapsOverSeeds(around(0.05), around(0.02), around(0.7), around(0.5)),
        both_rules=outputs,
        same_rule=outputs,
        ks_beyond_seed=around(0.0, 0.001),
        formulas={scale: (around(0.8), around(0.9)) for scale in SCALES},
        beyond={scale: (around(0.1), around(0.2)) for scale in SCALES},
        coupling=Coupling(around(0.1), around(0.6), around(0.5)),
    )
    return replace(made, **changes)


def sweep(ratio: float) -> SettingSweep:
    design = product(LOSSES, HEADS, (True, False), INITS, (True, False), SCALES)
    return SettingSweep(tuple(Landing(Choice(*one), around(1.0), around(1.0), around(ratio)) for one in design))


def whole_evidence() -> dict[str, Stored[Any]]:
    """What is stored, and for what is not, results that support every claim."""
    ratios = [SpeedRatio(m, MEAN_SECONDS, a, a, around(2.37)) for m in MODELS for a in ("fused", "explicit")]
    dnsmos = {f"dnsmos_{name}": around(0.0) for name in ("sig", "bak", "ovrl", "p808")}
    made = {
        "layer-speed": LayerSpeeds(tuple(LayerSpeed(length, {}, around(2.0)) for length in LENGTHS)),
        **dict.fromkeys(MODEL_SPEEDS, ModelSpeeds((), tuple(ratios))),
        "gradient-settings": sweep(1.0),
        "ablation": twins(),
        "dns": Quality((), dict.fromkeys(("dns3-shared", "dns3-qtransformer-shared"), dnsmos)),
    }
    evidence: dict[str, Stored[Any]] = {name: Stored(name, MADE, result) for name, result in made.items()}
    stored = dict(read_results(RESULTS))
    evidence |= {name: one for name, one in stored.items() if name not in evidence}
    return evidence


def changes(value: Any) -> list[tuple[str, Any]]:
    """Every way to take one row, number or interval out of a result, however deep, with a word on what was taken."""
    if isinstance(value, float):
        return [("number", math.nan)]
    if isinstance(value, Spread):
        gaps: list[tuple[str, Any]] = [("mean", replace(value, mean=math.nan))]
        return gaps + ([("interval", replace(value, low=math.nan, high=math.nan))] if value.has_interval else [])
    if isinstance(value, dict):
        found = [(f"key {key}", {k: v for k, v in value.items() if k != key}) for key in value]
        return found + [(w, value | {key: new}) for key, entry in value.items() for w, new in changes(entry)]
    if isinstance(value, tuple):
        found = [(f"row {n}", value[:n] + value[n + 1 :]) for n in range(len(value))]
        return found + [(w, (*value[:n], new, *value[n + 1 :])) for n, e in enumerate(value) for w, new in changes(e)]
    if is_dataclass(value):
        return [
            (f"{field.name}: {word}", replace(value, **{field.name: new}))  # type: ignore[type-var]
            for field in fields(value)
            for word, new in changes(getattr(value, field.name))
        ]
    return []


def stretched(value: Any, factor: float) -> Any:
    """A result with every interval wider by a factor."""
    if isinstance(value, Spread):
        low, high = (value.mean + factor * (end - value.mean) for end in (value.low, value.high))
        return replace(value, low=low, high=high)
    if isinstance(value, dict):
        return {key: stretched(entry, factor) for key, entry in value.items()}
    if isinstance(value, tuple):
        return tuple(stretched(entry, factor) for entry in value)
    if is_dataclass(value):
        return replace(value, **{f.name: stretched(getattr(value, f.name), factor) for f in fields(value)})  # type: ignore[type-var]
    return value
