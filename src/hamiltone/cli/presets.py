"""``hamiltone presets``: the models by name."""

import json
from typing import Annotated

import typer


def presets(as_json: Annotated[bool, typer.Option("--json", help="Print the list as JSON.")] = False) -> None:
    """List the models that can be built, with their size and cost.

    The names without a suffix use the VoiceBank STFT (400/100 samples), those with -dns the DNS one (512/256). Costs
    are multiply-accumulates per second of audio in a window of four seconds. All models but live see the whole window,
    before and after each moment: they work on recordings, not on live sound.
    """
    from rich.console import Console
    from rich.table import Table

    from hamiltone.weights import preset_rows

    rows = preset_rows()
    if as_json:
        typer.echo(json.dumps(rows, indent=2))
        return
    table = Table()
    for heading in ("name", "attention", "parameters", "GMAC/s", "STFT"):
        table.add_column(heading, justify="right" if heading in ("parameters", "GMAC/s") else "left")
    for row in rows:
        cost = f"{row['macs_per_second'] / 1e9:.2f}"
        choices = ", ".join(row["attention"])
        table.add_row(row["name"], choices, f"{row['params']:,}", cost, f"{row['n_fft']}/{row['hop']}")
    Console().print(table)
