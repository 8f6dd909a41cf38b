"""``hamiltone bench``: timings on this machine."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from hamiltone.cli.options import JsonOption, numbers, rules, spinner, use_rule, whole_numbers
from hamiltone.errors import InputError

if TYPE_CHECKING:
    from hamiltone.benchmark.tables import Columns

app = typer.Typer(no_args_is_help=True, rich_markup_mode=None, help="Measure speed and memory on this machine.")


@app.callback()
def _group() -> None:
    pass


@app.command()
def attention(
    lengths: Annotated[str, typer.Option(help="Sequence lengths, comma-separated.")] = "512,1024,2048,4096",
    attention: Annotated[str, typer.Option(help="Score rules, comma-separated.")] = "shared,hamilton",
    seconds: Annotated[float, typer.Option(help="Time to spend on each length (at least three rounds).")] = 10.0,
    as_json: JsonOption = False,
) -> None:
    """One attention layer of 64 quaternions and 8 heads (the paper's Table 9), forward pass, batch 1.

    Shared and Hamilton scores, each fused and as explicit matrix products, beside real-valued attention of the same
    width. Methods are interleaved in one run; the peak memory of each row comes from a fresh process.

    Example: hamiltone bench attention --lengths 512,1024

    Example: hamiltone bench attention --attention shared,my_package.my_module:MyRule
    """
    from hamiltone.benchmark.attention import bench_attention
    from hamiltone.benchmark.tables import ATTENTION

    wanted, chosen = whole_numbers("--lengths", lengths), rules("--attention", attention)
    with spinner("warming up") as say:
        rows = list(bench_attention(wanted, chosen, seconds=seconds, tick=say))
    _show(rows, as_json, ATTENTION, "length")


@app.command()
def model(
    preset: Annotated[str, typer.Option(help="A preset; see `hamiltone presets`.")] = "qconformer-dns",
    attention: Annotated[str | None, typer.Option(help="Attentions, comma-separated; default: the paper's.")] = None,
    seconds: Annotated[str, typer.Option(help="Lengths of audio in seconds, comma-separated.")] = "1,4,10",
    as_json: JsonOption = False,
) -> None:
    """A whole model, waveform to waveform (STFT included), with random weights: real-time factor and memory.

    Each score rule runs folded (plain real layers) and as trained; one with four maps also as explicit matrix products.
    Methods are interleaved in one run; the peak memory of each row comes from a fresh process. Audio longer than a
    window goes through the windows of `hamiltone enhance`.

    Example: hamiltone bench model --preset qtransformer --seconds 4
    """
    from hamiltone.benchmark.model import bench_model, executions
    from hamiltone.benchmark.tables import MODEL
    from hamiltone.models.presets import attention_choices
    from hamiltone.models.presets import preset as find
    from hamiltone.nn.rules import COMPARED

    chosen = attention.split(",") if attention else list(attention_choices(find(preset), COMPARED))
    for name in chosen:
        use_rule(name)
        find(preset, name)
    lengths = numbers("--seconds", seconds)
    with spinner("warming up") as say:
        rows = list(bench_model(executions(preset, chosen), lengths, tick=say))
    _show(rows, as_json, MODEL, "seconds")


@app.command()
def runtime(
    models: Annotated[str, typer.Option(help="Bundled models with a graph, comma-separated.")] = "compact,live",
    threads: Annotated[str, typer.Option(help="Numbers of CPU threads, comma-separated.")] = "1,2",
    audio: Annotated[float, typer.Option(min=0.5, help="Seconds of audio in a run.")] = 10.0,
    seconds: Annotated[float, typer.Option(help="Time to spend on each comparison (at least five rounds).")] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """The bundled models by onnxruntime and by torch: recordings, and streams frame by frame.

    Both back ends take turns in one run; the peak memory of each row comes from a fresh process.

    Example: hamiltone bench runtime --threads 1
    """
    from hamiltone.benchmark.runtime import bench_runtime, ways
    from hamiltone.benchmark.tables import RUNTIME
    from hamiltone.weights import graphs

    chosen = models.split(",")
    if unknown := [name for name in chosen if name not in graphs()]:
        raise InputError(f"--models takes {', '.join(name for name in graphs() if '.' not in name)}; got {unknown[0]}")
    counts = whole_numbers("--threads", threads)
    with spinner("warming up") as say:
        rows = list(bench_runtime(ways(chosen, counts), audio=audio, seconds=seconds, tick=say))
    _show(rows, as_json, RUNTIME, "model")


@app.command()
def folder(
    recordings: Annotated[Path, typer.Argument(metavar="FOLDER", help="Recordings; other rates become 16 kHz.")],
    preset: Annotated[str, typer.Option(help="A preset; see `hamiltone presets`.")] = "qconformer-dns",
    attention: Annotated[str, typer.Option(help="Score rules, comma-separated.")] = "shared,hamilton",
    path: Annotated[str, typer.Option(help="fused, explicit or both, comma-separated.")] = "fused,explicit",
    as_json: JsonOption = False,
) -> None:
    """The real-time factor over a folder of recordings, as in the paper's Table 3, with random weights.

    Example: hamiltone bench folder DNS/dev_testset --preset qtransformer-dns
    """
    from hamiltone.benchmark.model import Execution, bench_folder
    from hamiltone.benchmark.tables import FOLDER
    from hamiltone.data.files import audio_files, decode
    from hamiltone.models.presets import preset as find

    paths = path.split(",")
    if unknown := set(paths) - {"fused", "explicit"}:
        raise InputError(f"--path takes fused and explicit, got {', '.join(sorted(unknown))}")
    names = rules("--attention", attention)
    for name in names:
        find(preset, name)
    chosen = [Execution(preset, name, way, True) for name in names for way in paths]
    with spinner("reading") as say:
        rows = bench_folder(chosen, [decode(file) for file in audio_files(recordings)], tick=say)
    _show(rows, as_json, FOLDER, "attention")


@app.command()
def classifier(
    name: Annotated[str, typer.Argument(metavar="cifar100|sst2", help="The paper's classifier of images or of text.")],
    batch: Annotated[int, typer.Option(min=2, help="Images or sentences in a batch.")] = 128,
    attention: Annotated[str | None, typer.Option(help="Further score rules, comma-separated.")] = None,
    words: Annotated[int, typer.Option(min=1, help="Words in a sentence.")] = 32,
    seconds: Annotated[float, typer.Option(help="Time to spend on each kind of run (at least three rounds).")] = 20.0,
    as_json: JsonOption = False,
) -> None:
    """A whole classifier with random weights: inference of a batch, folded and as trained, and a training step.

    Attentions are interleaved in one run; all have the same number of parameters.

    Example: hamiltone bench classifier sst2 --batch 64
    """
    from hamiltone.benchmark.classifier import bench_classifier
    from hamiltone.benchmark.tables import CLASSIFIER

    more = rules("--attention", attention) if attention else []
    with spinner("warming up") as say:
        rows = list(bench_classifier(name, batch, more=more, words=words, seconds=seconds, tick=say))
    _show(rows, as_json, CLASSIFIER, "what")


def _show(rows: Sequence[Any], as_json: bool, columns: "Columns", section: str) -> None:
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    from rich.console import Console

    from hamiltone.benchmark.tables import terminal_table

    Console().print(terminal_table(columns, rows, section))
