"""``hamiltone bench``: timings on this machine."""

import json
from dataclasses import asdict
from typing import Annotated

import typer

from hamiltone.cli.options import integers, spinner
from hamiltone.errors import InputError

app = typer.Typer(no_args_is_help=True, help="Measure speed and memory on this machine.")


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

    wanted = integers("--lengths", lengths)
    if min(wanted) < 1:
        raise InputError(f"--lengths must be positive, got {lengths}")
    with spinner("warming up") as say:
        rows = list(bench_attention(wanted, seconds=seconds, tick=say))
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    attention_table(rows)
