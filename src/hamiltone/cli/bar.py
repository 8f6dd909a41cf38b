"""The progress bar of ``hamiltone enhance``, in seconds of audio."""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TaskProgressColumn, TextColumn
from rich.text import Text


class _TimeLeft(ProgressColumn):
    """Time left at the pace of all windows so far, which are too few for rich's own estimate."""

    def render(self, task: Task) -> Text:
        end, elapsed = task.fields["end"], task.elapsed or 0.0
        return Text("" if end is None else f"{timedelta(seconds=round(max(end - elapsed, 0)))} left")


@contextmanager
def audio_progress_bar() -> Iterator[tuple[Console, Callable[[float, float], None]]]:
    """A console on standard error and a function that moves the bar on it; there is a bar only on a terminal."""
    console = Console(stderr=True)
    bar = Progress(
        SpinnerColumn(),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.completed:.0f} of {task.total:.0f} s of audio"),
        _TimeLeft(),
        console=console,
        transient=True,
        disable=not sys.stderr.isatty(),
    )

    def move(done: float, total: float) -> None:
        elapsed = bar.tasks[task].elapsed or 0.0
        bar.update(task, completed=done, total=total, end=elapsed * total / done if done else None)

    with bar:
        task = bar.add_task("", total=0.0, end=None)
        yield console, move
