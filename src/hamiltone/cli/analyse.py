"""``hamiltone analyse``: the paper's analyses on any model."""

import json
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hamiltone.cli.options import JsonOption, rules, spinner, whole_numbers, wide_console
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from torch import nn

    from hamiltone.analysis.statistics import Spread
    from hamiltone.models import Header

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Analyse the attention of a model.")

DataOption = Annotated[
    Path | None,
    typer.Option(metavar="PATH", help="VoiceBank+DEMAND, or a classifier's data; default: synthetic speech."),
]
SamplesOption = Annotated[int, typer.Option(help="Utterances of two seconds, images or sentences.", min=2)]
TrainedOption = Annotated[str | None, typer.Option(metavar="NAME|FILE", help="Bundled model or checkpoint.")]


@app.command()
def agreement(
    model: TrainedOption = None, data: DataOption = None, samples: SamplesOption = 16, as_json: JsonOption = False
) -> None:
    """Whether the maps of the four components attend to the same positions (Eq. 20, Tables 4, 10 and 11).

    The model must have four maps in a head, as Hamilton scores have; by default it is that of the bundled pair.

    Example: hamiltone analyse agreement --model runs/toy-hamilton/best.safetensors
    """
    from hamiltone.analysis.agreement import study_agreement
    from hamiltone.paper.pair import model_inputs

    with spinner("running the model"):
        chosen, header = _model(model, "hamilton", maps=4)
        tops = study_agreement(chosen, model_inputs(header, data, samples))
    if as_json:
        typer.echo(json.dumps([asdict(top) | {"ratio": top.ratio} for top in tops], indent=2))
        return
    for top in tops:
        rows: list[tuple[str, Spread]] = [(f"components {pair}", rate) for pair, rate in top.pairs.items()]
        rows += [(f"{head.layer}, head {head.head}", head.rate) for head in top.heads]
        rows += [("overall", top.overall)]
        caption = f"chance {100 * top.chance:.2f} %, overall {top.ratio:.2f} times that"
        _print_spreads(f"top-{top.count} agreement in %", rows, scale=100, caption=caption)


@app.command()
def similarity(
    first: TrainedOption = None,
    second: TrainedOption = None,
    data: DataOption = None,
    samples: SamplesOption = 16,
    formulas: Annotated[
        str, typer.Option(help="Score rules to compare with the shared one on the same q, k, v.")
    ] = "hamilton,hamilton-tay",
    as_json: JsonOption = False,
) -> None:
    """How alike the attention outputs of two models are, and of formulas on the same q, k, v (Figures 3 and 4).

    By default the models are the bundled pair.

    Example: hamiltone analyse similarity --first toy --second toy-hamilton

    Example: hamiltone analyse similarity --formulas hamilton-tay
    """
    from hamiltone.analysis.similarity import study_similarity
    from hamiltone.paper.pair import model_inputs

    names = rules("--formulas", formulas)
    with spinner("running the models"):
        one, header = _model(first, "shared")
        other, other_header = _model(second, "hamilton")
        if replace(header.config, attention="shared") != replace(other_header.config, attention="shared"):
            raise InputError("the two models differ in more than their scores: compare models of one architecture")
        found = study_similarity(one, other, model_inputs(header, data, samples), names)
    if as_json:
        typer.echo(json.dumps(asdict(found), indent=2))
        return
    rows = [
        ("KS statistic", found.ks),
        ("Wasserstein distance", found.wasserstein),
        ("Wasserstein distance in deviations", found.wasserstein_scaled),
        ("quantile correlation", found.quantile_correlation),
        ("correlation, value by value", found.correlation),
        *(
            (f"shared and {rival} formula, {which} model", one)
            for rival, both in found.formulas.items()
            for which, one in zip(("first", "second"), both, strict=True)
        ),
        ("shared formula and plain mean, first model", found.uniform[0]),
        ("shared formula and plain mean, second model", found.uniform[1]),
    ]
    _print_spreads("attention outputs", rows, digits=4)


@app.command()
def gradients(
    model: TrainedOption = None,
    trials: Annotated[int, typer.Option(help="Random inputs.", min=3)] = 100,
    dim: Annotated[int, typer.Option(help="Quaternions, at initialisation.", min=1)] = 16,
    heads: Annotated[int, typer.Option(help="Heads, at initialisation.", min=1)] = 4,
    length: Annotated[int, typer.Option(help="Length of the random sequences.", min=2)] = 128,
    attention: Annotated[
        str | None, typer.Option(help="Rules with four maps, at initialisation; default: the model's and both scales.")
    ] = None,
    as_json: JsonOption = False,
) -> None:
    """Norms of dL/dS at initialisation, and how they correlate before and after training (Tables 6 to 8, 14).

    The model must have four maps in a head, as Hamilton scores have; by default it is that of the bundled pair.

    Example: hamiltone analyse gradients --trials 20

    Example: hamiltone analyse gradients --attention hamilton-tay

    Example: hamiltone analyse gradients --model runs/cifar100-hamilton-42/best.safetensors --dim 64 --length 16
    """
    from hamiltone.analysis.gradients import (
        Setting,
        correlation,
        correlation_after,
        correlation_with_same_weights,
        norms_at_start,
        study_norms,
    )
    from hamiltone.nn.rules import SCALES

    if dim % heads:
        raise InputError(f"--heads must divide --dim, got {heads} heads for {dim} quaternions")
    named = rules("--attention", attention) if attention else None
    with spinner("differentiating"):
        chosen, header = _model(model, "hamilton", maps=4)
        try:
            rivals = tuple(named or dict.fromkeys((header.config.attention, *SCALES)))
            setting = Setting(trials=trials, dim=dim, heads=heads, length=length, rivals=rivals)
        except ValueError as error:
            raise InputError(f"--attention: {error}") from None
        at_start = norms_at_start(setting)
        norms = study_norms(at_start)
        matrices = {
            "before training": correlation(at_start.hamilton[rivals[0]]),
            "before training, one set of weights": correlation_with_same_weights(setting, rivals[0]),
            **{f"after: {layer}": one for layer, one in correlation_after(chosen, setting).items()},
        }
    if as_json:
        content = {"norms": asdict(norms), "correlations": {name: asdict(one) for name, one in matrices.items()}}
        typer.echo(json.dumps(content, indent=2))
        return
    rows = [("shared", norms.shared)]
    rows += [(f"{rival} {a}", one) for rival, four in norms.hamilton.items() for a, one in enumerate(four)]
    ratios = ", ".join(f"{rival} {ratio.mean:.2f}" for rival, ratio in norms.ratio.items())
    _print_spreads("norms of dL/dS", rows, digits=7, caption=f"shared to the sum of the four: {ratios}")
    for name, one in matrices.items():
        cells = [[f"{r:.2f} ± {e:.2f}" for r, e in zip(*pair, strict=True)] for pair in zip(one.matrix, one.errors)]  # noqa: B905
        _print(f"{name}: mean {one.off_diagonal:.2f}", ("", *"0123"), [[str(a), *line] for a, line in enumerate(cells)])


@app.command()
def subspace(
    d_in: Annotated[int, typer.Option(help="Input quaternions; at least 5.", min=5)] = 16,
    d_h: Annotated[int, typer.Option(help="Quaternions of a head.", min=1)] = 4,
    as_json: JsonOption = False,
) -> None:
    """Check Theorem C.1, Corollary C.2 and Theorem C.3 in float64.

    Example: hamiltone analyse subspace --d-in 32
    """
    from hamiltone.analysis.subspace import check_gradients, check_subspace

    found = {**asdict(check_subspace(d_in, d_h)), **asdict(check_gradients(d_h=d_h))}
    if as_json:
        typer.echo(json.dumps(found, indent=2))
        return
    _print("Appendix C", ("", "value"), [[name.replace("_", " "), f"{value:.3g}"] for name, value in found.items()])


@app.command()
def cost(
    lengths: Annotated[str, typer.Option(help="Sequence lengths, comma-separated.")] = "512,1024,2048,4096",
    attention: Annotated[str, typer.Option(help="Score rules, comma-separated.")] = "shared,hamilton",
    presets: Annotated[str | None, typer.Option(help="Models, comma-separated; default: all presets.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Multiplications, softmaxes, multiply-accumulates and parameters (Tables 1, 2, 9 and 12).

    Example: hamiltone analyse cost --lengths 1000

    Example: hamiltone analyse cost --attention shared,hamilton-tay,headsplit
    """
    from hamiltone.analysis.cost import layer_costs, model_costs, score_cost
    from hamiltone.models import PRESETS

    names = rules("--attention", attention)
    scores = [score_cost(name) for name in names]
    layers = layer_costs(whole_numbers("--lengths", lengths), names)
    models = model_costs(presets.split(",") if presets else list(PRESETS), names)
    if as_json:
        content = {
            "scores": [asdict(row) for row in scores],
            "layers": [asdict(row) for row in layers],
            "models": [asdict(row) for row in models],
        }
        typer.echo(json.dumps(content, indent=2))
        return
    _print(
        "a score",
        ("attention", "products", "softmaxes", "scale"),
        [[r.attention, r.multiplications, r.softmaxes, r.scale] for r in scores],
    )
    _print(
        "a layer of 64 quaternions",
        ("T", "attention", "MACs"),
        [[r.length, r.attention, f"{r.macs:,}"] for r in layers],
    )
    sizes = [[r.preset, r.attention, f"{r.parameters:,}", f"{r.macs_per_second / 1e9:.2f}"] for r in models]
    _print("a model", ("preset", "attention", "parameters", "GMAC/s"), sizes)


def _model(name: str | None, default: str, *, maps: int | None = None) -> "tuple[nn.Module, Header]":
    """A bundled model or a checkpoint, not folded; by default the one of the bundled pair with the `default` scores.

    If `maps` is given, its rule must have that many.
    """
    from hamiltone.models import bundled, load_any
    from hamiltone.nn.rules import RULES, make_rule
    from hamiltone.paper.pair import PAIRS

    name = name or PAIRS["compact"][default == "hamilton"]
    model, header = load_any(bundled().get(name, Path(name)))
    rule = header.config.attention
    if maps and (rule not in RULES or make_rule(rule).maps != maps):
        raise InputError(f"{name} has {rule} scores; this needs scores with {maps} maps in a head, such as hamilton")
    return model, header


def _print_spreads(
    title: str, rows: "list[tuple[str, Spread]]", *, scale: float = 1.0, digits: int = 2, caption: str = ""
) -> None:
    cells = [
        [name, *(f"{scale * value:.{digits}f}" for value in (one.mean, one.deviation, one.low, one.high))]
        for name, one in rows
    ]
    _print(title, ("", "mean", "deviation", "95 % from", "to"), cells, caption)


def _print(title: str, headings: tuple[str, ...], rows: list[list[Any]], caption: str = "") -> None:
    from rich.table import Table

    table = Table(title=title, caption=caption or None, title_justify="left", caption_justify="left")
    for number, heading in enumerate(headings):
        table.add_column(heading, justify="right" if number else "left")
    for row in rows:
        table.add_row(*(str(cell) for cell in row))
    wide_console().print(table)
