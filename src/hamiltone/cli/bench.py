"""``hamiltone bench``: timings on this machine."""

import typer

app = typer.Typer(no_args_is_help=True, help="Measure speed and memory on this machine.")


@app.callback()
def _group() -> None:
    pass
