"""``hamiltone bench``: timings on this machine."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from hamiltone.cli.options import numbers, spinner

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure speed and memory on this machine.")


@app.callback()
def _group() -> None:
    pass


@app.command()
def attention(
    lengths: Annotated[str, typer.Option(help="Sequence lengths, comma-separated.")] = "512,1024,2048,4096",
    seconds: Annotated[float, typer.Option(help="Time to spend on each length (at least three rounds).")] = 10.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """One attention layer of 64 quaternions and 8 heads (the paper's Table 9), forward pass, batch 1.

    Shared and Hamilton scores, each fused and as explicit matrix products, beside real-valued attention of the same
    width. Methods are interleaved in one run; the peak memory of each row comes from a fresh process.

    Example: hamiltone bench attention --lengths 512,1024
    """
    from hamiltone.benchmark.attention import bench_attention
    from hamiltone.benchmark.tables import attention_table

    wanted = [int(length) for length in numbers("--lengths", lengths)]
    with spinner("warming up") as say:
        rows = list(bench_attention(wanted, seconds=seconds, tick=say))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    attention_table(rows)


@app.command()
def model(
    preset: Annotated[str, typer.Option(help="A preset; see `hamiltone presets`.")] = "qconformer-dns",
    attention: Annotated[str | None, typer.Option(help="Score rules, comma-separated; default: all it has.")] = None,
    seconds: Annotated[str, typer.Option(help="Lengths of audio in seconds, comma-separated.")] = "1,4,10",
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """A whole model, waveform to waveform (STFT included), with random weights: real-time factor and memory.

    Each score rule runs folded (plain real layers) and as trained, Hamilton also by explicit matrix products. Methods
    are interleaved in one run; the peak memory of each row comes from a fresh process. Audio longer than a window goes
    through the windows of `hamiltone enhance`.

    Example: hamiltone bench model --preset qtransformer --seconds 4
    """
    from hamiltone.benchmark.model import bench_model, variants
    from hamiltone.benchmark.tables import model_table
    from hamiltone.models.presets import attention_choices
    from hamiltone.models.presets import preset as find

    chosen = attention.split(",") if attention else list(attention_choices(find(preset)))
    for name in chosen:
        find(preset, name)
    lengths = numbers("--seconds", seconds)
    with spinner("warming up") as say:
        rows = list(bench_model(variants(preset, chosen), lengths, tick=say))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    model_table(rows)


@app.command()
def classifier(
    name: Annotated[str, typer.Argument(metavar="cifar100|sst2", help="The paper's classifier of images or of text.")],
    batch: Annotated[int, typer.Option(min=2, help="Images or sentences in a batch.")] = 128,
    words: Annotated[int, typer.Option(min=1, help="Words in a sentence.")] = 32,
    seconds: Annotated[float, typer.Option(help="Time to spend on each kind of run (at least three rounds).")] = 20.0,
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """A whole classifier with random weights: inference of a batch, folded and as trained, and a training step.

    Attentions are interleaved in one run; all have the same number of parameters.

    Example: hamiltone bench classifier sst2 --batch 64
    """
    from hamiltone.benchmark.classifier import bench_classifier
    from hamiltone.benchmark.tables import classifier_table

    with spinner("warming up") as say:
        rows = list(bench_classifier(name, batch, words=words, seconds=seconds, tick=say))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    classifier_table(rows)
