"""The progress of ``hamiltone corpus``: a table on a terminal, elsewhere a line every half minute."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta
from typing import TYPE_CHECKING

import typer
from rich.console import Console

if TYPE_CHECKING:
    from rich.table import Table

    from hamiltone.corpus.run import Status

_EVERY = 30.0  # seconds between lines


@contextmanager
def progress_display(console: Console | None = None, every: float = _EVERY) -> Iterator[Callable[["Status"], None]]:
    """A function that shows how far a run has come, on standard error."""
    console = console or Console(stderr=True)
    if not console.is_terminal:
        yield _lines(every)
        return
    from rich.live import Live

    with Live(console=console, refresh_per_second=2, transient=True) as live:
        yield lambda status: live.update(progress_table(status))


def _lines(every: float) -> Callable[["Status"], None]:
    last = float("-inf")

    def tell(status: "Status") -> None:
        nonlocal last
        if time.monotonic() - last < every and status.done < status.total:
            return
        last = time.monotonic()
        typer.echo(", ".join(f"{name} {value}" for name, value in figures(status).items()), err=True)

    return tell


def progress_table(status: "Status") -> "Table":
    """All figures, with a bar."""
    from rich.progress_bar import ProgressBar
    from rich.table import Table

    table = Table.grid(padding=(0, 2))
    table.add_row("", ProgressBar(total=status.total, completed=status.done, width=40))
    for name, value in figures(status).items():
        table.add_row(name, value)
    return table


def figures(status: "Status") -> dict[str, str]:
    """Clips and hours done, how fast, the time left, errors and workers, as text."""
    rate = status.new / status.elapsed if status.elapsed else 0.0
    left = "unknown" if status.left is None else str(timedelta(seconds=round(status.left)))
    return {
        "clips": f"{status.done} of {status.total}",
        "hours": f"{status.audio / 3600:.2f}",
        "clips/s": f"{rate:.2f}",
        "left": left,
        "errors": str(status.errors),
        "workers": str(status.workers),
    }
