"""``hamiltone runs``: training runs side by side."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from hamiltone.errors import InputError


def runs(
    folders: Annotated[list[Path], typer.Argument(metavar="RUN...", help="Folders of runs.")],
    as_json: Annotated[bool, typer.Option("--json", help="Print the rows as JSON.")] = False,
) -> None:
    """Compare runs of hamiltone train: the settings that differ, their speed, their last validation.

    Prints a Markdown table.

    Example: hamiltone runs runs/narrow runs/wide
    """
    try:
        from hamiltone.training.summary import markdown, summarise_runs
    except ModuleNotFoundError as error:
        raise InputError(f'this needs {error.name}: pip install "hamiltone[train]"') from None

    rows = summarise_runs(folders)
    if as_json:
        typer.echo(json.dumps([asdict(row) for row in rows], indent=2))
        return
    typer.echo(markdown(rows), nl=False)
